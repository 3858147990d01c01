/**
 * Takes turns between the streams that have something to send: in slices of at most a millisecond, between which
 * the thread serves everything else. Hundreds of streams share one thread, and none of them can hold it.
 */
const SLICE_MS = 1;

export interface TurnTaker {
  /** Sends for a bounded while; true when it wants another turn. */
  takeTurn(): boolean;
}

/** In the order of their turns. */
const waiting = new Set<TurnTaker>();
let isScheduled = false;

/** Gives the stream a turn soon; once, however often it is asked for. */
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
    // Whoever is added comes last in this very loop.
    if (stream.takeTurn()) waiting.add(stream);
    if (performance.now() >= end) break;
  }
  isScheduled = waiting.size > 0;
  if (isScheduled) setImmediate(runSlice);
}
