/** Wakes an engine's thread, however deep it waits: orders wait for it. */
import type { MessagePort } from 'node:worker_threads';

/** What an engine's thread is given to listen with: descriptors that outlive it, or a port. */
export type Ear = { readonly epoll: number; readonly event: number } | MessagePort;

/** Made once for all lives of an engine: an engine that is started again needs nothing that may have run out. */
export interface Bell {
  /** For the next life, which comes after the end of the one before. */
  newEar(): Ear;
  ring(): void;
  /** After the end of the last life. */
  close(): void;
}
