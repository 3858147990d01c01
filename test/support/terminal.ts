/** A person at the console of a node. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Teardown } from './scratch.js';

export class Terminal {
  #text = '';
  readonly #socket: WebSocket;
  readonly #looks = new Set<() => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1');
      for (const look of this.#looks) look();
    });
  }

  /** `url` is that of the console's WebSocket. */
  static async open(t: Teardown, url: string): Promise<Terminal> {
    const socket = new WebSocket(url);
    const terminal = new Terminal(socket);
    t.teardown(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    return terminal;
  }

  type(line: string): void {
    this.#socket.send(`${line}\n`);
  }

  /** Types a line, and waits until what is printed then matches. */
  async ask(line: string, pattern: RegExp): Promise<string> {
    this.type(line);
    return this.until(pattern);
  }

  /** Waits until what was printed since the last call matches; returns it. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#text)) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#looks.delete(look);
          resolve();
        };
        this.#looks.add(look);
      });
    }
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
