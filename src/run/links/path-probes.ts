/**
 * Datagrams that find out which frames pass between two hosts in one piece. One host echoes, for some seconds and only
 * what begins with the word that it has given out, octet for octet; the other sends sizes, and sees which come back.
 */
import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { refusals } from '../../base/errors/errors.js';
import type { Opener } from '../../engine/sockets/opener.js';
import { udpAttachable } from './udp-peer.js';
import type { UdpPorts } from './udp-ports.js';
import type { UdpReach } from './udp-reach.js';

/** A socket that answers. */
export interface PathEcho {
  readonly udp_port: number;
  readonly word: string;
}

/** The way to a host, as far as it was found out. */
export interface PathFinding {
  /** The largest of `PROBED_FRAMES` that came back in one piece; 0 when none did, null when none could be sent. */
  readonly largest_frame: number | null;
  /** The MTU towards the other host, as far as this one knows. */
  readonly route_mtu: number | null;
}

/** A small one, the largest that fits into an MTU of 1500 with the headers of IPv4 and UDP, and a full Ethernet frame. */
export const PROBED_FRAMES = [64, 1472, 1514] as const;

const OWNER = 'path probes';
const WORD_OCTETS = 16;
const MOST_AT_ONCE = 64;
const ECHO_MS = 3000;
const MOST_ECHOES = 64;
const TRIES = 4;
const TRY_MS = 250;

interface PathProbesOptions {
  readonly opener: Opener;
  readonly udpPorts: UdpPorts;
  readonly reach: UdpReach;
}

export class PathProbes {
  readonly #options: PathProbesOptions;
  #underWay = 0;

  constructor(options: PathProbesOptions) {
    this.#options = options;
  }

  /** Whether this host has sockets whose datagrams are never cut. */
  get echoes(): boolean {
    return this.#options.opener.openUncut !== undefined;
  }

  /** `towards` is the address of the host that will send. Refuses (409) where nothing is echoed. */
  async echo(towards: string): Promise<PathEcho> {
    const { socket, port, close } = await this.#open(towards);
    const word = randomBytes(WORD_OCTETS);
    let left = MOST_ECHOES;
    socket.on('message', (datagram, { address, port: source }) => {
      if (!isOf(datagram, word)) return;
      if (--left >= 0) socket.send(datagram, source, address, () => undefined);
    });
    setTimeout(close, ECHO_MS).unref();
    return { udp_port: port, word: word.toString('hex') };
  }

  /** Sends to the echo of another host; without one, only what this host knows of the way is told. */
  async probe(host: string, echo: PathEcho | undefined): Promise<PathFinding> {
    const { opener } = this.#options;
    const finding = { largest_frame: null, route_mtu: opener.routeMtu?.(host) ?? null };
    if (echo === undefined || !this.echoes) return finding;
    const opened = await this.#open(host);
    try {
      return { ...finding, largest_frame: await largestOf(opened.socket, host, echo) };
    } finally {
      opened.close();
    }
  }

  /** A socket for datagrams to and from a host, on a port of those for links. Refuses hosts that no link may lead to. */
  async #open(host: string): Promise<{ socket: Socket; port: number; close: () => void }> {
    const { opener, udpPorts, reach } = this.#options;
    if (opener.openUncut === undefined) throw refusals.datagramsCut();
    if (this.#underWay >= MOST_AT_ONCE) throw refusals.tooMany('probes of paths', MOST_AT_ONCE);
    this.#underWay++;
    let port: number | undefined;
    const release = (): void => {
      this.#underWay--;
      if (port !== undefined) udpPorts.release(port, OWNER);
    };
    try {
      port = await udpPorts.borrow(OWNER);
      const nio = { type: 'nio_udp', lport: port, rhost: host, rport: port, isTunnel: true } as const;
      const local = await udpAttachable(nio, reach);
      const fd = opener.openUncut(local.localHost, port);
      const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
      await new Promise<void>((resolve, reject) => {
        socket.on('error', reject);
        socket.bind({ fd, exclusive: true }, resolve);
      });
      const close = (): void => {
        socket.close(release);
      };
      return { socket, port, close };
    } catch (error) {
      release();
      throw error;
    }
  }
}

function isOf(datagram: Buffer, word: Buffer): boolean {
  return datagram.length >= PROBED_FRAMES[0] && datagram.subarray(0, WORD_OCTETS).equals(word);
}

/** The largest frame that came back. All sizes go at once, and those that are missing again. */
async function largestOf(socket: Socket, host: string, echo: PathEcho): Promise<number> {
  const word = Buffer.from(echo.word, 'hex');
  const missing = new Set<number>(PROBED_FRAMES);
  const enough = new Promise<void>((resolve) => {
    socket.on('message', (datagram) => {
      if (isOf(datagram, word)) missing.delete(datagram.length);
      if (missing.size === 0) resolve();
    });
  });
  for (let tries = 0; tries < TRIES && missing.size > 0; tries++) {
    for (const size of missing) {
      const datagram = Buffer.alloc(size);
      word.copy(datagram);
      // The kernel refuses a frame that is too large for the interface of this host.
      socket.send(datagram, echo.udp_port, host, () => undefined);
    }
    await Promise.race([enough, new Promise((resolve) => setTimeout(resolve, TRY_MS))]);
  }
  return Math.max(0, ...PROBED_FRAMES.filter((size) => !missing.has(size)));
}
