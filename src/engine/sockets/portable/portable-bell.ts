/** A message port, where threads share no descriptors. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Bell } from '../../forwarding/transport.js';

export class PortableBell implements Bell {
  #rope: MessagePort | undefined;

  /** A port goes with the thread that has it: every life gets another. */
  newEar(): MessagePort {
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
