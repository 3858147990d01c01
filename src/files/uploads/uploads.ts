/** All resumable uploads: the unfinished, and for a while those that have landed, for clients that missed the answer. */
import type { Intake } from '../../base/intake.js';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import type { Channel } from '../../base/streams/channel.js';
import type { Claims, GiveBack } from '../../lab/quotas/quotas.js';
import { Places } from '../../base/threads/places.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { Landing } from '../transfer/landing.js';
import type { Transfers } from '../transfer/transfers.js';
import type { PartLoading, PartTasks } from './part-tasks.js';
import { ResumableUpload, type UploadClock, type UploadContext } from './resumable-upload.js';
import type { Checksum } from './tus-headers.js';
import { UploadBoard, type ShownUpload, type UploadView } from './upload-board.js';
import type { UploadBody, UploadRecord, UploadTarget, UploadRequest } from './upload-request.js';

interface UploadsOptions {
  /** Used by nothing else. */
  readonly folder: string;
  readonly disk: TaskRunner<PartTasks>;
  readonly files: TaskRunner<PartLoading>;
  readonly intake: Pick<Intake, 'check'>;
  readonly transfers: Pick<Transfers, 'append' | 'place' | 'observer'>;
  readonly announcements: Channel;
  /** Refuses a target that nothing may land at. */
  readonly landingOf: (target: UploadTarget) => Landing | Promise<Landing>;
  readonly log: Pick<Logger, 'warn'>;
  readonly quotas: Claims;
  /** How long an upload is kept after its last byte. */
  readonly lifetimeMs?: number;
  readonly clock?: UploadClock;
}

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const LOOK_MS = 60_000;
const MOST_UNFINISHED = 1000;
/** An upload with fewer bytes gives way to others when there are too many, as it is soon sent again. */
const LITTLE = 64 * 1024;
/** An upload with more bytes is safe so long from others of its address, as its client may come back. */
const LONG_REST_MS = 60 * 60 * 1000;
const MOST_FINISHED = 10_000;

export class Uploads {
  readonly #context: UploadContext;
  readonly #files: TaskRunner<PartLoading>;
  readonly #intake: Pick<Intake, 'check'>;
  readonly #board: UploadBoard;
  /** The oldest first. */
  readonly #unfinished = new Map<string, ResumableUpload>();
  readonly #finished = new Map<string, ResumableUpload>();
  readonly #quotas: Claims;
  readonly #claims = new WeakMap<ResumableUpload, GiveBack>();
  readonly #places = new Places<ResumableUpload>({
    count: MOST_UNFINISHED,
    mayGiveWay: [
      ({ received, state }) => state === 'waiting' && received === 0,
      ({ received, state }) => state === 'waiting' && received < LITTLE,
      ({ restedMs, state }) => state === 'waiting' && restedMs >= LONG_REST_MS,
    ],
    mayGiveWayToOthers: [({ state }) => state === 'waiting', ({ state }) => state === 'receiving'],
    gaveWay: (upload) => {
      void forget(upload);
    },
  });
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UploadsOptions) {
    const {
      announcements,
      transfers,
      log,
      lifetimeMs = LIFETIME_MS,
      clock = CLOCK,
      files,
      intake,
      quotas,
      ...rest
    } = options;
    this.#files = files;
    this.#quotas = quotas;
    this.#intake = intake;
    this.#board = new UploadBoard(announcements, transfers);
    this.#context = {
      ...rest,
      transfers,
      lifetimeMs,
      clock,
      board: this.#board,
      onMoved: (upload) => {
        this.#places.gotOn(upload);
      },
      onLost: ({ id, subject, size }) => {
        log.warn(
          { upload: id, subject, size },
          'what had come of an upload has been taken from the uploads folder',
        );
      },
      onEnded: (upload, outcome) => {
        this.#ended(upload, outcome);
      },
    };
  }

  /** Loads the uploads of an earlier life of the process, and lands complete ones. */
  async start(): Promise<void> {
    const stored = await this.#files.run('loadParts', { folder: this.#context.folder });
    stored.sort((a, b) => a.record.started_at - b.record.started_at);
    for (const one of stored) {
      const upload = new ResumableUpload(one, this.#context);
      (upload.isFinished ? this.#finished : this.#unfinished).set(upload.id, upload);
      if (upload.isFinished) continue;
      this.#places.take(upload, '');
      this.#claims.set(upload, this.#quotas.take(projectOf(one.record.target), { uploads: 1 }));
    }
    await this.#expire();
    void this.#settleAll();
    this.#timer = setInterval(() => {
      void this.#expire();
    }, LOOK_MS).unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#board.close();
    await Promise.all([...this.#unfinished.values()].map((upload) => upload.close()));
  }

  /**
   * Resolves when the upload is on the disk, with the bytes of the body. If that fails, the upload is deleted, because
   * its client does not know the id.
   */
  async create(request: UploadRequest, body?: UploadBody, checksum?: Checksum): Promise<ResumableUpload> {
    const upload = await this.#begin(request);
    try {
      if (body !== undefined) await upload.append(0, body, checksum);
      else if (upload.size === 0) await upload.settle();
    } catch (error) {
      await forget(upload);
      throw error;
    }
    return upload;
  }

  /** Refuses (404) an unknown id. */
  find(id: string): ResumableUpload {
    const upload = this.#unfinished.get(id) ?? this.#finished.get(id);
    if (upload === undefined) throw refusals.uploadUnknown(id);
    return upload;
  }

  /** All unfinished uploads, with the plain ones. */
  list(): UploadView[] {
    return [...this.#unfinished.values(), ...this.#board.plain].map((upload) => this.view(upload));
  }

  view(upload: ShownUpload): UploadView {
    return this.#board.view(upload);
  }

  async #begin({ size, target, digests, metadata, client = '' }: UploadRequest): Promise<ResumableUpload> {
    this.#intake.check();
    const { clock, landingOf } = this.#context;
    const landing = await landingOf(target);
    // It may take days: its bytes count when they have come.
    (await landing.takeRoom?.(size))?.();
    const now = clock.wall();
    const record: UploadRecord = {
      upload_id: randomUUID(),
      target,
      size,
      digests,
      metadata,
      landing: false,
      started_at: now,
      finished_at: null,
    };
    const upload = new ResumableUpload({ record, part: { size: 0, modifiedMs: now } }, this.#context);
    const giveBack = this.#quotas.claim(projectOf(target), { uploads: 1 });
    try {
      if (!this.#places.take(upload, client)) throw refusals.tooManyUploads(MOST_UNFINISHED);
      await upload.create();
    } catch (error) {
      giveBack();
      this.#places.leave(upload);
      throw error;
    }
    this.#claims.set(upload, giveBack);
    this.#unfinished.set(upload.id, upload);
    this.#board.created(upload);
    return upload;
  }

  #ended(upload: ResumableUpload, outcome: 'finished' | 'deleted'): void {
    this.#places.leave(upload);
    this.#claims.get(upload)?.();
    const wasUnfinished = this.#unfinished.delete(upload.id);
    if (outcome === 'deleted') {
      this.#finished.delete(upload.id);
      // An upload that has landed is forgotten silently: its file stays.
      if (wasUnfinished) this.#board.deleted(upload);
      return;
    }
    this.#board.finished(upload);
    this.#finished.set(upload.id, upload);
    const [oldest] = this.#finished.values();
    if (this.#finished.size > MOST_FINISHED && oldest !== undefined) void forget(oldest);
  }

  async #expire(): Promise<void> {
    for (const upload of [...this.#unfinished.values(), ...this.#finished.values()]) {
      if (upload.isExpired) await forget(upload);
    }
  }

  /** Lands complete uploads and forgets those without a part, one after the other, as it may take long. */
  async #settleAll(): Promise<void> {
    for (const upload of [...this.#unfinished.values()]) {
      // If it cannot land, the next request for it gets the reason.
      if (upload.state === 'waiting') await upload.settle().catch(() => undefined);
    }
  }
}

const CLOCK: UploadClock = { monotonic: () => performance.now(), wall: () => Date.now() };

/** An upload may have been removed already. One that cannot be removed now is tried again when it expires. */
async function forget(upload: ResumableUpload): Promise<void> {
  await upload.remove().catch(() => undefined);
}

/** An image is no project's. */
function projectOf(target: UploadTarget): string | undefined {
  return 'project_id' in target ? target.project_id : undefined;
}
