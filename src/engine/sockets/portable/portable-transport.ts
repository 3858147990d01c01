/**
 * The transport of platforms whose sockets cannot be handed to an engine: UDP by node:dgram, one event per datagram.
 * It copies received frames into frame memory turn by turn, and keeps the same order and the same counts.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import { COUNTER } from '../../../base/memory/port-counters.js';
import { Batch, BATCH_FRAMES, countSent, type Port } from '../../forwarding/port.js';
import type { PortEndpoint, Link, Transport, UdpEndpoint } from '../../forwarding/transport.js';
import { SLAB_STRIDE, SLABS, type FrameMemory } from '../../forwarding/frame-memory.js';
import { RECEIVE_BUFFER } from '../opener.js';

/** The most received frames of a link that wait for the next turn. */
const LONGEST_QUEUE = 4096;
/** The most frames of a link that are being sent. */
const MOST_SENDS = 4096;
const LONGEST_WAIT_MS = 500;

interface PortableLink extends Link {
  readonly endpoint: UdpEndpoint;
  readonly socket: Socket;
  readonly port: Port;
  readonly fromLink: (frames: Batch) => void;
  readonly queue: Buffer[];
  sending: number;
}

export class PortableTransport implements Transport {
  readonly #memory: FrameMemory;
  readonly #bell: MessagePort;
  readonly #onBell: () => boolean;
  readonly #links = new Set<PortableLink>();
  readonly #batch = new Batch();
  #hasRung = false;
  #wake: (() => void) | undefined;

  /** A message at `bell` rings it. `onBell` is called then; it returns whether everything that it rang for is done. */
  constructor(memory: FrameMemory, bell: MessagePort, onBell: () => boolean) {
    this.#memory = memory;
    this.#bell = bell;
    this.#onBell = onBell;
    bell.on('message', () => {
      this.#hasRung = true;
      this.#wake?.();
    });
  }

  add(endpoint: PortEndpoint, port: Port, fromLink: (frames: Batch) => void): Link | Promise<Link> {
    if (endpoint.type === 'null') return { endpoint, send: countSent };
    if (endpoint.type !== 'udp-address') throw new Error('this transport opens its sockets itself');
    return this.#open(endpoint, port, fromLink);
  }

  remove(link: Link): void {
    if (!isPortable(link)) return;
    this.#links.delete(link);
    link.socket.close();
  }

  drain(link: Link): void {
    if (!isPortable(link)) return;
    while (link.queue.length > 0) this.#handOver(link);
  }

  async turn(patienceMs = Infinity): Promise<void> {
    if (!this.#hasRung && ![...this.#links].some((link) => link.queue.length > 0))
      await this.#wait(Math.min(patienceMs, LONGEST_WAIT_MS));
    if (this.#hasRung) this.#hasRung = !this.#onBell();
    for (const link of [...this.#links]) if (link.queue.length > 0) this.#handOver(link);
    // Node.js reads sockets and receives orders only between turns.
    await new Promise((resolve) => setImmediate(resolve));
  }

  close(): void {
    this.#bell.close();
    for (const link of this.#links) link.socket.close();
    this.#links.clear();
  }

  async #open(endpoint: UdpEndpoint, port: Port, fromLink: (frames: Batch) => void): Promise<Link> {
    const socket = createSocket({
      type: isIPv6(endpoint.remoteHost) ? 'udp6' : 'udp4',
      recvBufferSize: RECEIVE_BUFFER,
    });
    const link: PortableLink = {
      endpoint,
      socket,
      port,
      fromLink,
      queue: [],
      sending: 0,
      send: (to, frames) => {
        this.#send(link, to, frames);
      },
    };
    try {
      await connected(socket, endpoint);
    } catch (error) {
      socket.close();
      throw error;
    }
    // An ICMP error for a frame that nobody received.
    socket.on('error', () => undefined);
    socket.on('message', (frame) => {
      this.#keep(link, frame);
    });
    this.#links.add(link);
    return link;
  }

  #keep(link: PortableLink, frame: Buffer): void {
    const { port, queue } = link;
    const fault =
      frame.length === 0 ? COUNTER.empty : queue.length < LONGEST_QUEUE ? undefined : COUNTER.queue_full;
    if (fault === undefined) queue.push(frame);
    else {
      countIn(port, frame);
      port.count(fault);
    }
    this.#wake?.();
  }

  #handOver(link: PortableLink): void {
    const batch = this.#batch;
    for (const frame of link.queue.splice(0, Math.min(SLABS, BATCH_FRAMES))) {
      const offset = batch.count * SLAB_STRIDE;
      countIn(link.port, frame);
      this.#memory.bytes.set(frame, offset);
      batch.add(offset, frame.length);
    }
    link.fromLink(batch);
    batch.count = 0;
  }

  #send(link: PortableLink, to: Port, { offsets, lengths, count }: Batch): void {
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      if (link.sending >= MOST_SENDS) {
        to.count(COUNTER.send_buffer_full);
        continue;
      }
      link.sending++;
      // Copied, because the memory is reused before the socket has sent the frame.
      link.socket.send(Buffer.from(this.#memory.bytes.slice(offset, offset + length)), (error) => {
        link.sending--;
        if (error === null) {
          to.count(COUNTER.frames_out);
          to.count(COUNTER.octets_out, length);
        } else to.count(COUNTER.send_failed);
      });
    }
  }

  #wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, milliseconds);
      this.#wake = done;
    });
  }
}

async function connected(socket: Socket, endpoint: UdpEndpoint): Promise<void> {
  socket.bind(endpoint.localPort, endpoint.localHost);
  await once(socket, 'listening');
  socket.connect(endpoint.remotePort, endpoint.remoteHost);
  await once(socket, 'connect');
}

function countIn(port: Port, frame: Uint8Array): void {
  port.count(COUNTER.frames_in);
  port.count(COUNTER.octets_in, frame.length);
}

function isPortable(link: Link): link is PortableLink {
  return link.endpoint.type === 'udp-address';
}
