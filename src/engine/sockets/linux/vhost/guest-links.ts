/** The links of an engine to guests: whom a descriptor belongs to, and who is busy. */
import type { FrameMemory } from '../../../forwarding/frame-memory.js';
import type { Batch, Port } from '../../../forwarding/port.js';
import type { GuestEndpoint } from '../../../forwarding/transport.js';
import type { Poller } from '../poller.js';
import { EventSignal } from './event-signal.js';
import { GuestLink, type GuestHost } from './guest-link.js';

export class GuestLinks {
  readonly #poller: Poller;
  readonly #memory: FrameMemory;
  readonly #byDescriptor = new Map<number, GuestLink>();
  #busy: GuestLink[] = [];
  #host: GuestHost | undefined;
  #signal: EventSignal | undefined;

  constructor(poller: Poller, memory: FrameMemory) {
    this.#poller = poller;
    this.#memory = memory;
  }

  get areBusy(): boolean {
    return this.#busy.length > 0;
  }

  add(endpoint: GuestEndpoint, port: Port, fromLink: (frames: Batch) => void): GuestLink {
    this.#host ??= this.#newHost();
    return new GuestLink(this.#host, endpoint, port, fromLink);
  }

  remove(link: GuestLink): void {
    link.close();
    link.isBusy = false;
    this.#busy = this.#busy.filter((busy) => busy !== link);
  }

  /** Returns whether the descriptor is one of theirs. */
  serve(descriptor: number): boolean {
    const link = this.#byDescriptor.get(descriptor);
    link?.serve(descriptor);
    return link !== undefined;
  }

  /** Serves each busy link once. */
  serveBusy(): void {
    const links = this.#busy;
    this.#busy = [];
    for (const link of links) {
      link.isBusy = false;
      if (link.serveBusy()) this.#keepBusy(link);
    }
  }

  close(): void {
    this.#signal?.close();
  }

  #keepBusy(link: GuestLink): void {
    link.isBusy = true;
    this.#busy.push(link);
  }

  #newHost(): GuestHost {
    const { bytes } = this.#memory;
    this.#signal = new EventSignal();
    return {
      frames: { bytes, words: new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length >>> 2) },
      offloads: this.#memory.offloads,
      poller: this.#poller,
      signal: this.#signal,
      watch: (descriptor, link) => {
        this.#byDescriptor.set(descriptor, link);
      },
      forget: (descriptor) => {
        this.#byDescriptor.delete(descriptor);
      },
      keepBusy: this.#keepBusy.bind(this),
    };
  }
}
