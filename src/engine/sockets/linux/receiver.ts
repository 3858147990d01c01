/**
 * Receives many datagrams per system call, each into a slab that holds the largest message. With UDP_GRO a whole run of
 * datagrams arrives as one message, and is taken apart here. Hands over batches of frames.
 */
import koffi from 'koffi';
import { COUNTER } from '../../../base/memory/port-counters.js';
import { Batch, BATCH_FRAMES, type Port } from '../../forwarding/port.js';
import { SLAB_LENGTH, SLAB_STRIDE, SLABS, type FrameMemory } from '../../forwarding/frame-memory.js';
import {
  CONTROL,
  MESSAGE,
  MSG_DONTWAIT,
  MSG_TRUNC,
  SOL_PACKET,
  SOL_UDP,
  TP_STATUS_VLAN_TPID_VALID,
  TP_STATUS_VLAN_VALID,
  VECTOR_SIZE,
} from './constants.js';
import { libc } from './libc.js';
import { addressOf, NativeMemory } from './native-memory.js';

/** A batch ends when it holds this many bytes, whatever the number of frames. */
const BATCH_BYTES = 262_144;
const CONTROL_SPACE = 40;
const AUXDATA = { status: 0, tag: 16, protocol: 18 } as const;
const DEFAULT_TAG_PROTOCOL = 0x8100;
const ADDRESSES_LENGTH = 12;
const TAG_LENGTH = 4;
const { EAGAIN } = koffi.os.errno;

/** The receiver's state of a socket. */
export interface Inlet {
  readonly descriptor: number;
  readonly port: Port;
  readonly fromLink: (frames: Batch) => void;
  /** The frames per message of the last call: it bounds how many messages the next call may bring. */
  framesPerMessage: number;
}

export class Receiver {
  readonly #memory: FrameMemory;
  readonly #frames: number;
  readonly #messages = new NativeMemory(SLABS * MESSAGE.size);
  readonly #vectors = new NativeMemory(SLABS * VECTOR_SIZE);
  readonly #controls = new NativeMemory(SLABS * CONTROL_SPACE);
  readonly #batch = new Batch();
  #bytes = 0;
  /** The number of messages whose control length the last call has changed. */
  #used = SLABS;

  constructor(memory: FrameMemory) {
    this.#memory = memory;
    this.#frames = addressOf(memory.bytes);
    for (let slab = 0; slab < SLABS; slab++) {
      const message = slab * MESSAGE.size;
      this.#vectors.setLong(slab * VECTOR_SIZE, this.#frames + slab * SLAB_STRIDE);
      this.#vectors.setLong(slab * VECTOR_SIZE + 8, SLAB_LENGTH);
      this.#messages.setLong(message + MESSAGE.vectors, this.#vectors.address + slab * VECTOR_SIZE);
      this.#messages.setLong(message + MESSAGE.vectorCount, 1);
      this.#messages.setLong(message + MESSAGE.control, this.#controls.address + slab * CONTROL_SPACE);
    }
  }

  /**
   * Receives the datagrams of one system call. Returns the number of frames; negative when there may be more, because
   * the call brought as many messages as it could.
   */
  receive(inlet: Inlet, most = SLABS): number {
    const room = Math.max(1, Math.min(most, Math.floor(BATCH_FRAMES / inlet.framesPerMessage)));
    const { words, address } = this.#messages;
    for (let slab = 0; slab < this.#used; slab++) {
      words[(slab * MESSAGE.size + MESSAGE.controlLength) >> 2] = CONTROL_SPACE;
    }
    let count = libc.recvmmsg(inlet.descriptor, address, room, MSG_DONTWAIT, 0);
    // The error of an earlier send is reported once, before the frames that have arrived.
    if (count < 0 && koffi.errno() !== EAGAIN) {
      count = libc.recvmmsg(inlet.descriptor, address, room, MSG_DONTWAIT, 0);
    }
    if (count <= 0) {
      this.#used = 0;
      return 0;
    }
    this.#used = count;
    let frames = 0;
    for (let slab = 0; slab < count; slab++) frames += this.#takeApart(inlet, slab);
    this.#handOver(inlet);
    inlet.framesPerMessage = Math.max(1, Math.ceil(frames / count));
    return count === room ? -frames : frames;
  }

  /** Receives one frame by read(2), for TAPs. Returns whether there was one. */
  read(inlet: Inlet): boolean {
    const length = libc.read(inlet.descriptor, this.#frames, SLAB_LENGTH);
    if (length <= 0) return false;
    this.#addOne(inlet, 0, length);
    this.#handOver(inlet);
    return true;
  }

  /** Splits a message into frames; returns their number. */
  #takeApart(inlet: Inlet, slab: number): number {
    const { words } = this.#messages;
    const message = slab * MESSAGE.size;
    const length = words[(message + MESSAGE.length) >> 2] ?? 0;
    const offset = slab * SLAB_STRIDE;
    if (length === 0) return countDrop(inlet.port, COUNTER.empty);
    if (((words[(message + MESSAGE.flags) >> 2] ?? 0) & MSG_TRUNC) !== 0) {
      return countDrop(inlet.port, COUNTER.oversize);
    }
    if ((words[(message + MESSAGE.controlLength) >> 2] ?? 0) === 0)
      return this.#addOne(inlet, offset, length);
    const control = slab * CONTROL_SPACE;
    const level = this.#controls.words[(control + CONTROL.level) >> 2];
    const data = control + CONTROL.data;
    if (level === SOL_PACKET) return this.#addUntagged(inlet, offset, length, data);
    const segment = level === SOL_UDP ? (this.#controls.words[data >> 2] ?? 0) : length;
    if (segment <= 0 || segment >= length) return this.#addOne(inlet, offset, length);
    const frames = Math.ceil(length / segment);
    inlet.port.count(COUNTER.frames_in, frames);
    inlet.port.count(COUNTER.octets_in, length);
    for (let at = 0; at < length; at += segment) {
      this.#add(inlet, offset + at, Math.min(segment, length - at));
    }
    return frames;
  }

  #addOne(inlet: Inlet, offset: number, length: number): number {
    inlet.port.count(COUNTER.frames_in);
    inlet.port.count(COUNTER.octets_in, length);
    this.#add(inlet, offset, length);
    return 1;
  }

  #add(inlet: Inlet, offset: number, length: number): void {
    this.#batch.add(offset, length);
    this.#bytes += length;
    if (this.#batch.count === BATCH_FRAMES || this.#bytes >= BATCH_BYTES) this.#handOver(inlet);
  }

  /** A packet socket strips the outermost VLAN tag and reports it beside the frame: this puts it back. */
  #addUntagged(inlet: Inlet, offset: number, length: number, auxdata: number): number {
    const { bytes } = this.#controls;
    const view = new DataView(bytes.buffer, auxdata);
    const status = view.getUint32(AUXDATA.status, true);
    if ((status & TP_STATUS_VLAN_VALID) === 0) return this.#addOne(inlet, offset, length);
    const protocol =
      (status & TP_STATUS_VLAN_TPID_VALID) === 0
        ? DEFAULT_TAG_PROTOCOL
        : view.getUint16(AUXDATA.protocol, true);
    const tag = view.getUint16(AUXDATA.tag, true);
    // The part behind the addresses moves up by a tag; the slab has room at its end.
    const frame = this.#memory.bytes;
    frame.copyWithin(
      offset + ADDRESSES_LENGTH + TAG_LENGTH,
      offset + ADDRESSES_LENGTH,
      offset + Math.min(length, SLAB_LENGTH - TAG_LENGTH),
    );
    frame.set([protocol >> 8, protocol & 0xff, tag >> 8, tag & 0xff], offset + ADDRESSES_LENGTH);
    return this.#addOne(inlet, offset, Math.min(length + TAG_LENGTH, SLAB_LENGTH));
  }

  #handOver(inlet: Inlet): void {
    if (this.#batch.count === 0) return;
    inlet.fromLink(this.#batch);
    this.#batch.count = 0;
    this.#bytes = 0;
  }
}

function countDrop(port: Port, cause: typeof COUNTER.empty | typeof COUNTER.oversize): number {
  port.count(COUNTER.frames_in);
  port.count(cause);
  return 1;
}
