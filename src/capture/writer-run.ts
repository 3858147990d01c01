/** One life of a writer loop: its thread, the way to it, and its end. */
import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { WRITER_CONTROL, type WriterMessage, type WriterOrder, type WriterStart } from './writer-orders.js';

/** Runs a loop's task in a thread; the signal ends the thread, whatever it does. */
export type RunWriterTask = (
  start: WriterStart,
  move: readonly MessagePort[],
  signal: AbortSignal,
) => Promise<void>;

export class WriterRun {
  readonly #orders: MessagePort;
  readonly #abort = new AbortController();
  /** Why it ended; never rejects. Its thread writes nothing any more then. */
  readonly ended: Promise<string>;

  constructor(
    parts: Omit<WriterStart, 'orders'>,
    run: RunWriterTask,
    onMessage: (message: WriterMessage) => void,
  ) {
    const words = new Int32Array(parts.control);
    const beatsAtStart = Atomics.load(words, WRITER_CONTROL.heartbeat);
    const { port1, port2 } = new MessageChannel();
    this.#orders = port1;
    port1.on('message', onMessage);
    port1.unref();
    // Goes with the thread that has the other end: one that is killed in a system call first comes back from it.
    const isGone = once(port1, 'close');
    this.ended = run({ ...parts, orders: port2 }, [port2], this.#abort.signal)
      .then(
        () => 'it came to its end',
        (error: unknown) => (error instanceof Error ? error.message : String(error)),
      )
      .then(async (reason) => {
        if (Atomics.load(words, WRITER_CONTROL.heartbeat) !== beatsAtStart) await isGone;
        port1.close();
        return reason;
      });
  }

  send(order: WriterOrder): void {
    this.#orders.postMessage(order);
  }

  /** Ends the thread without asking it. */
  kill(): void {
    this.#abort.abort();
  }
}
