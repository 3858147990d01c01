/** A WebSocket in both directions: frames of the client go to a receiver, which sends frames of its own. */
import type { WebSocket } from 'uWebSockets.js';

/** The end of a connection that its route has. */
export interface DuplexConnection {
  /** Sends one binary frame; never waits. Returns how many bytes have not been sent yet: the route bounds them. */
  send(bytes: Uint8Array): number;
  /** The same with one text frame. */
  sendText(text: string): number;
  /** Ends the connection. A client that is far behind is not told the code and the reason. */
  end(code: number, reason: string): void;
}

/** The end of a connection that its client has. */
export interface DuplexReceiver {
  /** Takes one frame of the client, text or binary. The bytes are the receiver's to keep. */
  received(bytes: Uint8Array, isText: boolean): void;
  /** Some of what was sent has left; so many bytes still wait. */
  drained?(waiting: number): void;
  /** The connection is closed, by whichever side. Called once, as the last method. */
  closed(): void;
}

/** So many bytes may wait before the frame that ends a connection; the library would keep more for two minutes. */
const MOST_BEFORE_END = 64 * 1024;

export class DuplexSocket implements DuplexConnection {
  readonly #receiver: DuplexReceiver;
  /** Undefined when the connection has ended, because the library throws at every use after that. */
  #socket: WebSocket<unknown> | undefined;

  constructor(socket: WebSocket<unknown>, open: (connection: DuplexConnection) => DuplexReceiver) {
    this.#socket = socket;
    try {
      this.#receiver = open(this);
    } catch (error) {
      this.#socket = undefined;
      throw error;
    }
  }

  send(bytes: Uint8Array): number {
    if (this.#socket === undefined) return 0;
    this.#socket.send(bytes, true);
    return this.#socket.getBufferedAmount();
  }

  sendText(text: string): number {
    if (this.#socket === undefined) return 0;
    this.#socket.send(text, false);
    return this.#socket.getBufferedAmount();
  }

  end(code: number, reason: string): void {
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket === undefined) return;
    if (socket.getBufferedAmount() > MOST_BEFORE_END) socket.close();
    else socket.end(code, reason);
  }

  /** A frame of the client, whose memory is the library's. */
  received(frame: ArrayBuffer, isText: boolean): void {
    this.#receiver.received(new Uint8Array(frame.slice(0)), isText);
  }

  /** The library has sent some of the bytes that it holds. */
  drained(): void {
    if (this.#socket !== undefined) this.#receiver.drained?.(this.#socket.getBufferedAmount());
  }

  /** The connection is closed. */
  gone(): void {
    this.#socket = undefined;
    this.#receiver.closed();
  }
}
