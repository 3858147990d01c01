/** Archives that anybody may have made: zip, with its members, and tar. */
import { equal, ok } from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readTar } from '../../src/base/disk/tar-reading.js';
import { tarHeader, tarPadding } from '../../src/base/disk/tar.js';
import { fuzz, unlessRefused } from '../support/fuzzer.js';
import { rounds } from '../support/rounds.js';
import { scratchFolder } from '../support/scratch.js';
import { tarArchive, tarMember, TAR_ZEROS } from '../support/tar-archive.js';
import { largeExtra, LINK, zipArchive } from '../support/zip-archives.js';
import { archiveReader } from '../support/zip-reading.js';

const INPUTS = rounds(400, 20_000);
/** The limits of the content of such small inputs. */
const LIMITS = { bytes: 1024 * 1024 };
const ZIP_WORDS = ['PK\x01\x02', 'PK\x03\x04', 'PK\x05\x06', 'PK\x06\x06', 'PK\x06\x07', '../', '/', '\0'];
const ZIPS = [
  zipArchive([
    { name: 'project.gns3', content: 'topology '.repeat(9), method: 8 },
    { name: 'project-files/' },
    { name: 'project-files/link', content: '../project.gns3', mode: LINK },
    { name: 'ü', flags: 0, madeBy: 0, comment: 'of another host' },
  ]),
  zipArchive(
    [
      {
        name: 'large',
        content: 'x',
        claims: { size: 0xffffffff },
        extra: largeExtra(1),
        localExtra: Buffer.alloc(4),
      },
    ],
    { isLarge: true },
  ),
];

function isPlainPath(path: string): boolean {
  return path.split('/').every((part) => !['', '.', '..'].includes(part)) && !path.includes('\0');
}

void t.test('zip archives', async (t) => {
  const read = archiveReader(t);
  const check = async (input: Buffer): Promise<void> => {
    const { archive, content } = (await unlessRefused(() => read(input, LIMITS))) ?? {};
    let total = 0;
    for (const { path, size, position, compressedSize } of archive?.members ?? []) {
      ok(isPlainPath(path), path);
      ok(position + compressedSize <= input.length, 'it reaches beyond the end of the archive');
      equal(content?.[path]?.length, size);
      total += size;
    }
    ok(total <= LIMITS.bytes, `${total} bytes came out`);
  };
  const multipart = `--b\r\nContent-Disposition: form-data; filename="a"\r\n\r\n`;
  const form = Buffer.concat([
    Buffer.from(multipart),
    ZIPS[0] ?? Buffer.alloc(0),
    Buffer.from('\r\n--b--\r\n'),
  ]);
  const words = [...ZIP_WORDS, '\r\n--b', '\r\n\r\n', 'filename='];
  const code = /\/(?:src\/snapshots\/archives|yauzl)\//;
  t.ok(await fuzz({ samples: [...ZIPS, form], words, inputs: INPUTS, check, code }));
});

/** Members of the methods that zlib does not know, as Python's zipfile writes them. */
const PYTHON_ZIP = `
import io, sys, zipfile
made = io.BytesIO()
with zipfile.ZipFile(made, 'w') as archive:
    archive.writestr('project.gns3', b'topology ' * 40, zipfile.ZIP_BZIP2)
    archive.writestr('disk', bytes(range(256)) * 3, zipfile.ZIP_LZMA)
sys.stdout.buffer.write(made.getvalue())
`;

void t.test('members that are compressed by bzip2 and LZMA', async (t) => {
  const read = archiveReader(t);
  const sample = execFileSync('python3', ['-c', PYTHON_ZIP]);
  const check = async (input: Buffer): Promise<void> => {
    const { archive, content } = (await unlessRefused(() => read(input, LIMITS))) ?? {};
    for (const { path, size } of archive?.members ?? []) equal(content?.[path]?.length, size);
  };
  equal((await read(sample, LIMITS)).content['disk']?.length, 768);
  const code = /\/src\/snapshots\/archives\//;
  t.type(await fuzz({ samples: [sample], words: ['BZh9', 'PK'], inputs: INPUTS / 2, check, code }), 'number');
});

/** The sum of a header is made right, or hardly any would be read. */
function withSums(input: Buffer): Buffer {
  const archive = Buffer.from(input);
  for (let at = 0; at + 512 <= archive.length; at += 512) {
    const header = archive.subarray(at, at + 512);
    if (header.toString('latin1', 257, 262) !== 'ustar') continue;
    header.write(' '.repeat(8), 148);
    const sum = header.reduce((total, octet) => total + octet, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  }
  return archive;
}

void t.test('tar archives', async (t) => {
  const path = join(scratchFolder(t), 'archive');
  const check = async (input: Buffer): Promise<void> => {
    const archive = withSums(input);
    writeFileSync(path, archive);
    const fd = openSync(path, 'r');
    try {
      const content = await unlessRefused(() => readTar(fd, archive.length));
      for (const name of content?.folders ?? []) ok(isPlainPath(name), name);
      for (const [name, file] of content?.files ?? []) {
        ok(isPlainPath(name), name);
        ok(file.size >= 0 && file.position + file.size <= archive.length, 'it reaches beyond the end');
      }
    } finally {
      closeSync(fd);
    }
  };
  const samples = [
    tarArchive([
      ['a/', ''],
      ['a/b', 'content'],
    ]),
    Buffer.concat([tarMember({ path: 'x', content: 'y', pax: { path: 'longer', size: '1' } }), TAR_ZEROS]),
    Buffer.concat([tarMember({ path: 'x', longName: 'much/longer' }), TAR_ZEROS]),
  ];
  const words = [
    'path=',
    'size=',
    ' ',
    '\n',
    'GNU.sparse.size=',
    '../',
    '././@LongLink',
    '00000000777',
    '\x80\0',
  ];
  const code = /\/(?:src\/base\/disk|tar-stream)\//;
  t.ok(await fuzz({ samples, words, inputs: INPUTS, longest: 8192, check, code }));
});

void t.test('every header of a tar archive that is written is read as it was meant', async (t) => {
  const path = join(scratchFolder(t), 'archive');
  const check = async (input: Buffer): Promise<void> => {
    const name = input.toString('utf8').replaceAll('\ufffd', '');
    const parts = name.split('/');
    if (!isPlainPath(name) || parts.some((part) => Buffer.byteLength(part) > 255)) return;
    const header = tarHeader({ path: name, size: 3, modifiedMs: 0 });
    const archive = Buffer.concat([header, Buffer.alloc(3 + tarPadding(3)), TAR_ZEROS]);
    writeFileSync(path, archive);
    const fd = openSync(path, 'r');
    try {
      const { files } = await readTar(fd, archive.length);
      equal([...files.keys()].join(), name);
      equal(files.get(name)?.size, 3);
    } finally {
      closeSync(fd);
    }
  };
  const samples = ['a/b', `${'long/'.repeat(30)}x`, 'ü='];
  t.type(
    await fuzz({ samples, words: ['/', '\n', '=', ' '], inputs: INPUTS / 4, longest: 400, check }),
    'number',
  );
});
