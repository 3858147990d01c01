/** Checks of what is supervised, at moments that a test chooses. */
import type { Test } from 'tap';

/** Takes the intervals of this process: those of half a second come when they are told to. */
export function heldChecks(t: Test): () => void {
  const work: (() => void)[] = [];
  const begin = setInterval;
  t.intercept(globalThis, 'setInterval', {
    value: (callback: () => void, ms: number): NodeJS.Timeout => {
      if (ms !== 500) return begin(callback, ms);
      work.push(callback);
      // Never comes.
      return begin(() => undefined, 2 ** 30);
    },
  });
  return () => work.at(-1)?.();
}
