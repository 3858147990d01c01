/**
 * The contracts between an engine and its platform: the endpoints that ports are attached to, the transport that moves
 * frames between frame memory and sockets, and the bell that wakes the engine's thread.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Batch, Exit, Port } from './port.js';

/** The two ends of a UDP attachment, each as `host:port`. */
interface UdpEnds {
  readonly local: string;
  readonly remote: string;
}

/** A descriptor that the HTTP thread has opened. It outlives the engine, and is closed after the engine let go of it. */
export interface OpenEndpoint extends Partial<UdpEnds> {
  readonly type: 'udp' | 'unix' | 'packet' | 'tap';
  readonly descriptor: number;
  /** The path of the Unix socket to which frames go, when the descriptor is not connected to one. */
  readonly peer?: string;
}

/** A socket that listens for the program around a guest, whose memory the engine then shares. */
export interface GuestEndpoint {
  readonly type: 'vhost-user';
  readonly descriptor: number;
  /** The memory of a `GuestRecord`. */
  readonly record: SharedArrayBuffer;
  /** The most memory that the guest may share, in bytes. */
  readonly mostMemory: number;
}

/** A UDP socket that the engine opens itself, where threads cannot share descriptors. */
export interface UdpEndpoint extends UdpEnds {
  readonly type: 'udp-address';
  readonly localHost: string;
  readonly localPort: number;
  readonly remoteHost: string;
  readonly remotePort: number;
}

/** The far end of a port, as the HTTP thread hands it to an engine. */
export type PortEndpoint = OpenEndpoint | GuestEndpoint | UdpEndpoint | { readonly type: 'null' };

export function udpEnds(endpoint: PortEndpoint): UdpEnds | undefined {
  if (endpoint.type === 'null' || endpoint.type === 'vhost-user') return undefined;
  if (endpoint.local === undefined || endpoint.remote === undefined) return undefined;
  return { local: endpoint.local, remote: endpoint.remote };
}

/** An attached endpoint. When `send` returns, each frame has left or was counted as dropped. */
export interface Link extends Exit {
  readonly endpoint: PortEndpoint;
}

/** Used by one thread. Network failures are never exceptions, only counts at the port. */
export interface Transport {
  /**
   * Takes over an endpoint. Received frames are counted as frames in at `port` and handed to `fromLink`; they lie in
   * frame memory, and are gone when `fromLink` returns. Throws when it must open the endpoint itself and cannot.
   */
  add(endpoint: PortEndpoint, port: Port, fromLink: (frames: Batch) => void): Link | Promise<Link>;
  remove(link: Link): void;
  /** Hands over all frames that wait at a link now. */
  drain(link: Link): void;
  /**
   * Waits until frames arrive, the bell rings or `patienceMs` have passed, at most half a second, and hands over the
   * frames that have arrived. Fair: no link is served twice before every other link with frames was served once.
   */
  turn(patienceMs?: number): void | Promise<void>;
  /** Closes everything that it has opened itself. */
  close(): void;
}

/** An eventfd that rings, and the epoll instance to wait on. */
export interface BellDescriptors {
  readonly epoll: number;
  readonly event: number;
}

/** The receiving side of a bell, handed to an engine's thread: descriptors that outlive the thread, or a port. */
export type BellListener = BellDescriptors | MessagePort;

/**
 * Wakes an engine's thread from any wait, because orders are pending. One bell serves all lives of an engine, so that
 * a restart needs no resources that may have run out.
 */
export interface Bell {
  /** Returns the listener for the next life. Call after the previous life has ended. */
  newListener(): BellListener;
  ring(): void;
  /** Call after the end of the last life. */
  close(): void;
}
