/** A client of a live stream over WebSocket that keeps everything it was given. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Teardown } from './scratch.js';

export class WebSocketView {
  readonly #socket: WebSocket;
  readonly #messages: Buffer[] = [];
  /** Resolves when the connection has been closed. */
  readonly ended: Promise<{ readonly code: number; readonly bytes: Buffer }>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (message: Buffer) => this.#messages.push(message));
    this.ended = new Promise((resolve) => {
      socket.on('close', (code) => {
        resolve({ code, bytes: Buffer.concat(this.#messages) });
      });
    });
  }

  static async open(t: Teardown, port: number, path: string): Promise<WebSocketView> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`);
    t.teardown(() => {
      socket.terminate();
    });
    const view = new WebSocketView(socket);
    await once(socket, 'open');
    return view;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }
}
