/**
 * The program around a guest and its driver in one, made by hand: it shares memory in a memfd, speaks vhost-user, and
 * does with its queues what a test wants, also what no honest guest does. Linux only.
 */
import koffi from 'koffi';
import {
  AF_UNIX,
  CONTROL,
  MESSAGE,
  SCM_RIGHTS,
  SOCK_STREAM,
  SOL_SOCKET,
} from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import { NativeMemory } from '../../src/engine/sockets/linux/native-memory.js';
import { unixAddress } from '../../src/engine/sockets/linux/socket-address.js';
import { REQUEST } from '../../src/engine/sockets/linux/vhost/vhost-message.js';

type Call = (...args: (number | string)[]) => number;

const library = koffi.load(null);
const memfdCreate = library.func('int memfd_create(const char *, unsigned int)') as Call;
const ftruncate = library.func('int ftruncate(int, int64_t)') as Call;

const ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_SETFL = 4;
const SEALS = 7;
const SOCK_NONBLOCK = 0o4000;
const [MAP_SHARED, PROT_READ_WRITE] = [1, 3];
const HEADER = 12;
const WORD = 2 ** 32;
/** All that has to do with checksums and the cutting of segments. */
export const OFFLOADS = [0n, 1n, 7n, 8n, 11n, 12n].reduce((all, bit) => all | (1n << bit), 0n);
export const MERGED_BUFFERS = 1n << 15n;
export const EVENT_INDEXES = 1n << 29n;
export const PROTOCOL_FEATURES = 1n << 30n;
export const VERSION_1 = 1n << 32n;
const FEATURES = PROTOCOL_FEATURES | VERSION_1;

/** Where the memory is for the guest, and for the program around it. */
export const GUEST_AT = 0x4000_0000;
const FRONTEND_AT = 0x7f00_0000_0000;
const QUEUE_STRIDE = 0x4_0000;
const [AVAILABLE_AT, USED_AT] = [0x1_0000, 0x2_0000];
const BUFFERS_AT = 0x10_0000;
const LONG_AT = 0x20_0000;
const LONG_STRIDE = 0x2_0000;

export const DESCRIPTOR = { next: 1, written: 2, table: 4 } as const;

/** Sealed, or without seals and ready for them, or not to be sealed. */
type Seal = 'all' | 'none' | 'never';

export interface PeerShape {
  readonly size?: number;
  readonly queueSize?: number;
  readonly features?: bigint;
  readonly seal?: Seal;
}

export interface ReceivedFrame {
  readonly header: Buffer;
  readonly frame: Buffer;
}

export function newMemfd(size: number, seal: Seal = 'all'): number {
  const file = memfdCreate('guest', seal === 'never' ? 0 : ALLOW_SEALING);
  ftruncate(file, size);
  if (seal === 'all') libc.fcntl(file, F_ADD_SEALS, SEALS);
  return file;
}

export class GuestPeer {
  readonly memory: DataView;
  readonly bytes: Uint8Array;
  readonly size: number;
  readonly file: number;
  readonly queueSize: number;
  readonly kicks: readonly [number, number];
  readonly calls: readonly [number, number];
  readonly #features: bigint;
  readonly #socket: number;
  readonly #address: number;
  /** The chains of each queue that were made available, and those that were taken back. */
  readonly #available = [0, 0];
  readonly #used = [0, 0];
  #isOpen = true;

  constructor(path: string, shape: PeerShape = {}) {
    const { size = 4 * 1024 * 1024, queueSize = 64, features = FEATURES, seal = 'all' } = shape;
    this.size = size;
    this.queueSize = queueSize;
    this.#features = features;
    this.file = newMemfd(size, seal);
    this.#address = libc.mmap(0, size, PROT_READ_WRITE, MAP_SHARED, this.file, 0);
    const view = koffi.view(this.#address, size);
    this.memory = new DataView(view);
    this.bytes = new Uint8Array(view);
    const event = (): number => libc.eventfd(0, SOCK_NONBLOCK);
    this.kicks = [event(), event()];
    this.calls = [event(), event()];
    this.#socket = libc.socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const address = unixAddress(path) ?? new Uint8Array();
    if (libc.connect(this.#socket, address, address.length) !== 0) throw new Error('nobody listens');
  }

  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const file of [this.#socket, this.file, ...this.kicks, ...this.calls]) libc.close(file);
    libc.munmap(this.#address, this.size);
  }

  /** Returns whether the memory could be made shorter. */
  shrink(): boolean {
    return ftruncate(this.file, 0) === 0;
  }

  /** Sends a message with its descriptors; flag 8 asks for an answer. */
  send(
    request: number,
    payload: Uint8Array = new Uint8Array(),
    files: readonly number[] = [],
    flags = 1,
  ): void {
    const header = Buffer.alloc(HEADER);
    header.writeUInt32LE(request, 0);
    header.writeUInt32LE(flags, 4);
    header.writeUInt32LE(payload.length, 8);
    this.sendRaw(Buffer.concat([header, payload]), files);
  }

  sendRaw(octets: Uint8Array, files: readonly number[] = []): void {
    const [message, vector] = [new NativeMemory(MESSAGE.size), new NativeMemory(16)];
    const bytes = new NativeMemory(Math.max(8, octets.length + 8));
    const control = new NativeMemory(CONTROL.data + Math.ceil(files.length / 2) * 8);
    bytes.bytes.set(octets);
    vector.setLong(0, bytes.address);
    vector.setLong(8, octets.length);
    message.setLong(MESSAGE.vectors, vector.address);
    message.setLong(MESSAGE.vectorCount, 1);
    if (files.length > 0) {
      control.setLong(0, CONTROL.data + files.length * 4);
      control.words[CONTROL.level >> 2] = SOL_SOCKET;
      control.words[CONTROL.type >> 2] = SCM_RIGHTS;
      control.words.set(files, CONTROL.data >> 2);
      message.setLong(MESSAGE.control, control.address);
      message.setLong(MESSAGE.controlLength, control.bytes.length);
    }
    libc.sendmsg(this.#socket, message.address, 0x4000);
  }

  /** The next answer; undefined when there is none yet, null when the other side has hung up. */
  reply(): bigint | null | undefined {
    const bytes = new NativeMemory(24);
    const length = libc.read(this.#socket, bytes.address, 20);
    if (length < 0) return undefined;
    return length === 0 ? null : Buffer.from(bytes.bytes.buffer).readBigUInt64LE(HEADER);
  }

  /** All that a program says until both queues run. The last message asks for an answer. */
  begin(): void {
    this.send(REQUEST.setOwner);
    this.send(REQUEST.getFeatures);
    this.send(REQUEST.getProtocolFeatures);
    this.send(REQUEST.setProtocolFeatures, long(8n));
    this.send(REQUEST.setFeatures, long(this.#features));
    this.shareMemory();
    for (const queue of [0, 1] as const) this.startQueue(queue);
    this.send(REQUEST.enableQueue, pair(0, 1));
    this.send(REQUEST.enableQueue, pair(1, 1), [], 9);
  }

  shareMemory(file = this.file, size = this.size, offset = 0): void {
    const table = Buffer.alloc(40);
    table.writeUInt32LE(1, 0);
    table.writeBigUInt64LE(BigInt(GUEST_AT), 8);
    table.writeBigUInt64LE(BigInt(size), 16);
    table.writeBigUInt64LE(BigInt(FRONTEND_AT), 24);
    table.writeBigUInt64LE(BigInt(offset), 32);
    this.send(REQUEST.setMemory, table, [file]);
  }

  startQueue(queue: 0 | 1, base = 0): void {
    this.send(REQUEST.setQueueSize, pair(queue, this.queueSize));
    this.send(REQUEST.setQueueBase, pair(queue, base));
    this.placeQueue(queue, FRONTEND_AT + queue * QUEUE_STRIDE);
    this.send(REQUEST.setKick, long(BigInt(queue)), [this.kicks[queue]]);
    this.send(REQUEST.setCall, long(BigInt(queue)), [this.calls[queue]]);
  }

  placeQueue(queue: number, at: number): void {
    const place = Buffer.alloc(40);
    place.writeUInt32LE(queue, 0);
    place.writeBigUInt64LE(BigInt(at), 8);
    place.writeBigUInt64LE(BigInt(at + USED_AT), 16);
    place.writeBigUInt64LE(BigInt(at + AVAILABLE_AT), 24);
    this.send(REQUEST.setQueuePlace, place);
  }

  kick(queue: 0 | 1): void {
    const one = new NativeMemory(8);
    one.setLong(0, 1);
    libc.write(this.kicks[queue], one.address, 8);
  }

  /** Makes the call of a queue one that has no room, and at which a write waits. */
  fillCall(queue: 0 | 1): void {
    const most = new NativeMemory(8);
    most.words.set([-2, -1]);
    libc.write(this.calls[queue], most.address, 8);
    libc.fcntl(this.calls[queue], F_SETFL, 0);
  }

  /** How often the guest was called about a queue since it was last asked. */
  called(queue: 0 | 1): number {
    const count = new NativeMemory(8);
    return libc.read(this.calls[queue], count.address, 8) < 0 ? 0 : (count.words[0] ?? 0);
  }

  describe(queue: 0 | 1, index: number, address: number, length: number, flags: number, next = 0): void {
    const at = queue * QUEUE_STRIDE + index * 16;
    this.memory.setUint32(at, address % WORD, true);
    this.memory.setUint32(at + 4, address / WORD, true);
    this.memory.setUint32(at + 8, length, true);
    this.memory.setUint16(at + 12, flags, true);
    this.memory.setUint16(at + 14, next, true);
  }

  /** Makes a chain available. */
  offer(queue: 0 | 1, head: number): void {
    const at = queue * QUEUE_STRIDE + AVAILABLE_AT;
    const next = this.#available[queue] ?? 0;
    this.memory.setUint16(at + 4 + 2 * (next % this.queueSize), head, true);
    this.#available[queue] = (next + 1) & 0xffff;
    this.setAvailable(queue, (next + 1) & 0xffff);
  }

  setAvailable(queue: 0 | 1, index: number): void {
    this.memory.setUint16(queue * QUEUE_STRIDE + AVAILABLE_AT + 2, index, true);
  }

  /** Asks not to be called about a queue. */
  wantNoCalls(queue: 0 | 1): void {
    this.memory.setUint16(queue * QUEUE_STRIDE + AVAILABLE_AT, 1, true);
  }

  /** Asks to be called when this many chains in all have been given back. With EVENT_INDEXES. */
  wantCallAt(queue: 0 | 1, count: number): void {
    this.memory.setUint16(queue * QUEUE_STRIDE + AVAILABLE_AT + 4 + 2 * this.queueSize, count - 1, true);
  }

  /** How many chains have been made available when a kick is wanted. With EVENT_INDEXES. */
  wantedKick(queue: 0 | 1): number {
    return this.memory.getUint16(queue * QUEUE_STRIDE + USED_AT + 4 + 8 * this.queueSize, true) + 1;
  }

  /** Whether a kick is wanted. */
  isKickWanted(queue: 0 | 1): boolean {
    return this.memory.getUint16(queue * QUEUE_STRIDE + USED_AT, true) === 0;
  }

  /** Sends frames in chains of one descriptor each, in buffers of 2 KiB. There must be room. */
  post(frames: readonly Uint8Array[]): void {
    for (const frame of frames) {
      const slot = (this.#available[1] ?? 0) % this.queueSize;
      const at = BUFFERS_AT + (this.queueSize + slot) * 2048;
      this.bytes.fill(0, at, at + HEADER);
      this.bytes.set(frame, at + HEADER);
      this.describe(1, slot, GUEST_AT + at, HEADER + frame.length, 0);
      this.offer(1, slot);
    }
  }

  /** Sends a frame of any length with a header of its own. There is room for four at a time. */
  postLong(header: Uint8Array, frame: Uint8Array): void {
    const slot = (this.#available[1] ?? 0) % this.queueSize;
    const at = LONG_AT + (slot % 4) * LONG_STRIDE;
    this.bytes.set(header, at);
    this.bytes.set(frame, at + HEADER);
    this.describe(1, slot, GUEST_AT + at, HEADER + frame.length, 0);
    this.offer(1, slot);
  }

  /** How many of the sent frames were taken. */
  get taken(): number {
    return this.memory.getUint16(QUEUE_STRIDE + USED_AT + 2, true);
  }

  /** Offers so many empty buffers for frames. */
  offerBuffers(count: number, length = 2048): void {
    for (let done = 0; done < count; done++) {
      const slot = (this.#available[0] ?? 0) % this.queueSize;
      this.describe(0, slot, GUEST_AT + BUFFERS_AT + slot * 2048, length, DESCRIPTOR.written);
      this.offer(0, slot);
    }
  }

  /** The frames that were received, in order; those in several buffers are put together. */
  receive(): Buffer[] {
    return this.receiveWhole().map(({ frame }) => frame);
  }

  /** The same with the headers before them. */
  receiveWhole(): ReceivedFrame[] {
    const frames: ReceivedFrame[] = [];
    const at = USED_AT;
    const end = this.memory.getUint16(at + 2, true);
    while ((this.#used[0] ?? 0) !== end) {
      const pieces: Buffer[] = [];
      let buffers = 1;
      for (let piece = 0; piece < buffers; piece++) {
        const element = at + 4 + 8 * ((this.#used[0] ?? 0) % this.queueSize);
        const slot = this.memory.getUint32(element, true);
        const length = this.memory.getUint32(element + 4, true);
        const buffer = Buffer.from(
          this.bytes.slice(BUFFERS_AT + slot * 2048, BUFFERS_AT + slot * 2048 + length),
        );
        if (piece === 0) buffers = Math.max(1, buffer.readUInt16LE(10));
        pieces.push(buffer);
        this.#used[0] = ((this.#used[0] ?? 0) + 1) & 0xffff;
      }
      const whole = Buffer.concat(pieces);
      frames.push({ header: whole.subarray(0, HEADER), frame: whole.subarray(HEADER) });
    }
    return frames;
  }
}

export function long(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

export function pair(first: number, second: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(first, 0);
  bytes.writeUInt32LE(second, 4);
  return bytes;
}
