/** Whatever happens to the file of a journal, the store opens with a state that was acknowledged once. */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { JournalStore } from '../../../src/base/store/journal-store.js';
import { Random, testSeed } from '../../support/random.js';
import { quickFolder } from '../../support/small-disk.js';
import { digestOf, StoreModel } from '../../support/store-model.js';

const PAGE = 4096;

interface Rig {
  readonly random: Random;
  readonly folder: string;
  /** The whole journal, which ended without being closed, or was closed. */
  readonly whole: Buffer;
  /** The end of its last commit. */
  readonly end: number;
  readonly states: readonly string[];
}

function rigOf(t: Test, usualSeed: number, isClosed: boolean): Rig {
  const random = new Random(testSeed(usualSeed));
  const folder = join(quickFolder(t), 'state');
  mkdirSync(folder);
  const store = new JournalStore(folder);
  const model = new StoreModel();
  const states = [model.digest];
  for (let count = 0; count < 120; count++) {
    const changes = model.changes(random);
    store.commit(changes);
    model.apply(changes);
    states.push(model.digest);
  }
  if (!isClosed) cpSync(join(folder, 'journal'), join(folder, 'killed'));
  store.close();
  const whole = readFileSync(join(folder, isClosed ? 'journal' : 'killed'));
  const end = whole.findLastIndex((byte) => byte !== 0) + 1;
  return { random, folder, whole, end, states };
}

/** Opens the store with this journal; returns the number of the state that it has, and what it tells. */
function look({ folder, states }: Rig, journal: Buffer): { state: number; told: string; aside: string[] } {
  rmSync(folder, { recursive: true });
  mkdirSync(folder);
  writeFileSync(join(folder, 'journal'), journal);
  const store = new JournalStore(folder);
  const state = states.lastIndexOf(digestOf(store.load([])));
  const told = store.notices.map(({ text }) => text).join('\n');
  store.commit([{ put: ['y'], value: 1 }]);
  store.close();
  const again = new JournalStore(folder);
  if (again.load(['y']).length !== 1 || again.notices.length > 0)
    throw new Error('the second start is not clean');
  again.close();
  return { state, told, aside: readdirSync(folder).filter((name) => name.startsWith('damaged-')) };
}

/** A damaged journal is put aside as it is; what was cut off as unfinished was the last commit at most. */
function check(t: Test, rig: Rig, journal: Buffer, what: string, mayLoseLast: boolean): void {
  const last = rig.states.length - 1;
  const { state, told, aside } = look(rig, journal);
  if (state < 0) t.fail(`${what}: the store has a state that was never acknowledged`);
  if (aside.length === 1) {
    const copy = readFileSync(join(rig.folder, aside[0] ?? '', 'journal'));
    if (!copy.equals(journal)) t.fail(`${what}: the copy is not what was there`);
    if (!told.includes('damaged')) t.fail(`${what}: nothing is told`);
  } else if (state < last - (mayLoseLast ? 1 : 0)) {
    t.fail(`${what}: ${last - state} commits are lost without a word`);
  }
}

void t.test('a whole journal is opened as it is', (t) => {
  for (const isClosed of [true, false]) {
    const rig = rigOf(t, 41, isClosed);
    t.match(look(rig, rig.whole), { state: rig.states.length - 1, told: '', aside: [] });
  }
  t.end();
});

void t.test('flipped bits are found', (t) => {
  const rig = rigOf(t, 42, true);
  for (let round = 0; round < 40; round++) {
    const journal = Buffer.from(rig.whole);
    const at =
      round < 10
        ? (round % 2) * PAGE + rig.random.below(48)
        : 2 * PAGE + rig.random.below(rig.end - 2 * PAGE);
    journal[at] = (journal[at] ?? 0) ^ (1 << rig.random.below(8));
    check(t, rig, journal, `flip at ${at}`, false);
  }
  t.end();
});

void t.test('so they are after a kill, except in a commit that may never have been acknowledged', (t) => {
  const rig = rigOf(t, 43, false);
  for (let round = 0; round < 25; round++) {
    const journal = Buffer.from(rig.whole);
    // The length of a frame is among what is flipped: 120 commits of 100 thousand bytes and more.
    const at = 2 * PAGE + 16 + rig.random.below(rig.end - 2 * PAGE - 16);
    journal[at] = (journal[at] ?? 0) ^ 1;
    const { state, aside } = look(rig, journal);
    t.ok(
      state >= 0 && (aside.length === 1 || state >= rig.states.length - 2 || isHeadOfFrame(rig, at)),
      `flip at ${at}`,
    );
  }
  t.end();
});

/** Less than a second after a commit, a kill and a damaged length of a frame look like a commit that was under way. */
function isHeadOfFrame({ whole, end }: Rig, at: number): boolean {
  for (let position = 2 * PAGE; position < end; position += 16 + whole.readUInt32LE(position)) {
    if (at >= position && at < position + 16) return true;
  }
  return false;
}

void t.test('pages of zeros and of anything are found, wherever they are', (t) => {
  const rig = rigOf(t, 44, true);
  for (let page = 0; page * PAGE < rig.end; page += 2 + rig.random.below(4)) {
    const count = 1 + rig.random.below(3);
    const zeros = Buffer.from(rig.whole);
    zeros.fill(0, page * PAGE, (page + count) * PAGE);
    check(t, rig, zeros, `zeros from page ${page}`, false);
    const anything = Buffer.from(rig.whole);
    for (let at = page * PAGE; at < (page + count) * PAGE; at++) anything[at] = rig.random.below(256);
    check(t, rig, anything, `anything from page ${page}`, false);
  }
  const rest = Buffer.from(rig.whole);
  rest.fill(0, 5 * PAGE);
  check(t, rig, rest, 'zeros to the end', false);
  t.end();
});

void t.test('a journal that was cut is found', (t) => {
  const rig = rigOf(t, 45, false);
  const path = join(rig.folder, 'cut');
  for (let round = 0; round < 20; round++) {
    const length = round === 0 ? 0 : rig.random.below(rig.end);
    writeFileSync(path, rig.whole);
    truncateSync(path, length);
    const journal = readFileSync(path);
    const { state, aside } = look(rig, journal);
    t.ok(state >= 0 && aside.length === 1, `cut to ${length}`);
    mkdirSync(rig.folder, { recursive: true });
  }
  t.end();
});

void t.test('a commit that was under way is taken off, and that is told', (t) => {
  const rig = rigOf(t, 46, false);
  const last = lastFrame(rig);
  const journal = Buffer.from(rig.whole);
  journal.fill(0, last + 20, rig.end);
  const { state, told, aside } = look(rig, journal);
  t.equal(state, rig.states.length - 2);
  t.match(told, /a commit that was under way .* was taken off/);
  t.same(aside, []);
  t.ok(statSync(join(rig.folder, 'journal')).size > 0);
  t.end();
});

function lastFrame({ whole, end }: Rig): number {
  let position = 2 * PAGE;
  for (;;) {
    const next = position + 16 + whole.readUInt32LE(position);
    if (next >= end) return position;
    position = next;
  }
}
