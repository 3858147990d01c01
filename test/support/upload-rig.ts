/** Resumable uploads without threads and sockets: transfers that write at once, and bodies that a test sends. */
import { createHash, randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, renameSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { Intake } from '../../src/base/intake.js';
import { Channel } from '../../src/base/streams/channel.js';
import type { TaskRunner } from '../../src/base/threads/task-pool.js';
import type { Content, DigestName, Landing } from '../../src/files/transfer/landing.js';
import type { Transfers, UploadObserver } from '../../src/files/transfer/transfers.js';
import type { Upload } from '../../src/files/transfer/upload.js';
import {
  partLoading,
  partTasks,
  type PartLoading,
  type PartTasks,
} from '../../src/files/uploads/part-tasks.js';
import type { UploadClock } from '../../src/files/uploads/resumable-upload.js';
import type {
  UploadBody,
  UploadRecord,
  UploadTarget,
  UploadRequest,
} from '../../src/files/uploads/upload-request.js';
import { Uploads } from '../../src/files/uploads/uploads.js';
import { scratchFolder, type Teardown } from './scratch.js';
import { NO_QUOTAS } from './no-quotas.js';

const ALGORITHMS: Readonly<Record<DigestName, string>> = {
  md5: 'md5',
  sha: 'sha1',
  'sha-256': 'sha256',
  'sha-512': 'sha512',
};

export const hashOf = (name: DigestName, bytes: Uint8Array): string =>
  createHash(ALGORITHMS[name]).update(bytes).digest('hex');

export const TARGET: UploadTarget = { emulator: 'qemu', filename: 'a.img' };

export function wishOf(size: number, more: Partial<UploadRequest> = {}): UploadRequest {
  return { size, target: { ...TARGET }, digests: {}, metadata: '', ...more };
}

export function recordOf(size: number, more: Partial<UploadRecord> = {}): UploadRecord {
  return {
    upload_id: randomUUID(),
    target: { ...TARGET },
    size,
    digests: {},
    metadata: '',
    landing: false,
    started_at: Date.now(),
    finished_at: null,
    ...more,
  };
}

/** A transfer that has written whatever it was given. */
class WrittenUpload {
  readonly id = randomUUID();
  readonly startedAt = Date.now();
  readonly failure: Promise<never>;
  fail: (error: Error) => void = () => undefined;
  received = 0;
  readonly #bytes: Uint8Array[] = [];

  constructor(
    readonly subject: Upload['subject'],
    readonly size: number | undefined,
    private readonly path: string,
    private readonly digests: readonly DigestName[],
    /** The digests of the whole part. */
    private readonly whole: readonly DigestName[],
    private readonly end: () => void,
  ) {
    this.failure = new Promise((_, reject) => {
      this.fail = reject;
    });
    this.failure.catch(() => undefined);
  }

  write(bytes: Uint8Array): void {
    appendFileSync(this.path, bytes);
    this.#bytes.push(bytes.slice());
    this.received += bytes.length;
  }

  finish(): Promise<Content> {
    this.end();
    const all = Buffer.concat(this.#bytes);
    const part = readFileSync(this.path);
    const digests = Object.fromEntries([
      ...this.whole.map((name) => [name, hashOf(name, part)]),
      ...this.digests.map((name) => [name, hashOf(name, all)]),
    ]) as Content['digests'];
    return Promise.resolve({ size: all.length, digests });
  }

  drop(): Promise<void> {
    this.end();
    return Promise.resolve();
  }
}

/** A body of which the test decides what comes when. */
export class SentBody implements UploadBody {
  readonly throttle = { pause: (): void => undefined, resume: (): void => undefined };
  /** Resolves when somebody takes the bytes. */
  readonly taken: Promise<void>;
  readonly length: number | undefined;
  readonly client = '';
  #sink: { write(bytes: Uint8Array): void } | undefined;
  #noteTaken: () => void = () => undefined;
  #end: () => void = () => undefined;
  #vanish: (error: unknown) => void = () => undefined;

  constructor(length?: number) {
    this.length = length;
    this.taken = new Promise((resolve) => {
      this.#noteTaken = resolve;
    });
  }

  /** A body that is there as a whole. */
  static of(bytes: Uint8Array, isDeclared = true): SentBody {
    const body = new SentBody(isDeclared ? bytes.length : undefined);
    void body.taken.then(() => {
      if (bytes.length > 0) body.send(bytes);
      body.end();
    });
    return body;
  }

  async into(sink: { write(bytes: Uint8Array): void }, failure: Promise<never>): Promise<void> {
    this.#sink = sink;
    const whole = new Promise<void>((resolve, reject) => {
      this.#end = resolve;
      this.#vanish = reject;
    });
    this.#noteTaken();
    try {
      await Promise.race([whole, failure]);
    } finally {
      this.#sink = undefined;
    }
  }

  send(bytes: Uint8Array): void {
    try {
      this.#sink?.write(bytes);
    } catch (error) {
      this.#vanish(error);
    }
  }

  end(): void {
    this.#end();
  }

  vanish(): void {
    this.#vanish(new Error('the client went away'));
  }
}

/** Events come in slices of a turn, so the last ones may come in the turn after that. */
export async function toldEverything(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export interface UploadRig {
  readonly folder: string;
  /** Where everything lands, by its name. */
  readonly target: string;
  readonly uploads: Uploads;
  readonly events: { readonly action: string; readonly event: Record<string, unknown> }[];
  readonly landed: Content[];
  readonly appended: WrittenUpload[];
  /** Once set, landing throws this. */
  refuse: Error | undefined;
  observer: UploadObserver | undefined;
  readonly tasks: string[];
  readonly warnings: unknown[];
  /** How often what it lands in is held at the moment. */
  holds: number;
}

export function uploadRig(
  t: Teardown,
  options: {
    folder?: string;
    lifetimeMs?: number;
    disk?: PartTasks;
    clock?: UploadClock;
    digests?: readonly DigestName[];
  } = {},
): UploadRig {
  const scratch = scratchFolder(t);
  const folder = options.folder ?? join(scratch, 'uploads');
  const target = join(scratch, 'landed.img');
  const announcements = new Channel();
  const landing: Omit<Landing, 'subject'> = {
    root: scratch,
    path: 'landed.img',
    makesFolders: false,
    temporary: folder,
    mode: 0o644,
    digests: options.digests ?? [],
  };
  const disk = options.disk ?? partTasks;
  const transfers = {
    observer: undefined as UploadObserver | undefined,
    append: ({ path, position, subject, uploadSize, whole = [] }, { digests }) => {
      truncateSync(path, position);
      const upload: WrittenUpload = new WrittenUpload(subject, uploadSize, path, digests, whole, () => {
        transfers.observer?.ended(upload as unknown as Upload, 'landed');
      });
      rig.appended.push(upload);
      transfers.observer?.began(upload as unknown as Upload);
      return upload as unknown as Upload;
    },
    place: (part, _, content) => {
      if (rig.refuse !== undefined) return Promise.reject(rig.refuse);
      renameSync(part, target);
      rig.landed.push(content);
      return Promise.resolve({ ...content, version: '1', isUnchanged: false });
    },
  } satisfies Pick<Transfers, 'append' | 'place' | 'observer'>;
  const rig: UploadRig = {
    folder,
    target,
    events: [],
    landed: [],
    appended: [],
    tasks: [],
    warnings: [],
    holds: 0,
    refuse: undefined,
    observer: undefined,
    uploads: new Uploads({
      quotas: NO_QUOTAS,
      intake: new Intake(),
      folder,
      announcements,
      transfers,
      log: { warn: (facts: unknown) => rig.warnings.push(facts) } as Pick<Logger, 'warn'>,
      disk: {
        run: (name: keyof PartTasks & string, input: never) => {
          rig.tasks.push(name);
          return Promise.resolve(undefined).then(() => disk[name]?.(input));
        },
      } as TaskRunner<PartTasks>,
      files: {
        run: (name: 'loadParts', input: never) => Promise.resolve(partLoading[name](input)),
      } as TaskRunner<PartLoading>,
      landingOf: (subject) => ({
        ...landing,
        subject,
        hold: () => {
          rig.holds++;
          return () => {
            rig.holds--;
          };
        },
      }),
      ...(options.clock === undefined ? {} : { clock: options.clock }),
      ...(options.lifetimeMs === undefined ? {} : { lifetimeMs: options.lifetimeMs }),
    }),
  };
  announcements.subscribe((line) => {
    rig.events.push(JSON.parse(line) as UploadRig['events'][number]);
  });
  rig.observer = transfers.observer;
  t.teardown(() => rig.uploads.close());
  return rig;
}
