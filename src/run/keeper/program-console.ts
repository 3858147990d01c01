/**
 * The console of a program in the keeper: a terminal or pipes. Its output is always read, since a program that cannot
 * print stops; its input is bounded.
 */
import type { ChildProcess, StdioOptions } from 'node:child_process';
import { closeSync, writeSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { systemCode } from '../../base/errors/errors.js';
import { openTerminal, setSize, type PseudoTerminal } from './terminal.js';

/** More input than this waits for no program. */
const MOST_INPUT = 256 * 1024;
/** A terminal does not say when it takes more input. */
const RETRY_MS = 20;

export interface ProgramConsole {
  /** For the launch. */
  readonly stdio: StdioOptions;
  /** The path of the terminal; empty with pipes. */
  readonly terminal: string;
  /** Call once, when the launch has succeeded. `closed` is called when no more output can come. */
  attach(child: ChildProcess, printed: (bytes: Uint8Array) => void, closed: () => void): void;
  write(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  /** Call it in any case, also when the launch has failed. */
  close(): void;
}

export function newConsole(kind: 'terminal' | 'pipes'): ProgramConsole {
  return kind === 'terminal' ? new TerminalConsole() : new PipeConsole();
}

class TerminalConsole implements ProgramConsole {
  readonly #terminal: PseudoTerminal;
  #stream: ReadStream | undefined;
  #isClosed = false;
  #input: Uint8Array[] = [];
  #waiting = 0;
  #retry: NodeJS.Timeout | undefined;

  /** Throws when there is no terminal. */
  constructor() {
    try {
      this.#terminal = openTerminal();
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`The host gives no terminal (${reason})`, { cause: error });
    }
  }

  get stdio(): StdioOptions {
    const { slave } = this.#terminal;
    return [slave, slave, slave];
  }

  get terminal(): string {
    return this.#terminal.name;
  }

  attach(_child: ChildProcess, printed: (bytes: Uint8Array) => void, closed: () => void): void {
    const { master, slave } = this.#terminal;
    const stream = new ReadStream(master);
    this.#stream = stream;
    // Once nobody else has the program's side open, reading ends with EIO.
    closeSync(slave);
    stream.on('data', printed);
    stream.on('error', () => undefined);
    stream.once('close', () => {
      this.close();
      closed();
    });
  }

  /** Not by the stream: it would wait, and the keeper with it, until the program reads. */
  write(bytes: Uint8Array): void {
    if (this.#isClosed || this.#waiting + bytes.length > MOST_INPUT) return;
    this.#input.push(bytes);
    this.#waiting += bytes.length;
    if (this.#retry === undefined) this.#writeSome();
  }

  resize(columns: number, rows: number): void {
    if (!this.#isClosed) setSize(this.#terminal.master, columns, rows);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#input = [];
    if (this.#stream === undefined) {
      closeSync(this.#terminal.slave);
      closeSync(this.#terminal.master);
    } else {
      this.#stream.destroy();
    }
  }

  #writeSome(): void {
    this.#retry = undefined;
    for (let bytes = this.#input[0]; bytes !== undefined; bytes = this.#input[0]) {
      const written = this.#writeNow(bytes);
      this.#waiting -= written;
      if (written === bytes.length) {
        this.#input.shift();
        continue;
      }
      this.#input[0] = bytes.subarray(written);
      this.#retry = setTimeout(() => {
        this.#writeSome();
      }, RETRY_MS);
      return;
    }
  }

  #writeNow(bytes: Uint8Array): number {
    try {
      return writeSync(this.#terminal.master, bytes);
    } catch (error) {
      // Otherwise nobody is there to read it.
      return systemCode(error) === 'EAGAIN' ? 0 : bytes.length;
    }
  }
}

class PipeConsole implements ProgramConsole {
  readonly stdio: StdioOptions = ['pipe', 'pipe', 'pipe'];
  readonly terminal = '';
  #input: Writable | null = null;
  #outputs: Readable[] = [];

  attach(child: ChildProcess, printed: (bytes: Uint8Array) => void, closed: () => void): void {
    this.#input = child.stdin;
    child.stdin?.on('error', () => undefined);
    // The second one is for what fails before the program runs, which has both outputs in one.
    this.#outputs = [child.stdout, child.stderr].filter((output) => output !== null);
    let open = this.#outputs.length;
    for (const output of this.#outputs) {
      output.on('data', printed);
      output.on('error', () => undefined);
      output.once('close', () => {
        if (--open === 0) closed();
      });
    }
  }

  write(bytes: Uint8Array): void {
    const input = this.#input;
    if (input !== null && !input.destroyed && input.writableLength + bytes.length <= MOST_INPUT)
      input.write(bytes);
  }

  /** Pipes have no size. */
  resize(): void {
    return undefined;
  }

  close(): void {
    this.#input?.destroy();
    for (const output of this.#outputs) output.destroy();
  }
}
