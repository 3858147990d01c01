/**
 * The asynchronous I/O of Linux: the disk writes from memory that is known beforehand to files that are opened for
 * direct writes, while the thread does something else. Runs in worker threads.
 */
import koffi from 'koffi';
import { systemCallError } from './linux-files.js';

/** So many writes may be under way. */
const DEPTH = 128;
const CONTROL_BLOCK = {
  size: 64,
  data: 0,
  opcode: 16,
  file: 20,
  buffer: 24,
  length: 32,
  offset: 40,
} as const;
const EVENT = { size: 32, data: 0, result: 16 } as const;
const WRITE = 1;
const AGAIN = 11;
/** The numbers of the system calls io_setup, io_submit and io_getevents. */
const NUMBERS: Readonly<Record<string, readonly [setup: number, submit: number, getEvents: number]>> = {
  x64: [206, 209, 208],
  arm64: [0, 2, 4],
};
/** The thread waits no longer, because other work may have come. */
const LONGEST_WAIT_NS = 2_000_000n;

type SystemCall = (number: number, ...words: number[]) => number;

/** Called when a write is over; without an error, all of it has been written. */
export type OnWritten = (error?: Error) => void;

interface UnderWay {
  readonly length: number;
  readonly onWritten: OnWritten;
}

export class DiskQueue {
  readonly #call: SystemCall;
  readonly #submit: number;
  readonly #getEvents: number;
  readonly #context: number;
  readonly #control = Buffer.alloc(CONTROL_BLOCK.size);
  readonly #list = Buffer.alloc(8);
  readonly #events = Buffer.alloc(DEPTH * EVENT.size);
  readonly #patience = Buffer.alloc(16);
  readonly #addresses;
  readonly #memory: number;
  readonly #underWay = new Map<number, UnderWay>();
  #lastNumber = 0;

  private constructor(
    call: SystemCall,
    [, submit, getEvents]: readonly [number, number, number],
    context: number,
    memory: ArrayBufferLike,
  ) {
    this.#call = call;
    this.#submit = submit;
    this.#getEvents = getEvents;
    this.#context = context;
    this.#memory = addressOf(new Uint8Array(memory));
    this.#addresses = {
      control: addressOf(this.#control),
      list: addressOf(this.#list),
      events: addressOf(this.#events),
      patience: addressOf(this.#patience),
    };
    this.#list.writeBigUInt64LE(BigInt(this.#addresses.control));
    this.#patience.writeBigInt64LE(LONGEST_WAIT_NS, 8);
  }

  /** Opens a queue for writes from this memory. Undefined where the system has no asynchronous I/O. */
  static open(memory: ArrayBufferLike): DiskQueue | undefined {
    const numbers = process.platform === 'linux' ? NUMBERS[process.arch] : undefined;
    if (numbers === undefined) return undefined;
    const call = koffi
      .load(null)
      .func('int64_t syscall(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)') as SystemCall;
    const context = new BigUint64Array(1);
    const made = call(numbers[0], DEPTH, addressOf(context), 0, 0, 0);
    return made === 0 ? new DiskQueue(call, numbers, Number(context[0]), memory) : undefined;
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** Writes bytes of the memory, which must not change until a later `reap` has called `onWritten`. */
  write(fd: number, bytes: Uint8Array, position: number, onWritten: OnWritten): void {
    const number = (this.#lastNumber = (this.#lastNumber + 1) % Number.MAX_SAFE_INTEGER);
    this.#control.fill(0);
    this.#control.writeBigUInt64LE(BigInt(number), CONTROL_BLOCK.data);
    this.#control.writeUInt16LE(WRITE, CONTROL_BLOCK.opcode);
    this.#control.writeUInt32LE(fd, CONTROL_BLOCK.file);
    this.#control.writeBigUInt64LE(BigInt(this.#memory + bytes.byteOffset), CONTROL_BLOCK.buffer);
    this.#control.writeBigUInt64LE(BigInt(bytes.length), CONTROL_BLOCK.length);
    this.#control.writeBigInt64LE(BigInt(position), CONTROL_BLOCK.offset);
    this.#underWay.set(number, { length: bytes.length, onWritten });
    while (this.#call(this.#submit, this.#context, 1, this.#addresses.list, 0, 0) !== 1) {
      const error = koffi.errno();
      if (error !== AGAIN || this.#underWay.size === 1) {
        this.#underWay.delete(number);
        throw systemCallError(error, 'io_submit');
      }
      this.reap(true);
    }
  }

  /** Calls `onWritten` of the writes that are over; with `waits`, it waits a short time for at least one. */
  reap(waits: boolean): void {
    const { events, patience } = this.#addresses;
    if (this.#underWay.size === 0) return;
    const count = this.#call(this.#getEvents, this.#context, waits ? 1 : 0, DEPTH, events, patience);
    for (let index = 0; index < count; index++) {
      const at = index * EVENT.size;
      const number = Number(this.#events.readBigUInt64LE(at + EVENT.data));
      const write = this.#underWay.get(number);
      this.#underWay.delete(number);
      write?.onWritten(errorOf(Number(this.#events.readBigInt64LE(at + EVENT.result)), write.length));
    }
  }
}

function errorOf(result: number, length: number): Error | undefined {
  if (result === length) return undefined;
  return result < 0
    ? systemCallError(-result, 'write')
    : new Error(`the disk took ${result} of ${length} bytes`);
}

function addressOf(bytes: Uint8Array | BigUint64Array): number {
  return Number(koffi.address(bytes));
}
