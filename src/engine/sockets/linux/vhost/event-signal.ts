/**
 * Adds 1 to eventfds of others without ever waiting. A write would wait when the other side has filled the counter of
 * the eventfd and made it blocking, which it can do at any moment: one guest would stand still all labs of an engine. An
 * asynchronous read of nothing has the kernel signal an eventfd when it is done, which does not wait, and fails for
 * anything that is no eventfd.
 */
import koffi from 'koffi';
import { NativeMemory } from '../native-memory.js';
import { FAULT, GuestFault } from './guest-fault.js';

type Call = (number: number, first: number, second: number, third: number) => number;

const CALLS =
  process.arch === 'arm64' ? { setup: 0, destroy: 1, submit: 2 } : { setup: 206, destroy: 207, submit: 209 };
const SLOTS = 16;
/** The words of struct iocb: the descriptor that is read, the flags, and the eventfd. */
const BLOCK = { length: 64, file: 5, flags: 14, event: 15 } as const;
const HAS_EVENT = 1;
/** The words of the ring of results that the kernel shares: the next to be read, and the next to be written. */
const RING = { length: 16, head: 2, tail: 3 } as const;

export class EventSignal {
  readonly #syscall: Call;
  readonly #context: number;
  readonly #block = new NativeMemory(BLOCK.length);
  readonly #blocks = new NativeMemory(8);
  readonly #ring: Uint32Array;

  /** Throws GuestFault when this host has no asynchronous reads. */
  constructor() {
    this.#syscall = koffi.load(null).func('long syscall(long, uintptr_t, uintptr_t, uintptr_t)') as Call;
    const context = new BigUint64Array(1);
    const address = Number(koffi.address(context));
    if (this.#syscall(CALLS.setup, SLOTS, address, 0) !== 0) throw new GuestFault(FAULT.signal);
    this.#context = Number(context[0]);
    this.#ring = new Uint32Array(koffi.view(this.#context, RING.length));
    this.#block.words[BLOCK.flags] = HAS_EVENT;
    this.#blocks.setLong(0, this.#block.address);
  }

  /** The socket is any of our own, of which nothing is read. Returns whether the other descriptor is an eventfd. */
  signal(socket: number, descriptor: number): boolean {
    this.#block.words[BLOCK.file] = socket;
    this.#block.words[BLOCK.event] = descriptor;
    const submitted = this.#syscall(CALLS.submit, this.#context, 1, this.#blocks.address);
    // Nobody is interested in the result, but it takes a slot.
    this.#ring[RING.head] = this.#ring[RING.tail] ?? 0;
    return submitted === 1;
  }

  close(): void {
    this.#syscall(CALLS.destroy, this.#context, 0, 0);
  }
}
