/**
 * A network in memory that behaves as the kernel's: an endpoint is a socket with a queue from when it is opened
 * until it is closed, whoever it is attached to; it hears its far end only; and what is sent to nobody is lost.
 */
import { COUNTER } from '../../src/base/memory/port-counters.js';
import { Batch, BATCH_FRAMES, countSent, bytesOf, type Port } from '../../src/engine/forwarding/port.js';
import type { PortEndpoint, Link, Transport, UdpEndpoint } from '../../src/engine/forwarding/transport.js';
import type { FrameMemory } from '../../src/engine/forwarding/frame-memory.js';

/** The most frames that wait at one socket. */
const LONGEST_QUEUE = 2000;

interface Socket {
  readonly remote: string;
  readonly queue: Buffer[];
}

interface MemoryLink extends Link {
  readonly socket: Socket;
  readonly port: Port;
  readonly fromLink: (frames: Batch) => void;
}

export class MemoryTransport implements Transport {
  /** Frames that left to far ends of no socket here, in order. */
  readonly outside = new Map<string, Buffer[]>();
  /** How many frames went through sockets, and how many of them a full queue or nobody took. */
  sent = 0;
  lost = 0;
  /** How many frames ports were handed, and how many they sent. */
  cameIn = 0;
  wentOut = 0;
  /** Sockets are opened by the transport itself, later. */
  isSlow = false;
  refusal: Error | undefined;
  readonly #memory: FrameMemory;
  readonly #sockets = new Map<string, Socket>();
  readonly #links = new Set<MemoryLink>();

  constructor(memory: FrameMemory) {
    this.#memory = memory;
  }

  open(local: string, remote: string): UdpEndpoint {
    this.#sockets.set(local, { remote, queue: [] });
    const [, localPort = ''] = local.split(':');
    const [, remotePort = ''] = remote.split(':');
    return {
      type: 'udp-address',
      local,
      remote,
      localHost: 'memory',
      localPort: Number(localPort),
      remoteHost: 'memory',
      remotePort: Number(remotePort),
    };
  }

  closeSocket({ local }: UdpEndpoint): void {
    this.#sockets.delete(local);
  }

  /** As if its far end had sent them. */
  deliver({ local, remote }: UdpEndpoint, frames: readonly Buffer[]): void {
    for (const frame of frames) this.#carry(remote, local, frame);
  }

  /** Returns the frames that have left to a far end outside, and forgets them. */
  taken({ remote }: UdpEndpoint): Buffer[] {
    const frames = this.outside.get(remote) ?? [];
    this.outside.delete(remote);
    return frames;
  }

  get isQuiet(): boolean {
    return [...this.#links].every(({ socket }) => socket.queue.length === 0);
  }

  get links(): number {
    return this.#links.size;
  }

  add(endpoint: PortEndpoint, port: Port, fromLink: (frames: Batch) => void): Link | Promise<Link> {
    if (this.refusal !== undefined) {
      if (this.isSlow) return Promise.reject(this.refusal);
      throw this.refusal;
    }
    const link = this.#link(endpoint, port, fromLink);
    return this.isSlow ? Promise.resolve(link) : link;
  }

  remove(link: Link): void {
    if (!this.#links.delete(link as MemoryLink) && link.endpoint.type !== 'null') {
      throw new Error('what is removed must have been added');
    }
  }

  drain(link: Link): void {
    const { socket } = link as MemoryLink;
    for (let left = socket.queue.length; left > 0; left -= BATCH_FRAMES) {
      this.#handOver(link as MemoryLink, Math.min(left, BATCH_FRAMES));
    }
  }

  turn(): void {
    for (const link of [...this.#links]) this.#handOver(link, BATCH_FRAMES);
  }

  /** Turns until nothing moves, or so often. */
  run(mostTurns = 1000): void {
    for (let turns = 0; turns < mostTurns && !this.isQuiet; turns++) this.turn();
  }

  close(): void {
    this.#links.clear();
  }

  #link(endpoint: PortEndpoint, port: Port, fromLink: (frames: Batch) => void): Link {
    if (!('local' in endpoint)) return { endpoint, send: countSent };
    const { local = '', remote = '' } = endpoint;
    const socket = this.#sockets.get(local);
    if (socket === undefined) throw new Error(`${local} has not been opened`);
    const send = (from: Port, frames: Batch): void => {
      countSent(from, frames);
      this.wentOut += frames.count;
      for (let index = 0; index < frames.count; index++) {
        const offset = frames.offsets[index] ?? 0;
        const end = offset + (frames.lengths[index] ?? 0);
        this.#carry(local, remote, Buffer.from(this.#memory.bytes.slice(offset, end)));
      }
    };
    const link: MemoryLink = { endpoint, socket, port, fromLink, send };
    this.#links.add(link);
    return link;
  }

  #carry(from: string, to: string, frame: Buffer): void {
    this.sent++;
    const socket = this.#sockets.get(to);
    if (socket === undefined) {
      const frames = this.outside.get(to) ?? [];
      frames.push(frame);
      this.outside.set(to, frames);
    } else if (socket.remote === from && socket.queue.length < LONGEST_QUEUE) socket.queue.push(frame);
    else this.lost++;
  }

  #handOver({ socket, port, fromLink }: MemoryLink, most: number): void {
    const batch = new Batch();
    let offset = 0;
    for (const frame of socket.queue.splice(0, most)) {
      this.#memory.bytes.set(frame, offset);
      batch.add(offset, frame.length);
      offset += frame.length;
    }
    if (batch.count === 0) return;
    this.cameIn += batch.count;
    port.count(COUNTER.frames_in, batch.count);
    port.count(COUNTER.octets_in, bytesOf(batch));
    fromLink(batch);
  }
}
