import { closeSync, ftruncateSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { archiveRange } from '../../../src/snapshots/archives/zip-bounds.js';
import { readMember, readSmallMember } from '../../../src/snapshots/archives/zip-content.js';
import { openZip, type ZipArchive } from '../../../src/snapshots/archives/zip-directory.js';
import type { ZipMember } from '../../../src/snapshots/archives/zip-member.js';
import { missingPython, python } from '../../support/python.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { zipArchive, type MadeMember } from '../../support/zip-archives.js';
import { archiveReader, LIMITS, readArchiveFile, refusalOf } from '../../support/zip-reading.js';

const MIB = 1024 * 1024;

async function opened(
  t: Teardown,
  bytes: Uint8Array,
): Promise<{ path: string; archive: ZipArchive; first: ZipMember }> {
  const path = join(scratchFolder(t), 'archive');
  writeFileSync(path, bytes);
  const fd = openSync(path, 'r+');
  t.teardown(() => {
    closeSync(fd);
  });
  const archive = await openZip(fd, archiveRange(fd, bytes.length), LIMITS);
  const [first] = archive.members;
  if (first === undefined) throw new Error('the archive is empty');
  return { path, archive, first };
}

const WRITE_ALL = `
import sys, zipfile
method, source, target = int(sys.argv[1]), sys.argv[2], sys.argv[3]
with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, 'w', method) as new:
    for info in old.infolist():
        made = zipfile.ZipInfo(info.filename, (2026, 11, 21, 12, 34, 56))
        made.compress_type, made.external_attr = method, info.external_attr
        new.writestr(made, old.read(info))
`;

void t.test('all four methods, as Python writes them', { skip: missingPython() }, async (t) => {
  const seed = testSeed(61);
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const bytes = new RandomBytes(seed);
  const lengths = [0, 1, 2, 63, 64, 65, 4096, MIB, MIB + 1];
  const content: Record<string, Buffer> = {};
  for (const length of lengths) {
    content[`random/${length}`] = bytes.next(length);
    content[`zeros/${length}`] = Buffer.alloc(length);
    const words = Array.from({ length: 50 }, () => bytes.next(1 + random.below(40)));
    const text = Array.from({ length: Math.ceil(length / 20) }, () => random.pick(words));
    content[`text/${length}`] = Buffer.concat(text).subarray(0, length);
  }
  for (const name of ['übung', '試験', 'тест', 'δοκιμή', '🦊', 'a b', "it's", '%41', 'é/è/ê']) {
    content[name] = Buffer.from(name);
  }
  const source = join(scratchFolder(t), 'source');
  const target = `${source}-made`;
  writeFileSync(source, zipArchive(Object.entries(content).map(([name, of]) => ({ name, content: of }))));
  for (const [method, compression] of [
    [0, 'none'],
    [8, 'zip'],
    [12, 'bzip2'],
    [14, 'lzma'],
  ] as const) {
    python(WRITE_ALL, [String(method), source, target]);
    const found = await readArchiveFile(target, statSync(target).size, { ratio: 100_000 });
    t.same(new Set(found.archive.members.map((member) => member.compression)), new Set([compression]));
    const differing = Object.keys(content).filter(
      (path) => !found.content[path]?.equals(content[path] ?? Buffer.of(0)),
    );
    t.same(differing, [], compression);
    t.same(Object.keys(found.content).length, Object.keys(content).length);
  }
});

const NOISE = new RandomBytes(62).next(1.5 * MIB);

/** Each of a member that is decoded at once and of one that is decoded piece by piece. */
for (const [what, content] of [
  ['a short', NOISE.subarray(0, 5000)],
  ['a long', NOISE],
] as const) {
  const compressed = deflateRawSync(content);
  const member = { name: 'm', method: 8, content };
  const damages: Readonly<Record<string, readonly [MadeMember, RegExp]>> = {
    'of another checksum': [{ ...member, claims: { crc32: 1 } }, /checksum differs/],
    'a stored one of another checksum': [{ ...member, method: 0, claims: { crc32: 1 } }, /checksum differs/],
    'shorter than it says': [{ ...member, claims: { size: content.length + 1 } }, /bytes instead of/],
    'longer than it says': [{ ...member, claims: { size: content.length - 1 } }, /more comes out of it/],
    'of no bytes, as it says': [{ ...member, claims: { size: 0 } }, /more comes out of it/],
    'cut off': [{ ...member, compressed: compressed.subarray(0, -9) }, /ends too early/],
    damaged: [{ ...member, compressed: Buffer.concat([Buffer.of(0xff), compressed]) }, /content is damaged/],
    'with something behind it': [
      { ...member, compressed: Buffer.concat([compressed, Buffer.alloc(1)]) },
      /something behind the end/,
    ],
    'with much behind it': [
      { ...member, compressed: Buffer.concat([compressed, Buffer.alloc(MIB)]) },
      /something behind the end/,
    ],
  };
  void t.test(`${what} member that is damaged`, async (t) => {
    const read = archiveReader(t);
    t.ok((await read(zipArchive([member]))).content['m']?.equals(content));
    for (const [damage, [made, reason]] of Object.entries(damages)) {
      const refusal = (await refusalOf(read(zipArchive([made])))) ?? 'was read';
      t.match(refusal, reason, damage);
      t.match(refusal, /because of 'm' in the archive/);
    }
  });
}

void t.test('decoding stops where a bomb exceeds its stated size', async (t) => {
  for (const claimed of [100, 2 * MIB]) {
    const { archive, first } = await opened(
      t,
      zipArchive([{ name: 'bomb', method: 8, content: Buffer.alloc(40 * MIB), claims: { size: claimed } }]),
    );
    let length = 0;
    const refusal = await refusalOf(
      readMember(archive.fd, first, (bytes) => {
        length += bytes.length;
      }),
    );
    t.match(refusal, claimed < MIB ? /more comes out of it than it should have/ : /than the 2097152 bytes/);
    t.ok(length <= claimed, `${length} of ${claimed}`);
  }
});

void t.test('a reader can give up a member in the middle', async (t) => {
  for (const method of [0, 8]) {
    const { archive, first } = await opened(
      t,
      zipArchive([{ name: 'm', method, content: Buffer.alloc(9 * MIB) }]),
    );
    let pieces = 0;
    const reading = readMember(archive.fd, first, () => {
      pieces += 1;
      if (pieces === 3) throw refusals.jobCancelled();
    });
    await t.rejects(reading, refusals.jobCancelled());
    t.equal(pieces, 3);
  }
});

void t.test('an archive that is cut off after it was opened', async (t) => {
  for (const method of [0, 8]) {
    const { path, archive, first } = await opened(t, zipArchive([{ name: 'm', method, content: NOISE }]));
    for (const length of [700_000, 100]) {
      ftruncateSync(archive.fd, length);
      t.equal(readFileSync(path).length, length);
      t.match(await refusalOf(readMember(archive.fd, first, () => undefined)), /archive ends within it/);
    }
  }
});

void t.test('a small member as a whole', async (t) => {
  const { archive, first } = await opened(t, zipArchive([{ name: 'm', method: 8, content: 'hello' }]));
  t.equal((await readSmallMember(archive.fd, first, 5)).toString(), 'hello');
  t.match(await refusalOf(readSmallMember(archive.fd, first, 4)), /'m' .* longer than the 4 bytes/);
});
