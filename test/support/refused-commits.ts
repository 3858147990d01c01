/** Commits that a disk refuses, in any number: each changes nothing. */
import type { Test } from 'tap';
import type { JournalStore } from '../../src/base/store/journal-store.js';
import type { Random } from './random.js';

export function refuseCommits(
  t: Test,
  store: JournalStore,
  random: Random,
  count: number,
  status: number,
): void {
  const before = JSON.stringify(store.load(['probe']));
  const largest = 1024 * 1024;
  for (let index = 0; index < count; index++) {
    // As many small ones as large ones.
    const length = Math.floor(10 * (largest / 10) ** (random.below(1000) / 1000));
    let found: unknown;
    try {
      store.commit([{ put: ['probe', `n${index}`], value: 'v'.repeat(length) }]);
    } catch (error) {
      found = error;
    }
    const isRight = found instanceof Error && 'status' in found && found.status === status;
    if (!isRight) t.fail(`commit ${index} of ${length} octets: ${String(found)}`);
  }
  t.equal(JSON.stringify(store.load(['probe'])), before, 'no refused commit left a part');
}
