import { closeSync, existsSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import type { TarContent } from '../../../src/base/disk/tar-content.js';
import { readTar, unpackTar } from '../../../src/base/disk/tar-reading.js';
import { seededRandom } from '../../support/seeded-random.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';
import { tarArchive, tarMember, TAR_ZEROS } from '../../support/tar-archive.js';

async function read(
  t: Teardown,
  archive: Uint8Array,
  use?: (fd: number, content: TarContent) => void,
): Promise<string[]> {
  const path = join(scratchFolder(t), 'archive');
  writeFileSync(path, archive);
  const fd = openSync(path, 'r');
  try {
    const content = await readTar(fd, archive.length);
    use?.(fd, content);
    return [...content.folders, ...content.files.keys()];
  } finally {
    closeSync(fd);
  }
}

void t.test(
  'the content of files is where it is said to be, however they lie to the pieces that are read',
  async (t) => {
    const random = new RandomBytes(1);
    const sizes = [0, 1, 511, 512, 513, 256 * 1024 - 512, 256 * 1024, 1_000_000];
    const files = sizes.map((size) => [`sizes/${size}`, random.next(size)] as const);
    const folder = join(scratchFolder(t), 'unpacked');
    await read(t, tarArchive([...files, ['void/', '']]), (fd, content) => {
      unpackTar(fd, content, folder);
    });
    for (const [path, content] of files) t.ok(readFileSync(join(folder, path)).equals(content), path);
    t.ok(statSync(join(folder, 'void')).isDirectory());
  },
);

void t.test('it has an end', async (t) => {
  const members = Buffer.concat([
    tarMember({ path: 'a', content: Buffer.alloc(2000) }),
    tarMember({ path: 'b' }),
  ]);
  t.same(await read(t, Buffer.concat([members, TAR_ZEROS])), ['a', 'b']);
  t.same(await read(t, Buffer.concat([members, Buffer.alloc(10_240)])), ['a', 'b']);
  t.same(await read(t, TAR_ZEROS), []);
  const damaged = refusals.archiveDamaged('the two blocks of zeros at its end are missing');
  await t.rejects(read(t, members), damaged);
  await t.rejects(read(t, Buffer.concat([members, Buffer.alloc(512)])), damaged);
  await t.rejects(read(t, members.subarray(0, 512 + 2048)), damaged, 'zeros of a content are none');
  await t.rejects(read(t, Buffer.alloc(0)), damaged);
});

void t.test('a compressed archive is refused as such', async (t) => {
  for (const start of ['1f8b08', '425a6839', 'fd377a585a00', '28b52ffd'])
    await t.rejects(read(t, Buffer.from(start.padEnd(2048, '0'), 'hex')), refusals.archiveCompressed());
});

void t.test('a member that must not be ends the reading there', async (t) => {
  const members = [
    tarMember({ path: 'a', content: new RandomBytes(2).next(1_000_000) }),
    tarMember({ path: '../b' }),
  ];
  await t.rejects(read(t, Buffer.concat([...members, TAR_ZEROS])), { status: 409, message: /'\.\.\/b'/ });
  await t.rejects(read(t, Buffer.concat([...members.reverse(), TAR_ZEROS])), {
    status: 409,
    message: /'\.\.\/b'/,
  });
});

void t.test('whatever is damaged, it is read to an end or refused', async (t) => {
  const random = seededRandom(20_261_121);
  const whole = Buffer.concat([
    tarMember({ path: 'plain', content: 'content' }),
    tarMember({ path: 'x', pax: { path: 'p/'.repeat(150), size: '4' }, content: 'four' }),
    tarMember({ path: 'x', longName: 'l/'.repeat(150), content: 'long' }),
    tarMember({ path: 'folder', type: '5' }),
    TAR_ZEROS,
  ]);
  t.ok((await read(t, whole)).includes('folder'));
  let refused = 0;
  for (let round = 0; round < 300; round++) {
    const damaged = Buffer.from(whole);
    for (let count = 0; count < 3; count++) {
      const at = Math.floor(random() * damaged.length);
      damaged[at] = Math.floor(random() * 256);
    }
    await read(t, damaged).catch((error: unknown) => {
      refused++;
      t.match(error, { status: /^4(00|09)$/ });
    });
  }
  t.ok(refused > 50);
});

void t.test('nothing is unpacked into a folder that is there', async (t) => {
  const folder = scratchFolder(t);
  await t.rejects(
    read(t, tarArchive([['a', 'x']]), (fd, content) => {
      unpackTar(fd, content, folder);
    }),
    { code: 'EEXIST' },
  );
  t.notOk(existsSync(join(folder, 'a')));
});

void t.test('a folder has no content, whatever length its header tells', async (t) => {
  const folder = tarMember({ path: 'a/', type: '5', size: 64 });
  t.same(await read(t, Buffer.concat([folder, tarArchive([['a/b', 'content']])])), ['a', 'a/b']);
});

void t.test('a member whose length cannot be read is a damaged archive, and makes nobody wait', async (t) => {
  const lengthAt = 124;
  const [sumAt, sumLength] = [148, 8];
  const file = tarMember({ path: 'a', content: 'content' });
  // Neither octal digits nor the beginning of a binary number.
  file[lengthAt] = 0xb0;
  file.fill(' ', sumAt, sumAt + sumLength);
  const sum = file.subarray(0, 512).reduce((total, octet) => total + octet, 0);
  file.write(`${sum.toString(8).padStart(6, '0')}\0 `, sumAt);
  const refusal = refusals.archiveDamaged('the length of a member cannot be read');
  await t.rejects(read(t, Buffer.concat([file, tarArchive([])])), refusal);
});
