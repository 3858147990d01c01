/** The clock of supervised loops: checks at moments that a test chooses, and no rests. */
import type { Test } from 'tap';

const CHECK_MS = 500;

/** Takes the intervals of this process: those of half a second come when they are told to, all of them at once. */
export function heldChecks(t: Test): () => void {
  const held = new Map<NodeJS.Timeout, () => void>();
  const [begin, end] = [setInterval, clearInterval];
  t.intercept(globalThis, 'setInterval', {
    value: (callback: () => void, ms: number): NodeJS.Timeout => {
      if (ms !== CHECK_MS) return begin(callback, ms);
      // Never comes.
      const timer = begin(() => undefined, 2 ** 30);
      held.set(timer, callback);
      return timer;
    },
  });
  t.intercept(globalThis, 'clearInterval', {
    value: (timer: NodeJS.Timeout): void => {
      held.delete(timer);
      end(timer);
    },
  });
  return () => {
    for (const check of [...held.values()]) check();
  };
}

/** The clock of this process runs so fast that no life of a loop counts as short. So no loop rests after it. */
export function fastClock(t: Test): void {
  const begun = performance.now();
  const now = performance.now.bind(performance);
  t.intercept(performance, 'now', { value: () => begun + (now() - begun) * 10_000 });
}
