import {
  mkdirSync,
  openSync,
  closeSync,
  symlinkSync,
  writeFileSync,
  statSync,
  ftruncateSync,
  writeSync,
} from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { openZip } from '../../../src/snapshots/archives/zip-directory.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import {
  FOLDER,
  largeExtra,
  LINK,
  MODIFIED_MS,
  plainArchive,
  zipArchive,
  type MadeEnd,
  type MadeMember,
} from '../../support/zip-archives.js';
import { archiveReader, LIMITS, readArchiveFile, refusalOf } from '../../support/zip-reading.js';

const NO_ARCHIVE = refusals.importNoArchive().message;

void t.test('the members of an archive', async (t) => {
  const read = archiveReader(t);
  const made = zipArchive([
    { name: 'project.gns3', content: 'topology', method: 8, mode: 0o100600 },
    { name: 'project-files/', comment: 'a folder' },
    { name: 'project-files/Übung – 試験 – тест', content: 'x' },
    { name: 'project-files/link', content: '../project.gns3', mode: LINK },
    { name: 'no-mode', mode: 0, flags: 0 },
    { name: Uint8Array.of(0x81, 0x62), flags: 0 },
    { name: 'ü', flags: 0 },
    { name: 'ü', flags: 0, madeBy: 0 },
  ]);
  const { archive, content } = await read(made);
  const shown = archive.members.map(({ path, kind, mode, compression }) => [path, kind, mode, compression]);
  t.same(shown, [
    ['project.gns3', 'file', 0o600, 'zip'],
    ['project-files', 'folder', 0o755, 'none'],
    ['project-files/Übung – 試験 – тест', 'file', 0o644, 'none'],
    ['project-files/link', 'link', 0o777, 'none'],
    ['no-mode', 'file', undefined, 'none'],
    ['üb', 'file', 0o644, 'none'],
    ['ü', 'file', 0o644, 'none'],
    ['├╝', 'file', 0o644, 'none'],
  ]);
  t.equal(archive.bytes, 8 + 1 + 15);
  t.equal(archive.members[0]?.modifiedMs, MODIFIED_MS);
  t.equal(content['project-files/link']?.toString(), '../project.gns3');
  t.same((await read(zipArchive([]))).archive.members, [], 'one without any');
});

void t.test('an archive with bytes before it, with a comment, with large records', async (t) => {
  const read = archiveReader(t);
  const members = [
    { name: 'a', content: 'one' },
    { name: 'b', content: 'two', method: 8 },
  ];
  const expected = { a: Buffer.from('one'), b: Buffer.from('two') };
  t.same((await read(zipArchive(members, { comment: 'hello' }))).content, expected);
  t.same((await read(zipArchive(members, { isLarge: true, comment: 'x' }))).content, expected);
  for (const isLarge of [false, true]) {
    const shifted = Buffer.concat([Buffer.from('#!/bin/sh\n'), zipArchive(members, { isLarge })]);
    t.same((await read(shifted)).content, expected);
  }
  const large = zipArchive([
    {
      name: 'large',
      content: 'one',
      claims: { size: 0xffffffff, compressedSize: 0xffffffff, offset: 0xffffffff },
      extra: largeExtra(3, 3, 0),
      localExtra: largeExtra(3, 3),
    },
  ]);
  t.equal((await read(large)).content['large']?.toString(), 'one');
});

void t.test('lengths and checksums that come behind the content', async (t) => {
  const read = archiveReader(t);
  const later = { crc32: 0, size: 0, compressedSize: 0 };
  const made = zipArchive([{ name: 'a', content: 'one', method: 8, flags: 0x0808, localClaims: later }]);
  t.equal((await read(made)).content['a']?.toString(), 'one');
  const early = zipArchive([{ name: 'a', content: 'one', method: 8, localClaims: later }]);
  t.match(await refusalOf(read(early)), /contradicts/, 'but not without saying so');
});

const DEEP = `${'d/'.repeat(2100)}f`;
const NAMES: readonly (readonly [name: string | Uint8Array, reason: RegExp])[] = [
  ['', /has no name/],
  ['/etc/passwd', /absolute/],
  ['/', /absolute/],
  ['c:/windows', /drive/],
  ['C:x', /drive/],
  ['../x', /leads out/],
  ['a/../../x', /leads out/],
  ['a/..', /leads out/],
  ['..', /leads out/],
  ['../', /leads out/],
  ['a\\b', /backslashes/],
  ['..\\x', /backslashes/],
  ['a\0b', /control characters/],
  ['a\nb', /control characters/],
  ['a\u007fb', /control characters/],
  ['a\u0085b', /control characters/],
  ['a//b', /empty or a dot/],
  ['./a', /empty or a dot/],
  ['a/.', /empty or a dot/],
  ['a//', /empty or a dot/],
  [DEEP, /longer than 4096/],
  ['ü'.repeat(128), /longer than 255/],
  [Uint8Array.of(0x61, 0xff), /UTF-8/],
];

void t.test('refused names', async (t) => {
  const read = archiveReader(t);
  for (const [name, reason] of NAMES) {
    const refusal = await refusalOf(read(zipArchive([{ name: 'good' }, { name, content: 'x' }])));
    t.match(refusal, reason, JSON.stringify(name).slice(0, 30));
    if (typeof name === 'string') t.ok(refusal?.includes(`'${name.slice(0, 4096)}'`), 'the name is told');
  }
  const old = zipArchive([{ name: Uint8Array.of(0x81, 0x01), flags: 0 }]);
  t.match(await refusalOf(read(old)), /control characters/, 'in the oldest character set');
  const good = ['a..b', '...', 'a/..b', 'xy:z', 'ü'.repeat(127), ' ', '~', DEEP.slice(-4001)];
  const made = zipArchive(good.map((name) => ({ name })));
  t.same(
    (await read(made)).archive.members.map(({ path }) => path),
    good,
  );
});

void t.test('the name in the field for Unicode names is checked as well', async (t) => {
  const read = archiveReader(t);
  const extra = (name: string, crc: number): Buffer => {
    const octets = Buffer.from(name);
    const field = Buffer.alloc(9);
    field.writeUInt16LE(0x7075, 0);
    field.writeUInt16LE(5 + octets.length, 2);
    field.writeUInt8(1, 4);
    field.writeUInt32LE(crc, 5);
    return Buffer.concat([field, octets]);
  };
  const crcOfA = 0xe8b7be43;
  const good = zipArchive([{ name: 'a', flags: 0, extra: extra('試験', crcOfA) }]);
  t.same((await read(good)).archive.members[0]?.path, '試験');
  const bad = zipArchive([{ name: 'a', flags: 0, extra: extra('../x', crcOfA) }]);
  t.match(await refusalOf(read(bad)), /leads out/);
});

const FAULTS: Readonly<
  Record<string, readonly [made: readonly MadeMember[], reason: RegExp, end?: MadeEnd]>
> = {
  'two of one name': [[{ name: 'a' }, { name: 'b' }, { name: 'a' }], /'a' .* there twice/],
  'a file and a folder of one name': [[{ name: 'a' }, { name: 'a/' }], /'a' .* there twice/],
  'two folders of one name': [[{ name: 'a/' }, { name: 'a/' }], /'a' .* there twice/],
  'something below a file': [
    [{ name: 'a/b/c' }, { name: 'a-b' }, { name: 'a' }],
    /'a\/b\/c' .* below 'a', which is a file/,
  ],
  'something below a link': [
    [{ name: 'a', mode: LINK, content: 'b' }, { name: 'a-' }, { name: 'a/b/' }],
    /below 'a', which is a link/,
  ],
  'an encrypted member': [[{ name: 'a', flags: 1 }], /'a' .* encrypted/],
  'a masked header': [[{ name: 'a', flags: 0x2000 }], /encrypted/],
  'a method that nobody knows': [[{ name: 'a', method: 77, compressed: Buffer.from('x') }], /method 77,/],
  'a method that somebody knows': [
    [{ name: 'a', method: 93, compressed: Buffer.from('x') }],
    /93 \(Zstandard\)/,
  ],
  'a stored member of two lengths': [
    [{ name: 'a', content: 'abc', claims: { size: 4 } }],
    /contradict each other/,
  ],
  'something made of nothing': [
    [{ name: 'a', method: 8, compressed: Buffer.alloc(0), content: 'abc' }],
    /contradict each other/,
  ],
  'a folder with a content': [[{ name: 'a/', content: 'x' }], /folder and has a content/],
  'a header of another name': [[{ name: 'a', localClaims: { name: 'b' } }], /contradicts the directory/],
  'a header of a longer name': [[{ name: 'a', localClaims: { name: 'aa' } }], /contradicts the directory/],
  'a header of another method': [
    [{ name: 'a', method: 8, content: 'abc', localClaims: { method: 0 } }],
    /contradicts the directory/,
  ],
  'a header of another length': [
    [{ name: 'a', content: 'abc', localClaims: { size: 2 } }],
    /contradicts the directory/,
  ],
  'a header of another compressed length': [
    [{ name: 'a', content: 'abc', localClaims: { compressedSize: 2 } }],
    /contradicts the directory/,
  ],
  'a header of another checksum': [[{ name: 'a', localClaims: { crc32: 1 } }], /contradicts the directory/],
  'a header of other flags': [[{ name: 'a', localClaims: { flags: 0 } }], /contradicts the directory/],
  'a header that is none': [
    [{ name: 'a', content: 'abc', claims: { offset: 3 } }],
    /not where the directory/,
  ],
  'a header behind everything': [[{ name: 'a', claims: { offset: 0xfffffff0 } }], /not where the directory/],
  'a content that reaches into the directory': [
    [{ name: 'a', content: 'abc', claims: { size: 40, compressedSize: 40 } }],
    /reaches into the directory/,
  ],
  'a content that reaches into the next': [
    [
      { name: 'a', content: 'abc', claims: { size: 40, compressedSize: 40 } },
      { name: 'b', content: 'x'.repeat(50) },
    ],
    /'b' .* overlaps/,
  ],
  'a device': [[{ name: 'a', mode: 0o020666 }], /neither a file nor a folder nor a link/],
  'a block device': [[{ name: 'a', mode: 0o060666 }], /neither a file nor a folder nor a link/],
  'a pipe': [[{ name: 'a', mode: 0o010666 }], /neither a file nor a folder nor a link/],
  'a socket': [[{ name: 'a', mode: 0o140666 }], /neither a file nor a folder nor a link/],
  'a file that says it is a folder': [
    [{ name: 'a', mode: FOLDER }],
    /by its name .* file, by its mode a folder/,
  ],
  'a folder that says it is a link': [
    [{ name: 'a/', mode: LINK }],
    /by its name .* folder, by its mode a link/,
  ],
  'a link that is too long': [[{ name: 'a', mode: LINK, content: 'x'.repeat(4097) }], /longer than 4096/],
  'a link to nothing': [[{ name: 'a', mode: LINK }], /target is no path/],
  'a link to what is no path': [[{ name: 'a', mode: LINK, content: 'a\0b' }], /target is no path/],
  'a link to what is no text': [
    [{ name: 'a', mode: LINK, content: Uint8Array.of(0x61, 0xff) }],
    /target is no path/,
  ],
  'an absolute link': [[{ name: 'a', mode: LINK, content: '/etc/passwd' }], /target is absolute/],
  'a link out': [[{ name: 'a', mode: LINK, content: '..' }], /target is outside/],
  'a deep link out': [[{ name: 'a/b/c', mode: LINK, content: './../.././../x' }], /target is outside/],
  'a link out, through another': [
    [
      { name: 'a/b/all', mode: LINK, content: '../..' },
      { name: 'a/b/c', mode: LINK, content: 'all/../x', method: 8 },
    ],
    /target goes up again/,
  ],
  'one part of several': [[{ name: 'a' }], /one of several parts/, { disk: 1 }],
  'one part of several large ones': [[{ name: 'a' }], /one of several parts/, { disk: 1, isLarge: true }],
  'members in other parts': [[{ name: 'a' }], /one of several parts/, { countHere: 2 }],
  'a member too many': [[{ name: 'a' }], new RegExp(NO_ARCHIVE.slice(0, 20)), { count: 2 }],
  'a member too few': [[{ name: 'a' }, { name: 'b' }], /invalid zip/, { count: 1 }],
  'a directory elsewhere': [[{ name: 'a' }], /invalid zip/, { directoryOffset: 3 }],
  'a directory that is shorter': [[{ name: 'a' }], /invalid zip/, { directorySize: 3 }],
  'a directory that is longer than everything': [[{ name: 'a' }], /invalid zip/, { directorySize: 99_999 }],
  'a large directory elsewhere': [[{ name: 'a' }], /invalid zip/, { directoryOffset: 3, isLarge: true }],
  'an extra field that is longer than all': [
    [{ name: 'a', extra: Uint8Array.of(1, 0, 9, 0) }],
    /invalid zip/,
  ],
  'large lengths that are not told': [
    [{ name: 'a', claims: { size: 0xffffffff, compressedSize: 0xffffffff }, extra: largeExtra() }],
    /invalid zip/,
  ],
};

void t.test('refused members and archives', async (t) => {
  const read = archiveReader(t);
  for (const [what, [members, reason, end]] of Object.entries(FAULTS)) {
    t.match((await refusalOf(read(zipArchive(members, end)))) ?? 'was read', reason, what);
  }
});

void t.test('records for large archives that contradict the others, or each other', async (t) => {
  const read = archiveReader(t);
  const made = zipArchive([{ name: 'a' }], { isLarge: true });
  const large = made.length - 22 - 20 - 56;
  const end = made.length - 22;
  for (const position of [
    large,
    large + 4,
    large + 32,
    large + 40,
    large + 48,
    end - 20 + 8,
    end + 10,
    end + 12,
    end + 16,
  ]) {
    const other = Buffer.from(made);
    other.writeUInt8(other.readUInt8(position) ^ 2, position);
    t.match(await refusalOf(read(other)), /invalid zip|several parts/, `octet ${position - made.length}`);
  }
});

void t.test('an archive with something behind it', async (t) => {
  const read = archiveReader(t);
  const made = zipArchive([{ name: 'a' }]);
  t.equal(await refusalOf(read(Buffer.concat([made, Buffer.alloc(1)]))), NO_ARCHIVE);
});

void t.test('a directory in another order than the members', async (t) => {
  const read = archiveReader(t);
  const made = zipArchive([
    { name: 'a', content: Buffer.alloc(100_000) },
    { name: 'b', content: 'two' },
  ]);
  const [first, second, end] = [made.length - 22 - 2 * 47, made.length - 22 - 47, made.length - 22];
  const parts = [
    [0, first],
    [second, end],
    [first, second],
    [end, made.length],
  ] as const;
  const { archive, content } = await read(Buffer.concat(parts.map(([from, to]) => made.subarray(from, to))));
  t.same(
    archive.members.map(({ path }) => path),
    ['b', 'a'],
  );
  t.equal(content['a']?.length, 100_000);
});

void t.test('a directory that is too long is not read', async (t) => {
  const length = 129 * 1024 * 1024;
  const made = zipArchive([], { isLarge: true, count: 10, directorySize: length, directoryOffset: 0 });
  made.writeBigUInt64LE(BigInt(length), 64);
  const fd = openSync(join(scratchFolder(t), 'archive'), 'w+');
  try {
    writeSync(fd, made, 0, made.length, length);
    const range = { start: 0, end: length + made.length };
    t.match(await refusalOf(openZip(fd, range, LIMITS)), /its directory is longer than 134217728 bytes/);
  } finally {
    closeSync(fd);
  }
});

void t.test('links that stay within', async (t) => {
  const read = archiveReader(t);
  const targets = {
    'a/b/l': '../../x',
    l: 'a',
    m: '.',
    'a/n': './/b/./c/',
    'a/o': '..',
    p: 'a..b',
    q: 'dangling/é',
  };
  const members = Object.entries(targets).map(([name, content]) => ({
    name,
    content,
    mode: LINK,
    method: 8,
  }));
  const { content } = await read(zipArchive(members));
  t.same(
    Object.fromEntries(Object.entries(content).map(([path, target]) => [path, target.toString()])),
    targets,
  );
});

void t.test('members must not overlap', async (t) => {
  const read = archiveReader(t);
  const kernel = { name: 'k', content: Buffer.alloc(100_000), method: 8 };
  const twice = zipArchive([kernel, { ...kernel, name: 'l', claims: { offset: 0 } }]);
  t.match(await refusalOf(read(twice)), /contradicts/, 'of one header');
  // Each header's content begins with the next header, as in the bombs that are known.
  const inner = zipArchive([{ name: 'b', content: 'x'.repeat(100) }]).subarray(0, 31 + 100);
  const outer = zipArchive([
    { name: 'a', content: inner },
    { name: 'b', content: 'x'.repeat(100), claims: { offset: 31 } },
  ]);
  t.match(await refusalOf(read(outer)), /'b' .* overlaps/, 'of one that lies within another');
});

void t.test('every limit is enforced', async (t) => {
  const read = archiveReader(t);
  const many = zipArchive(Array.from({ length: 11 }, (_, index) => ({ name: String(index), content: 'x' })));
  t.match(await refusalOf(read(many, { members: 10 })), /11 members, and at most 10/);
  t.match(await refusalOf(read(many, { bytes: 10 })), /'10' .* longer than the 10 bytes/);
  t.equal((await read(many, { members: 11, bytes: 11 })).archive.bytes, 11);
  const zeros = { method: 8, content: Buffer.alloc(70 * 1024 * 1024) };
  const honest = zipArchive([{ name: 'empty.img', ...zeros }]);
  t.equal((await read(honest)).archive.bytes, zeros.content.length, 'a disk of zeros is honest');
  t.match(await refusalOf(read(honest, { ratio: 1000 })), /'empty.img' .* would come out of/);
  const half = { method: 8, content: zeros.content.subarray(0, zeros.content.length / 2) };
  const two = zipArchive([
    { name: 'a', ...half },
    { name: 'b', ...half },
  ]);
  t.match(await refusalOf(read(two, { ratio: 1000 })), /archive as a whole: .* would come out of/);
  const lying = zipArchive([{ name: 'a', method: 8, content: 'x', claims: { size: 2 ** 31 } }]);
  t.match(await refusalOf(read(lying)), /./);
  const longName = 'x'.repeat(200);
  const large = zipArchive([{ name: longName }], { isLarge: true, count: 600_000 });
  t.match(await refusalOf(read(large)), /600000 members/);
});

void t.test('an archive that is cut anywhere is refused', async (t) => {
  const read = archiveReader(t);
  const random = new RandomBytes(6);
  const inner = plainArchive({ 'project.gns3': 'inner', disk: random.next(9000) });
  const made = zipArchive([
    { name: 'project.gns3', content: 'topology', method: 8 },
    { name: 'snapshots/one.gns3snapshot', content: inner },
    { name: 'images/disk', content: random.next(46_000), method: 8 },
    { name: 'last', content: random.next(5000) },
  ]);
  t.ok(made.length > 56 * 1024);
  await read(made);
  const innerEnd = made.indexOf(inner) + inner.length;
  const cuts = Array.from({ length: Math.ceil(made.length / 1024) }, (_, kib) => kib * 1024);
  for (const cut of [...cuts, innerEnd, innerEnd + 1, made.length - 1, made.length - 22, made.length - 23]) {
    t.equal(await refusalOf(read(made.subarray(0, cut))), NO_ARCHIVE, `cut to ${cut} bytes`);
  }
});

void t.test('with any byte changed, an archive is refused or reads the same', async (t) => {
  const read = archiveReader(t);
  const content: Readonly<Record<string, string>> = {
    'project.gns3': 'topology '.repeat(20),
    'ü/試': 'stored',
    'l/link': '../project.gns3',
    void: '',
  };
  const members: MadeMember[] = [
    { name: 'project.gns3', content: content['project.gns3'] ?? '', method: 8 },
    { name: 'ü/試', content: 'stored' },
    { name: 'void/' },
    { name: 'l/link', content: '../project.gns3', mode: LINK },
  ];
  const seed = testSeed(63);
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  let accepted = 0;
  for (const isLarge of [false, true]) {
    const made = zipArchive(members, { isLarge });
    t.notOk(await refusalOf(read(made)));
    for (let position = 0; position < made.length; position += 1) {
      for (const bits of [1 << random.below(8), 0xff]) {
        const flipped = Buffer.from(made);
        flipped.writeUInt8(flipped.readUInt8(position) ^ bits, position);
        let found: Readonly<Record<string, Buffer>> = {};
        const refusal = await refusalOf(
          read(flipped, { bytes: 2 ** 40 }).then((whole) => {
            found = whole.content;
          }),
        );
        if (refusal !== undefined) continue;
        accepted += 1;
        for (const [path, bytes] of Object.entries(content)) {
          if (found[path]?.toString() !== bytes)
            t.fail(`bits ${bits} of octet ${position}: ${path} is another`);
        }
        if (Object.keys(found).length !== members.length)
          t.fail(`bits ${bits} of octet ${position}: members`);
      }
    }
  }
  t.ok(accepted > 0, 'times, permissions, versions');
});

const hasZip = spawnSync('zip', ['-v']).status === 0;

void t.test(
  'archives of Info-ZIP are read',
  { skip: !hasZip && 'the program zip is missing: install the package zip' },
  async (t) => {
    const folder = scratchFolder(t);
    mkdirSync(join(folder, 'void'));
    writeFileSync(join(folder, 'Übung – 試験'), 'hello '.repeat(1000), { mode: 0o755 });
    symlinkSync('Übung – 試験', join(folder, 'link'));
    const path = join(folder, 'made.zip');
    const { status } = spawnSync('zip', ['-q', '-r', '-y', path, '.'], { cwd: folder });
    t.equal(status, 0);
    const { archive, content } = await readArchiveFile(path, statSync(path).size);
    const kinds = archive.members.map((member) => [member.path, member.kind]).sort();
    t.same(kinds, [
      ['link', 'link'],
      ['void', 'folder'],
      ['Übung – 試験', 'file'],
    ]);
    t.equal(archive.members.find(({ kind }) => kind === 'file')?.mode, 0o755);
    t.equal(content['Übung – 試験']?.toString(), 'hello '.repeat(1000));
    t.equal(content['link']?.toString(), 'Übung – 試験');
  },
);

void t.test('an archive of more than 4 GiB', async (t) => {
  const size = 4 * 1024 ** 3 + 4096;
  const path = join(scratchFolder(t), 'archive');
  const told = { size: 0xffffffff, compressedSize: 0xffffffff };
  const first = zipArchive([
    {
      name: 'disk',
      claims: { ...told, crc32: 1 },
      extra: largeExtra(size, size),
      localExtra: largeExtra(size, size),
    },
  ]);
  const headLength = first.indexOf('PK\u0001\u0002');
  const second = headLength + size;
  const last = zipArchive([
    { name: 'last', content: 'end', claims: { offset: 0xffffffff }, extra: largeExtra(second) },
  ]);
  const lastLength = last.indexOf('PK\u0001\u0002');
  const entries = Buffer.concat([first.subarray(headLength, -22), last.subarray(lastLength, -22)]);
  const directory = second + lastLength;
  const made = zipArchive([], {
    isLarge: true,
    count: 2,
    directorySize: entries.length,
    directoryOffset: directory,
  });
  made.writeBigUInt64LE(BigInt(directory + entries.length), 64);
  const fd = openSync(path, 'w+');
  try {
    writeSync(fd, first.subarray(0, headLength), 0, headLength, 0);
    const tail = Buffer.concat([last.subarray(0, lastLength), entries, made]);
    writeSync(fd, tail, 0, tail.length, second);
    ftruncateSync(fd, second + tail.length);
    const range = { start: 0, end: second + tail.length };
    const archive = await openZip(fd, range, { ...LIMITS, bytes: 2 ** 40 });
    t.same(
      archive.members.map(({ path, size }) => [path, size]),
      [
        ['disk', size],
        ['last', 3],
      ],
    );
    t.equal(archive.members[1]?.position, second + 34);
    t.match(await refusalOf(openZip(fd, range, LIMITS)), /'disk' .* longer than the/);
  } finally {
    closeSync(fd);
  }
});
