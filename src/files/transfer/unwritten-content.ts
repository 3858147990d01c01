/** Digests one stream of bytes that is written elsewhere. Runs in a transfer loop. */
import type { OnWritten } from '../../base/disk/disk-queue.js';
import { Digester } from './digester.js';
import type { DigestName } from './landing.js';
import type { Written } from './transfer-orders.js';

export class UnwrittenContent {
  readonly #digester: Digester;
  #size = 0;

  constructor(digests: readonly DigestName[]) {
    this.#digester = new Digester(digests);
  }

  take(bytes: Uint8Array, onDone: OnWritten): boolean {
    this.#digester.update(bytes);
    this.#size += bytes.length;
    onDone();
    return true;
  }

  finish(): Written {
    return { content: { size: this.#size, digests: this.#digester.finish() }, unchanged: undefined };
  }

  close(): void {
    // It has opened nothing.
  }
}
