/** Waits for descriptors by epoll, with microsecond precision. */
import koffi from 'koffi';
import {
  EPOLL_CTL_ADD,
  EPOLL_CTL_DEL,
  EPOLL_CTL_MOD,
  EPOLL_EVENT,
  EPOLLET,
  EPOLLIN,
  EPOLLONESHOT,
  PR_SET_TIMERSLACK,
} from './constants.js';
import { libc } from './libc.js';
import { NativeMemory } from './native-memory.js';

/** More links than are ready at the same time: all ready links are served before one is served again. */
const MOST_EVENTS = 1024;
const MICROSECONDS = 1e6;

type Wait = (epoll: number, events: number, count: number, timeout: number, signals: number) => number;

export class Poller {
  readonly #epoll: number;
  readonly #events = new NativeMemory(MOST_EVENTS * EPOLL_EVENT.size + EPOLL_EVENT.size);
  readonly #change = new NativeMemory(16);
  readonly #timeout = new NativeMemory(16);
  readonly #wait: Wait | undefined;
  readonly #waitCoarsely: Wait;

  /** The caller closes the epoll instance. */
  constructor(epoll: number) {
    this.#epoll = epoll;
    this.#wait = declareWait();
    this.#waitCoarsely = koffi
      .load(null)
      .func('int epoll_pwait(int, uintptr_t, int, int, uintptr_t)') as Wait;
    // Otherwise the kernel may end every wait up to 50 microseconds late.
    libc.prctl(PR_SET_TIMERSLACK, 1);
  }

  /** Whether this kernel supports waits of less than a millisecond. */
  get isPrecise(): boolean {
    return this.#wait !== undefined;
  }

  /** The descriptor may be there already, and disarmed, from an engine that has died. */
  add(descriptor: number): void {
    if (this.#control(EPOLL_CTL_ADD, descriptor, EPOLLIN) !== 0) this.arm(descriptor);
  }

  /** Tells each arrival once, though nothing is ever read. */
  watchArrivals(descriptor: number): void {
    this.#control(EPOLL_CTL_ADD, descriptor, EPOLLIN | EPOLLET);
  }

  remove(descriptor: number): void {
    this.#control(EPOLL_CTL_DEL, descriptor, 0);
  }

  /** Ignores a descriptor until it is armed again. */
  disarm(descriptor: number): void {
    this.#control(EPOLL_CTL_MOD, descriptor, EPOLLONESHOT);
  }

  arm(descriptor: number): void {
    this.#control(EPOLL_CTL_MOD, descriptor, EPOLLIN);
  }

  /** Returns the number of ready descriptors; `descriptorAt` returns each of them. */
  wait(milliseconds: number): number {
    const { address } = this.#events;
    if (this.#wait === undefined) {
      return this.#waitCoarsely(this.#epoll, address, MOST_EVENTS, Math.ceil(milliseconds), 0);
    }
    const seconds = Math.floor(milliseconds / 1000);
    this.#timeout.setLong(0, seconds);
    this.#timeout.setLong(8, Math.floor((milliseconds - seconds * 1000) * MICROSECONDS));
    return this.#wait(this.#epoll, address, MOST_EVENTS, this.#timeout.address, 0);
  }

  descriptorAt(index: number): number {
    return this.#events.words[(index * EPOLL_EVENT.size + EPOLL_EVENT.data) >> 2] ?? -1;
  }

  #control(operation: number, descriptor: number, events: number): number {
    this.#change.words[0] = events;
    this.#change.words[EPOLL_EVENT.data >> 2] = descriptor;
    return libc.epollControl(this.#epoll, operation, descriptor, this.#change.address);
  }
}

/** Needs Linux 5.11 and glibc 2.35. */
function declareWait(): Wait | undefined {
  try {
    return koffi.load(null).func('int epoll_pwait2(int, uintptr_t, int, uintptr_t, uintptr_t)') as Wait;
  } catch {
    return undefined;
  }
}
