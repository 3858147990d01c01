/** Archives with more members, and larger ones, than the first format of ZIP can count. */
import { closeSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import yauzl from 'yauzl';
import type { PlannedMember } from '../../../src/snapshots/archives/zip-plan.js';
import { scratchFolder } from '../../support/scratch.js';
import {
  fileMember,
  lackOf,
  makeArchive,
  planOf,
  pythonSays,
  testWithUnzip,
  textMember,
} from '../../support/zip-making.js';

const python = { skip: lackOf('python3') };
const both = { skip: lackOf('python3') || lackOf('unzip') };
const CHUNK = 512 * 1024;

void t.test('more members than 16 bits can count', both, async (t) => {
  const folder = scratchFolder(t);
  const count = 66_000;
  const members = function* (): Generator<PlannedMember> {
    for (let index = 0; index < count; index++) yield textMember(`f${index % 7}/${index}`, `${index}`);
  };
  const plan = planOf(folder, members());
  const made = await makeArchive(plan, 'zip');
  t.ok(made.pieces.every((length) => length < 2 * CHUNK));
  t.ok(made.pieces.length > 10);
  const program = `
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
print(len(names), all(archive.read(name) == name.split('/')[1].encode() for name in names))`;
  t.equal(pythonSays(program, made.path).trim(), `${count} True`);
  testWithUnzip(made.path);
});

for (const compression of ['none', 'zip'] as const) {
  void t.test(`a file of more than 4 GiB, and what follows it, with ${compression}`, python, async (t) => {
    const folder = scratchFolder(t);
    const size = 2 ** 32 + 4 * CHUNK + 5;
    const file = join(folder, 'file');
    const fd = openSync(file, 'w');
    ftruncateSync(fd, size);
    writeSync(fd, 'end', size - 3);
    closeSync(fd);
    const plan = planOf(folder, [fileMember('large', file, size), textMember('after', 'small')]);
    const { path, pieces } = await makeArchive(plan, compression);
    t.equal(statSync(path).size > 2 ** 32, compression === 'none');
    t.ok(pieces.length < (compression === 'none' ? Infinity : 9000));
    const program = `
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
print([(info.filename, info.file_size) for info in archive.infolist()], archive.read('after'), archive.open('large').read(9))`;
    t.equal(
      pythonSays(program, path).trim(),
      `[('large', ${size}), ('after', 5)] b'small' b'${'\\x00'.repeat(9)}'`,
    );
    const entries: number[] = [];
    const archive = await yauzl.openPromise(path);
    for await (const entry of archive.eachEntry()) entries.push(entry.uncompressedSize);
    t.same(entries, [size, 5]);
    // The sums behind the content have 64 bits.
    const whole = readTail(path, 600);
    const record = whole.indexOf('PK\x07\x08');
    t.equal(whole.readBigUInt64LE(record + 16), BigInt(size));
  });
}

function readTail(path: string, length: number): Buffer {
  const tail = Buffer.alloc(length);
  const fd = openSync(path, 'r');
  readSync(fd, tail, 0, length, statSync(path).size - length);
  closeSync(fd);
  return tail;
}
