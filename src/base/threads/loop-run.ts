/** One life of an endless task: its thread, the way to it, and its end. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { LOOP_CONTROL, type LoopMessage, type LoopOrder, type LoopStart } from './loop-orders.js';

/** Runs a loop's task in a thread; the signal ends the thread, whatever it does. */
export type RunLoop<Parts> = (
  start: Parts & LoopStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

export class LoopRun<Parts, Report> {
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Why it ended; never rejects. Its thread does nothing any more then. */
  readonly ended: Promise<string>;

  constructor(
    control: SharedArrayBuffer,
    parts: Parts,
    run: RunLoop<Parts>,
    onMessage: (message: LoopMessage<Report>) => void,
  ) {
    const words = new Int32Array(control);
    const beatsAtStart = Atomics.load(words, LOOP_CONTROL.heartbeat);
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onMessage);
    port1.unref();
    // Goes with the thread that has the other end: one that is killed in a system call first comes back from it.
    const isGone = once(port1, 'close');
    this.ended = run({ ...parts, control, orders: port2 }, [port2], this.#abort.signal)
      .then(
        () => 'it came to its end',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
      .then(async (reason) => {
        if (Atomics.load(words, LOOP_CONTROL.heartbeat) !== beatsAtStart) await isGone;
        port1.close();
        return reason;
      });
  }

  send(order: LoopOrder): void {
    this.#orders.postMessage(order);
  }

  /** Ends the thread without asking it. */
  kill(): void {
    this.#abort.abort();
  }
}
