/**
 * The promises of every store, as a suite over the way to open one. Each test has a folder of its own, and a
 * store that is opened there again must be the same store.
 */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Test } from 'tap';
import { packChanges, unpackRecords } from '../../../src/base/store/packing.js';
import type {
  Change,
  ClaimOutcome,
  Follower,
  Key,
  Position,
  Reading,
  Store,
  StoredRecord,
} from '../../../src/base/store/store.js';
import { scratchFolder } from '../../support/scratch.js';
import { seededRandom } from '../../support/seeded-random.js';

export interface StoreFactory {
  readonly open: (folder: string) => Store;
  /** The same for another process: a module, and its class that is made with the folder. Absent when it is in memory. */
  readonly module?: URL;
  readonly className?: string;
  /** A change that the store cannot carry out. */
  readonly impossible: Change;
  /** Makes a position that the store does not keep any more. */
  readonly outdated: (store: Store) => Promise<Pick<Reading, 'position'>>;
}

const put = (key: Key, value: unknown = 1): Change => ({ put: key, value });
const keysOf = (records: readonly StoredRecord[]): Key[] => records.map(({ key }) => key);

export function storeContract(t: Test, factory: StoreFactory): void {
  /** Runs `work` on an empty store. */
  const withStore = (name: string, work: (t: Test, store: Store, folder: string) => Promise<void>): void => {
    void t.test(name, async (t) => {
      const folder = scratchFolder(t);
      const store = factory.open(folder);
      try {
        await work(t, store, folder);
      } finally {
        await store.close();
      }
    });
  };

  withStore('loads what was put, the newest value of each key', async (t, store) => {
    await store.commit([put(['lab', 'a'], 1), put(['lab', 'b'], 2)]);
    await store.commit([put(['lab', 'a'], 3)]);
    t.same(await store.load(['lab']), [
      { key: ['lab', 'a'], value: 3 },
      { key: ['lab', 'b'], value: 2 },
    ]);
  });

  withStore('knows nothing of what was never put', async (t, store) => {
    t.same(await store.load(['lab']), []);
    await store.commit([{ remove: ['lab', 'a'] }, { clear: ['lab'] }]);
    t.same(await store.load(['lab']), []);
    await store.commit([]);
  });

  withStore('applies the changes of a commit in their order', async (t, store) => {
    await store.commit([
      put(['x', 'a'], 'first'),
      put(['x', 'a'], 'second'),
      put(['x', 'b']),
      { remove: ['x', 'b'] },
      put(['x', 'c'], 'old'),
      { clear: ['x', 'c'] },
      put(['x', 'c'], 'new'),
      put(['y', 'a']),
      put(['y', 'b']),
      { clear: ['y'] },
    ]);
    t.same(await store.load(['x']), [
      { key: ['x', 'a'], value: 'second' },
      { key: ['x', 'c'], value: 'new' },
    ]);
    t.same(await store.load(['y']), []);
  });

  withStore('a commit that fails leaves no trace, and the store goes on', async (t, store) => {
    await store.commit([put(['x', 'a'], 'before'), put(['x', 'b'], 'before')]);
    const changes = [put(['x', 'a'], 'after'), put(['x', 'c']), { clear: ['x', 'b'] }, factory.impossible];
    await t.rejects(store.commit(changes));
    await t.rejects(store.commit([factory.impossible, put(['x', 'c'])]));
    t.same(await store.load(['x']), [
      { key: ['x', 'a'], value: 'before' },
      { key: ['x', 'b'], value: 'before' },
    ]);
    await store.commit([put(['x', 'c'])]);
    t.equal((await store.load(['x'])).length, 3);
  });

  withStore('clearing a path leaves its neighbours of the same beginning alone', async (t, store) => {
    const keys: Key[] = [
      ['lab'],
      ['lab', 'a'],
      ['lab', 'a', 'node', '1'],
      ['lab', 'a', 'node', '2'],
      ['lab', 'a', 'nodes'],
      ['lab', 'aa'],
      ['lab', 'ab'],
      ['lab', 'b'],
      ['laba'],
    ];
    await store.commit(keys.map((key) => put(key)));
    await store.commit([{ clear: ['lab', 'a', 'node'] }]);
    t.same(keysOf(await store.load(['lab', 'a'])), [
      ['lab', 'a'],
      ['lab', 'a', 'nodes'],
    ]);
    await store.commit([{ clear: ['lab', 'a'] }]);
    t.same(keysOf(await store.load(['lab'])), [['lab'], ['lab', 'aa'], ['lab', 'ab'], ['lab', 'b']]);
    await store.commit([{ clear: ['lab'] }]);
    t.same(keysOf(await store.load(['laba'])), [['laba']]);
    t.same(await store.load(['lab']), []);
  });

  withStore('removing a key leaves what lies below it', async (t, store) => {
    await store.commit([put(['lab', 'a']), put(['lab', 'a', 'b'])]);
    await store.commit([{ remove: ['lab', 'a'] }]);
    t.same(keysOf(await store.load(['lab'])), [['lab', 'a', 'b']]);
  });

  withStore('loads in key order, part by part, whatever the order of the puts', async (t, store) => {
    const keys: Key[] = [
      ['k', '0'],
      ['k', '10'],
      ['k', '9'],
      ['k', 'A'],
      ['k', 'a'],
      ['k', 'a', 'z'],
      ['k', 'a b'],
      ['k', 'aa'],
      ['k', 'z'],
    ];
    const random = seededRandom(7);
    await store.commit(
      keys
        .map((key) => ({ key, at: random() }))
        .sort((a, b) => a.at - b.at)
        .map(({ key }) => put(key)),
    );
    t.same(keysOf(await store.load(['k'])), keys);
  });

  withStore('loads several paths at once, one after the other', async (t, store) => {
    const keys: Key[] = [
      ['a', '1'],
      ['a', '2'],
      ['b', '1'],
      ['c', '1'],
    ];
    await store.commit(keys.map((key) => put(key)));
    t.same(keysOf(await store.load(['c'], ['missing'], ['a'])), [
      ['c', '1'],
      ['a', '1'],
      ['a', '2'],
    ]);
    t.same(unpackRecords(await store.loadPacked(['b'], ['c'])), await store.load(['b'], ['c']));
  });

  withStore('takes every string as a part of a key', async (t, store) => {
    const parts = [
      'é',
      '\u{1f600}',
      '\uffff',
      '\u{10ffff}',
      '__proto__',
      ' ',
      '1e3',
      'true',
      'x'.repeat(255),
    ];
    for (const part of parts) {
      await store.commit([put(['k', part, 'below'], part), put(['k', `${part}x`], 'sibling')]);
      t.same(await store.load(['k', part]), [{ key: ['k', part, 'below'], value: part }], part);
    }
    t.equal((await store.load(['k'])).length, 2 * parts.length, 'none is missed below the common path');
    await store.commit([{ clear: ['k'] }]);
    t.same(await store.load(['k']), []);
  });

  withStore('gives values of every JSON shape back as they were', async (t, store) => {
    const values: unknown[] = [
      null,
      true,
      false,
      0,
      -1,
      0.1,
      -1e-300,
      1.7e308,
      2 ** 31,
      2 ** 53 - 1,
      -(2 ** 53 - 1),
      '',
      'é \u{1f600} \u0000 "\\',
      [],
      {},
      [[], {}, [null]],
      { '': 1, '1': 2, b: { a: null, ключ: ['значение'] }, length: 3, constructor: 'c' },
      nested(200),
      Array.from({ length: 5000 }, (_, index) => index / 3),
    ];
    await store.commit(values.map((value, index) => put(['v', keyAt(index)], value)));
    const loaded = await store.load(['v']);
    for (const [index, { value }] of loaded.entries()) {
      t.strictSame(value, values[index], JSON.stringify(values[index]).slice(0, 60));
      t.equal(JSON.stringify(value), JSON.stringify(values[index]), 'with its keys in their order');
    }
    t.equal(loaded.length, values.length);
  });

  withStore('takes values of a mebibyte', async (t, store) => {
    const random = seededRandom(11);
    const svg = Array.from({ length: 2 ** 20 }, () => String.fromCharCode(32 + random() * 90)).join('');
    await store.commit([put(['d', 'a'], { svg }), put(['d', 'b'], { svg: `${svg}!` })]);
    const [a, b] = (await store.load(['d'])) as { value: { svg: string } }[];
    t.ok(a?.value.svg === svg);
    t.ok(b?.value.svg === `${svg}!`);
  });

  withStore('packed and unpacked are the same', async (t, store) => {
    const changes = [put(['p', 'a'], { x: [1.5, null] }), put(['p', 'b'], 'é')];
    await store.commitPacked(packChanges(changes));
    const records = await store.load(['p']);
    t.same(records, [
      { key: ['p', 'a'], value: { x: [1.5, null] } },
      { key: ['p', 'b'], value: 'é' },
    ]);
    t.same(unpackRecords(await store.loadPacked(['p'])), records);
    await t.rejects(store.commitPacked(packChanges([put(['p', 'c']), factory.impossible])));
    await t.rejects(
      store.commitPacked(packChanges([put(['p', 'c'])]), packChanges([factory.impossible])),
      'all parts are one commit',
    );
    t.same(unpackRecords(await store.loadPacked(['p'])), records);
    await store.commitPacked(packChanges([put(['p', 'c'])]), packChanges([{ remove: ['p', 'c'] }]));
    t.same(unpackRecords(await store.loadPacked(['p'])), records, 'in their order');
  });

  withStore('commits of many callers happen in the order in which they were made', async (t, store) => {
    const random = seededRandom(3);
    const last = new Map<string, number>();
    const commits: Promise<void>[] = [];
    for (let index = 0; index < 2000; index++) {
      const key = keyAt(Math.floor(random() * 20));
      last.set(key, index);
      const change = put(['c', key], index);
      commits.push(index % 3 === 0 ? store.commitPacked(packChanges([change])) : store.commit([change]));
    }
    await Promise.all(commits);
    for (const { key, value } of await store.load(['c'])) t.equal(value, last.get(key[1] ?? ''));
    t.equal((await store.load(['c'])).length, last.size);
  });

  withStore('a load sees whole commits only, and all that were made before it', async (t, store) => {
    const rounds = 60;
    const loads: Promise<StoredRecord[]>[] = [];
    const commits: Promise<void>[] = [];
    for (let round = 1; round <= rounds; round++) {
      const keys = Array.from({ length: 50 }, (_, index) => keyAt(index));
      commits.push(store.commit(keys.map((key) => put(['m', key], round))));
      loads.push(store.load(['m']));
    }
    await Promise.all(commits);
    for (const [index, records] of (await Promise.all(loads)).entries()) {
      const seen = new Set(records.map(({ value }) => value as number));
      t.equal(records.length, 50);
      t.equal(seen.size, 1, 'of one moment');
      t.ok([...seen].every((round) => round > index));
    }
  });

  withStore('a follower is told whole commits, in order, from its position', async (t, store) => {
    await store.commit([put(['f', 'early'])]);
    const { records, position } = await store.read(['f'], ['g']);
    t.same(keysOf(records), [['f', 'early']]);
    await store.commit([put(['f', 'a'], 1), put(['other', 'a']), put(['f', 'b'], 2)]);
    await store.commitPacked(packChanges([put(['g', 'a'])]), packChanges([{ remove: ['f', 'a'] }]));
    await store.commit([put(['other', 'b'])]);
    await t.rejects(store.commit([put(['f', 'refused']), factory.impossible]));
    await store.commit([{ clear: ['f', 'b'] }, put(['ff', 'a'])]);
    const told = new Told();
    const stop = store.follow([['f'], ['g']], position, told);
    await told.commits(3);
    t.same(told.changes.map(single), [
      [put(['f', 'a'], 1), put(['f', 'b'], 2)],
      [put(['g', 'a']), { remove: ['f', 'a'] }],
      [{ remove: ['f', 'b'] }],
    ]);
    await store.commit([put(['f', 'c'])]);
    await told.commits(4);
    t.same(told.changes[3], [put(['f', 'c'])], 'and what comes later');
    stop();

    const again = new Told();
    store.follow([['f']], told.positions[1] ?? '', again);
    await again.commits(2);
    t.same(
      again.changes.map(single),
      [[{ remove: ['f', 'b'] }], [put(['f', 'c'])]],
      'from a position that a follower was told',
    );
    await store.commit([{ clear: ['f'] }]);
    await again.commits(3);
    t.equal(told.changes.length, 4, 'who has stopped is told nothing more');
    t.equal(told.isGone || again.isGone, false);
  });

  withStore('a follower of what is not kept is told so, and reads again', async (t, store) => {
    const { position } = await factory.outdated(store);
    const told = new Told();
    store.follow([['f']], position, told);
    await told.goneAway();
    const reading = await store.read(['f']);
    store.follow([['f']], reading.position, told);
    await store.commit([put(['f', 'new'])]);
    await told.commits(1);
    t.same(told.changes, [[put(['f', 'new'])]]);
  });

  withStore(
    'a claim comes with the records of its moment, and its commits are the scope\u2019s',
    async (t, store) => {
      await store.commit([put(['s', 'a'])]);
      const first = await claimed(store, 's', ['s']);
      t.same(keysOf(first.reading.records), [['s', 'a']]);
      t.equal(first.claim.scope, 's');
      t.ok(first.claim.isFresh());
      await Promise.all([
        first.claim.store.commit([put(['s', 'b'], 1)]),
        first.claim.store.commitPacked(packChanges([put(['s', 'b'], 2)])),
        first.claim.store.commit([put(['s', 'c'])]),
        (await claimed(store, 'other', ['s'])).claim.store.commit([put(['o', 'a'])]),
      ]);
      await first.claim.release();
      const second = await claimed(store, 's', ['s']);
      t.ok(second.claim.epoch > first.claim.epoch);
      t.same(second.reading.records, [
        { key: ['s', 'a'], value: 1 },
        { key: ['s', 'b'], value: 2 },
        { key: ['s', 'c'], value: 1 },
      ]);
      const told = new Told();
      second.claim.store.follow([['s']], second.reading.position, told);
      await second.claim.store.commit([{ remove: ['s', 'a'] }]);
      await told.commits(1);
      t.same(told.changes, [[{ remove: ['s', 'a'] }]]);
      t.notOk(second.claim.lost.aborted);
    },
  );

  void t.test('changes that the caller makes to its values afterwards change nothing', async (t) => {
    const store = factory.open(scratchFolder(t));
    const value = { list: [1] };
    const changes = [put(['o', 'a'], value)];
    const committed = store.commit(changes);
    value.list.push(2);
    changes.push(put(['o', 'b']));
    await committed;
    t.same(await store.load(['o']), [{ key: ['o', 'a'], value: { list: [1] } }]);
    await store.close();
  });

  void t.test('everything is there when it is opened again', async (t) => {
    const folder = scratchFolder(t);
    const first = factory.open(folder);
    const changes = Array.from({ length: 500 }, (_, index) => put(['r', keyAt(index)], { index }));
    await Promise.all(changes.map((change) => first.commit([change])));
    await first.commit([{ remove: ['r', keyAt(0)] }]);
    await first.close();

    const second = factory.open(folder);
    const records = await second.load(['r']);
    t.equal(records.length, 499);
    t.same(records[0], { key: ['r', keyAt(1)], value: { index: 1 } });
    await second.commit([put(['r', 'later'])]);
    await second.close();

    const third = factory.open(folder);
    t.equal((await third.load(['r'])).length, 500);
    await third.close();
  });

  if (factory.module === undefined) return;
  void t.test('acknowledged commits are there after the process was killed', async (t) => {
    const folder = scratchFolder(t);
    for (let round = 0; round < 3; round++) {
      const acknowledged = await killedWhileWriting(factory, folder, round, 40 + 60 * round);
      const store = factory.open(folder);
      const records = await store.load(['kill', String(round)]);
      const sizes = new Map<string, number>();
      for (const { key } of records) sizes.set(key[2] ?? '', (sizes.get(key[2] ?? '') ?? 0) + 1);
      for (let index = 0; index <= acknowledged; index++) {
        if (sizes.get(keyAt(index)) !== 3) t.fail(`commit ${index} of ${acknowledged} is not there`);
      }
      t.same(new Set(sizes.values()), new Set([3]), 'every commit is whole');
      await store.close();
    }
  });
}

/** Remembers what it is told. */
class Told implements Follower {
  readonly changes: (readonly Change[])[] = [];
  readonly positions: Position[] = [];
  isGone = false;
  readonly #news = new EventEmitter();

  committed(changes: readonly Change[], position: Position): void {
    this.changes.push(changes);
    this.positions.push(position);
    this.#news.emit('news');
  }

  gone(): void {
    this.isGone = true;
    this.#news.emit('news');
  }

  async commits(count: number): Promise<void> {
    while (this.changes.length < count) await once(this.#news, 'news');
  }

  async goneAway(): Promise<void> {
    while (!this.isGone) await once(this.#news, 'news');
  }
}

async function claimed(
  store: Store,
  scope: string,
  ...prefixes: readonly Key[]
): Promise<Extract<ClaimOutcome, { claim: unknown }>> {
  const outcome = await store.claim(scope, ...prefixes);
  if ('heldBy' in outcome) throw new Error(`${outcome.heldBy} holds ${scope}`);
  return outcome;
}

/** Where only one record lies below a path, a store may tell of its removal. */
function single(changes: readonly Change[]): Change[] {
  return changes.map((change) => ('clear' in change ? { remove: change.clear } : change));
}

/** Keys that sort like their numbers. */
function keyAt(index: number): string {
  return String(index).padStart(6, '0');
}

function nested(depth: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { value };
  return value;
}

/** Kills a process that commits without end; returns the number of the last commit it saw acknowledged. */
async function killedWhileWriting(
  factory: StoreFactory,
  folder: string,
  round: number,
  after: number,
): Promise<number> {
  const program = `
    const { ${factory.className}: Made } = await import(${JSON.stringify(factory.module?.href)});
    const store = new Made(${JSON.stringify(folder)});
    for (let index = 0; ; index++) {
      const key = ['kill', '${round}', String(index).padStart(6, '0')];
      await store.commit(['a', 'b', 'c'].map((part) => ({ put: [...key, part], value: { index } })));
      process.stdout.write(index + '\\n');
    }`;
  const path = join(folder, 'writer.mjs');
  writeFileSync(path, program);
  const child = spawn(process.execPath, [path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let last = -1;
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = Number(line);
    if (last >= after) child.kill('SIGKILL');
  });
  await closed;
  if (last < after) throw new Error(`the writing process ended by itself after ${last}`);
  return last;
}
