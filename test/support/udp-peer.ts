/** The far end of a UDP link: an ordinary socket of node:dgram. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { patience } from './patience.js';
import type { Teardown } from './scratch.js';

/** Fits into the smallest receive buffer that hosts have by default, whatever the length of the frames. */
const OCTETS_AT_ONCE = 48 * 1024;
const OVERHEAD = 1024;
const LIMIT_MS = patience(20_000);

export class UdpPeer {
  readonly received: Buffer[] = [];
  readonly port: number;
  readonly #socket: Socket;
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.port = socket.address().port;
    socket.on('message', (frame) => this.received.push(frame));
  }

  static async open(t: Teardown, host = '127.0.0.1', port = 0): Promise<UdpPeer> {
    const type = host.includes(':') ? 'udp6' : 'udp4';
    const socket = createSocket({ type, recvBufferSize: 4 * 1024 * 1024 });
    socket.bind(port, host);
    await once(socket, 'listening');
    const peer = new UdpPeer(socket);
    t.teardown(() => {
      peer.close();
    });
    return peer;
  }

  close(): void {
    if (!this.#isClosed) this.#socket.close();
    this.#isClosed = true;
  }

  /** Resolves when all have left: over the loopback that is when they have arrived. */
  async send(port: number, frames: readonly Uint8Array[]): Promise<void> {
    const { address } = this.#socket.address();
    await Promise.all(
      frames.map(
        (frame) =>
          new Promise<void>((resolve, reject) => {
            this.#socket.send(frame, port, address, (error) => {
              if (error === null) resolve();
              else reject(error);
            });
          }),
      ),
    );
  }

  /** Everything received, once it is so many frames. */
  async receive(count: number): Promise<Buffer[]> {
    const giveUp = AbortSignal.timeout(LIMIT_MS);
    while (this.received.length < count) {
      await once(this.#socket, 'message', { signal: giveUp }).catch(() => {
        throw new Error(`${this.received.length} of ${count} frames came`);
      });
    }
    return this.received;
  }
}

/** A port that nobody uses just now. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  socket.bind(0, host);
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  await once(socket, 'close');
  return port;
}

/** Frames in portions that no receive buffer is too small for. */
export function portions<Frame extends Uint8Array>(frames: readonly Frame[]): Frame[][] {
  const all: Frame[][] = [];
  let room = 0;
  for (const frame of frames) {
    room -= frame.length + OVERHEAD;
    if (room < 0) {
      all.push([]);
      room = OCTETS_AT_ONCE - frame.length - OVERHEAD;
    }
    all.at(-1)?.push(frame);
  }
  return all;
}
