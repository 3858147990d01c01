/**
 * All uploads to files. Each upload stays with the loop that had the least to do when it began, and the slabs are shared
 * fairly between all that are on their way.
 */
import { createHash } from 'node:crypto';
import type { Intake } from '../../base/intake.js';
import type { Logger } from 'pino';
import type { MetricPage } from '../../base/metrics/metric-page.js';
import { LoopPool } from '../../base/threads/loop-pool.js';
import { SLABS } from '../../base/memory/transfer-memory.js';
import type { UnpublishedFile } from '../../base/disk/published-file.js';
import {
  atOnce,
  type Content,
  type DigestName,
  type Digests,
  type Landed,
  type Landing,
  type UploadSubject,
} from './landing.js';
import type { Throttle } from './slab-stream.js';
import type { Slabs } from './slabs.js';
import { placeOf, type OpenPart } from './transfer-orders.js';
import { landingInput, Upload, type Disk, type UploadOptions } from './upload.js';
import { TransferThread } from './transfer-thread.js';

/** The fewest and the most slabs that one upload may hold before its client has to wait. */
const LEAST_SHARE = 1;
const MOST_SHARE = 16;
/** Digests that are computed beside the writing, on a loop of their own. */
const BESIDE: readonly DigestName[] = ['md5'];
/** All shares together; the other slabs are for bytes that waiting clients have already sent. */
const SHARED_SLABS = SLABS / 4;

interface TransfersOptions {
  readonly worker: URL;
  readonly slabs: Slabs;
  readonly disk: Disk;
  readonly intake: Pick<Intake, 'check'>;
  /** Whether a file is synced before its upload is answered. */
  readonly isSynced: boolean;
  /** How many bytes of the disk are left free; undefined for the default. */
  readonly floor: number | undefined;
  readonly log: Logger;
}

export interface UploadObserver {
  began(upload: Upload): void;
  ended(upload: Upload, outcome: 'landed' | 'dropped'): void;
}

interface ContentRequest {
  /** The size that the client has given. */
  readonly size?: number | undefined;
  readonly digests: readonly DigestName[];
  /** The address of the client, for sharing out places. */
  readonly client?: string;
}

/** A file with the first bytes of an upload. */
interface Part {
  /** Absolute; the file exists. */
  readonly path: string;
  /** The file is cut here before bytes are appended. */
  readonly position: number;
  readonly subject: UploadSubject;
  /** The size of the whole upload. */
  readonly uploadSize: number;
  /** Digests of the whole part. They are missing when those of its first bytes were lost with their loop. */
  readonly whole?: readonly DigestName[];
}

export class Transfers {
  /** Set once, before anything begins. */
  observer: UploadObserver | undefined;
  readonly #options: TransfersOptions;
  readonly #pool: LoopPool<TransferThread>;
  readonly #digesters: LoopPool<TransferThread>;
  readonly #running = new Set<Upload>();
  readonly #ended = { landed: 0, dropped: 0 };
  /** The loop that digests an upload which comes in several requests. */
  readonly #partDigesters = new WeakMap<UploadSubject, TransferThread>();

  constructor(options: TransfersOptions) {
    this.#options = options;
    const { worker, slabs, floor, log } = options;
    const poolOf = (name: string): LoopPool<TransferThread> =>
      new LoopPool({
        worker,
        newLoop: (run) => new TransferThread({ name, slabs: slabs.memory, floor, run, log }),
      });
    this.#pool = poolOf('thread that writes uploads');
    this.#digesters = poolOf('thread that digests uploads');
  }

  get running(): ReadonlySet<Upload> {
    return this.#running;
  }

  /** Begins an upload to a new file. Its SHA-256 is always computed. */
  begin(landing: Landing, { size, digests, client = '' }: ContentRequest, throttle: Throttle): Upload {
    this.#options.intake.check();
    const loop = this.#pool.leastLoaded;
    const wanted = [...new Set<DigestName>(['sha-256', ...(landing.digests ?? []), ...digests])];
    const parts = { subject: landing.subject, size, throttle, client };
    const upload = this.#newUpload(loop, this.#beside(wanted), parts);
    const input = {
      stream: upload.name,
      place: placeOf(landing),
      size,
      mode: landing.mode,
      digests: withoutBeside(wanted),
    };
    const { disk, isSynced } = this.#options;
    const file = loop.ask('begin', input) as Promise<UnpublishedFile>;
    upload.landsIn({ landing, disk, isSynced, file });
    return this.#watch(upload, file);
  }

  /** Stores a whole small body, which is copied to a disk thread. Refuses digests that differ from the promised ones. */
  async store(landing: Landing, bytes: Uint8Array, promised: Digests): Promise<Landed> {
    const { disk, intake, isSynced } = this.#options;
    intake.check();
    const place = placeOf(landing);
    const { mode, digests = [] } = landing;
    if (landing.check !== undefined) {
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      landing.check({ size: bytes.length, digests: { 'sha-256': sha256 } });
    }
    const input = { place, mode, isSynced, bytes, digests, promised };
    const landed = await (landing.turn ?? atOnce)(() => disk.run('landBytes', input));
    this.#options.log.debug({ subject: landing.subject, bytes: bytes.length }, 'a small file has landed');
    landing.landed?.(landed);
    return landed;
  }

  /** Begins an upload that appends to a part. */
  append(part: Part, { digests, client = '' }: ContentRequest, throttle: Throttle): Upload {
    const { path, position, subject, uploadSize } = part;
    const loop = this.#pool.leastLoaded;
    const beside = this.#beside(digests) ?? this.#besidePart(part);
    const upload = this.#newUpload(loop, beside, { subject, size: uploadSize, throttle, client });
    const input = {
      ...{ stream: upload.name, path, position, size: uploadSize },
      digests: withoutBeside(digests),
    };
    const opened = loop.ask('append', input) as Promise<OpenPart>;
    upload.continues(this.#options.disk, opened);
    return this.#watch(upload, opened);
  }

  /** Gives a complete part the name of the landing. */
  async place(part: string, landing: Landing, content: Content): Promise<Landed> {
    const { disk, isSynced } = this.#options;
    landing.check?.(content);
    const input = { ...landingInput(landing, content, isSynced), part };
    const version = await (landing.turn ?? atOnce)(() => disk.run('landPart', input));
    const landed: Landed = { ...content, version, isUnchanged: false };
    landing.landed?.(landed);
    return landed;
  }

  readonly writeMetrics = (page: MetricPage): void => {
    page.gauge('uploads', 'Uploads that are on their way');
    page.sample(this.#running.size);
    page.counter('uploads_ended', 'Uploads that have ended: landed, or dropped');
    for (const [outcome, count] of Object.entries(this.#ended)) page.sample(count, { outcome });
    page.gauge('slabs_free', 'Buffers for uploads and downloads that are free');
    page.sample(SLABS - this.#options.slabs.taken);
  };

  /** Drops unfinished uploads. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.close(), this.#digesters.close()]);
  }

  #beside(wanted: readonly DigestName[]): UploadOptions['beside'] {
    const digests = wanted.filter((name) => BESIDE.includes(name));
    return digests.length === 0 ? undefined : { loop: this.#digesters.leastLoaded, digests };
  }

  #besidePart({ path, position, subject, whole: digests = [] }: Part): UploadOptions['beside'] {
    if (digests.length === 0) return undefined;
    const loop = this.#partDigesters.get(subject) ?? this.#digesters.leastLoaded;
    this.#partDigesters.set(subject, loop);
    return { loop, digests, part: { path, position } };
  }

  #newUpload(
    loop: TransferThread,
    beside: UploadOptions['beside'],
    parts: Pick<UploadOptions, 'subject' | 'size' | 'throttle' | 'client'>,
  ): Upload {
    return new Upload({
      ...parts,
      loop,
      beside,
      slabs: this.#options.slabs,
      share: () => Math.min(MOST_SHARE, Math.max(LEAST_SHARE, Math.floor(SHARED_SLABS / this.#running.size))),
      onEnded: (ended, outcome) => {
        if (!this.#running.delete(ended)) return;
        this.#ended[outcome]++;
        this.#options.log.debug({ subject: ended.subject, outcome }, 'an upload ended');
        this.observer?.ended(ended, outcome);
      },
    });
  }

  #watch(upload: Upload, begun: Promise<unknown>): Upload {
    this.#running.add(upload);
    this.#options.log.debug({ subject: upload.subject }, 'an upload began');
    this.observer?.began(upload);
    begun.catch((error: unknown) => {
      upload.failed(error);
    });
    return upload;
  }
}

function withoutBeside(wanted: readonly DigestName[]): DigestName[] {
  return wanted.filter((name) => !BESIDE.includes(name));
}
