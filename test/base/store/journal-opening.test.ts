/** The files of a state folder at a start, and a server that is killed while it sorts them out. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Notice } from '../../../src/base/store/journal-opening.js';
import { JournalStore } from '../../../src/base/store/journal-store.js';
import { lmdbFolder } from '../../support/lmdb-folder.js';
import { Random, testSeed } from '../../support/random.js';
import { SimulatedDisk } from '../../support/simulated-disk.js';
import { digestOf } from '../../support/store-model.js';
import { quickFolder } from '../../support/small-disk.js';

const KINDS = /^(damaged|before)-/;

interface Look {
  readonly state: string;
  readonly notices: readonly Notice[];
}

function look(folder: string): Look {
  const store = new JournalStore(folder);
  const state = digestOf(store.load([]));
  store.close();
  return { state, notices: store.notices };
}

function stateFolder(t: Test): string {
  const folder = join(quickFolder(t), 'state');
  mkdirSync(folder);
  return folder;
}

/** A journal with a base of several frames, a second copy of that, and commits after it. Returns what it holds. */
function fill(folder: string): string {
  const store = new JournalStore(folder);
  for (let count = 0; count < 40; count++) {
    store.commit([{ put: ['kept', String(count)], value: { count, text: 'k'.repeat(20_000) } }]);
  }
  for (let count = 0; !existsSync(join(folder, 'journal.previous')); count++) {
    store.commit([{ put: ['replaced'], value: String(count).repeat(100_000) }]);
  }
  for (let count = 0; count < 10; count++) store.commit([{ put: ['late', String(count)], value: count }]);
  const state = digestOf(store.load([]));
  store.close();
  return state;
}

function damage(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

void t.test('a journal that is mostly outdated is replaced, and holds the same', (t) => {
  const folder = stateFolder(t);
  const state = fill(folder);
  t.ok(statSync(join(folder, 'journal')).size < statSync(join(folder, 'journal.previous')).size);
  t.same(look(folder), { state, notices: [] });
  t.end();
});

void t.test('a damaged base is taken from the journal before', (t) => {
  const folder = stateFolder(t);
  const state = fill(folder);
  damage(join(folder, 'journal'), 100_000);
  const found = look(folder);
  t.equal(found.state, state, 'nothing is lost');
  t.match(found.notices, [
    { level: 'error', text: /the store was damaged .* lies as it was in .*\/damaged-/ },
  ]);
  const [aside = ''] = readdirSync(folder).filter((name) => KINDS.test(name));
  t.same(readdirSync(join(folder, aside)).sort(), ['journal', 'journal.previous']);
  t.same(look(folder), { state, notices: [] }, 'and the next start finds nothing wrong');
  t.end();
});

void t.test('so is a journal that is gone, as far as that one goes', (t) => {
  const folder = stateFolder(t);
  fill(folder);
  rmSync(join(folder, 'journal'));
  const store = new JournalStore(folder);
  t.equal(store.load(['kept']).length, 40);
  t.match(store.notices, [{ level: 'error', text: /the file journal is gone/ }]);
  store.close();
  t.end();
});

void t.test('without that, a damaged base is as good as nothing, and that is told', (t) => {
  const folder = stateFolder(t);
  fill(folder);
  rmSync(join(folder, 'journal.previous'));
  damage(join(folder, 'journal'), 100_000);
  const store = new JournalStore(folder);
  t.same(store.load([]), []);
  t.match(store.notices, [{ level: 'error', text: /are lost$/ }]);
  store.close();
  t.end();
});

void t.test('a server that dies while it puts a damaged journal aside loses nothing by that', (t) => {
  const random = new Random(testSeed(51));
  const folder = stateFolder(t);
  const state = fill(folder);
  damage(join(folder, 'journal'), 100_000);
  const template = `${folder}-template`;
  cpSync(folder, template, { recursive: true });
  dyingEverywhere(
    t,
    random,
    folder,
    template,
    (found) => {
      t.equal(found.state, state);
    },
    3,
  );
  t.end();
});

void t.test('the store of an earlier version is taken over, and kept', async (t) => {
  const folder = stateFolder(t);
  const records = await lmdbFolder(folder, new Random(testSeed(52)), 300);
  const old = readFileSync(join(folder, 'data.mdb'));
  const store = new JournalStore(folder);
  t.equal(digestOf(store.load([])), digestOf(records.filter(({ key }) => key[0] !== 'format')));
  t.match(store.notices, [
    { level: 'warn', text: /the store of an earlier version is kept as .*\/before-2$/ },
  ]);
  store.close();
  const [aside = ''] = readdirSync(folder).filter((name) => KINDS.test(name));
  t.ok(readFileSync(join(folder, aside, 'data.mdb')).equals(old));
  t.same(look(folder).notices, []);
});

void t.test('so it is when the server dies on the way, wherever that is', async (t) => {
  const random = new Random(testSeed(53));
  const folder = stateFolder(t);
  const records = await lmdbFolder(folder, random, 60);
  const state = digestOf(records.filter(({ key }) => key[0] !== 'format'));
  const template = `${folder}-template`;
  cpSync(folder, template, { recursive: true });
  dyingEverywhere(
    t,
    random,
    folder,
    template,
    (found) => {
      t.equal(found.state, state);
      t.notOk(existsSync(join(folder, 'data.mdb')));
    },
    2,
  );
});

void t.test('a damaged store of an earlier version is put aside, and that is told', async (t) => {
  const folder = stateFolder(t);
  await lmdbFolder(folder, new Random(testSeed(54)), 100);
  const path = join(folder, 'data.mdb');
  writeFileSync(path, readFileSync(path).fill(0, 8192));
  const found = look(folder);
  t.equal(found.state, digestOf([]));
  t.match(found.notices, [
    { level: 'error', text: /the store of an earlier version is damaged: .* are lost$/ },
    { level: 'warn', text: /is kept as/ },
  ]);
  t.same(look(folder).notices, []);
});

void t.test('nobody else may read what the store holds', async (t) => {
  const folder = stateFolder(t);
  await lmdbFolder(folder, new Random(testSeed(55)), 10);
  new JournalStore(folder).close();
  t.equal(statSync(folder).mode & 0o777, 0o700);
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const stats = statSync(join(folder, name));
    t.equal(stats.mode & 0o077, 0, name);
  }
});

/** Opens the folder again and again, which ends at a later call each time, and then to the end: that is what counts. */
function dyingEverywhere(
  t: Test,
  random: Random,
  folder: string,
  template: string,
  check: (found: Look) => void,
  step = 1,
): void {
  const disk = new SimulatedDisk(t, folder, random);
  for (let at = random.below(step); ; at += step) {
    rmSync(folder, { recursive: true });
    cpSync(template, folder, { recursive: true });
    let calls = 0;
    disk.failing = () => (calls++ >= at ? 'EIO' : undefined);
    try {
      new JournalStore(folder).close();
    } catch {
      // It died.
    }
    disk.failing = () => undefined;
    check(look(folder));
    if (calls <= at) break;
  }
}
