/**
 * A port whose far end is the memory of a guest: it listens for the program around the guest, and moves frames between
 * the queues of the guest and frame memory. A guest that breaks the rules is cut off, and may connect again.
 */
import { GUEST_WORD, GuestRecord } from '../../../../base/memory/guest-record.js';
import { COUNTER } from '../../../../base/memory/port-counters.js';
import { SLAB_LENGTH } from '../../../forwarding/frame-memory.js';
import type { Offloads } from '../../../forwarding/offloads.js';
import { Batch, BATCH_FRAMES, type Port } from '../../../forwarding/port.js';
import type { GuestEndpoint, Link } from '../../../forwarding/transport.js';
import { offloadOf, piecesOf, type Offload } from '../../../wire/offload.js';
import { SOCK_FLAGS } from '../constants.js';
import { libc } from '../libc.js';
import type { OffloadHeader } from '../offload-header.js';
import type { Poller } from '../poller.js';
import type { EventSignal } from './event-signal.js';
import { GuestConnection, QUEUE } from './guest-connection.js';
import { FAULT, GuestFault } from './guest-fault.js';
import { closeHeld } from './held-resources.js';
import type { Octets } from './octets.js';

/** A batch ends when it holds this many bytes, or when the guest made this many descriptors of it. */
const BATCH_BYTES = 262_144;
const BATCH_DESCRIPTORS = 4096;
const CACHE_LINE = 64;

/** The things that all guests of an engine share. */
export interface GuestHost {
  readonly frames: Octets;
  readonly offloads: Offloads;
  readonly poller: Poller;
  readonly signal: EventSignal;
  /** Has this link called for these descriptors. */
  watch(descriptor: number, link: GuestLink): void;
  forget(descriptor: number): void;
  /** Has this link served in every turn until it rests. */
  keepBusy(link: GuestLink): void;
}

interface OffloadedFrame {
  readonly offset: number;
  readonly offload: Offload;
}

export class GuestLink implements Link {
  readonly endpoint: GuestEndpoint;
  /** Whether it is looked at in every turn. The guest need not kick then. */
  isBusy = false;
  readonly #host: GuestHost;
  readonly #port: Port;
  readonly #fromLink: (frames: Batch) => void;
  readonly #record: GuestRecord;
  readonly #batch = new Batch();
  /** The number of frames that the batch makes when everything in it is cut. */
  #pieces = 0;
  readonly #offloaded: OffloadedFrame[] = [];
  /** The frame behind the batch, of which the pieces would not fit in as well. */
  #late: (OffloadedFrame & { readonly length: number }) | undefined;
  #connection: GuestConnection | undefined;

  constructor(host: GuestHost, endpoint: GuestEndpoint, port: Port, fromLink: (frames: Batch) => void) {
    this.#host = host;
    this.endpoint = endpoint;
    this.#port = port;
    this.#fromLink = fromLink;
    this.#record = new GuestRecord(endpoint.record);
    closeHeld(this.#record, host.poller);
    this.#listen();
  }

  /** A guest that is not there takes everything. */
  get takesOffloads(): boolean {
    return this.#connection?.takesOffloads ?? true;
  }

  /** Call when one of its descriptors is ready. */
  serve(descriptor: number): void {
    if (descriptor === this.endpoint.descriptor) this.#accept();
    else if (descriptor === this.#connection?.descriptor) this.#converse(this.#connection);
    else this.#wake();
  }

  /** Hands over a batch of what the guest has sent; false when there was nothing, and the guest will kick. */
  serveBusy(): boolean {
    return this.#guarded(() => this.#receive() || this.#staysAwake()) ?? false;
  }

  send(port: Port, { offsets, lengths, count }: Batch): void {
    const ring = this.#connection?.ring(QUEUE.received);
    const { frames, offloads } = this.#host;
    let done = 0;
    let sent = 0;
    let octets = 0;
    if (ring !== undefined) {
      this.#guarded(() => {
        ring.look();
        for (; done < count; done++) {
          const length = lengths[done] ?? 0;
          const offset = offsets[done] ?? 0;
          const offload = offloads.isEmpty ? undefined : offloads.at(offset)?.offload;
          const result = ring.put(frames, offset, length, offload);
          if (result === 'no room') {
            port.count(COUNTER.send_buffer_full, count - done);
            break;
          }
          if (result === 'too long') port.count(COUNTER.too_big_for_route);
          else {
            sent++;
            octets += length;
          }
        }
        done = count;
        if (ring.publish()) this.#call(QUEUE.received);
      });
    }
    port.count(COUNTER.frames_out, sent);
    port.count(COUNTER.octets_out, octets);
    if (done < count) port.count(COUNTER.send_failed, count - done);
  }

  close(): void {
    this.#disconnect();
    this.#host.forget(this.endpoint.descriptor);
  }

  #listen(): void {
    this.#host.watch(this.endpoint.descriptor, this);
    this.#host.poller.add(this.endpoint.descriptor);
  }

  /** Takes the next connection. Others wait until it is over. */
  #accept(): void {
    const descriptor = libc.accept(this.endpoint.descriptor, 0, 0, SOCK_FLAGS);
    if (descriptor < 0) return;
    const { poller } = this.#host;
    poller.remove(this.endpoint.descriptor);
    this.#host.watch(descriptor, this);
    poller.add(descriptor);
    this.#connection = new GuestConnection({
      ...{ descriptor, record: this.#record, poller, mostMemory: this.endpoint.mostMemory },
      onKick: (kick, isThere) => {
        if (isThere) {
          this.#host.watch(kick, this);
          poller.watchArrivals(kick);
        } else {
          poller.remove(kick);
          this.#host.forget(kick);
        }
      },
    });
  }

  #converse(connection: GuestConnection): void {
    const isThere = this.#guarded(() => {
      if (!connection.receive()) return false;
      connection.ring(QUEUE.received)?.wantKicks(false);
      return true;
    });
    if (isThere === true) this.#wake();
    else if (isThere === false) this.#hangUp();
  }

  #wake(): void {
    const ring = this.#connection?.ring(QUEUE.sent);
    if (ring === undefined || this.isBusy) return;
    ring.wantKicks(false);
    this.#host.keepBusy(this);
  }

  /** Asks for a kick, and looks once more: what came just before brings none. */
  #staysAwake(): boolean {
    const ring = this.#connection?.ring(QUEUE.sent);
    if (ring === undefined) return false;
    ring.wantKicks(true);
    if (ring.look() === 0) return false;
    ring.wantKicks(false);
    return true;
  }

  #receive(): boolean {
    const ring = this.#connection?.ring(QUEUE.sent);
    const waiting = Math.min(ring?.look() ?? 0, BATCH_FRAMES);
    if (ring === undefined || waiting === 0) return false;
    const { frames } = this.#host;
    const port = this.#port;
    this.#batch.count = 0;
    this.#pieces = 0;
    this.#offloaded.length = 0;
    this.#late = undefined;
    let at = 0;
    let octets = 0;
    let taken = 0;
    let isFull = false;
    while (taken < waiting && !isFull && at < BATCH_BYTES && ring.steps <= BATCH_DESCRIPTORS) {
      const length = ring.take(frames, at, SLAB_LENGTH);
      taken++;
      if (length > 0) {
        octets += length;
        isFull = !this.#add(at, length, ring.header);
        at += Math.ceil(length / CACHE_LINE) * CACHE_LINE;
      } else port.count(length === 0 ? COUNTER.empty : COUNTER.oversize);
    }
    port.count(COUNTER.frames_in, taken);
    port.count(COUNTER.octets_in, octets);
    if (ring.publish()) this.#call(QUEUE.sent);
    this.#handOver();
    return true;
  }

  /** Puts a frame into the batch, or behind it; false when there is no room for another one. */
  #add(offset: number, length: number, header: OffloadHeader): boolean {
    const batch = this.#batch;
    if (header.isPlain) this.#pieces++;
    else {
      const offload = offloadOf(this.#host.frames.bytes, offset, length, header.request);
      if (offload === undefined) {
        this.#port.count(COUNTER.malformed);
        return true;
      }
      this.#pieces += piecesOf(offload, length);
      if (this.#pieces > BATCH_FRAMES && batch.count > 0) {
        this.#late = { offset, length, offload };
        return false;
      }
      this.#offloaded.push({ offset, offload });
    }
    batch.add(offset, length);
    return this.#pieces < BATCH_FRAMES;
  }

  /** The guest may be cut off by what follows, so that its queues are not there any more. */
  #handOver(): void {
    const batch = this.#batch;
    const { offloads } = this.#host;
    for (const { offset, offload } of this.#offloaded) offloads.note(offset, offload);
    if (batch.count > 0) this.#fromLink(batch);
    if (this.#late === undefined) return;
    const { offset, length, offload } = this.#late;
    offloads.note(offset, offload);
    batch.count = 0;
    batch.add(offset, length);
    this.#fromLink(batch);
  }

  #call(queue: 0 | 1): void {
    const event = this.#connection?.call(queue);
    if (event === undefined) return;
    if (!this.#host.signal.signal(this.endpoint.descriptor, event)) throw new GuestFault(FAULT.signal);
  }

  /** Cuts the guest off when it breaks the rules; returns undefined then. */
  #guarded<Result>(work: () => Result): Result | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof GuestFault)) throw error;
      Atomics.store(this.#record.words, GUEST_WORD.fault, error.fault);
      Atomics.notify(this.#record.words, GUEST_WORD.fault);
      this.#hangUp();
      return undefined;
    }
  }

  #hangUp(): void {
    this.#disconnect();
    this.#listen();
  }

  #disconnect(): void {
    const connection = this.#connection;
    if (connection === undefined) {
      this.#host.poller.remove(this.endpoint.descriptor);
      return;
    }
    this.#connection = undefined;
    this.#host.forget(connection.descriptor);
    connection.close();
  }
}
