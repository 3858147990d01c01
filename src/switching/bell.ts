/** Wakes an engine's thread, however deep it waits: orders wait for it. */
import type { MessagePort } from 'node:worker_threads';

/** What an engine's thread is given to listen with: descriptors that outlive it, or a port. */
export type Ear = { readonly epoll: number; readonly event: number } | MessagePort;

export interface Bell {
  readonly ear: Ear;
  ring(): void;
  /** After the thread has ended. */
  close(): void;
}
