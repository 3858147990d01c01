/** Lets a test say when the writes that the disk does by itself are told of, and which of them fails. */
import { SLAB_LENGTH } from '../../src/base/memory/transfer-memory.js';
import { DiskQueue } from '../../src/base/disk/disk-queue.js';
import { systemCallError } from '../../src/base/disk/linux-files.js';
import type { Teardown } from './scratch.js';

type Write = DiskQueue['write'];
type Reap = DiskQueue['reap'];

/** No file is as long. */
const BEYOND = 2 ** 63 - 2 * SLAB_LENGTH;
const NO_SPACE = 28;

export class HeldDisk {
  #isHeld = false;
  /** The queue that was written to last. */
  #queue: DiskQueue | undefined;
  #left = Infinity;
  #failing: number | undefined;
  #way: 'beyond' | 'full' = 'beyond';

  constructor(t: Teardown) {
    const write: unknown = Reflect.get(DiskQueue.prototype, 'write');
    const reap: unknown = Reflect.get(DiskQueue.prototype, 'reap');
    const see = this.#see.bind(this);
    const isHeld = (): boolean => this.#isHeld;
    Reflect.set(DiskQueue.prototype, 'write', function (this: DiskQueue, ...given: Parameters<Write>): void {
      (write as Write).apply(this, see(this, given));
    });
    Reflect.set(DiskQueue.prototype, 'reap', function (this: DiskQueue, waits: boolean): void {
      if (!isHeld()) (reap as Reap).call(this, waits);
    });
    t.teardown(() => {
      Reflect.set(DiskQueue.prototype, 'write', write);
      Reflect.set(DiskQueue.prototype, 'reap', reap);
    });
  }

  get underWay(): number {
    return this.#queue?.underWay ?? 0;
  }

  /** From now on nobody is told of anything. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  /** The write of that number from now on fails when it is under way, and so do all later ones to its file. */
  fails(way: 'beyond' | 'full', count: number): void {
    this.#way = way;
    this.#left = count;
    this.#failing = undefined;
  }

  #see(queue: DiskQueue, given: Parameters<Write>): Parameters<Write> {
    this.#queue = queue;
    const [fd, bytes, position, onWritten] = given;
    if (--this.#left === 0) this.#failing = fd;
    if (fd !== this.#failing) return given;
    if (this.#way === 'beyond') return [fd, bytes, BEYOND, onWritten];
    return [
      fd,
      bytes,
      position,
      () => {
        onWritten(systemCallError(NO_SPACE, 'write'));
      },
    ];
  }
}
