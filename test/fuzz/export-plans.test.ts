/** The plan files of exports: whatever they say, an archive is made within the folders of the plan, or refused in words. */
import { equal, ok } from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Refusal } from '../../src/base/errors/errors.js';
import { dropCursor, firstCursor, nextPiece } from '../../src/snapshots/archives/zip-pieces.js';
import type { ZipCursor } from '../../src/snapshots/archives/zip-cursor.js';
import {
  PlanReader,
  writePlan,
  type PlannedContent,
  type PlannedMember,
  type PlanRoots,
} from '../../src/snapshots/archives/zip-plan.js';
import { ROOT } from '../../src/snapshots/projects/planned-files.js';
import { fuzz } from '../support/fuzzer.js';
import { rounds } from '../support/rounds.js';
import { scratchFolder } from '../support/scratch.js';
import { textMember } from '../support/zip-making.js';

const INPUTS = rounds(400, 20_000);
const code = /\/src\/snapshots\/(?:archives|content)\//;
const SECRET = 'nobody may read this';
const END_LENGTH = 22;
const END_SIGNATURE = 0x06054b50;
/** A sparse file may be petabytes long: no more of an archive is made. */
const MOST_PIECES = 4;

interface PlanLab {
  readonly roots: PlanRoots;
  readonly plan: string;
  /** A plan of an archive within the archive. */
  readonly inner: string;
}

function planLab(t: Parameters<typeof scratchFolder>[0]): PlanLab {
  const folder = scratchFolder(t);
  const roots = Object.fromEntries(Object.values(ROOT).map((name) => [name, join(folder, name)]));
  for (const root of Object.values(roots)) mkdirSync(root);
  const work = join(folder, ROOT.work);
  const notes = join(folder, ROOT.notes);
  mkdirSync(join(work, 'content'));
  writeFileSync(join(folder, 'secret'), SECRET);
  writeFileSync(join(work, 'file'), 'the content of a file '.repeat(5));
  writeFileSync(join(work, 'content', 'a.pack'), 'stored'.repeat(1000));
  const inner = join(notes, 'inner');
  writePlan(inner, [textMember('project.gns3', '{}')]);
  return { roots, plan: join(notes, 'plan'), inner };
}

function member(path: string, content: PlannedContent | undefined, size: number): PlannedMember {
  const kind = content === undefined ? 'folder' : 'file';
  return { path, kind, mode: 0o644, modifiedMs: 1.5, size, ...(content === undefined ? {} : { content }) };
}

function sampleMembers(): PlannedMember[] {
  const extents = [
    { position: 0, length: 1000, object: 'a.pack', offset: 0 },
    { position: 4096, length: 1000, object: 'a.pack', offset: 1000 },
  ];
  const facts = { mode: 0o644, modifiedMs: 0, version: '', digest: undefined };
  const stored = { ...facts, path: 'disk', size: 6000, extents };
  return [
    textMember('project.gns3', '{}'),
    member('empty', undefined, 0),
    { ...textMember('link', '../file'), kind: 'link' },
    member('a/file', { file: { root: ROOT.work, path: 'file' } }, 110),
    member('disk', { stored, content: { root: ROOT.work, path: 'content' } }, 6000),
    member('snapshots/inner', { archive: { root: ROOT.notes, path: 'inner' } }, 0),
  ];
}

/** The archive, unless it is too long; how many members were left out. */
function makeArchive({ roots, plan }: PlanLab): { bytes: Buffer; isWhole: boolean; leftOut: number } {
  let cursor: ZipCursor | undefined = firstCursor(plan, roots, 'none');
  const first = cursor;
  const pieces: Uint8Array[] = [];
  let leftOut = 0;
  try {
    while (cursor !== undefined && pieces.length < MOST_PIECES) {
      const piece = nextPiece(cursor);
      pieces.push(piece.bytes);
      leftOut += piece.warnings.length;
      cursor = piece.cursor;
    }
  } finally {
    dropCursor(first);
  }
  return { bytes: Buffer.concat(pieces), isWhole: cursor === undefined, leftOut };
}

/** Whether the error says in words what is wrong: ours do, and those of the system. */
function isInWords(error: unknown): boolean {
  if (error instanceof Refusal) return true;
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || /the plan of the archive|has become shorter/.test(error.message);
}

function linesOf({ plan }: PlanLab): number {
  const reader = new PlanReader(plan, 0);
  try {
    let lines = 0;
    while (reader.next() !== undefined) lines++;
    return lines;
  } finally {
    reader.close();
  }
}

void t.test('plans', async (t) => {
  const lab = planLab(t);
  const check = (input: Buffer): void => {
    writeFileSync(lab.plan, input);
    try {
      const { bytes, isWhole, leftOut } = makeArchive(lab);
      ok(!bytes.includes(SECRET), 'the plan leads out of its folders');
      if (!isWhole) return;
      const end = bytes.subarray(-END_LENGTH);
      equal(end.readUInt32LE(0), END_SIGNATURE);
      equal(end.readUInt16LE(8) + leftOut, linesOf(lab));
    } catch (error) {
      if (!isInWords(error)) throw error;
    }
  };
  const lines = sampleMembers().map((line) => `${JSON.stringify(line)}\n`);
  const keys = [...lines.join('').matchAll(/"\w+":/g)].map(([key]) => key);
  const words = [
    ...new Set(keys),
    'null',
    '[]',
    '{}',
    '""',
    '\n',
    '-1',
    '0.5',
    '1e400',
    '9007199254740991',
    '"plan"',
    '"inner"',
    '"../secret"',
    '"notes"',
    '"\\u0000"',
    '"__proto__"',
  ];
  const samples = [lines.join(''), ...lines];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, check, code }));
});

void t.test('plans that are damaged are refused in words', (t) => {
  const lab = planLab(t);
  const [text] = sampleMembers();
  const stored = sampleMembers().at(4)?.content;
  t.ok(stored !== undefined && 'stored' in stored);
  for (const line of [
    null,
    [],
    { ...text, path: 7 },
    { ...text, path: 'x'.repeat(70_000) },
    { ...text, kind: 'device' },
    { ...text, mode: 0.5 },
    { ...text, modifiedMs: 'now' },
    { ...text, size: -1 },
    { ...text, content: null },
    { ...text, content: {} },
    { ...text, content: { text: 1 } },
    { ...text, content: { file: { root: 'work', path: 'a\0' } } },
    { ...text, content: { archive: { root: 'notes' } } },
    { ...text, content: { ...stored, stored: { path: 'disk', size: 5, extents: [null] } } },
    { ...text, content: { ...stored, content: 'work' } },
  ]) {
    writeFileSync(lab.plan, `${JSON.stringify(line)}\n`);
    t.throws(() => makeArchive(lab), /the plan of the archive/, JSON.stringify(line).slice(0, 80));
  }
  writeFileSync(lab.plan, '{"path":\n');
  t.throws(() => makeArchive(lab), /the plan of the archive/);
  t.end();
});

void t.test('an archive within an archive has none in it, so no plan holds itself', (t) => {
  const lab = planLab(t);
  writePlan(lab.plan, [member('itself', { archive: { root: ROOT.notes, path: 'plan' } }, 0)]);
  t.throws(() => makeArchive(lab), /the plan of the archive/);
  t.end();
});
