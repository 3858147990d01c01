/**
 * One upload that may take several requests, and outlive the process. The part on the disk is what counts; it lands when
 * it is complete and has the promised digests.
 */
import { isRefusal, refusals } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { Content, DigestName, Digests, Landing } from '../transfer/landing.js';
import type { Transfers } from '../transfer/transfers.js';
import type { Upload } from '../transfer/upload.js';
import type { PartTasks, StoredUpload } from './part-tasks.js';
import type { Checksum } from './tus-headers.js';
import type { ShownUpload, UploadBoard, UploadState } from './upload-board.js';
import { type UploadBody, type UploadRecord, partPath, type UploadTarget } from './upload-request.js';
import { UploadTurns } from './upload-turns.js';

export interface UploadClock {
  /** For spans of time within this life of the process; it is never set. In milliseconds. */
  readonly monotonic: () => number;
  /** For times that are shown to clients or outlive the process. In milliseconds since 1970. */
  readonly wall: () => number;
}

export interface UploadContext {
  /** The folder of the parts and their records. */
  readonly folder: string;
  readonly disk: TaskRunner<PartTasks>;
  readonly transfers: Pick<Transfers, 'append' | 'place'>;
  readonly board: UploadBoard;
  /** Refuses a target that nothing may land at. */
  readonly landingOf: (target: UploadTarget) => Landing | Promise<Landing>;
  /** How long an upload is kept after its last byte. */
  readonly lifetimeMs: number;
  readonly clock: UploadClock;
  /** Called when bytes have arrived. */
  readonly onMoved: (upload: ResumableUpload) => void;
  /** Called when its part was deleted by somebody else. */
  readonly onLost: (upload: ResumableUpload) => void;
  /** Called when it has landed, or nothing is left of it. */
  readonly onEnded: (upload: ResumableUpload, outcome: 'finished' | 'deleted') => void;
}

/** More bytes came than were announced, or other bytes than were promised. */
const WRONG_BYTES = [
  'body_too_large',
  'upload_too_long',
  'upload_checksum_mismatch',
  'upload_digest_mismatch',
];
/** An upload of an earlier life of the process is kept at least so long, as the time of day may be wrong. */
const GRACE_MS = 60 * 60 * 1000;

export class ResumableUpload implements ShownUpload {
  readonly protocol = 'tus';
  readonly #context: UploadContext;
  readonly #turns = new UploadTurns();
  /** Set to cancel a digest. */
  readonly #cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #record: UploadRecord;
  /** The length of the part while no request is sending. */
  #length: number;
  /** When it expires if no more bytes arrive; monotonic. */
  #deadline: number;
  /** When bytes last arrived in this life of the process; monotonic. */
  #movedAt: number;
  /** Whether the record is synced. */
  #isKept = false;
  #sending: { readonly upload: Upload; readonly position: number } | undefined;
  #isLanding = false;
  #isDeleted = false;

  constructor({ record, part }: StoredUpload, context: UploadContext) {
    this.#record = record;
    this.#context = context;
    this.#length = part?.size ?? record.size;
    const { clock, lifetimeMs } = context;
    const age = clock.wall() - (record.finished_at ?? part?.modifiedMs ?? clock.wall());
    const left = Math.max(lifetimeMs - Math.max(0, age), Math.min(GRACE_MS, lifetimeMs));
    this.#movedAt = clock.monotonic();
    this.#deadline = this.#movedAt + left;
    context.board.claim(record.target);
  }

  get id(): string {
    return this.#record.upload_id;
  }

  get subject(): UploadTarget {
    return this.#record.target;
  }

  get size(): number {
    return this.#record.size;
  }

  get received(): number {
    return this.#sending === undefined
      ? this.#length
      : this.#sending.position + this.#sending.upload.received;
  }

  /** The metadata as the client sent it. */
  get metadata(): string {
    return this.#record.metadata;
  }

  get startedAt(): number {
    return this.#record.started_at;
  }

  get expiresAt(): number {
    const { clock, lifetimeMs } = this.#context;
    const left = this.#sending === undefined ? this.#deadline - clock.monotonic() : lifetimeMs;
    return clock.wall() + left;
  }

  get isExpired(): boolean {
    return (
      this.#deadline <= this.#context.clock.monotonic() && this.#sending === undefined && !this.#isLanding
    );
  }

  /** For how long no bytes have arrived. */
  get restedMs(): number {
    return this.#context.clock.monotonic() - this.#movedAt;
  }

  get isFinished(): boolean {
    return this.#record.finished_at !== null;
  }

  get state(): UploadState {
    if (this.isFinished) return 'finished';
    if (this.#isLanding) return 'landing';
    return this.#sending === undefined ? 'waiting' : 'receiving';
  }

  /** Appends the body at this offset. If the upload is complete afterwards, it has landed when this resolves. */
  append(offset: number, body: UploadBody, checksum?: Checksum): Promise<void> {
    return this.#turns.take(async (overtaken) => {
      this.#checkThere();
      overtaken.throwIfAborted();
      if (offset !== this.#length) throw refusals.uploadOffset(offset, this.#length);
      if ((body.length ?? 0) > this.size - offset) throw refusals.uploadTooLong(this.size);
      const landing = this.isFinished ? undefined : await this.#context.landingOf(this.subject);
      const release = landing?.hold?.();
      try {
        const wanted = landing?.digests ?? [];
        const { digests } =
          offset === this.size
            ? await this.#receiveNothing(body, overtaken)
            : await this.#receive(body, overtaken, { checksum, wanted });
        // A digest that a request was checked by is that of its own bytes.
        const ofAll = Object.entries(digests).filter(
          ([name]) => offset === 0 || (name !== checksum?.digest && wanted.some((each) => each === name)),
        );
        if (this.#length === this.size) await this.#land(Object.fromEntries(ofAll));
      } finally {
        release?.();
      }
    });
  }

  /** Ends a request that is sending. Resolves when its bytes are written; a complete upload has landed then. */
  settle(): Promise<void> {
    return this.#turns.take(async () => {
      this.#checkThere();
      const length = this.isFinished ? this.size : await this.#measured();
      if (length !== undefined) this.#length = length;
      if (this.#length === this.size) await this.#land({});
    });
  }

  /** Makes the part and the record; called once, before anything else. */
  create(): Promise<void> {
    const { disk, folder } = this.#context;
    return this.#turns.take(async () => {
      await disk.run('createPart', { folder, record: this.#record });
    });
  }

  /** Deletes the part and the record. A file that has landed stays. */
  async remove(): Promise<void> {
    Atomics.store(this.#cancelled, 0, 1);
    try {
      await this.#turns.take(async () => {
        this.#checkThere();
        await this.#delete();
      });
    } finally {
      Atomics.store(this.#cancelled, 0, 0);
    }
  }

  /** Ends a request that is sending; nothing that has arrived is lost. */
  async close(): Promise<void> {
    Atomics.store(this.#cancelled, 0, 1);
    await this.#turns.take(() => Promise.resolve()).catch(() => undefined);
  }

  #checkThere(): void {
    if (this.#isDeleted) throw refusals.uploadUnknown(this.id);
  }

  /** The upload is complete and may have landed, so the body must be empty. */
  async #receiveNothing(body: UploadBody, overtaken: AbortSignal): Promise<Content> {
    const refuse = (): never => {
      throw refusals.uploadTooLong(this.size);
    };
    await body.into({ write: refuse }, aborted(overtaken));
    return { size: 0, digests: {} };
  }

  async #receive(
    body: UploadBody,
    overtaken: AbortSignal,
    { checksum, wanted }: { checksum: Checksum | undefined; wanted: readonly DigestName[] },
  ): Promise<Content> {
    const position = this.#length;
    const { transfers, board } = this.#context;
    const upload = transfers.append(
      { path: partPath(this.#place), position, subject: this.subject, uploadSize: this.size, whole: wanted },
      { digests: this.#digestsBeside(position, body, checksum, wanted), client: body.client },
      body.throttle,
    );
    this.#sending = { upload, position };
    board.moves(this);
    try {
      const sink = {
        write: (bytes: Uint8Array): void => {
          if (bytes.length > this.size - this.received) throw refusals.uploadTooLong(this.size);
          upload.write(bytes);
        },
      };
      await body.into(sink, Promise.race([upload.failure, aborted(overtaken)]));
      const content = await upload.finish();
      if (checksum !== undefined && content.digests[checksum.digest] !== checksum.hex)
        throw refusals.uploadChecksum();
      this.#length = position + content.size;
      await this.#keep();
      return content;
    } catch (error) {
      await upload.drop();
      await this.#takeBack(position, error);
      throw error;
    } finally {
      this.#sending = undefined;
      this.#moved();
      this.#context.onMoved(this);
      board.rests(this);
    }
  }

  /** All digests of the whole can be computed during the write only if it comes in one request. */
  #digestsBeside(
    position: number,
    body: UploadBody,
    checksum: Checksum | undefined,
    wanted: readonly DigestName[],
  ): DigestName[] {
    const names = new Set<DigestName>(checksum === undefined ? [] : [checksum.digest]);
    if (position === 0 && (body.length ?? this.size) === this.size)
      for (const name of ['sha-256', ...wanted, ...this.#promised] as const) names.add(name);
    return [...names];
  }

  get #promised(): ('md5' | 'sha-256')[] {
    return (['md5', 'sha-256'] as const).filter((name) => this.#record.digests[name] !== undefined);
  }

  /** After a failure: cuts off wrong bytes, and keeps those of a request that only broke off. */
  async #takeBack(position: number, error: unknown): Promise<void> {
    const { disk } = this.#context;
    if (isRefusal(error, ...WRONG_BYTES)) {
      await disk.run('truncatePart', { ...this.#place, length: position });
    } else {
      this.#length = (await this.#measured()) ?? position;
    }
  }

  #moved(): void {
    const { clock, lifetimeMs } = this.#context;
    this.#movedAt = clock.monotonic();
    this.#deadline = this.#movedAt + lifetimeMs;
  }

  /** Syncs the record, so that a power cut does not lose the upload. If it lands now, the record is written anyway. */
  async #keep(): Promise<void> {
    if (!this.#isKept && this.#length > 0 && this.#length < this.size) await this.#note({});
  }

  /** Changes the record, and syncs it. */
  async #note(change: Partial<UploadRecord>): Promise<void> {
    const { disk, folder } = this.#context;
    const record = { ...this.#record, ...change };
    await disk.run('writeRecord', { folder, record });
    this.#record = record;
    this.#isKept = true;
  }

  /** The length of the part; undefined when it has landed. Refuses (404) an upload whose part was deleted. */
  async #measured(): Promise<number | undefined> {
    const length = await this.#context.disk.run('measurePart', this.#place);
    if (length !== undefined || this.#record.landing) return length;
    this.#context.onLost(this);
    await this.#delete();
    throw refusals.uploadUnknown(this.id);
  }

  /** Does nothing if it has landed already. */
  async #land(known: Digests): Promise<void> {
    if (this.isFinished) return;
    const { clock, landingOf } = this.#context;
    this.#isLanding = true;
    try {
      if ((await this.#measured()) !== undefined) await this.#takePlace(known);
      // It has landed, and is not finished before that: the next request waits for it again.
      await (await landingOf(this.subject)).settled?.();
      this.#moved();
      const finished = { finished_at: clock.wall() };
      // It has landed even if the record cannot be written.
      await this.#note(finished).catch(() => undefined);
      this.#record = { ...this.#record, ...finished };
    } finally {
      this.#isLanding = false;
    }
    this.#context.onEnded(this, 'finished');
  }

  /** Renames the part to its target. Before that, the record is told that the part may have landed. */
  async #takePlace(known: Digests): Promise<void> {
    const { transfers, landingOf } = this.#context;
    const { digests: wanted = [] } = await landingOf(this.subject);
    const digests = await this.#verified(known, wanted);
    // The target may have changed while the part was read.
    const landing = await landingOf(this.subject);
    await this.#note({ landing: true });
    try {
      await transfers.place(partPath(this.#place), landing, { size: this.size, digests });
    } catch (error) {
      await this.#note({ landing: false }).catch(() => undefined);
      throw error;
    }
  }

  /** The digests of the part. Refuses (460) and deletes an upload whose digests differ from the promised ones. */
  async #verified(known: Digests, wanted: readonly DigestName[]): Promise<Digests> {
    const promised = this.#record.digests;
    const missing = [...new Set([...wanted, ...this.#promised])].filter((name) => known[name] === undefined);
    const digests =
      missing.length === 0
        ? known
        : await this.#context.disk.run('digestPart', {
            ...this.#place,
            digests: missing,
            cancelled: this.#cancelled,
          });
    if (digests === undefined) throw refusals.uploadUnknown(this.id);
    const wrong = this.#promised.find((name) => digests[name] !== promised[name]);
    if (wrong === undefined) return { ...known, ...digests };
    await this.#delete();
    throw refusals.uploadDigest(wrong);
  }

  async #delete(): Promise<void> {
    await this.#context.disk.run('removeUpload', this.#place);
    this.#isDeleted = true;
    this.#context.onEnded(this, 'deleted');
  }

  get #place(): { folder: string; id: string } {
    return { folder: this.#context.folder, id: this.id };
  }
}

/** Rejects with the reason of the abort. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    });
  });
}
