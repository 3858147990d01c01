/** One life of an engine: its thread, the way to it, and its end. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { EngineMemory } from '../memory/engine-memory.js';
import type { Bell } from '../switching/bell.js';
import type { NumberedOrder, OrderAnswer } from '../switching/orders.js';
import type { EngineStart } from './engine-start.js';

/** Runs an engine's task in a thread; the signal ends the thread, whatever it does. */
export type RunTask = (
  start: EngineStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

export class EngineRun {
  readonly #bell: Bell;
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Why it ended; never rejects. */
  readonly ended: Promise<string>;

  constructor(memory: EngineMemory, bell: Bell, run: RunTask, onAnswer: (answer: OrderAnswer) => void) {
    this.#bell = bell;
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onAnswer);
    port1.unref();
    const start = { memory, orders: port2, ear: bell.ear };
    const move = 'epoll' in bell.ear ? [port2] : [port2, bell.ear];
    this.ended = run(start, move, this.#abort.signal)
      .then(
        () => 'it came to its end',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
      .finally(() => {
        port1.close();
        bell.close();
      });
  }

  send(order: NumberedOrder): void {
    this.#orders.postMessage(order);
    this.#bell.ring();
  }

  ring(): void {
    this.#bell.ring();
  }

  /** Ends the thread without asking it. */
  kill(): void {
    this.#abort.abort();
  }
}
