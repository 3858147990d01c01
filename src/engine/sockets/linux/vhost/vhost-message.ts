/** The messages of vhost-user: a header of three words, a payload, and descriptors beside them. Little endian. */
import { FAULT, GuestFault } from './guest-fault.js';

export const HEADER_LENGTH = 12;
/** The largest payload is a table of memory. */
export const MOST_PAYLOAD = 512;

export const REQUEST = {
  getFeatures: 1,
  setFeatures: 2,
  setOwner: 3,
  resetOwner: 4,
  setMemory: 5,
  setQueueSize: 8,
  setQueuePlace: 9,
  setQueueBase: 10,
  getQueueBase: 11,
  setKick: 12,
  setCall: 13,
  setError: 14,
  getProtocolFeatures: 15,
  setProtocolFeatures: 16,
  getQueueNumber: 17,
  enableQueue: 18,
} as const;

const VERSION = 1;
const VERSION_MASK = 3;
const IS_REPLY = 4;
const NEEDS_REPLY = 8;
const WORD = 2 ** 32;
const REGION_LENGTH = 32;
const QUEUE_NUMBER = 0xff;
const NO_DESCRIPTOR = 0x100;

export interface MessageHeader {
  readonly request: number;
  readonly needsReply: boolean;
  /** The length of the payload. */
  readonly length: number;
}

/** A region of guest memory. Addresses above 2^53 are rounded, and fit into nothing. */
export interface Region {
  readonly guest: number;
  readonly length: number;
  /** Its address in the program around the guest. */
  readonly frontend: number;
  /** Where it begins in its file. */
  readonly offset: number;
}

export interface QueuePlace {
  readonly descriptors: number;
  readonly used: number;
  readonly available: number;
}

export function headerOf(bytes: DataView): MessageHeader {
  const flags = bytes.getUint32(4, true);
  const length = bytes.getUint32(8, true);
  if ((flags & VERSION_MASK) !== VERSION || (flags & IS_REPLY) !== 0 || length > MOST_PAYLOAD)
    throw new GuestFault(FAULT.message);
  return { request: bytes.getUint32(0, true), needsReply: (flags & NEEDS_REPLY) !== 0, length };
}

/** The payload of a message, which is as long as its header says. */
export class Payload {
  readonly #view: DataView;

  constructor(view: DataView) {
    this.#view = view;
  }

  /** A set of features, of which bit 0 is the lowest. */
  features(): bigint {
    this.#check(8);
    return this.#view.getBigUint64(0, true);
  }

  /** A queue and a number. */
  state(): { readonly queue: number; readonly value: number } {
    this.#check(8);
    return { queue: this.#view.getUint32(0, true), value: this.#view.getUint32(4, true) };
  }

  /** The queue of an event, and whether a descriptor comes with it. */
  event(): { readonly queue: number; readonly hasDescriptor: boolean } {
    this.#check(8);
    const low = this.#view.getUint32(0, true);
    return { queue: low & QUEUE_NUMBER, hasDescriptor: (low & NO_DESCRIPTOR) === 0 };
  }

  place(): QueuePlace & { readonly queue: number } {
    this.#check(40);
    return {
      queue: this.#view.getUint32(0, true),
      descriptors: this.#long(8),
      used: this.#long(16),
      available: this.#long(24),
    };
  }

  regions(): Region[] {
    this.#check(8);
    const count = this.#view.getUint32(0, true);
    this.#check(8 + count * REGION_LENGTH);
    return Array.from({ length: count }, (_, index) => {
      const at = 8 + index * REGION_LENGTH;
      return {
        guest: this.#long(at),
        length: this.#long(at + 8),
        frontend: this.#long(at + 16),
        offset: this.#long(at + 24),
      };
    });
  }

  #check(length: number): void {
    if (this.#view.byteLength < length) throw new GuestFault(FAULT.message);
  }

  #long(at: number): number {
    return this.#view.getUint32(at, true) + this.#view.getUint32(at + 4, true) * WORD;
  }
}

/** An answer of one 64-bit number; that of a queue is its number and its base. */
export function writeReply(bytes: DataView, request: number, value: bigint): number {
  bytes.setUint32(0, request, true);
  bytes.setUint32(4, VERSION | IS_REPLY, true);
  bytes.setUint32(8, 8, true);
  bytes.setBigUint64(HEADER_LENGTH, value, true);
  return HEADER_LENGTH + 8;
}
