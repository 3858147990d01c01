/**
 * How an engine reaches the world: the contract of everything that moves frames between frame memory and
 * sockets. Used by one thread. What the network does is never an exception, only a count at the port.
 */
import type { Batch } from './batch.js';
import type { Endpoint } from './endpoint.js';
import type { Exit, Port } from './port.js';

/** One attached endpoint. What is sent has left, or is counted as dropped, when `send` returns. */
export interface Link extends Exit {
  readonly endpoint: Endpoint;
}

export interface Transport {
  /**
   * Takes over an endpoint. Its frames are handed to `fromLink`, counted as come in at `port`; they lie in frame
   * memory and are gone when `fromLink` returns. Throws when an endpoint that it must open itself cannot be had.
   */
  add(endpoint: Endpoint, port: Port, fromLink: (frames: Batch) => void): Link | Promise<Link>;
  remove(link: Link): void;
  /** Hands over everything that waits at a link now. */
  drain(link: Link): void;
  /**
   * Waits until frames arrive, the doorbell rings or `patienceMs` have passed, at most half a second, and hands
   * over what has arrived. Bounded: no link is served twice before every other link that has something was
   * served once.
   */
  turn(patienceMs?: number): void | Promise<void>;
  /** Lets go of everything that it has opened itself. */
  close(): void;
}
