/** A model of a store's content, and random commits for it. */
import { createHash } from 'node:crypto';
import type { Change, StoredRecord } from '../../src/base/store/store.js';
import type { Random } from './random.js';

export class StoreModel {
  #records = new Map<string, StoredRecord>();

  /** Some changes, mostly small ones. */
  changes(random: Random, largest = 5000): Change[] {
    return Array.from({ length: 1 + random.below(4) }, () => {
      const key = ['x', `p${random.below(8)}`, `n${random.below(30)}`];
      if (random.chance(0.1)) return { remove: key };
      if (random.chance(0.05)) return { clear: key.slice(0, 2) };
      const length = random.below(random.chance(0.1) ? largest : 200);
      return { put: key, value: { text: 'v'.repeat(length), n: random.below(1e9) } };
    });
  }

  apply(changes: readonly Change[]): void {
    for (const change of changes) {
      if ('put' in change)
        this.#records.set(JSON.stringify(change.put), { key: change.put, value: change.value });
      else if ('remove' in change) this.#records.delete(JSON.stringify(change.remove));
      else {
        const { clear } = change;
        for (const [name, { key }] of this.#records) {
          if (clear.every((part, depth) => key[depth] === part)) this.#records.delete(name);
        }
      }
    }
  }

  /** The same after these changes. */
  after(changes: readonly Change[]): StoreModel {
    const model = new StoreModel();
    model.#records = new Map(this.#records);
    model.apply(changes);
    return model;
  }

  get digest(): string {
    return digestOf([...this.#records.values()]);
  }
}

/** The same for the same records, whatever their order. */
export function digestOf(records: readonly StoredRecord[]): string {
  const lines = records.map((record) => JSON.stringify(record)).sort();
  return createHash('sha256').update(lines.join('\n')).digest('hex');
}
