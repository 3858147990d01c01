/** One life of an engine: its thread, the way to it, and its end. */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { EngineMemory } from '../../base/memory/engine-memory.js';
import type { Bell } from '../forwarding/transport.js';
import type { NumberedOrder, OrderAnswer } from '../forwarding/orders.js';
import type { EngineStart } from './engine-start.js';

/**
 * Runs an engine's task in a thread; the signal ends the thread, whatever it does. Settles when the thread has gone,
 * not before: until then it may still receive into the engine's memory.
 */
export type RunTask = (
  start: EngineStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

export class EngineRun {
  readonly #bell: Bell;
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Why it ended; never rejects. Nothing of it uses the memory or the bell any more then. */
  readonly ended: Promise<string>;

  constructor(memory: EngineMemory, bell: Bell, run: RunTask, onAnswer: (answer: OrderAnswer) => void) {
    this.#bell = bell;
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onAnswer);
    port1.unref();
    const ear = bell.newEar();
    const move = 'epoll' in ear ? [port2] : [port2, ear];
    this.ended = this.#live({ memory, orders: port2, ear }, move, run).finally(() => {
      port1.close();
    });
  }

  get isKilled(): boolean {
    return this.#abort.signal.aborted;
  }

  send(order: NumberedOrder): void {
    this.#orders.postMessage(order);
    this.#bell.ring();
  }

  /** Ends the thread without asking it. */
  kill(): void {
    this.#abort.abort();
  }

  /** A thread that cannot be started is a life that has ended at once. */
  async #live(start: EngineStart, move: readonly MessagePort[], run: RunTask): Promise<string> {
    try {
      await run(start, move, this.#abort.signal);
      return 'it came to its end';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}
