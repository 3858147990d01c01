/** Uploads through real threads, into a folder of the test's own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { Intake } from '../../src/base/intake.js';
import { TaskPool } from '../../src/base/threads/task-pool.js';
import type { DiskTasks } from '../../src/files/transfer/disk-tasks.js';
import type { DigestName, Landing, UploadSubject } from '../../src/files/transfer/landing.js';
import type { Throttle } from '../../src/files/transfer/slab-stream.js';
import { Slabs } from '../../src/files/transfer/slabs.js';
import { Transfers } from '../../src/files/transfer/transfers.js';
import type { Upload } from '../../src/files/transfer/upload.js';
import { eventually } from './eventually.js';
import { scratchFolder, type Teardown } from './scratch.js';

const TRANSFER_WORKER = new URL('../../workers/transfer-worker.js', import.meta.url);
const DISK_WORKER = new URL('../../workers/disk-worker.js', import.meta.url);
export const FAULTY_TRANSFER_WORKER = new URL('./faulty-transfer-worker.js', import.meta.url);

const PIECE = 50_000;

/** Waits as a client would. */
export class CountingThrottle implements Throttle {
  pauses = 0;
  resumes = 0;
  #note: () => void = () => undefined;
  #ready = Promise.resolve();

  pause(): void {
    this.pauses++;
    this.#ready = new Promise((resolve) => {
      this.#note = resolve;
    });
  }

  resume(): void {
    this.resumes++;
    this.#note();
  }

  get isPaused(): boolean {
    return this.pauses > this.resumes;
  }

  /** Resolves while the client may send. */
  get ready(): Promise<void> {
    return this.#ready;
  }
}

/** An upload, and the client of it. */
export interface Sending {
  readonly upload: Upload;
  readonly throttle: CountingThrottle;
  /** Sends all of it, as fast as it may; ends early when the upload has failed. */
  readonly send: (bytes: Uint8Array) => Promise<void>;
}

export class LiveTransfers {
  readonly root: string;
  readonly temporary: string;
  readonly slabs = new Slabs();
  readonly disk: TaskPool<DiskTasks>;
  readonly transfers: Transfers;
  /** The calls of the observer, with the path. */
  readonly told: string[] = [];
  readonly log: string[] = [];

  constructor(t: Teardown, { worker = TRANSFER_WORKER, root = scratchFolder(t), isSynced = false } = {}) {
    this.root = root;
    this.temporary = join(root, 'tmp');
    this.disk = new TaskPool<DiskTasks>({
      worker: DISK_WORKER,
      threads: 2,
      queueLimit: 1000,
      readyThreads: 0,
      workerData: { slabs: this.slabs.memory },
    });
    this.transfers = new Transfers({
      worker,
      slabs: this.slabs,
      disk: this.disk,
      intake: new Intake(),
      isSynced,
      floor: undefined,
      log: pino({ level: 'error' }, { write: (line: string) => this.log.push(line) }),
    });
    const pathOf = ({ subject }: Upload): string => ('path' in subject ? subject.path : '');
    this.transfers.observer = {
      began: (upload) => this.told.push(`began ${pathOf(upload)}`),
      ended: (upload, outcome) => this.told.push(`${outcome} ${pathOf(upload)}`),
    };
    t.teardown(async () => {
      await this.transfers.close();
      await this.disk.close();
    });
  }

  landing(path: string, more: Partial<Landing> = {}): Landing {
    return {
      root: this.root,
      path,
      makesFolders: false,
      temporary: this.temporary,
      mode: 0o644,
      subject: { project_id: 'p', path },
      ...more,
    };
  }

  begin(
    path: string,
    want: { size?: number; digests?: readonly DigestName[] } = {},
    more: Partial<Landing> = {},
  ): Sending {
    const throttle = new CountingThrottle();
    return sending(
      this.transfers.begin(this.landing(path, more), { digests: [], ...want }, throttle),
      throttle,
    );
  }

  append(
    path: string,
    position: number,
    digests: readonly DigestName[] = [],
    more: { subject?: UploadSubject; whole?: readonly DigestName[] } = {},
  ): Sending {
    const throttle = new CountingThrottle();
    const part = { path, position, subject: { project_id: 'p', path }, uploadSize: 1e9, ...more };
    return sending(this.transfers.append(part, { digests }, throttle), throttle);
  }

  content(path: string): Buffer {
    return readFileSync(join(this.root, path));
  }

  /** The unfinished files there. */
  get unfinished(): string[] {
    return readdirSync(this.temporary);
  }

  async allGivenBack(): Promise<void> {
    await eventually('every slab is given back', () => (this.slabs.taken === 0 ? true : undefined));
  }
}

function sending(upload: Upload, throttle: CountingThrottle): Sending {
  const failed = upload.failure.catch(() => undefined);
  return {
    upload,
    throttle,
    async send(bytes) {
      for (let start = 0; start < bytes.length; start += PIECE) {
        upload.write(bytes.subarray(start, start + PIECE));
        await Promise.race([throttle.ready, failed]);
      }
    },
  };
}
