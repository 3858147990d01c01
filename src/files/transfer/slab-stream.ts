/**
 * A stream of bytes from the HTTP thread to a transfer loop. The bytes are copied into slabs, which the loop writes. A
 * slab is passed on when it is full, or when the loop has nothing of this stream to do: so a fast stream travels in
 * whole slabs, and a slow one holds none. All slabs but the last hold whole pages, for direct writes; the rest waits
 * apart. A second loop may digest the same slabs.
 */
import { refusals } from '../../base/errors/errors.js';
import { PAGE_LENGTH, SLAB_LENGTH } from '../../base/memory/transfer-memory.js';
import { SlabDigest, type SlabDigestOptions } from './slab-digest.js';
import type { Slabs } from './slabs.js';
import type { Written } from './transfer-orders.js';
import type { StreamEnd, TransferThread } from './transfer-thread.js';

/** Stops and restarts the client. */
export interface Throttle {
  pause(): void;
  resume(): void;
}

export interface SlabStreamOptions {
  readonly loop: TransferThread;
  /** The digests that a second loop computes. */
  readonly beside?: SlabDigestOptions | undefined;
  readonly slabs: Slabs;
  readonly throttle: Throttle;
  /** The address of the client, for sharing out the places of the loop. */
  readonly client: string;
  /** How many slabs the stream may hold before its client has to wait. */
  readonly share: () => number;
}

const NOTHING = new Uint8Array();
/** A stream keeps its place among others only while it brings this many bytes. */
const WORTH_A_PLACE = 16 * 1024;

export class SlabStream implements StreamEnd {
  /** This stream's number in the loop. */
  readonly name: number;
  /** Rejects when nothing more of the stream is written. */
  readonly failure: Promise<never>;
  readonly #options: SlabStreamOptions;
  readonly #inFlight = new Set<number>();
  readonly #digest: SlabDigest | undefined;
  #received = 0;
  /** Bytes since it last got on in the loop's places. */
  #little = 0;
  #filling: { readonly slab: number; length: number } | undefined;
  /** Less than a page. */
  #rest = NOTHING;
  #isPaused = false;
  #isFinishing = false;
  #isOver = false;
  #isLost = false;
  #error: { readonly reason: unknown } | undefined;
  #noteFailure: (reason: unknown) => void = () => undefined;
  #noteDrained: (() => void) | undefined;

  constructor(options: SlabStreamOptions) {
    this.#options = options;
    const { loop, beside, slabs, client } = options;
    const name = loop.openStream(this, client);
    if (name === undefined) throw refusals.tooBusy();
    this.name = name;
    try {
      this.#digest = beside === undefined ? undefined : new SlabDigest(beside, slabs, this);
    } catch (error) {
      loop.closeStream(name);
      throw error;
    }
    this.failure = new Promise((_, reject) => {
      this.#noteFailure = reject;
    });
    // Not every caller waits for it.
    this.failure.catch(() => undefined);
  }

  get received(): number {
    return this.#received;
  }

  get mayGiveWay(): boolean {
    return !this.#isPaused && !this.#isFinishing && !this.#isOver && this.#error === undefined;
  }

  /** The loop has died, and left the file of this stream behind. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** The bytes are used only within the call. */
  write(bytes: Uint8Array): void {
    if (this.#error !== undefined || this.#isOver) return;
    this.#received += bytes.length;
    this.#little += bytes.length;
    if (this.#little >= WORTH_A_PLACE) this.#getOn();
    for (let offset = 0; offset < bytes.length;) {
      const filling = this.#slabToFill();
      if (filling === undefined) {
        this.failed(refusals.tooBusy());
        return;
      }
      const { slab, length } = filling;
      const end = Math.min(bytes.length, offset + SLAB_LENGTH - length);
      this.#options.slabs.fill(slab, length, bytes.subarray(offset, end));
      filling.length += end - offset;
      offset = end;
      if (filling.length === SLAB_LENGTH) this.#pass();
    }
    if (this.#held === 0) this.#passPages();
    this.#throttle();
  }

  /** Resolves when everything has been written and digested. */
  async written(): Promise<Written> {
    this.#isFinishing = true;
    this.#passAll();
    // Waits for large writes here, so that `finish` is quick in the thread.
    if (this.#received > SLAB_LENGTH) await this.#drained();
    this.#throwFailure();
    try {
      const [written, digests] = await Promise.all([
        this.#options.loop.ask('finish', { stream: this.name }) as Promise<Written>,
        this.#digest?.finish(),
      ]);
      const { content } = written;
      return { ...written, content: { ...content, digests: { ...content.digests, ...digests } } };
    } catch (error) {
      throw this.#firstReason(error);
    } finally {
      this.#leave();
    }
  }

  /** Ends the stream early; resolves when the loop has let go of it. An appended part keeps what has come. */
  async stop(): Promise<void> {
    if (this.#isOver) return;
    this.#passAll();
    // A loop that has died or is ending has let go of it, too.
    await Promise.all([
      this.#options.loop.ask('drop', { stream: this.name }).catch(() => undefined),
      this.#digest?.drop(),
    ]);
    this.#leave();
  }

  slabDone(slab: number): void {
    if (!this.#inFlight.delete(slab)) return;
    this.#options.slabs.giveBack(slab);
    this.#tellDrained();
    this.digested();
  }

  digested(): void {
    if (this.#held === 0) this.#passPages();
    this.#throttle();
  }

  failed(reason: unknown): void {
    if (this.#error !== undefined) return;
    this.#error = { reason };
    this.#noteFailure(reason);
    this.#noteDrained?.();
  }

  lost(reason: unknown): void {
    this.#isLost = true;
    this.failed(reason);
    this.#giveBackAll();
  }

  #throwFailure(): void {
    if (this.#error !== undefined) throw this.#error.reason;
  }

  /** The loop has let go of the stream, whose number is free again. */
  #leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.loop.closeStream(this.name);
    this.#giveBackAll();
  }

  /** The first failure is the cause: a stream that could not begin cannot finish either. */
  #firstReason(reason: unknown): unknown {
    return this.#error === undefined ? reason : this.#error.reason;
  }

  #slabToFill(): { readonly slab: number; length: number } | undefined {
    if (this.#filling !== undefined) return this.#filling;
    const slab = this.#options.slabs.take();
    if (slab === undefined) return undefined;
    this.#options.slabs.fill(slab, 0, this.#rest);
    this.#filling = { slab, length: this.#rest.length };
    this.#rest = NOTHING;
    return this.#filling;
  }

  /** Passes on all waiting bytes. */
  #passAll(): void {
    if (this.#rest.length > 0 && this.#slabToFill() === undefined) this.failed(refusals.tooBusy());
    this.#pass();
  }

  #passPages(): void {
    const filling = this.#filling;
    if (filling === undefined) return;
    const pages = filling.length - (filling.length % PAGE_LENGTH);
    this.#rest = this.#options.slabs.view(filling.slab, pages, filling.length).slice();
    filling.length = pages;
    if (pages > 0) {
      this.#pass();
    } else {
      this.#filling = undefined;
      this.#options.slabs.giveBack(filling.slab);
    }
  }

  #pass(): void {
    const filling = this.#filling;
    if (filling === undefined) return;
    this.#filling = undefined;
    this.#inFlight.add(filling.slab);
    this.#options.loop.push(this.name, filling.slab, filling.length);
    this.#digest?.push(filling.slab, filling.length);
  }

  /** How many slabs the slower of its loops has. */
  get #held(): number {
    return Math.max(this.#inFlight.size, this.#digest?.held ?? 0);
  }

  #throttle(): void {
    const held = this.#held;
    const { throttle, share } = this.#options;
    const most = share();
    if (!this.#isPaused && held >= most) {
      this.#isPaused = true;
      throttle.pause();
    } else if (this.#isPaused && held <= most / 2) {
      this.#isPaused = false;
      this.#getOn();
      throttle.resume();
    }
  }

  #getOn(): void {
    this.#little = 0;
    this.#options.loop.gotOn(this);
  }

  #drained(): Promise<void> {
    if (this.#inFlight.size === 0 || this.#error !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#noteDrained = resolve;
    });
  }

  #tellDrained(): void {
    if (this.#inFlight.size === 0) this.#noteDrained?.();
  }

  #giveBackAll(): void {
    for (const slab of this.#inFlight) this.#options.slabs.giveBack(slab);
    this.#inFlight.clear();
    if (this.#filling !== undefined) this.#options.slabs.giveBack(this.#filling.slab);
    this.#filling = undefined;
    this.#rest = NOTHING;
  }
}
