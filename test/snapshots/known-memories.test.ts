/** The saved memories that the store knows. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { KnownMemories, type SnapshotMemory } from '../../src/snapshots/known-memories.js';
import { FakeStore } from '../support/fake-store.js';

const MOST = 10_000;

function memoryOf(number: number): SnapshotMemory {
  const digest = createHash('sha256').update(String(number)).digest('hex');
  return { snapshotId: 's', nodeId: 'n', memory: { digest, size: 1, machine: 'pc-7.2', parts: [] } };
}

void t.test('an export is always known, and those of longest ago are forgotten for it', async (t) => {
  const store = new FakeStore();
  const memories = new KnownMemories(store);
  const digests = Array.from({ length: MOST + 2 }, (_, number) => memoryOf(number));
  const [first, second, ...rest] = digests;
  if (first === undefined || second === undefined) throw new Error('there are none');
  // A record of a server that did not write down when.
  store.seed(['exported-memory', first.memory.digest], first.memory);
  await memories.keepExported([second]);
  await memories.keepExported(rest.slice(0, MOST - 2));
  const isKnown = async (known: SnapshotMemory): Promise<boolean> =>
    (await memories.exported()).has(known.memory.digest);
  t.same([await isKnown(first), await isKnown(second)], [true, true]);
  await memories.keepExported(rest.slice(-1));
  t.same([await isKnown(first), await isKnown(second)], [false, true]);
  t.equal((await memories.exported()).size, MOST);
  await memories.keepExported(rest.slice(-2));
  t.equal((await memories.exported()).size, MOST);
  for (const known of rest.slice(-2)) t.ok(await isKnown(known));
  await memories.keepExported([]);
  t.equal((await memories.exported()).size, MOST);
});
