/** A program of the keeper, on the server's side. */
import type { ServerMessage } from './messages.js';
import { OutputRing } from './output-ring.js';
import type { Program, ProgramEnd, ProgramSignal } from './program.js';

/** In one message. */
const LONGEST_PIECE = 64 * 1024;
/** The most columns or rows. */
const LARGEST_COUNT = 0xffff;

export class KeptProgram implements Program {
  readonly id: string;
  readonly pid: number;
  readonly memo: unknown;
  readonly remembered: Uint8Array;
  readonly ended: Promise<ProgramEnd>;
  readonly #send: (message: ServerMessage) => void;
  readonly #ring = new OutputRing();
  readonly #listeners = new Set<(bytes: Uint8Array) => void>();
  #measuredPid: number | undefined;
  #hasEnded = false;
  #tellEnd: (end: ProgramEnd) => void = () => undefined;

  constructor(
    { id, pid, memo, remembered }: Pick<Program, 'id' | 'pid' | 'memo' | 'remembered'>,
    send: (message: ServerMessage) => void,
  ) {
    this.id = id;
    this.pid = pid;
    this.memo = memo;
    this.remembered = remembered;
    this.#send = send;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
  }

  get isRunning(): boolean {
    return !this.#hasEnded;
  }

  /** The process whose times and memory are those of the program. */
  get measuredPid(): number {
    return this.#measuredPid ?? this.pid;
  }

  standsFor(pid: number): void {
    this.#measuredPid = pid;
  }

  get output(): Uint8Array {
    return this.#ring.content;
  }

  write(bytes: Uint8Array): void {
    this.#sendBytes('input', bytes);
  }

  remember(bytes: Uint8Array): void {
    this.#sendBytes('remember', bytes);
  }

  resize(columns: number, rows: number): void {
    const { id } = this;
    this.#sendWhileRunning({ kind: 'resize', id, columns: countOf(columns), rows: countOf(rows) });
  }

  kill(signal: ProgramSignal): void {
    const { id } = this;
    this.#sendWhileRunning({ kind: 'kill', id, signal });
  }

  listen(listener: (bytes: Uint8Array) => void): () => void {
    // The same function may listen twice.
    const own = (bytes: Uint8Array): void => {
      listener(bytes);
    };
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  /** Takes output that begins at this position. After a broken connection it comes again in part. */
  take(at: number, bytes: Uint8Array): void {
    const known = this.#ring.end - at;
    if (known < 0) this.#ring.skipTo(at);
    const added = known > 0 ? bytes.subarray(known) : bytes;
    if (added.length === 0) return;
    this.#ring.push(added);
    for (const listener of this.#listeners) listener(added);
  }

  end(end: ProgramEnd): void {
    this.#hasEnded = true;
    this.#listeners.clear();
    this.#tellEnd(end);
  }

  #sendBytes(kind: 'input' | 'remember', bytes: Uint8Array): void {
    const { id } = this;
    for (let at = 0; at < bytes.length; at += LONGEST_PIECE) {
      this.#sendWhileRunning({ kind, id, bytes: bytes.subarray(at, at + LONGEST_PIECE) });
    }
  }

  #sendWhileRunning(message: ServerMessage): void {
    if (this.isRunning) this.#send(message);
  }
}

function countOf(value: number): number {
  return Math.min(Math.max(1, Math.trunc(value) || 1), LARGEST_COUNT);
}
