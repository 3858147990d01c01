/**
 * A port whose far end is the memory of a guest: it listens for the program around the guest, and moves frames between
 * the queues of the guest and frame memory. A guest that breaks the rules is cut off, and may connect again.
 */
import { GUEST_WORD, GuestRecord } from '../../../../base/memory/guest-record.js';
import { COUNTER } from '../../../../base/memory/port-counters.js';
import { SLAB_LENGTH, SLABS_LENGTH } from '../../../forwarding/frame-memory.js';
import { Batch, BATCH_FRAMES, type Port } from '../../../forwarding/port.js';
import type { GuestEndpoint, Link } from '../../../forwarding/transport.js';
import { SOCK_FLAGS } from '../constants.js';
import { libc } from '../libc.js';
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
  readonly poller: Poller;
  readonly signal: EventSignal;
  /** Has this link called for these descriptors. */
  watch(descriptor: number, link: GuestLink): void;
  forget(descriptor: number): void;
  /** Has this link served in every turn until it rests. */
  keepBusy(link: GuestLink): void;
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
    let done = 0;
    let octets = 0;
    if (ring !== undefined) {
      this.#guarded(() => {
        ring.look();
        for (; done < count; done++) {
          const length = lengths[done] ?? 0;
          const result = ring.put(this.#host.frames, offsets[done] ?? 0, length);
          if (result === 'no room') {
            port.count(COUNTER.send_buffer_full, count - done);
            break;
          }
          if (result === 'too long') port.count(COUNTER.too_big_for_route);
          else {
            port.count(COUNTER.frames_out);
            octets += length;
          }
        }
        done = count;
        if (ring.publish()) this.#call(QUEUE.received);
      });
    }
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
    const batch = this.#batch;
    const port = this.#port;
    batch.count = 0;
    let at = 0;
    let octets = 0;
    for (let frame = 0; frame < waiting; frame++) {
      const length = ring.take(this.#host.frames, at, SLAB_LENGTH);
      port.count(COUNTER.frames_in);
      if (length > 0) {
        batch.add(at, length);
        octets += length;
        at += Math.ceil(length / CACHE_LINE) * CACHE_LINE;
      } else port.count(length === 0 ? COUNTER.empty : COUNTER.oversize);
      if (at >= BATCH_BYTES || at + SLAB_LENGTH > SLABS_LENGTH || ring.steps > BATCH_DESCRIPTORS) break;
    }
    port.count(COUNTER.octets_in, octets);
    if (ring.publish()) this.#call(QUEUE.sent);
    if (batch.count > 0) this.#fromLink(batch);
    return true;
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
