/**
 * The long streams of the HTTP thread: how they are kept alive, and how they take turns. Nothing outside of this folder
 * calls `write`, `tryEnd`, `pause` or `resume`.
 *
 * By itself uWebSockets.js ends a connection after some ten seconds of an upload under 16 kB/s, of `pause`, or of a
 * blocked write. So every stream is re-armed every few seconds, and ends by a rule of this server instead: after
 * IDLE_LIMIT_MS in which the client has moved no byte. After a `write` that returned false, the library sends the bytes
 * that it holds only within a `cork`, so the writable handler of a chunked stream always has one.
 */
import { Members, type Member } from '../../base/members.js';

const REARM_MS = 4000;
export const IDLE_LIMIT_MS = 120_000;

export interface LongStream extends Member {
  /** Keeps the connection; called every REARM_MS while the stream lives. */
  rearm(): void;
  /**
   * When the client last moved a byte, by the monotonic clock; undefined while the stream does not wait for its client.
   */
  readonly waitingSince: number | undefined;
  /** The client has moved nothing for too long. */
  expire(): void;
}

const live = new Members<LongStream>();
let timer: NodeJS.Timeout | undefined;

export function join(stream: LongStream): void {
  live.add(stream);
  timer ??= setInterval(() => {
    lookAtStreams(performance.now());
  }, REARM_MS).unref();
}

export function leave(stream: LongStream): void {
  live.remove(stream);
}

/** Re-arms every stream, or ends it when its client has been idle for too long. */
export function lookAtStreams(now: number): void {
  for (const stream of live.all()) {
    // The end of one stream may be that of another.
    if (stream.place < 0) continue;
    const since = stream.waitingSince;
    if (since !== undefined && now - since >= IDLE_LIMIT_MS) stream.expire();
    else stream.rearm();
  }
}

/** Streams that have something to send take turns. The thread serves everything else between slices of this length. */
const SLICE_MS = 1;

/** Hundreds of streams share the thread, and none of them can hold it. */
export interface TurnTaker {
  /** Sends for a bounded time; true when the stream wants another turn. */
  takeTurn(): boolean;
}

/** The streams in the order of their turns. */
const waiting = new Set<TurnTaker>();
let isScheduled = false;

/** Gives the stream one turn soon, however often it asks before that. */
export function askForTurn(stream: TurnTaker): void {
  waiting.add(stream);
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(runSlice);
}

export function giveUpTurn(stream: TurnTaker): void {
  waiting.delete(stream);
}

function runSlice(): void {
  const end = performance.now() + SLICE_MS;
  for (const stream of waiting) {
    waiting.delete(stream);
    // A stream that is added comes last in this very loop.
    if (stream.takeTurn()) waiting.add(stream);
    if (performance.now() >= end) break;
  }
  isScheduled = waiting.size > 0;
  if (isScheduled) setImmediate(runSlice);
}
