/** The bell of platforms where threads share no descriptors: a message port. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Bell } from '../../forwarding/transport.js';

export class PortableBell implements Bell {
  #rope: MessagePort | undefined;

  /** A port ends with the thread that has it, so every life gets a new one. */
  newListener(): MessagePort {
    this.close();
    const { port1, port2 } = new MessageChannel();
    this.#rope = port1;
    return port2;
  }

  ring(): void {
    this.#rope?.postMessage(null);
  }

  close(): void {
    this.#rope?.close();
    this.#rope = undefined;
  }
}
