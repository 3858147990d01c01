/** The bell of Linux: an eventfd(2), and the epoll instance that an engine waits on. The HTTP thread owns both. */
import koffi from 'koffi';
import type { Bell, BellDescriptors } from '../../forwarding/transport.js';
import { EPOLL_CLOEXEC, SOCK_FLAGS } from './constants.js';
import { libc } from './libc.js';
import { NativeMemory } from './native-memory.js';

export class LinuxBell implements Bell {
  readonly #listener: BellDescriptors;
  readonly #one = new NativeMemory(8);
  #isOpen = true;

  constructor() {
    this.#listener = { epoll: libc.epollCreate(EPOLL_CLOEXEC), event: libc.eventfd(0, SOCK_FLAGS) };
    if (this.#listener.epoll < 0 || this.#listener.event < 0) {
      throw new Error(`an engine needs two descriptors: error ${koffi.errno()}`);
    }
    this.#one.setLong(0, 1);
  }

  /** The same for all lives: the next transport finds the descriptors that the previous one has registered. */
  newListener(): BellDescriptors {
    return this.#listener;
  }

  ring(): void {
    // After `close` the number of the descriptor may belong to another file.
    if (this.#isOpen) libc.write(this.#listener.event, this.#one.address, 8);
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    libc.close(this.#listener.epoll);
    libc.close(this.#listener.event);
  }
}
