/** All resumable uploads: unfinished ones, and for a while those that have landed, for clients that missed the answer. */
import { randomUUID } from 'node:crypto';
import { refusals } from '../errors.js';
import type { Channel } from '../lab/channel.js';
import type { TaskPool } from '../pool/task-pool.js';
import type { Landing } from '../transfer/landing.js';
import type { Transfers } from '../transfer/transfers.js';
import type { PartTasks } from './part-tasks.js';
import { ResumableUpload, type UploadSurroundings } from './resumable-upload.js';
import type { Checksum } from './tus-headers.js';
import { UploadBoard, type ShownUpload, type UploadView } from './upload-board.js';
import type { UploadBody } from './upload-body.js';
import type { UploadRecord } from './upload-record.js';
import type { UploadTarget, UploadWish } from './upload-wish.js';

export interface UploadsOptions {
  /** Nobody else's. */
  readonly folder: string;
  readonly disk: Pick<TaskPool<PartTasks>, 'run'>;
  readonly transfers: Pick<Transfers, 'append' | 'place' | 'observer'>;
  readonly announcements: Channel;
  /** Refuses a target that nothing may land at. */
  readonly landingOf: (target: UploadTarget) => Landing | Promise<Landing>;
  /** How long an upload is kept after its last byte. */
  readonly lifetimeMs?: number;
}

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const LOOK_MS = 60_000;
const MOST_UNFINISHED = 1000;
const MOST_FINISHED = 10_000;

export class Uploads {
  readonly #surroundings: UploadSurroundings;
  readonly #board: UploadBoard;
  /** The oldest first. */
  readonly #unfinished = new Map<string, ResumableUpload>();
  readonly #finished = new Map<string, ResumableUpload>();
  #creating = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ announcements, transfers, lifetimeMs = LIFETIME_MS, ...rest }: UploadsOptions) {
    this.#board = new UploadBoard(announcements, transfers);
    this.#surroundings = {
      ...rest,
      transfers,
      lifetimeMs,
      board: this.#board,
      onEnded: (upload, outcome) => {
        this.#ended(upload, outcome);
      },
    };
  }

  /** Finds what an earlier life of the process has left, and lets land what is complete. */
  async start(): Promise<void> {
    const { disk, folder } = this.#surroundings;
    const stored = await disk.run('loadParts', { folder });
    stored.sort((a, b) => a.record.started_at - b.record.started_at);
    for (const one of stored) {
      const upload = new ResumableUpload(one, this.#surroundings);
      (upload.isFinished ? this.#finished : this.#unfinished).set(upload.id, upload);
    }
    await this.#expire();
    void this.#landComplete();
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
   * Resolves when the disk knows of it, and has what the body brings. One that cannot be had is removed: its client
   * would not know what to ask for.
   */
  async create(wish: UploadWish, body?: UploadBody, checksum?: Checksum): Promise<ResumableUpload> {
    const upload = await this.#begin(wish);
    try {
      if (body !== undefined) await upload.append(0, body, checksum);
      else if (upload.size === 0) await upload.settle();
    } catch (error) {
      await forget(upload);
      throw error;
    }
    return upload;
  }

  /** Refuses (404) an id that none has. */
  find(id: string): ResumableUpload {
    const upload = this.#unfinished.get(id) ?? this.#finished.get(id);
    if (upload === undefined) throw refusals.uploadUnknown(id);
    return upload;
  }

  /** Everything that is on its way, plain uploads, too. */
  list(): UploadView[] {
    return [...this.#unfinished.values(), ...this.#board.plain].map((upload) => this.view(upload));
  }

  view(upload: ShownUpload): UploadView {
    return this.#board.view(upload);
  }

  async #begin({ size, target, digests, metadata }: UploadWish): Promise<ResumableUpload> {
    if (this.#unfinished.size + this.#creating >= MOST_UNFINISHED)
      throw refusals.tooManyUploads(MOST_UNFINISHED);
    const { disk, folder, landingOf } = this.#surroundings;
    const now = Date.now();
    const record: UploadRecord = {
      upload_id: randomUUID(),
      target,
      size,
      digests,
      metadata,
      started_at: now,
      finished_at: null,
    };
    this.#creating++;
    try {
      await landingOf(target);
      await disk.run('createPart', { folder, record });
    } finally {
      this.#creating--;
    }
    const upload = new ResumableUpload({ record, part: { size: 0, modifiedMs: now } }, this.#surroundings);
    this.#unfinished.set(upload.id, upload);
    this.#board.created(upload);
    return upload;
  }

  #ended(upload: ResumableUpload, outcome: 'finished' | 'deleted'): void {
    const wasUnfinished = this.#unfinished.delete(upload.id);
    if (outcome === 'deleted') {
      this.#finished.delete(upload.id);
      // What has landed is not gone when it is no longer spoken of.
      if (wasUnfinished) this.#board.deleted(upload);
      return;
    }
    this.#board.finished(upload);
    this.#finished.set(upload.id, upload);
    const [oldest] = this.#finished.values();
    if (this.#finished.size > MOST_FINISHED && oldest !== undefined) void forget(oldest);
  }

  async #expire(): Promise<void> {
    const now = Date.now();
    for (const upload of [...this.#unfinished.values(), ...this.#finished.values()]) {
      if (upload.expiresAt <= now && upload.state !== 'landing') await forget(upload);
    }
  }

  /** One after the other: it may take long. */
  async #landComplete(): Promise<void> {
    for (const upload of [...this.#unfinished.values()]) {
      // Who asks for it is told why it cannot land.
      if (upload.received === upload.size) await upload.settle().catch(() => undefined);
    }
  }
}

/** Somebody else may have been faster; and what cannot be removed now is looked at again. */
async function forget(upload: ResumableUpload): Promise<void> {
  await upload.remove().catch(() => undefined);
}
