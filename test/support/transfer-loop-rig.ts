/** A loop that writes uploads, through its tasks and its rings; what its thread would do is done by the test. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { IntRing } from '../../src/base/memory/int-ring.js';
import { newLoopRings, newSlabs, SLAB_LENGTH, slabView } from '../../src/base/memory/transfer-memory.js';
import type { UnpublishedFile } from '../../src/base/disk/published-file.js';
import { slabBytes } from '../../src/files/transfer/slabs.js';
import { TransferLoop } from '../../src/files/transfer/transfer-loop.js';
import type { TransferReport } from '../../src/files/transfer/transfer-orders.js';
import { scratchFolder, type Teardown } from './scratch.js';

const memory = newSlabs();
const octets = slabBytes(memory);
export const FILE_MODE = 0o644;

export class TransferLoopRig {
  readonly folder: string;
  readonly reports: TransferReport[] = [];
  readonly loop: TransferLoop;
  /** The slabs that came back, in order, with their streams. */
  readonly back: (readonly [stream: number, slab: number])[] = [];
  readonly #filled: IntRing;
  readonly #done: IntRing;
  readonly #told: Int32Array;
  #slab = 0;
  #out = 0;

  constructor(t: Teardown, folder = scratchFolder(t)) {
    const rings = newLoopRings();
    this.folder = folder;
    this.#filled = new IntRing(rings.filled);
    this.#done = new IntRing(rings.done);
    this.#told = new Int32Array(rings.told);
    this.loop = new TransferLoop({ slabs: memory, rings }, (report) => this.reports.push(report));
    t.teardown(() => {
      this.loop.finish();
    });
  }

  begin(
    stream: number,
    path: string,
    { size = undefined as number | undefined, root = this.folder } = {},
  ): UnpublishedFile {
    const place = { root, folder: undefined, path, makesFolders: false, temporary: join(root, 'tmp') };
    return this.loop.tasks.begin({ stream, place, size, mode: FILE_MODE, digests: ['sha-256'] });
  }

  append(stream: number, path: string, position: number, size = position): void {
    this.loop.tasks.append({ stream, path, position, size, digests: ['sha'] });
  }

  /** In slabs, the last of which may be part of one. */
  send(stream: number, bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; start += SLAB_LENGTH) {
      const piece = bytes.subarray(start, start + SLAB_LENGTH);
      const slab = this.#slab++ % 1024;
      slabView(octets, slab).set(piece);
      this.#filled.push(stream, slab, piece.length);
      this.#out++;
    }
  }

  /** Rounds until there is nothing to do; returns how many. */
  work(): number {
    for (let rounds = 1; ; rounds++) if (this.loop.round(performance.now()) === Infinity) return rounds;
  }

  /** As the HTTP thread does when it was told of slabs. */
  takeBack(): void {
    Atomics.store(this.#told, 0, 0);
    while (
      this.#done.pull((stream, slab) => {
        this.back.push([stream, slab]);
        this.#out--;
      })
    )
      continue;
  }

  get out(): number {
    this.takeBack();
    return this.#out;
  }

  get unfinished(): string[] {
    return readdirSync(join(this.folder, 'tmp'));
  }
}

/** How many octets this process has given to the system to write. */
export const writtenOctets = (): number =>
  Number(/^wchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
