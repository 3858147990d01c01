/**
 * A live stream over a WebSocket: binary messages, pulled from the source at the client's pace. A client that takes
 * nothing does not answer pings either, for which the library closes its connection.
 */
import type { WebSocket } from 'uWebSockets.js';
import { Refusal } from '../../base/errors/errors.js';
import { TailFlow, type TailSink, type TailSource } from './tail-flow.js';

const MOST_BUFFERED = 256 * 1024;
const COMPLETE = 1000;
const SERVER_FAILED = 1011;
/** The frame that ends a connection has room for so many bytes. */
const LONGEST_REASON = 123;

export class TailSocket implements TailSink {
  readonly #socket: WebSocket<unknown>;
  readonly #flow: TailFlow;

  constructor(socket: WebSocket<unknown>, source: TailSource) {
    this.#socket = socket;
    this.#flow = new TailFlow(source, this);
  }

  /** The library has sent some of the bytes that it holds. */
  drained(): void {
    if (this.#socket.getBufferedAmount() < MOST_BUFFERED) this.#flow.goOn();
  }

  /** The connection is closed. */
  gone(): void {
    this.#flow.stop();
  }

  send(bytes: Uint8Array): boolean {
    this.#socket.send(bytes, true);
    return this.#socket.getBufferedAmount() < MOST_BUFFERED;
  }

  end(): void {
    this.#socket.end(COMPLETE);
  }

  breakOff(error: unknown): void {
    this.#socket.end(SERVER_FAILED, closeReason(error));
  }
}

/** The words for an error in the frame that ends a connection. */
export function closeReason(error: unknown): string {
  const message = error instanceof Refusal ? error.message : 'the server could not go on with this stream';
  const bytes = Buffer.from(message);
  return bytes.length <= LONGEST_REASON ? message : cut(bytes);
}

/** Cuts between two characters. */
function cut(bytes: Buffer): string {
  let end = LONGEST_REASON;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
