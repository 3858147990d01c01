/**
 * A thread that drains a log and reads old chunks of it, as writer loops and viewers do, and checks that every octet
 * is the one that tells its position.
 */
import { parentPort, workerData } from 'node:worker_threads';
import {
  CHUNK_LENGTH,
  LOG,
  LOG_WORDS,
  NO_PIN,
  type CaptureMemory,
} from '../../src/base/memory/capture-memory.js';
import { isPattern } from './log-pattern.js';

export interface LogReading {
  readonly captures: CaptureMemory;
  /** An Int32: not 0 when nothing more is written. */
  readonly over: SharedArrayBuffer;
}

export interface LogRead {
  /** The low 32 bits of the position. */
  readonly drained: number;
  readonly wrong: number;
  readonly read: number;
  readonly lapped: number;
}

const { captures, over } = workerData as LogReading;
const words = new Int32Array(captures.words, 0, LOG_WORDS);
const bytes = new Uint8Array(captures.bytes);
const isOver = new Int32Array(over);

function octetsAt(position: number, length: number): Uint8Array {
  const chunk = Atomics.load(words, LOG.chunks + ((position >>> 16) % 64));
  const start = captures.start + chunk * CHUNK_LENGTH + (position & (CHUNK_LENGTH - 1));
  return bytes.subarray(start, start + length);
}

let [drained, wrong, read, lapped] = [0, 0, 0, 0];
let state = 1;

/** Reads a chunk that is drained, if it can be pinned. */
function readOld(): void {
  state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
  const ordinal = ((drained >>> 16) - 1 - ((state >>> 16) % 6)) & 0xffff;
  Atomics.store(words, LOG.pin, ordinal);
  const behind = (ordinal - Atomics.load(words, LOG.reclaimed)) & 0xffff;
  if (behind >= 0x8000 || ordinal >= drained >>> 16) lapped++;
  else {
    if (!isPattern(octetsAt(ordinal * CHUNK_LENGTH, CHUNK_LENGTH), ordinal * CHUNK_LENGTH)) wrong++;
    read++;
  }
  Atomics.store(words, LOG.pin, NO_PIN);
}

for (;;) {
  const mayEnd = Atomics.load(isOver, 0) !== 0;
  const head = Atomics.load(words, LOG.head);
  while (drained !== head) {
    const length = Math.min(head - drained, CHUNK_LENGTH - (drained & (CHUNK_LENGTH - 1)));
    if (!isPattern(octetsAt(drained, length), drained)) wrong++;
    drained += length;
    Atomics.store(words, LOG.drained, drained);
    readOld();
  }
  if (mayEnd) break;
  readOld();
}
parentPort?.postMessage({ drained, wrong, read, lapped } satisfies LogRead);
