/**
 * Offers UDP traffic to a forwarder at a fixed rate, takes back what comes out, and checks every datagram: its
 * header, its number, its order. One polling thread does both, so that the forwarder has the other core alone.
 * Takes its load as JSON in its only argument, prints the result as JSON.
 */
import {
  AF_INET,
  CONTROL,
  MESSAGE,
  MSG_DONTWAIT,
  SO_RCVBUFFORCE,
  SOCK_DGRAM,
  SOCK_FLAGS,
  SOL_SOCKET,
  SOL_UDP,
  UDP_GRO,
  UDP_SEGMENT,
  VECTOR_SIZE,
} from '../../src/engine/sockets/linux/constants.js';
import { libc } from '../../src/engine/sockets/linux/libc.js';
import { NativeMemory } from '../../src/engine/sockets/linux/native-memory.js';
import { internetAddress } from '../../src/engine/sockets/linux/socket-address.js';
import { TAG, TAG_LENGTH } from './frame-tag.js';
import type { Load, LoadResult } from './load.js';
import { monotonicMs } from './monotonic.js';
import { pinThread } from './pinning.js';

const MESSAGES = 16;
const MOST_SEGMENTS = 64;
const ROOM = 65_536;
const CONTROL_SPACE = 24;
const CONTROL_LENGTH = 18;
const RECEIVE_BUFFER = 32 << 20;
const MOST_SAMPLES = 4_000_000;
const MOST_FRAMES = 32_000_000;
/** After the last frame was sent, how long to wait for another one to come back. */
const DRAIN_MS = 150;

const load = JSON.parse(process.argv[2] ?? '{}') as Load;
const sendHeader = Buffer.from(load.sendHeader, 'hex');
const expectHeader = Buffer.from(load.expectHeader, 'hex');
const run = (Math.random() * 2 ** 32) >>> 0;

function openSocket(port: number, peer: number | undefined, isGathering: boolean): number {
  const descriptor = libc.socket(AF_INET, SOCK_DGRAM | SOCK_FLAGS, 0);
  const size = Buffer.alloc(4);
  size.writeInt32LE(RECEIVE_BUFFER);
  libc.setsockopt(descriptor, SOL_SOCKET, SO_RCVBUFFORCE, size, 4);
  if (isGathering) {
    size.writeInt32LE(1);
    libc.setsockopt(descriptor, SOL_UDP, UDP_GRO, size, 4);
  }
  const local = internetAddress('127.0.0.1', port);
  if (libc.bind(descriptor, local, local.length) !== 0) throw new Error(`cannot bind ${port}`);
  if (peer !== undefined) {
    const remote = internetAddress('127.0.0.1', peer);
    libc.connect(descriptor, remote, remote.length);
  }
  return descriptor;
}

/** Messages of `segments` frames each, ready to be numbered and sent. */
class Outgoing {
  readonly #segments = Math.max(1, load.segments);
  readonly #frames = new NativeMemory(ceilTo8(MESSAGES * MOST_SEGMENTS * load.size));
  readonly #view = new DataView(this.#frames.bytes.buffer);
  readonly #vectors = new NativeMemory(MESSAGES * VECTOR_SIZE);
  readonly #messages = new NativeMemory(MESSAGES * MESSAGE.size);
  readonly #control = new NativeMemory(CONTROL_SPACE);
  readonly #descriptor: number;
  sent = 0;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.#control.setLong(0, CONTROL_LENGTH);
    this.#control.words[CONTROL.level >> 2] = SOL_UDP;
    this.#control.words[CONTROL.type >> 2] = UDP_SEGMENT;
    this.#control.words[CONTROL.data >> 2] = load.size;
    const octets = this.#segments * load.size;
    for (let message = 0; message < MESSAGES; message++) {
      this.#vectors.setLong(message * VECTOR_SIZE, this.#frames.address + message * octets);
      this.#vectors.setLong(message * VECTOR_SIZE + 8, octets);
      const at = message * MESSAGE.size;
      this.#messages.setLong(at + MESSAGE.vectors, this.#vectors.address + message * VECTOR_SIZE);
      this.#messages.setLong(at + MESSAGE.vectorCount, 1);
      if (load.segments > 1) {
        this.#messages.setLong(at + MESSAGE.control, this.#control.address);
        this.#messages.setLong(at + MESSAGE.controlLength, CONTROL_SPACE);
      }
    }
    for (let frame = 0; frame < MESSAGES * this.#segments; frame++) {
      this.#frames.bytes.set(sendHeader, frame * load.size);
    }
  }

  send(room: number, now: number): void {
    const count = Math.min(MESSAGES, Math.floor(room / this.#segments));
    if (count === 0) return;
    for (let frame = 0; frame < count * this.#segments; frame++) {
      const at = frame * load.size + sendHeader.length;
      this.#view.setUint32(at + TAG.run, run, true);
      this.#view.setUint32(at + TAG.number, this.sent + frame, true);
      this.#view.setFloat64(at + TAG.sentAt, now, true);
    }
    const accepted = libc.sendmmsg(this.#descriptor, this.#messages.address, count, MSG_DONTWAIT);
    if (accepted > 0) this.sent += accepted * this.#segments;
  }
}

class Incoming {
  readonly #slots = load.gathers ? MESSAGES : 64;
  readonly #frames = new NativeMemory(this.#slots * ROOM);
  readonly #view = new DataView(this.#frames.bytes.buffer);
  readonly #vectors = new NativeMemory(this.#slots * VECTOR_SIZE);
  readonly #messages = new NativeMemory(this.#slots * MESSAGE.size);
  readonly #controls = new NativeMemory(this.#slots * CONTROL_SPACE);
  readonly #descriptor: number;
  readonly #seen = new Uint8Array(MOST_FRAMES);
  readonly latencies = new Float32Array(MOST_SAMPLES);
  received = 0;
  wrong = 0;
  duplicates = 0;
  reordered = 0;
  first = 0;
  last = 0;
  #highest = -1;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    for (let slot = 0; slot < this.#slots; slot++) {
      this.#vectors.setLong(slot * VECTOR_SIZE, this.#frames.address + slot * ROOM);
      this.#vectors.setLong(slot * VECTOR_SIZE + 8, ROOM);
      const at = slot * MESSAGE.size;
      this.#messages.setLong(at + MESSAGE.vectors, this.#vectors.address + slot * VECTOR_SIZE);
      this.#messages.setLong(at + MESSAGE.vectorCount, 1);
      this.#messages.setLong(at + MESSAGE.control, this.#controls.address + slot * CONTROL_SPACE);
    }
  }

  /** Returns whether the call was full. */
  poll(): boolean {
    for (let slot = 0; slot < this.#slots; slot++) {
      this.#messages.words[(slot * MESSAGE.size + MESSAGE.controlLength) >> 2] = load.gathers
        ? CONTROL_SPACE
        : 0;
    }
    const count = libc.recvmmsg(this.#descriptor, this.#messages.address, this.#slots, MSG_DONTWAIT, 0);
    if (count <= 0) return false;
    const now = monotonicMs();
    if (this.received === 0) this.first = now;
    this.last = now;
    for (let slot = 0; slot < count; slot++) {
      const at = slot * MESSAGE.size;
      const length = this.#messages.words[(at + MESSAGE.length) >> 2] ?? 0;
      const hasControl = (this.#messages.words[(at + MESSAGE.controlLength) >> 2] ?? 0) > 0;
      const segment = hasControl
        ? (this.#controls.words[(slot * CONTROL_SPACE + CONTROL.data) >> 2] ?? 0)
        : length;
      for (let offset = 0; offset < length; offset += segment) {
        this.#check(slot * ROOM + offset, Math.min(segment, length - offset), now);
      }
    }
    return count === this.#slots;
  }

  #check(at: number, length: number, now: number): void {
    if (length !== load.size || !this.#hasHeader(at)) {
      this.wrong++;
      return;
    }
    const tag = at + expectHeader.length;
    if (this.#view.getUint32(tag + TAG.run, true) !== run) return;
    const number = this.#view.getUint32(tag + TAG.number, true);
    if (this.#seen[number] === 1) {
      this.duplicates++;
      return;
    }
    this.#seen[number] = 1;
    if (number < this.#highest) this.reordered++;
    else this.#highest = number;
    if (this.received < MOST_SAMPLES)
      this.latencies[this.received] = now - this.#view.getFloat64(tag + TAG.sentAt, true);
    this.received++;
  }

  #hasHeader(at: number): boolean {
    for (let octet = 0; octet < expectHeader.length; octet++) {
      if (this.#frames.bytes[at + octet] !== expectHeader[octet]) return false;
    }
    return true;
  }
}

function ceilTo8(length: number): number {
  return (length + 7) & ~7;
}

function main(): LoadResult {
  if (load.size < sendHeader.length + TAG_LENGTH)
    throw new Error(`frames of ${load.size} octets are too short`);
  if (load.cpu !== undefined) pinThread(0, load.cpu);
  const outgoing = new Outgoing(openSocket(load.localPort, load.toPort, false));
  const incoming = new Incoming(openSocket(load.receivePort, undefined, load.gathers));
  const start = monotonicMs();
  const end = start + load.seconds * 1000;
  let now = start;
  for (; now < end; now = monotonicMs()) {
    const due = load.rate === 0 ? Infinity : Math.floor(((now - start) / 1000) * load.rate) - outgoing.sent;
    outgoing.send(Math.min(due, MOST_FRAMES - outgoing.sent), now);
    for (let polls = 0; polls < 8 && incoming.poll(); polls++);
  }
  let quiet = now;
  while (incoming.received < outgoing.sent && now - quiet < DRAIN_MS) {
    const before = incoming.received;
    incoming.poll();
    now = monotonicMs();
    if (incoming.received > before) quiet = now;
  }
  const samples = incoming.latencies.subarray(0, Math.min(incoming.received, MOST_SAMPLES)).sort();
  const quantile = (share: number): number => (samples[Math.floor(share * (samples.length - 1))] ?? 0) * 1000;
  return {
    sent: outgoing.sent,
    received: incoming.received,
    wrong: incoming.wrong,
    duplicates: incoming.duplicates,
    reordered: incoming.reordered,
    loss: outgoing.sent === 0 ? 0 : 1 - incoming.received / outgoing.sent,
    receivedPerSecond: incoming.received / Math.max(0.001, (incoming.last - incoming.first) / 1000),
    latency1: quantile(0.01),
    latency50: quantile(0.5),
    latency99: quantile(0.99),
  };
}

process.stdout.write(`${JSON.stringify(main())}\n`);
