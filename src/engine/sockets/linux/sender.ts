/**
 * Sends batches in as few system calls as the kernel allows. Over UDP, consecutive frames of equal length (the last may
 * be shorter) go out as one segmented send; the receiver sees ordinary datagrams. Every other frame is a message of its
 * own, with many messages per call. Order is kept.
 */
import koffi from 'koffi';
import { COUNTER } from '../../../base/memory/port-counters.js';
import { BATCH_FRAMES, type Batch, type Port } from '../../forwarding/port.js';
import {
  CONTROL,
  MESSAGE,
  MSG_DONTWAIT,
  MSG_NOSIGNAL,
  SOL_UDP,
  UDP_SEGMENT,
  VECTOR_SIZE,
} from './constants.js';
import { libc } from './libc.js';
import { NativeMemory } from './native-memory.js';

/** The limit of older kernels; newer ones allow twice as many. */
const MOST_SEGMENTS = 64;
const MOST_BYTES = 65_000;
const FLAGS = MSG_DONTWAIT | MSG_NOSIGNAL;
const CONTROL_SPACE = 24;
const CONTROL_LENGTH = 18;
const { ECONNREFUSED, EAGAIN, ENOBUFS, EMSGSIZE, EINVAL, EIO, EINTR } = koffi.os.errno;

/** The sender's state of a socket. */
export interface Outlet {
  readonly descriptor: number;
  /** Longer frames are not joined into segmented sends, because the route or the socket refuses those. */
  largestSegment: number;
}

export class Sender {
  readonly #frames: number;
  readonly #messages = new NativeMemory(BATCH_FRAMES * MESSAGE.size);
  readonly #vectors = new NativeMemory(BATCH_FRAMES * VECTOR_SIZE);
  readonly #controls = new NativeMemory(BATCH_FRAMES * CONTROL_SPACE);
  /** The index of the first frame of each message; behind the last message, the number of frames. */
  readonly #firsts = new Int32Array(BATCH_FRAMES + 1);
  /** The bytes of each message. */
  readonly #bytes = new Int32Array(BATCH_FRAMES);

  /** `frames` is the address of frame memory. */
  constructor(frames: number) {
    this.#frames = frames;
    for (let index = 0; index < BATCH_FRAMES; index++) {
      const control = index * CONTROL_SPACE;
      this.#controls.setLong(control, CONTROL_LENGTH);
      this.#controls.words[(control + CONTROL.level) >> 2] = SOL_UDP;
      this.#controls.words[(control + CONTROL.type) >> 2] = UDP_SEGMENT;
      this.#messages.setLong(index * MESSAGE.size + MESSAGE.control, this.#controls.address + control);
    }
  }

  send(outlet: Outlet, port: Port, frames: Batch): void {
    if (frames.count === 1) {
      this.#sendOne(outlet, port, frames.offsets[0] ?? 0, frames.lengths[0] ?? 0);
      return;
    }
    const messages = this.#compose(outlet, frames);
    let done = 0;
    while (done < messages) {
      const sent = this.#submit(outlet.descriptor, done, messages - done);
      if (sent > 0) {
        this.#countSent(port, done, done + sent);
        done += sent;
        continue;
      }
      done = this.#recover(outlet, port, frames, done, messages, koffi.errno());
    }
  }

  /** Sends by one write(2) per frame, for TAPs. */
  write({ descriptor }: Outlet, port: Port, { offsets, lengths, count }: Batch): void {
    for (let index = 0; index < count; index++) {
      const length = lengths[index] ?? 0;
      if (libc.write(descriptor, this.#frames + (offsets[index] ?? 0), length) < 0) countFailure(port);
      else {
        port.count(COUNTER.frames_out);
        port.count(COUNTER.octets_out, length);
      }
    }
  }

  /** Sends by one sendto(2) per frame, for Unix sockets that are not connected. */
  sendTo({ descriptor }: Outlet, peer: Uint8Array, port: Port, { offsets, lengths, count }: Batch): void {
    for (let index = 0; index < count; index++) {
      const length = lengths[index] ?? 0;
      const address = this.#frames + (offsets[index] ?? 0);
      if (libc.sendto(descriptor, address, length, FLAGS, peer, peer.length) < 0) countFailure(port);
      else {
        port.count(COUNTER.frames_out);
        port.count(COUNTER.octets_out, length);
      }
    }
  }

  /** Groups frames into messages; returns the number of messages. */
  #compose(outlet: Outlet, { offsets, lengths, count }: Batch): number {
    const { words } = this.#messages;
    let messages = 0;
    let vectors = 0;
    let index = 0;
    while (index < count) {
      const segment = lengths[index] ?? 0;
      const first = index;
      const firstVector = vectors;
      let bytes = 0;
      let end = -1;
      do {
        const offset = offsets[index] ?? 0;
        const length = lengths[index] ?? 0;
        // Frames that are adjacent in memory share a vector.
        if (offset === end) this.#lengthen(vectors - 1, length);
        else this.#putVector(vectors++, offset, length);
        end = offset + length;
        bytes += length;
        index++;
        if (length < segment) break;
      } while (
        index < count &&
        segment <= outlet.largestSegment &&
        index - first < MOST_SEGMENTS &&
        (lengths[index] ?? 0) <= segment &&
        bytes + segment <= MOST_BYTES
      );
      const message = messages * MESSAGE.size;
      this.#messages.setLong(message + MESSAGE.vectors, this.#vectors.address + firstVector * VECTOR_SIZE);
      words[(message + MESSAGE.vectorCount) >> 2] = vectors - firstVector;
      const isSegmented = index - first > 1;
      words[(message + MESSAGE.controlLength) >> 2] = isSegmented ? CONTROL_SPACE : 0;
      if (isSegmented) this.#controls.words[(messages * CONTROL_SPACE + CONTROL.data) >> 2] = segment;
      this.#bytes[messages] = bytes;
      this.#firsts[messages++] = first;
    }
    this.#firsts[messages] = count;
    return messages;
  }

  #putVector(index: number, offset: number, length: number): void {
    this.#vectors.setLong(index * VECTOR_SIZE, this.#frames + offset);
    this.#vectors.setLong(index * VECTOR_SIZE + 8, length);
  }

  #lengthen(index: number, by: number): void {
    const word = (index * VECTOR_SIZE + 8) >> 2;
    this.#vectors.words[word] = (this.#vectors.words[word] ?? 0) + by;
  }

  #submit(descriptor: number, first: number, count: number): number {
    const message = this.#messages.address + first * MESSAGE.size;
    if (count > 1) return libc.sendmmsg(descriptor, message, count, FLAGS);
    return libc.sendmsg(descriptor, message, FLAGS) < 0 ? -1 : 1;
  }

  /** Handles a refused message; returns the message to continue with. */
  #recover(
    outlet: Outlet,
    port: Port,
    frames: Batch,
    message: number,
    messages: number,
    error: number,
  ): number {
    const first = this.#firsts[message] ?? 0;
    const next = this.#firsts[message + 1] ?? 0;
    if (error === EINTR) return message;
    if (error === EAGAIN || error === ENOBUFS) {
      port.count(COUNTER.send_buffer_full, (this.#firsts[messages] ?? 0) - first);
      return messages;
    }
    const segment = frames.lengths[first] ?? 0;
    if (next - first > 1 && (error === EMSGSIZE || error === EINVAL || error === EIO)) {
      outlet.largestSegment = Math.min(outlet.largestSegment, segment - 1);
    }
    // Often the error is that of an earlier send, reported instead of sending: try each frame on its own.
    for (let index = first; index < next; index++) {
      this.#sendOne(outlet, port, frames.offsets[index] ?? 0, frames.lengths[index] ?? 0);
    }
    return message + 1;
  }

  #sendOne(outlet: Outlet, port: Port, offset: number, length: number): void {
    const address = this.#frames + offset;
    let sent = libc.send(outlet.descriptor, address, length, FLAGS);
    // The refusal of an earlier frame is reported instead of sending this one.
    if (sent < 0 && koffi.errno() === ECONNREFUSED)
      sent = libc.send(outlet.descriptor, address, length, FLAGS);
    if (sent >= 0) {
      port.count(COUNTER.frames_out);
      port.count(COUNTER.octets_out, length);
      return;
    }
    countFailure(port);
  }

  #countSent(port: Port, first: number, end: number): void {
    let bytes = 0;
    for (let message = first; message < end; message++) bytes += this.#bytes[message] ?? 0;
    port.count(COUNTER.frames_out, (this.#firsts[end] ?? 0) - (this.#firsts[first] ?? 0));
    port.count(COUNTER.octets_out, bytes);
  }
}

/** Counts the failure of the last call by its error. */
function countFailure(port: Port): void {
  const error = koffi.errno();
  if (error === EAGAIN || error === ENOBUFS) port.count(COUNTER.send_buffer_full);
  else if (error === EMSGSIZE) port.count(COUNTER.too_big_for_route);
  else port.count(COUNTER.send_failed);
}
