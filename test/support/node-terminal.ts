/** A person at the console of a node, over its WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { patience } from './patience.js';
import type { Teardown } from './scratch.js';

const LIMIT_MS = patience(20_000);

export class NodeTerminal {
  #text = '';
  readonly #socket: WebSocket;
  readonly #looks = new Set<() => void>();

  static async open(t: Teardown, url: string): Promise<NodeTerminal> {
    const socket = new WebSocket(url.replace('http', 'ws'));
    const terminal = new NodeTerminal(socket);
    t.teardown(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    return terminal;
  }

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1');
      for (const look of this.#looks) look();
    });
  }

  type(text: string): void {
    this.#socket.send(text);
  }

  /** Everything printed since the last call, once it matches. */
  async until(pattern: RegExp): Promise<string> {
    const giveUp = AbortSignal.timeout(LIMIT_MS);
    while (!pattern.test(this.#text)) {
      await new Promise<void>((resolve, reject) => {
        const look = (): void => {
          this.#looks.delete(look);
          resolve();
        };
        this.#looks.add(look);
        giveUp.onabort = () => {
          reject(new Error(`the console has printed ${JSON.stringify(this.#text)}`));
        };
      });
    }
    const text = this.#text;
    this.#text = '';
    return text;
  }
}
