/** One life of a worker loop: what it is started with, the orders and messages between the threads, and its end. */
import { MessageChannel, MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { TaskOutcome, TaskRequest } from './task.js';

/** The Int32 words that the HTTP thread and the loop share. */
export const LOOP_CONTROL = {
  /** Incremented when there is something new; the loop waits on it. */
  bell: 0,
  /** Incremented with every round. */
  heartbeat: 1,
  /** Not 0 when the loop should end. */
  stop: 2,
  /** The system's number of the thread; 0 before it has begun, where the system does not tell, and in an engine. */
  thread: 3,
} as const;
export const LOOP_CONTROL_WORDS = 4;

export interface LoopStart {
  readonly control: SharedArrayBuffer;
  /** Brings orders, and takes answers and reports. Everything survives a structured clone. */
  readonly orders: MessagePort;
}

export interface LoopOrder {
  readonly number: number;
  readonly request: TaskRequest;
}

export type LoopMessage<Report> =
  | { readonly kind: 'answer'; readonly number: number; readonly outcome: TaskOutcome }
  | { readonly kind: 'report'; readonly report: Report };

/**
 * Runs the loop in a thread; the signal ends the thread, whatever it is doing. Settles only when the thread has gone:
 * until then it may still write to files and shared memory.
 */
export type RunLoop<Setup> = (
  start: Setup & LoopStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

/** One life of a loop: its thread, the port to it, and its end. */
export class LoopRun<Setup, Report> {
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Resolves with the reason when the thread has gone, and all its messages were heard; never rejects. */
  readonly ended: Promise<string>;

  constructor(
    control: SharedArrayBuffer,
    setup: Setup,
    run: RunLoop<Setup>,
    onMessage: (message: LoopMessage<Report>) => void,
  ) {
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onMessage);
    port1.unref();
    this.ended = this.#live({ ...setup, control, orders: port2 }, run).finally(() => {
      hearRest(port1, onMessage);
      port1.close();
    });
  }

  get isKilled(): boolean {
    return this.#abort.signal.aborted;
  }

  send(order: LoopOrder): void {
    this.#orders.postMessage(order);
  }

  /** Ends the thread without asking it. */
  kill(): void {
    this.#abort.abort();
  }

  /** A thread that cannot be started counts as a life that ended at once. */
  async #live(start: Setup & LoopStart, run: RunLoop<Setup>): Promise<string> {
    const parts: readonly unknown[] = Object.values(start);
    const move = parts.filter((part) => part instanceof MessagePort);
    try {
      await run(start, move, this.#abort.signal);
      return 'it came to its end';
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }
}

/** Hears what a thread said last, which may come later than the news of its end. */
function hearRest<Report>(port: MessagePort, onMessage: (message: LoopMessage<Report>) => void): void {
  for (;;) {
    const received: { message: LoopMessage<Report> } | undefined = receiveMessageOnPort(port);
    if (received === undefined) return;
    onMessage(received.message);
  }
}
