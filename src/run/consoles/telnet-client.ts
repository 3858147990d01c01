/**
 * The console of a program that is a telnet server on the loopback: a console source for the hub. It agrees to what makes
 * the connection transparent, echo by the server and no go-aheads, and refuses all other options.
 */
import type { Socket } from 'node:net';
import { OutputRing } from '../keeper/output-ring.js';
import type { MachineConsole } from '../nodes/machine.js';
import { telnetBytes } from './telnet-protocol.js';

const BREAK = 243;
const PARAMETERS = 250;
const END_OF_PARAMETERS = 240;
const WILL = 251;
const WONT = 252;
const DO = 253;
const DONT = 254;
const COMMAND = 255;
const ECHO = 1;
const SUPPRESS_GO_AHEAD = 3;

/** Input that the program does not read is dropped beyond this. */
const MOST_UNSENT = 256 * 1024;
/** A server that proposes for ever is not answered any more. */
const MOST_ANSWERS = 100;

/** Parts the bytes of a telnet server into what it prints and what has to be answered. */
export class TelnetClientProtocol {
  #state: 'data' | 'command' | 'option' | 'parameters' | 'command in parameters' = 'data';
  #verb = 0;
  #answersLeft = MOST_ANSWERS;

  receive(bytes: Uint8Array): { readonly printed: Uint8Array; readonly answer: Uint8Array } {
    const printed = new Uint8Array(bytes.length);
    let length = 0;
    const answer: number[] = [];
    for (const byte of bytes) {
      if (this.#take(byte, answer)) printed[length++] = byte;
    }
    return { printed: printed.subarray(0, length), answer: Uint8Array.from(answer) };
  }

  /** Whether the byte is one that the program has printed. */
  #take(byte: number, answer: number[]): boolean {
    switch (this.#state) {
      case 'data':
        if (byte !== COMMAND) return true;
        this.#state = 'command';
        return false;
      case 'command':
        this.#state = byte === PARAMETERS ? 'parameters' : 'data';
        if (byte >= WILL && byte <= DONT) {
          this.#verb = byte;
          this.#state = 'option';
        }
        return byte === COMMAND;
      case 'option':
        this.#state = 'data';
        this.#negotiate(byte, answer);
        return false;
      case 'parameters':
        if (byte === COMMAND) this.#state = 'command in parameters';
        return false;
      case 'command in parameters':
        this.#state = byte === END_OF_PARAMETERS ? 'data' : 'parameters';
        return false;
    }
  }

  #negotiate(option: number, answer: number[]): void {
    if (this.#answersLeft === 0) return;
    if (this.#verb === DO) answer.push(COMMAND, WONT, option);
    else if (this.#verb === WILL)
      answer.push(COMMAND, option === ECHO || option === SUPPRESS_GO_AHEAD ? DO : DONT, option);
    else return;
    this.#answersLeft--;
  }
}

export class TelnetConsole implements MachineConsole {
  readonly #socket: Socket;
  readonly #protocol = new TelnetClientProtocol();
  #ring = new OutputRing();
  readonly #listeners = new Set<{ readonly listener: (bytes: Uint8Array) => void }>();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay();
    socket.on('data', (bytes: Buffer) => {
      const { printed, answer } = this.#protocol.receive(bytes);
      if (answer.length > 0) socket.write(answer);
      if (printed.length === 0) return;
      this.#ring.push(printed);
      for (const { listener } of this.#listeners) listener(printed);
    });
    // The program has ended, or closes the console: that is for its owner to see.
    socket.on('error', () => undefined);
  }

  get output(): Uint8Array {
    return this.#ring.content;
  }

  listen(listener: (bytes: Uint8Array) => void): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  /** Takes other bytes for all that was printed until now. Listeners are not told. */
  replaceOutput(bytes: Uint8Array): void {
    this.#ring = new OutputRing();
    this.#ring.push(bytes);
  }

  /** Whether all that the program has printed becomes enough in this time. */
  async prints(isEnough: (output: Buffer) => boolean, withinMs: number): Promise<boolean> {
    const isThere = (): boolean => isEnough(Buffer.from(this.output));
    if (isThere()) return true;
    let end: () => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      end = resolve;
    });
    const unlisten = this.listen(() => {
      if (isThere()) end();
    });
    const patience = setTimeout(end, withinMs);
    this.#socket.once('close', end);
    await done;
    clearTimeout(patience);
    this.#socket.off('close', end);
    unlisten();
    return isThere();
  }

  write(bytes: Uint8Array): void {
    if (this.#socket.writable && this.#socket.writableLength + bytes.length <= MOST_UNSENT)
      this.#socket.write(telnetBytes(bytes));
  }

  sendBreak(): void {
    if (this.#socket.writable) this.#socket.write(Uint8Array.of(COMMAND, BREAK));
  }

  close(): void {
    this.#socket.destroy();
    this.#listeners.clear();
  }
}
