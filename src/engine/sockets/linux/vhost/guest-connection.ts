/**
 * The connection to the program around a guest, by which the two agree on memory, queues and features. All that it opens
 * is noted in the record of the port, and closed with it.
 */
import { readlinkSync } from 'node:fs';
import koffi from 'koffi';
import type { GuestRecord } from '../../../../base/memory/guest-record.js';
import {
  CONTROL,
  MESSAGE,
  MSG_CMSG_CLOEXEC,
  MSG_CTRUNC,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
  SCM_RIGHTS,
  SOL_SOCKET,
} from '../constants.js';
import { libc } from '../libc.js';
import { NativeMemory } from '../native-memory.js';
import type { Poller } from '../poller.js';
import { FAULT, GuestFault } from './guest-fault.js';
import { GuestRegions } from './guest-regions.js';
import {
  HEADER_LENGTH,
  headerOf,
  MOST_PAYLOAD,
  Payload,
  REQUEST,
  writeReply,
  type MessageHeader,
  type QueuePlace,
} from './vhost-message.js';
import { Virtqueue } from './virtqueue.js';

/** The queues, as the guest numbers them: what it receives, and what it sends. */
export const QUEUE = { received: 0, sent: 1 } as const;
/** The descriptors in the record: the connection, then two of each queue. */
const HELD_CONNECTION = 0;
const MOST_DESCRIPTORS = 8;
const CONTROL_SPACE = CONTROL.data + MOST_DESCRIPTORS * 4;
/** The messages of one turn: others want to be served as well. */
const MOST_MESSAGES = 16;
const LARGEST_QUEUE = 32_768;
const EVENTFD = 'anon_inode:[eventfd]';
const { EAGAIN, EINTR } = koffi.os.errno;

/** The guest may leave checksums to us, and have long frames cut for TCP over IPv4 and IPv6. */
const SENDS_OFFLOADS = (1n << 0n) | (1n << 11n) | (1n << 12n);
/** The guest takes frames with the same things left to it. */
const TAKES_OFFLOADS = (1n << 1n) | (1n << 7n) | (1n << 8n);
const MERGED_BUFFERS = 1n << 15n;
const EVENT_INDEXES = 1n << 29n;
const PROTOCOL_FEATURES = 1n << 30n;
const VERSION_1 = 1n << 32n;
const OFFERED =
  SENDS_OFFLOADS | TAKES_OFFLOADS | MERGED_BUFFERS | EVENT_INDEXES | PROTOCOL_FEATURES | VERSION_1;
const REPLY_ACK = 1n << 3n;
const HEADER = { legacy: 10, full: 12 } as const;

interface QueueState {
  size: number;
  place: QueuePlace | undefined;
  base: number;
  isEnabled: boolean;
  kick: number | undefined;
  call: number | undefined;
  ring: Virtqueue | undefined;
}

interface ConnectionParts {
  readonly descriptor: number;
  readonly record: GuestRecord;
  readonly poller: Poller;
  /** The most memory that the guest may share, in bytes. */
  readonly mostMemory: number;
  /** Called with a new eventfd by which the guest kicks a queue, and when it is closed. */
  readonly onKick: (descriptor: number, isThere: boolean) => void;
}

export class GuestConnection {
  readonly descriptor: number;
  readonly #parts: ConnectionParts;
  readonly #memory: GuestRegions;
  readonly #queues: readonly [QueueState, QueueState] = [newQueue(), newQueue()];
  readonly #message = new NativeMemory(MESSAGE.size);
  readonly #vector = new NativeMemory(16);
  readonly #control = new NativeMemory(CONTROL_SPACE);
  readonly #bytes = new NativeMemory(HEADER_LENGTH + MOST_PAYLOAD);
  readonly #view: DataView;
  /** The octets of the message that have come, and its descriptors. */
  #length = 0;
  #header: MessageHeader | undefined;
  #files: number[] = [];
  #features = 0n;
  #protocol = 0n;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
    this.descriptor = parts.descriptor;
    this.#memory = new GuestRegions(parts.record);
    this.#view = new DataView(this.#bytes.bytes.buffer);
    this.#message.setLong(MESSAGE.vectors, this.#vector.address);
    this.#message.setLong(MESSAGE.vectorCount, 1);
    this.#message.setLong(MESSAGE.control, this.#control.address);
    parts.record.hold(HELD_CONNECTION, parts.descriptor);
  }

  /** Whether the guest takes all kinds of offload. */
  get takesOffloads(): boolean {
    return (this.#features & TAKES_OFFLOADS) === TAKES_OFFLOADS;
  }

  /** The queue when it runs. */
  ring(queue: 0 | 1): Virtqueue | undefined {
    return this.#queues[queue].ring;
  }

  /** The eventfd by which the guest is called about a queue; undefined when it does not want that. */
  call(queue: 0 | 1): number | undefined {
    return this.#queues[queue].call;
  }

  /** Carries out the messages that have come. False when the other side has gone. Throws GuestFault. */
  receive(): boolean {
    for (let messages = 0; messages < MOST_MESSAGES;) {
      const wanted = HEADER_LENGTH + (this.#header?.length ?? 0) - this.#length;
      const count = wanted === 0 ? 0 : this.#read(wanted);
      if (count < 0) return true;
      if (count === 0 && wanted > 0) return false;
      this.#length += count;
      if (count < wanted) continue;
      this.#header ??= headerOf(this.#view);
      if (this.#length < HEADER_LENGTH + this.#header.length) continue;
      const isAnswered = this.#obey(this.#header);
      this.#closeFiles();
      this.#header = undefined;
      this.#length = 0;
      messages++;
      if (!isAnswered) return false;
    }
    return true;
  }

  close(): void {
    this.#closeFiles();
    for (const queue of [QUEUE.received, QUEUE.sent]) {
      this.#queues[queue].ring = undefined;
      this.#setEvent(queue, 'kick', undefined);
      this.#setEvent(queue, 'call', undefined);
    }
    this.#memory.unmap();
    this.#parts.poller.remove(this.descriptor);
    libc.close(this.descriptor);
    this.#parts.record.hold(HELD_CONNECTION, undefined);
  }

  /** Reads a part of a message with the descriptors beside it. Returns -1 when nothing has come, 0 at the end. */
  #read(wanted: number): number {
    this.#vector.setLong(0, this.#bytes.address + this.#length);
    this.#vector.setLong(8, wanted);
    this.#message.setLong(MESSAGE.controlLength, CONTROL_SPACE);
    const flags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
    const count = libc.recvmsg(this.descriptor, this.#message.address, flags);
    if (count < 0) {
      const error = koffi.errno();
      return error === EAGAIN || error === EINTR ? -1 : 0;
    }
    this.#takeFiles();
    const isCut = ((this.#message.words[MESSAGE.flags >> 2] ?? 0) & MSG_CTRUNC) !== 0;
    if (isCut || this.#files.length > MOST_DESCRIPTORS) throw new GuestFault(FAULT.descriptors);
    return count;
  }

  #takeFiles(): void {
    const length = this.#message.words[MESSAGE.controlLength >> 2] ?? 0;
    const { words } = this.#control;
    if (length < CONTROL.data || words[CONTROL.level >> 2] !== SOL_SOCKET) return;
    if (words[CONTROL.type >> 2] !== SCM_RIGHTS) return;
    const end = Math.min(words[0] ?? 0, length);
    for (let at: number = CONTROL.data; at + 4 <= end; at += 4) this.#files.push(words[at >> 2] ?? -1);
  }

  #closeFiles(): void {
    for (const file of this.#files.splice(0)) libc.close(file);
  }

  /** Returns false when the answer cannot be sent. */
  #obey({ request, needsReply, length }: MessageHeader): boolean {
    const payload = new Payload(new DataView(this.#bytes.bytes.buffer, HEADER_LENGTH, length));
    const answer = this.#answer(request, payload);
    this.#settle();
    if (answer !== undefined) return this.#reply(request, answer);
    return !needsReply || (this.#protocol & REPLY_ACK) === 0n || this.#reply(request, 0n);
  }

  /** Returns the answer of a request that has one of its own. */
  #answer(request: number, payload: Payload): bigint | undefined {
    switch (request) {
      case REQUEST.getFeatures:
        return OFFERED;
      case REQUEST.getProtocolFeatures:
        return REPLY_ACK;
      case REQUEST.getQueueBase:
        return this.#stop(payload.state().queue);
      case REQUEST.setFeatures:
        this.#features = among(payload.features(), OFFERED);
        this.#stopRings();
        return undefined;
      case REQUEST.setProtocolFeatures:
        this.#protocol = among(payload.features(), REPLY_ACK);
        return undefined;
      case REQUEST.setOwner:
      case REQUEST.resetOwner:
        return undefined;
      case REQUEST.setMemory:
        this.#stopRings();
        this.#memory.map(payload.regions(), this.#files, this.#parts.mostMemory);
        return undefined;
      default:
        this.#setQueue(request, payload);
        return undefined;
    }
  }

  #setQueue(request: number, payload: Payload): void {
    switch (request) {
      case REQUEST.setQueueSize: {
        const { queue, value } = payload.state();
        if (value === 0 || value > LARGEST_QUEUE || (value & (value - 1)) !== 0)
          throw new GuestFault(FAULT.queueSize);
        this.#stopped(queue).size = value;
        return;
      }
      case REQUEST.setQueuePlace: {
        const { queue, ...place } = payload.place();
        this.#stopped(queue).place = place;
        return;
      }
      case REQUEST.setQueueBase: {
        const { queue, value } = payload.state();
        this.#stopped(queue).base = value & 0xffff;
        return;
      }
      case REQUEST.enableQueue: {
        const { queue, value } = payload.state();
        this.#queue(queue).isEnabled = value !== 0;
        return;
      }
      case REQUEST.setKick:
        this.#takeEvent(payload, 'kick');
        return;
      case REQUEST.setCall:
        this.#takeEvent(payload, 'call');
        return;
      case REQUEST.setError:
        // A guest that breaks the rules is cut off, and notices that.
        return;
      default:
        throw new GuestFault(FAULT.message);
    }
  }

  #queue(index: number): QueueState {
    return this.#queues[checked(index)];
  }

  /** A queue that is about to change. It goes on where it was. */
  #stopped(index: number): QueueState {
    const queue = this.#queue(index);
    if (queue.ring !== undefined) queue.base = queue.ring.next;
    queue.ring = undefined;
    return queue;
  }

  #stopRings(): void {
    for (const index of [QUEUE.received, QUEUE.sent]) this.#stopped(index);
  }

  /** Stops a queue until it is kicked again by a new eventfd. Returns its number and its base. */
  #stop(index: number): bigint {
    const { base } = this.#stopped(index);
    this.#setEvent(checked(index), 'kick', undefined);
    return (BigInt(base) << 32n) | BigInt(index);
  }

  #takeEvent(payload: Payload, event: 'kick' | 'call'): void {
    const { queue, hasDescriptor } = payload.event();
    const index = checked(queue);
    if (!hasDescriptor) {
      this.#setEvent(index, event, undefined);
      return;
    }
    const file = this.#files.shift();
    if (file === undefined) throw new GuestFault(FAULT.descriptors);
    if (readlinkSync(`/proc/self/fd/${file}`) !== EVENTFD) {
      libc.close(file);
      throw new GuestFault(FAULT.event);
    }
    this.#setEvent(index, event, file);
  }

  #setEvent(index: 0 | 1, event: 'kick' | 'call', file: number | undefined): void {
    const queue = this.#queues[index];
    const before = queue[event];
    if (before !== undefined) {
      if (event === 'kick') this.#parts.onKick(before, false);
      libc.close(before);
    }
    queue[event] = file;
    this.#parts.record.hold(1 + 2 * index + (event === 'kick' ? 0 : 1), file);
    if (event === 'kick' && file !== undefined) this.#parts.onKick(file, true);
  }

  /** Starts the queues that have all they need, and stops those that do not. */
  #settle(): void {
    const isFree = (this.#features & PROTOCOL_FEATURES) === 0n;
    const merges = (this.#features & MERGED_BUFFERS) !== 0n;
    const headerLength = merges || (this.#features & VERSION_1) !== 0n ? HEADER.full : HEADER.legacy;
    const readsHeaders = (this.#features & SENDS_OFFLOADS) !== 0n;
    const hasEventIndexes = (this.#features & EVENT_INDEXES) !== 0n;
    const shape = { headerLength, merges, readsHeaders, hasEventIndexes };
    for (const queue of this.#queues) {
      const { size, place, base, kick } = queue;
      const runs = (isFree || queue.isEnabled) && kick !== undefined && place !== undefined && size > 0;
      if (!runs) {
        if (queue.ring !== undefined) queue.base = queue.ring.next;
        queue.ring = undefined;
      } else {
        queue.ring ??= new Virtqueue(this.#memory, { size, place, base, ...shape });
      }
    }
  }

  #reply(request: number, value: bigint): boolean {
    const length = writeReply(this.#view, request, value);
    return libc.send(this.descriptor, this.#bytes.address, length, MSG_DONTWAIT | MSG_NOSIGNAL) === length;
  }
}

function newQueue(): QueueState {
  return {
    ...{ size: 0, place: undefined, base: 0, isEnabled: false },
    ...{ kick: undefined, call: undefined, ring: undefined },
  };
}

function checked(index: number): 0 | 1 {
  if (index !== QUEUE.received && index !== QUEUE.sent) throw new GuestFault(FAULT.queue);
  return index;
}

function among(features: bigint, offered: bigint): bigint {
  if ((features & ~offered) !== 0n) throw new GuestFault(FAULT.feature);
  return features;
}
