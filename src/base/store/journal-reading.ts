/** Reads a journal from front to back, and judges it. */
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
  readonly octets: Buffer;
  readonly position: number;
}

/** What the reading of a journal came to. */
export interface JournalFinding {
  /** Where the last whole frame ends. */
  readonly end: number;
  /** Of the last whole commit. */
  readonly number: number;
  /** That acknowledged commits are damaged, and how; undefined when none is. */
  readonly damage: string | undefined;
  /** Whether a commit that nobody was told of follows in part. */
  readonly isTorn: boolean;
}

const WINDOW_LENGTH = 4 * 1024 * 1024;

/** The later one that is whole; undefined when there is none. */
export function readHead(fd: number): JournalHead | undefined {
  let latest: JournalHead | undefined;
  for (const place of HEAD_PLACES) {
    const octets = Buffer.alloc(HEAD_LENGTH);
    readSync(fd, octets, 0, HEAD_LENGTH, place);
    const head = decodeHead(octets);
    if (head !== undefined && head.marked >= (latest?.marked ?? 0)) latest = head;
  }
  return latest;
}

/** Hands over the whole frames that follow one another, the base first, or the commits after it alone. */
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
    const octets = length === undefined ? undefined : window.at(end, length);
    if (length === undefined || octets === undefined || !isFrame(octets, head.salt, next)) {
      const isCut = octets === undefined;
      const goesOn = length !== undefined && hasFrame(window, end + length, head.salt, next + 1);
      const isLost = isCut || goesOn || end < head.marked;
      const damage = isLost
        ? `acknowledged commits are ${isCut ? 'cut off' : 'damaged'} at octet ${end}`
        : undefined;
      return { end, number, damage, isTorn: damage === undefined && !isEmpty(window, end) };
    }
    onFrame({ octets, position: end });
    end += length;
    number = next;
  }
}

function hasFrame(window: JournalWindow, position: number, salt: number, number: number): boolean {
  const start = window.at(position, FRAME_HEAD_LENGTH);
  const octets = start === undefined ? undefined : window.at(position, frameLength(start));
  return octets !== undefined && isFrame(octets, salt, number);
}

function isEmpty(window: JournalWindow, from: number): boolean {
  for (let position = from; position < window.size; position += WINDOW_LENGTH) {
    const octets = window.at(position, Math.min(WINDOW_LENGTH, window.size - position));
    if (octets?.some((octet) => octet !== 0) === true) return false;
  }
  return true;
}

/** Stretches of a file that nobody changes meanwhile, read ahead. */
export class JournalWindow {
  readonly #fd: number;
  readonly #ahead: number;
  readonly size: number;
  #start = 0;
  #octets: Buffer = Buffer.alloc(0);

  constructor(fd: number, ahead: number) {
    this.#fd = fd;
    this.#ahead = ahead;
    this.size = fstatSync(fd).size;
  }

  /** Good until the next call. Undefined for what reaches beyond the end of the file. */
  at(position: number, length: number): Buffer | undefined {
    if (position + length > this.size) return undefined;
    const isHeld = position >= this.#start && position + length <= this.#start + this.#octets.length;
    if (!isHeld) this.#read(position, Math.max(length, Math.min(this.#ahead, this.size - position)));
    const from = position - this.#start;
    return this.#octets.subarray(from, from + length);
  }

  #read(position: number, length: number): void {
    const octets = Buffer.allocUnsafeSlow(length);
    let done = 0;
    while (done < length) {
      const count = readSync(this.#fd, octets, done, length - done, position + done);
      if (count === 0) throw new Error('The journal of the store became shorter while it was read');
      done += count;
    }
    this.#octets = octets;
    this.#start = position;
  }
}
