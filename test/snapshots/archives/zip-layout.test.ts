import { statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { layoutOf } from '../../../src/snapshots/archives/zip-layout.js';
import { writePlan, type PlannedMember } from '../../../src/snapshots/archives/zip-plan.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { fileMember, makeArchive, onDisk, planOf, ROOTS, textMember } from '../../support/zip-making.js';

const WHOLE = 512 * 1024;

function versioned(member: PlannedMember, version = 'v'): PlannedMember {
  return { ...member, version };
}

function archiveMember(path: string, plan: string): PlannedMember {
  return { path, kind: 'file', mode: 0o644, modifiedMs: 0, content: { archive: onDisk(plan) }, size: 0 };
}

void t.test('the length of an archive is known before it is made', async (t) => {
  const folder = scratchFolder(t);
  const members: PlannedMember[] = [textMember('project.gns3', '{"name": "é"}'), textMember('empty', '')];
  for (const size of [0, 1, WHOLE - 1, WHOLE, WHOLE + 1, 3 * WHOLE + 7]) {
    const file = join(folder, String(size));
    writeFileSync(file, new RandomBytes(size).next(size));
    members.push(versioned(fileMember(`スイッチ/${size}`, file, size)));
  }
  members.push({ path: 'folder', kind: 'folder', mode: 0o755, modifiedMs: 0, size: 0 });
  const inner = join(folder, 'inner');
  writePlan(inner, members);
  const plan = planOf(folder, [...members, archiveMember('snapshots/a', inner), textMember('last', 'x')]);
  const { path } = await makeArchive(plan, 'none');
  t.equal(layoutOf(plan, ROOTS).size, statSync(path).size);
});

void t.test('members and archives beyond 32 bits, and very many members', (t) => {
  const folder = scratchFolder(t);
  const file = join(folder, 'large');
  writeFileSync(file, '');
  const size = 5 * 1024 ** 3;
  truncateSync(file, size);
  const one = planOf(folder, [versioned(fileMember('a', file, size))]);
  // Local header 30 + 1 + 20, descriptor 24, record 46 + 1 + 20, end records 56 + 20 + 22.
  t.equal(layoutOf(one, ROOTS).size, size + 51 + 24 + 67 + 98);
  const many = join(folder, 'many');
  writePlan(
    many,
    Array.from({ length: 70_000 }, (_, index) => textMember(String(index).padStart(5, '0'), '')),
  );
  t.equal(layoutOf(many, ROOTS).size, 70_000 * (35 + 51) + 98);
  t.end();
});

void t.test('the tag changes with everything that changes the bytes', (t) => {
  const folder = scratchFolder(t);
  const file = join(folder, 'file');
  writeFileSync(file, 'content');
  const inner = join(folder, 'inner');
  let count = 0;
  const tagOf = (member: PlannedMember, innerText = 'inner'): string => {
    writePlan(`${inner}${++count}`, [textMember('x', innerText)]);
    const plan = join(folder, `plan${count}`);
    writePlan(plan, [member, textMember('text', 'text'), archiveMember('inner', `${inner}${count}`)]);
    return layoutOf(plan, ROOTS).tag;
  };
  const member = versioned(fileMember('a', file, 7));
  const first = tagOf(member);
  t.equal(tagOf(member), first, 'the names of plans do not matter');
  const changed: PlannedMember[] = [
    { ...member, version: 'w' },
    { ...member, mode: 0o755 },
    { ...member, modifiedMs: member.modifiedMs + 4000 },
    { ...member, path: 'b' },
    { ...member, size: 8 },
    { ...textMember('a', 'content'), mode: member.mode, modifiedMs: member.modifiedMs },
  ];
  const tags = [first, tagOf(member, 'other'), ...changed.map((other) => tagOf(other))];
  t.equal(new Set(tags).size, tags.length);
  t.throws(() => tagOf(fileMember('a', file, 7)), /unknown version/);
  t.end();
});
