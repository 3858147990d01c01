/** A message port, where threads share no descriptors. */
import { MessageChannel } from 'node:worker_threads';
import type { Bell } from '../../switching/bell.js';

export class PortableBell implements Bell {
  readonly #channel = new MessageChannel();
  readonly ear = this.#channel.port2;

  ring(): void {
    this.#channel.port1.postMessage(null);
  }

  close(): void {
    this.#channel.port1.close();
  }
}
