/** A person at the console of a node, over its WebSocket. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { patience } from './patience.js';
import type { Teardown } from './scratch.js';

const LIMIT_MS = patience(60_000);
/** The commands that have been run, at any terminal: a console begins with what was printed before. */
let commands = 0;

export class NodeTerminal {
  #text = '';
  readonly #socket: WebSocket;
  readonly #lineEnd: string;
  readonly #looks = new Set<() => void>();

  /** `url` is that of the console's WebSocket; `lineEnd` is what the key Return sends. */
  static async open(t: Teardown, url: string, lineEnd = '\r'): Promise<NodeTerminal> {
    const socket = new WebSocket(url.replace('http', 'ws'));
    const terminal = new NodeTerminal(socket, lineEnd);
    t.teardown(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    return terminal;
  }

  private constructor(socket: WebSocket, lineEnd: string) {
    this.#socket = socket;
    this.#lineEnd = lineEnd;
    socket.on('message', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1');
      for (const look of this.#looks) look();
    });
  }

  get closed(): Promise<unknown> {
    return once(this.#socket, 'close');
  }

  /** The text that was printed since the last call of `until`. */
  get text(): string {
    return this.#text;
  }

  press(keys: string): void {
    this.#socket.send(keys);
  }

  type(line: string): void {
    this.press(`${line}${this.#lineEnd}`);
  }

  /** Types a line, and waits until the text that is printed then matches. */
  ask(line: string, pattern: RegExp): Promise<string> {
    this.type(line);
    return this.until(pattern);
  }

  /** Types a command of a shell and waits for its end. Returns the text that it printed. */
  run(command: string): Promise<string> {
    const mark = `done-${++commands}`;
    return this.ask(`${command}; echo "${mark}"-$?`, new RegExp(`${mark}-\\d+\\r?\\n`));
  }

  /** Waits until the text that was printed since the last call matches; returns it. */
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
