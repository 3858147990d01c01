/** Digests one stream of bytes that is written elsewhere. Runs in a transfer loop. */
import type { OnWritten } from '../../base/disk/disk-queue.js';
import { Digester } from './digester.js';
import type { DigestName } from './landing.js';
import type { Written } from './transfer-orders.js';

export class UnwrittenContent {
  readonly #names: readonly DigestName[];
  readonly #digester: Digester;
  #size = 0;

  constructor(digests: readonly DigestName[]) {
    this.#names = digests;
    this.#digester = new Digester(digests);
  }

  get size(): number {
    return this.#size;
  }

  take(bytes: Uint8Array, onDone: OnWritten): boolean {
    this.#digester.update(bytes);
    this.#size += bytes.length;
    onDone();
    return true;
  }

  /** The digests of the bytes up to now; more may come. */
  finish(): Written {
    const digests = Object.fromEntries(this.#names.map((name) => [name, this.#digester.soFar(name)]));
    return { content: { size: this.#size, digests }, unchanged: undefined };
  }

  close(): void {
    // It has opened nothing.
  }
}
