/** Somebody at the console of a virtual PC or of a machine, by telnet. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export class PcConsole {
  readonly #socket: Socket;
  #text = '';
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    const look = (): void => {
      for (const one of this.#waiting) one();
    };
    socket.on('data', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1');
      look();
    });
    socket.on('close', () => {
      this.#isClosed = true;
      look();
    });
  }

  static async open(port: number): Promise<PcConsole> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new PcConsole(socket);
  }

  /** Types a command when the PC has asked for one; returns what it printed up to its next prompt. */
  async run(command: string): Promise<string> {
    await this.until(/> $/);
    // Before the answer comes the command itself.
    return this.ask(command, /\n[^]*> $/);
  }

  /** Types a line; returns what is printed from then on, when it matches. */
  ask(line: string, pattern: RegExp): Promise<string> {
    this.#text = '';
    this.#socket.write(`${line}\r\n`);
    return this.until(pattern);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** Waits until what was printed since the last line was typed matches; returns it. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#text)) {
      if (this.#isClosed) throw new Error(`the console was closed after: ${this.#text}`);
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#waiting.delete(look);
          resolve();
        };
        this.#waiting.add(look);
      });
    }
    return this.#text;
  }
}
