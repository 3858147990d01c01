/**
 * The digests of a stream that a second loop computes from the slabs which the first one writes: MD5 takes longer than
 * SHA-256 and the write together. A slab is free when both loops are done with it.
 */
import { refusals } from '../../base/errors/errors.js';
import type { DigestName, Digests } from './landing.js';
import type { Slabs } from './slabs.js';
import type { DigestedPart, Written } from './transfer-orders.js';
import type { StreamEnd, TransferThread } from './transfer-thread.js';

export interface SlabDigestOptions {
  readonly loop: TransferThread;
  readonly digests: readonly DigestName[];
  /** The part whose digests these are, when they are not those of the stream. */
  readonly part?: DigestedPart | undefined;
}

/** The stream whose bytes are digested. */
interface DigestedStream {
  failed(reason: unknown): void;
  /** The second loop is done with a slab. */
  digested(): void;
}

export class SlabDigest implements StreamEnd {
  readonly mayGiveWay = false;
  readonly #loop: TransferThread;
  readonly #slabs: Slabs;
  readonly #stream: DigestedStream;
  readonly #name: number;
  readonly #inFlight = new Set<number>();
  #isOver = false;

  constructor({ loop, digests, part }: SlabDigestOptions, slabs: Slabs, stream: DigestedStream) {
    this.#loop = loop;
    this.#slabs = slabs;
    this.#stream = stream;
    const name = loop.openStream(this, undefined);
    if (name === undefined) throw refusals.tooBusy();
    this.#name = name;
    loop.ask('digest', { stream: name, digests, part }).catch((error: unknown) => {
      stream.failed(error);
    });
  }

  /** How many slabs it holds. */
  get held(): number {
    return this.#inFlight.size;
  }

  /** Has this many bytes of a slab digested that its stream holds. */
  push(slab: number, length: number): void {
    this.#slabs.share(slab);
    this.#inFlight.add(slab);
    this.#loop.push(this.#name, slab, length);
  }

  /** Resolves when everything has been digested. */
  async finish(): Promise<Digests> {
    try {
      const { content } = (await this.#loop.ask('finish', { stream: this.#name })) as Written;
      return content.digests;
    } finally {
      this.#leave();
    }
  }

  /** Resolves when the loop has let go of it. */
  async drop(): Promise<void> {
    if (this.#isOver) return;
    // A loop that has died or is ending has let go of it, too.
    await this.#loop.ask('drop', { stream: this.#name }).catch(() => undefined);
    this.#leave();
  }

  slabDone(slab: number): void {
    if (!this.#inFlight.delete(slab)) return;
    this.#slabs.giveBack(slab);
    this.#stream.digested();
  }

  failed(reason: unknown): void {
    this.#stream.failed(reason);
  }

  lost(reason: unknown): void {
    this.#stream.failed(reason);
    this.#giveBackAll();
  }

  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#loop.closeStream(this.#name);
    this.#giveBackAll();
  }

  #giveBackAll(): void {
    for (const slab of this.#inFlight) this.#slabs.giveBack(slab);
    this.#inFlight.clear();
  }
}
