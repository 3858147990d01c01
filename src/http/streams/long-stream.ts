/**
 * Every long stream of the HTTP thread. Nothing outside this folder calls `write`, `tryEnd`, `pause` or `resume`.
 *
 * uWebSockets.js by itself ends a connection after some ten seconds of an upload under 16 kB/s, of `pause`, or
 * of a blocked write. Every stream is therefore re-armed every few seconds, and ends by our own rule instead:
 * after IDLE_LIMIT_MS without a byte moved by the client. After a `write` that returned false the library sends
 * what it holds only within a `cork`, so the writable handler of a chunked stream always has one.
 */
const REARM_MS = 4000;
export const IDLE_LIMIT_MS = 120_000;

export interface LongStream {
  /** Keeps the connection; called every REARM_MS while the stream lives. */
  rearm(): void;
  /** When the client last moved a byte, by the clock that nobody sets; undefined while it is not the client that is waited for. */
  readonly waitingSince: number | undefined;
  /** The client has moved nothing for too long. */
  expire(): void;
}

const live = new Set<LongStream>();
let timer: NodeJS.Timeout | undefined;

export function join(stream: LongStream): void {
  live.add(stream);
  timer ??= setInterval(() => {
    lookAtStreams(performance.now());
  }, REARM_MS).unref();
}

export function leave(stream: LongStream): void {
  live.delete(stream);
}

/** Keeps every stream, or ends it. */
export function lookAtStreams(now: number): void {
  for (const stream of live) {
    const since = stream.waitingSince;
    if (since !== undefined && now - since >= IDLE_LIMIT_MS) stream.expire();
    else stream.rearm();
  }
}
