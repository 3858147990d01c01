/** Somebody at the console of a virtual PC, by telnet. */
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
    await this.#until(/> $/);
    this.#text = '';
    this.#socket.write(`${command}\r\n`);
    // Before the answer comes the command itself.
    return this.#until(/\n[^]*> $/);
  }

  close(): void {
    this.#socket.destroy();
  }

  async #until(pattern: RegExp): Promise<string> {
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
