/** The promises of a store that several servers share. */
import type { Test } from 'tap';
import type { Change, Claim, Key, SharedStore } from '../../../src/base/store/store.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/scratch.js';
import { seededRandom } from '../../support/seeded-random.js';

export interface SharedStoreFactory {
  readonly open: (folder: string, server: string) => SharedStore;
  /** Ends the claim of a scope without a word to whoever has it. */
  readonly evict: (folder: string, scope: string) => Promise<void>;
  /** Ends all that hangs on the life of the server that has announced the record. */
  readonly forget: (folder: string, announced: Key) => Promise<void>;
}

const put = (key: Key, value: unknown = 1): Change => ({ put: key, value });

export async function claimOf(store: SharedStore, scope: string): Promise<Claim> {
  const outcome = await store.claim(scope);
  if ('heldBy' in outcome) throw new Error(`${outcome.heldBy} holds ${scope}`);
  return outcome.claim;
}

export function sharedStoreContract(t: Test, factory: SharedStoreFactory): void {
  const withStores = (
    name: string,
    work: (t: Test, stores: { a: SharedStore; b: SharedStore; folder: string }) => Promise<void>,
  ): void => {
    void t.test(name, async (t) => {
      const folder = scratchFolder(t);
      const [a, b] = [factory.open(folder, 'a'), factory.open(folder, 'b')];
      try {
        await work(t, { a, b, folder });
      } finally {
        await Promise.all([a.close(), b.close()]);
      }
    });
  };

  withStores('a scope has one holder, and its release hands over at once', async (t, { a, b }) => {
    const first = await claimOf(a, 's');
    t.same(await b.claim('s'), { heldBy: 'a' });
    t.same(await b.load(['owner']), [{ key: ['owner', 's'], value: 'a' }]);
    const commits = [1, 2, 3].map((value) => first.store.commit([put(['s', 'x'], value)]));
    await first.release();
    await Promise.all(commits);
    t.notOk(first.isFresh());
    const second = await b.claim('s', ['s'], ['owner']);
    if ('heldBy' in second) throw new Error('it was not released');
    t.same(second.reading.records, [
      { key: ['s', 'x'], value: 3 },
      { key: ['owner', 's'], value: 'b' },
    ]);
    t.ok(second.claim.epoch > first.epoch);
    await t.rejects(first.store.commit([put(['s', 'x'], 4)]), { code: 'claim_lost' });
    await second.claim.store.commit([put(['s', 'x'], 5)]);
    t.same(await a.load(['s']), [{ key: ['s', 'x'], value: 5 }]);
  });

  withStores('a former holder that does not know is refused, and leaves no trace', async (t, stores) => {
    const { a, b, folder } = stores;
    const former = await claimOf(a, 's');
    await former.store.commit([put(['s', 'x'], 'former')]);
    await factory.evict(folder, 's');
    const present = await claimOf(b, 's');
    await Promise.all([
      t.rejects(former.store.commit([put(['s', 'x'], 'late'), put(['s', 'y'])]), {
        code: 'claim_lost',
        status: 503,
      }),
      t.rejects(former.store.commit([put(['s', 'z'])]), { code: 'claim_lost' }),
    ]);
    t.ok(former.lost.aborted);
    t.notOk(former.isFresh());
    t.same(await b.load(['s']), [{ key: ['s', 'x'], value: 'former' }]);
    await present.store.commit([put(['s', 'x'], 'present')]);
    await former.release();
    t.same(await a.load(['s'], ['owner']), [
      { key: ['s', 'x'], value: 'present' },
      { key: ['owner', 's'], value: 'b' },
    ]);
  });

  withStores(
    'commits without a claim of two servers are all there, and both are told',
    async (t, { a, b }) => {
      const { position } = await a.read();
      const seen = new Map<string, number>();
      a.follow([['u']], position, {
        committed: (changes) => {
          for (const change of changes)
            if ('put' in change) seen.set(change.put[1] ?? '', (seen.get(change.put[1] ?? '') ?? 0) + 1);
        },
        gone: () => t.fail('nothing was removed'),
      });
      const numbers = Array.from({ length: 50 }, (_, index) => String(index));
      await Promise.all(
        numbers.flatMap((n) => [a.commit([put(['u', `a${n}`])]), b.commit([put(['u', `b${n}`])])]),
      );
      t.equal((await a.load(['u'])).length, 100);
      await eventually('all were told', () => seen.size === 100 || undefined);
      t.same(new Set(seen.values()), new Set([1]), 'once');
    },
  );

  withStores('the latest position is after all that was acknowledged', async (t, { a, b }) => {
    const claim = await claimOf(a, 's');
    let passed = Number((await b.read()).position);
    b.follow([['s']], String(passed), {
      committed: () => undefined,
      passed: (position) => (passed = Number(position)),
      gone: () => t.fail('nothing was removed'),
    });
    let last = 0;
    for (const change of [put(['s', 'x']), put(['elsewhere']), { remove: ['s', 'x'] }]) {
      await claim.store.commit([change]);
      const latest = Number(await b.latest());
      t.ok(latest > last);
      last = latest;
    }
    t.equal(Number(await a.latest()), last);
    await eventually('it is told that far', () => passed >= last || undefined);
  });

  withStores('an announcement ends with its server, and comes back after a loss', async (t, stores) => {
    const { a, b, folder } = stores;
    const { position } = await b.read();
    const told: Change[] = [];
    b.follow([['server']], position, {
      committed: (changes) => told.push(...changes),
      gone: () => t.fail('it is kept'),
    });
    await a.announce(['server', 'a'], { load: 1 });
    await a.announce(['server', 'a'], { load: 2 });
    const claim = await claimOf(a, 's');
    await factory.forget(folder, ['server', 'a']);
    await eventually('it is lost', () => claim.lost.aborted || undefined);
    await t.rejects(claim.store.commit([put(['s', 'x'])]), { code: 'claim_lost' });
    await eventually('it is announced again', () => told.length === 4 || undefined);
    await a.close();
    await eventually('it has ended', () => told.length === 5 || undefined);
    const record = ['server', 'a'];
    t.same(told, [
      put(record, { load: 1 }),
      put(record, { load: 2 }),
      { remove: record },
      put(record, { load: 2 }),
      { remove: record },
    ]);
    t.same(await b.load(['server'], ['owner'], ['s']), []);
  });

  withStores('a large commit is seen whole or not at all, while it is made', async (t, { a, b }) => {
    const random = seededRandom(5);
    const filler = Array.from({ length: 300 }, () => String.fromCharCode(32 + random() * 90)).join('');
    const keys = Array.from({ length: 1300 }, (_, index) => ['big', String(index).padStart(4, '0')]);
    await a.commit([put(['big', 'old']), put(['big', '0001', 'below'])]);
    const { position } = await b.read();
    const told: number[] = [];
    b.follow([['big']], position, {
      committed: (changes) => told.push(changes.length),
      gone: () => t.fail('it is kept'),
    });
    let isDone = false;
    const sizes = new Set<number>();
    const watch = async (): Promise<void> => {
      while (!isDone) sizes.add((await b.load(['big'])).length);
    };
    const watching = watch();
    const claim = await claimOf(a, 's');
    await claim.store.commit([{ clear: ['big'] }, ...keys.map((key) => put(key, filler))]);
    isDone = true;
    await watching;
    t.same(
      [...sizes].filter((size) => size !== 2 && size !== 1300),
      [],
    );
    const records = await b.load(['big']);
    t.same(
      records.map(({ key }) => key),
      keys,
    );
    t.ok(records.every(({ value }) => value === filler));
    await b.commit([put(['big', 'after'])]);
    await eventually('it is told', () => told.length === 2 || undefined);
    t.same(told, [1301, 1]);
    await t.rejects(a.commit([put(['big', 'more'], 'x'.repeat(2 ** 21))]), { code: 'record_too_large' });
  });
}
