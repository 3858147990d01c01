/**
 * A connection to the hypervisor port of a Dynamips process. One command is on its way at a time. An answer is lines of
 * three digits and a text: a blank after the digits says that more lines follow, a hyphen that this is the last one.
 */
import type { Socket } from 'node:net';

const ANSWER_MS = 10_000;
/** The configuration of a router comes in one line. */
const LONGEST_LINE = 8 * 1024 * 1024;
const MOST_LINES = 10_000;
const FIRST_FAILURE = 200;
const LINE = /^([0-9]{3})([ -])(.*)$/s;

/** A command that Dynamips has refused, with the number and the text of its answer. */
export class HypervisorRefusal extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

interface Waiting {
  readonly lines: string[];
  readonly resolve: (lines: readonly string[]) => void;
  readonly reject: (error: Error) => void;
}

export class Hypervisor {
  readonly #socket: Socket;
  #pieces: Buffer[] = [];
  #length = 0;
  #waiting: Waiting | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay();
    socket.on('data', (bytes: Buffer) => {
      this.#receive(bytes);
    });
    socket.on('error', (error) => {
      this.#fail(error);
    });
    socket.on('close', () => {
      this.#fail(new Error('Dynamips has closed the connection'));
    });
  }

  /** Returns the texts of the lines. Rejects with a `HypervisorRefusal`, or when the answer does not come in time. */
  ask(
    command: string,
    args: readonly (string | number)[] = [],
    withinMs = ANSWER_MS,
  ): Promise<readonly string[]> {
    const line = [
      command,
      ...args.map((value) => (typeof value === 'number' ? String(value) : quoted(value))),
    ];
    const answered = this.#last.then(() => this.#ask(line.join(' '), withinMs));
    this.#last = answered.catch(() => undefined);
    return answered;
  }

  close(): void {
    this.#socket.destroy();
  }

  #ask(line: string, withinMs: number): Promise<readonly string[]> {
    if (this.#socket.destroyed) return Promise.reject(new Error('The connection to Dynamips is closed'));
    return new Promise((resolve, reject) => {
      const patience = setTimeout(() => {
        // A late answer would be taken for that to the next command.
        this.#socket.destroy(new Error('Dynamips has not answered in time'));
      }, withinMs);
      this.#waiting = {
        lines: [],
        resolve: (lines) => {
          clearTimeout(patience);
          resolve(lines);
        },
        reject: (error) => {
          clearTimeout(patience);
          reject(error);
        },
      };
      this.#socket.write(`${line}\n`);
    });
  }

  #receive(bytes: Buffer): void {
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      this.#pieces.push(bytes.subarray(start, end));
      this.#line(Buffer.concat(this.#pieces).toString('utf8'));
      this.#pieces = [];
      this.#length = 0;
      start = end + 1;
    }
    const rest = bytes.subarray(start);
    this.#length += rest.length;
    if (rest.length > 0) this.#pieces.push(rest);
    if (this.#length > LONGEST_LINE) this.#socket.destroy(new Error('Dynamips has sent too long a line'));
  }

  #line(line: string): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    const [, digits = '', mark, text = ''] = LINE.exec(line.replace(/\r$/, '')) ?? [];
    if (mark === undefined || waiting.lines.length >= MOST_LINES) {
      this.#socket.destroy(new Error('Dynamips has sent what is no answer'));
      return;
    }
    if (mark === ' ') {
      waiting.lines.push(text);
      return;
    }
    this.#waiting = undefined;
    const code = Number(digits);
    if (code >= FIRST_FAILURE) waiting.reject(new HypervisorRefusal(code, text));
    else waiting.resolve([...waiting.lines, text]);
  }

  #fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}

/** Dynamips has no way to write a quote in an argument, and ends a command at a line break. */
function quoted(text: string): string {
  if (/["\p{Cc}]/u.test(text)) throw new Error('Dynamips takes no name with quotes or control characters');
  return `"${text}"`;
}
