/**
 * The events of a project on their way to a client, line by line, from one owner after the other: a line of which a part
 * only has come is nobody's when its owner has gone.
 */
import type { TailSource } from '../streams/tail-flow.js';
import type { BodyTaker } from './owner-call.js';
import { RelayedBytes, type BodySender } from './relayed-bytes.js';

const LINE_END = 10;
/** No event is so long. */
const LONGEST_LINE = 4 * 1024 * 1024;

export class RelayedLines implements TailSource, BodyTaker {
  readonly #bytes: RelayedBytes;
  readonly #onLost: () => void;
  /** The beginning of a line. */
  #begun: Uint8Array[] = [];
  #begunLength = 0;
  #sender: BodySender;
  #isOpen = true;

  /** `onLost` is called when the owner sends no more. */
  constructor(sender: BodySender, onLost: () => void) {
    this.#sender = sender;
    this.#onLost = onLost;
    this.#bytes = new RelayedBytes({
      goOn: () => {
        this.#sender.goOn();
      },
      abort: () => {
        this.#sender.abort();
      },
    });
  }

  /** Whether the client is there still. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Goes on with what another owner sends. */
  goOnWith(sender: BodySender): void {
    this.#sender = sender;
    if (!this.#isOpen) sender.abort();
  }

  /** Adds a line of this server. */
  tell(line: string): void {
    this.#bytes.push(Buffer.from(`${line}\n`));
  }

  /** There is no other owner for it. */
  end(): void {
    this.#bytes.complete();
  }

  push(piece: Uint8Array): boolean {
    const end = piece.lastIndexOf(LINE_END) + 1;
    let isRoom = true;
    if (end > 0) {
      const whole = Buffer.concat([...this.#begun, piece.subarray(0, end)]);
      this.#begun = [];
      this.#begunLength = 0;
      isRoom = this.#bytes.push(whole);
    }
    if (end < piece.length) {
      this.#begun.push(piece.subarray(end));
      this.#begunLength += piece.length - end;
    }
    if (this.#begunLength > LONGEST_LINE) this.#sender.abort();
    return isRoom;
  }

  complete(): void {
    this.#lose();
  }

  fail(): void {
    this.#lose();
  }

  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' {
    return this.#bytes.next(use);
  }

  onReady(callback: () => void): void {
    this.#bytes.onReady(callback);
  }

  close(): void {
    this.#isOpen = false;
    this.#bytes.close();
  }

  #lose(): void {
    this.#begun = [];
    this.#begunLength = 0;
    if (this.#isOpen) this.#onLost();
  }
}
