import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  plannedPath,
  PlanReader,
  writePlan,
  type PlannedMember,
} from '../../../src/snapshots/archives/zip-plan.js';
import { Random, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { textMember } from '../../support/zip-making.js';

/** The members from there on, and where each begins. */
function readAll(path: string, position = 0): { members: PlannedMember[]; starts: number[] } {
  const reader = new PlanReader(path, position);
  const members: PlannedMember[] = [];
  const starts: number[] = [];
  let start = position;
  for (let line = reader.next(); line !== undefined; line = reader.next()) {
    members.push(line.member);
    starts.push(start);
    start = line.next;
  }
  reader.close();
  return { members, starts };
}

void t.test('a plan is read from any member on', (t) => {
  const random = new Random(testSeed(21));
  const members = Array.from({ length: 300 }, (_, index) =>
    textMember(`${index}\n"ü😀\u2028`, 'long\n'.repeat(random.chance(0.1) ? random.below(60_000) : 3)),
  );
  const path = join(scratchFolder(t), 'plan');
  writePlan(path, members);
  const { members: read, starts } = readAll(path);
  t.same(read, members);
  for (const index of [1, 17, 150, 299]) t.same(readAll(path, starts[index]).members, members.slice(index));
  const long = members.findIndex(({ content }) => JSON.stringify(content).length > 100_000);
  t.same(readAll(path, starts[long]).members, members.slice(long), 'a long one that was read just before');
  t.end();
});

void t.test('a plan may be empty, is written once, and must not be cut off', (t) => {
  const folder = scratchFolder(t);
  const path = join(folder, 'plan');
  writePlan(path, []);
  t.same(readAll(path).members, []);
  t.throws(
    () => {
      writePlan(path, []);
    },
    { code: 'EEXIST' },
  );
  writePlan(`${path}2`, [textMember('a', 'b')]);
  writeFileSync(path, readFileSync(`${path}2`).subarray(0, -1));
  t.throws(() => readAll(path), /cut off/);
  t.end();
});

void t.test('a plan leads to the given folders only', (t) => {
  const roots = { work: '/data/work', images: '/images' };
  t.equal(plannedPath(roots, { root: 'work', path: 'held/1' }), '/data/work/held/1');
  t.equal(plannedPath(roots, { root: 'images', path: 'QEMU/../IOU/a' }), '/images/IOU/a');
  for (const path of ['/etc/shadow', '../x', 'held/../../x', '.', '', '/data/workshop/x']) {
    t.throws(() => plannedPath(roots, { root: 'work', path }), RangeError, path);
  }
  for (const root of ['other', 'toString', '__proto__']) {
    t.throws(() => plannedPath(roots, { root, path: 'x' }), RangeError, root);
  }
  t.end();
});
