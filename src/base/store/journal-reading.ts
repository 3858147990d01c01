/** Reads a journal from front to back, and finds out whether it is whole, torn or damaged. */
import { fstatSync, readSync } from 'node:fs';
import {
  decodeHead,
  frameLength,
  FRAME_HEAD_LENGTH,
  FRAMES_START,
  HEAD_LENGTH,
  HEAD_PLACES,
  isFrame,
  type JournalHead,
} from './journal-format.js';

export interface FoundFrame {
  readonly bytes: Buffer;
  readonly position: number;
}

/** The result of reading a journal. */
export interface JournalFinding {
  /** The end of the last whole frame. */
  readonly end: number;
  /** The number of the last whole commit. */
  readonly number: number;
  /** How acknowledged commits are damaged; undefined when none is. */
  readonly damage: string | undefined;
  /** Whether a part of a commit follows that was never acknowledged. */
  readonly isTorn: boolean;
}

const WINDOW_LENGTH = 4 * 1024 * 1024;

/** The later one of the whole heads; undefined when there is none. */
export function readHead(fd: number): JournalHead | undefined {
  let latest: JournalHead | undefined;
  for (const place of HEAD_PLACES) {
    const bytes = Buffer.alloc(HEAD_LENGTH);
    readSync(fd, bytes, 0, HEAD_LENGTH, place);
    const head = decodeHead(bytes);
    if (head !== undefined && head.marked >= (latest?.marked ?? 0)) latest = head;
  }
  return latest;
}

/** Reads the whole frames in order: the base and then the commits, or the commits only. */
export function readFrames(
  fd: number,
  head: JournalHead,
  onFrame: (frame: FoundFrame) => void,
  withBase = true,
): JournalFinding {
  const window = new JournalWindow(fd, WINDOW_LENGTH);
  let end = withBase ? FRAMES_START : head.baseEnd;
  let number = head.base;
  for (;;) {
    const start = window.at(end, FRAME_HEAD_LENGTH);
    const length = start === undefined ? undefined : frameLength(start);
    const next = end < head.baseEnd ? number : number + 1;
    const bytes = length === undefined ? undefined : window.at(end, length);
    if (length === undefined || bytes === undefined || !isFrame(bytes, head.salt, next)) {
      const isCut = bytes === undefined;
      const goesOn = length !== undefined && hasFrame(window, end + length, head.salt, next + 1);
      const isLost = isCut || goesOn || end < head.marked;
      const damage = isLost
        ? `acknowledged commits are ${isCut ? 'cut off' : 'damaged'} at byte ${end}`
        : undefined;
      return { end, number, damage, isTorn: damage === undefined && !isEmpty(window, end) };
    }
    onFrame({ bytes, position: end });
    end += length;
    number = next;
  }
}

function hasFrame(window: JournalWindow, position: number, salt: number, number: number): boolean {
  const start = window.at(position, FRAME_HEAD_LENGTH);
  const bytes = start === undefined ? undefined : window.at(position, frameLength(start));
  return bytes !== undefined && isFrame(bytes, salt, number);
}

function isEmpty(window: JournalWindow, from: number): boolean {
  for (let position = from; position < window.size; position += WINDOW_LENGTH) {
    const bytes = window.at(position, Math.min(WINDOW_LENGTH, window.size - position));
    if (bytes?.some((byte) => byte !== 0) === true) return false;
  }
  return true;
}

/** Reads parts of a file with read-ahead; nothing may change the file meanwhile. */
export class JournalWindow {
  readonly #fd: number;
  readonly #ahead: number;
  readonly size: number;
  #start = 0;
  #bytes: Buffer = Buffer.alloc(0);

  constructor(fd: number, ahead: number) {
    this.#fd = fd;
    this.#ahead = ahead;
    this.size = fstatSync(fd).size;
  }

  /** The bytes are valid until the next call. Undefined when they reach beyond the end of the file. */
  at(position: number, length: number): Buffer | undefined {
    if (position + length > this.size) return undefined;
    const isHeld = position >= this.#start && position + length <= this.#start + this.#bytes.length;
    if (!isHeld) this.#read(position, Math.max(length, Math.min(this.#ahead, this.size - position)));
    const from = position - this.#start;
    return this.#bytes.subarray(from, from + length);
  }

  #read(position: number, length: number): void {
    const bytes = Buffer.allocUnsafeSlow(length);
    let done = 0;
    while (done < length) {
      const count = readSync(this.#fd, bytes, done, length - done, position + done);
      if (count === 0) throw new Error('The journal of the store became shorter while it was read');
      done += count;
    }
    this.#bytes = bytes;
    this.#start = position;
  }
}
