import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readSideFile, removeSideFile, writeSideFile } from '../../../src/files/images/side-file.js';
import { versionOf } from '../../../src/base/disk/regular-file.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const MD5 = '0123456789abcdef0123456789abcdef';

interface Place {
  readonly image: string;
  readonly side: string;
  readonly temporary: string;
  readonly read: () => string | undefined;
  readonly version: () => string;
}

function place(t: Teardown): Place {
  const folder = scratchFolder(t);
  const image = join(folder, 'x.img');
  writeFileSync(image, 'content');
  const stat = (): ReturnType<typeof lstatOf> => lstatOf(image);
  return {
    image,
    side: `${image}.md5sum`,
    temporary: join(folder, 'tmp'),
    read: () => readSideFile(image, stat()),
    version: () => versionOf(stat()),
  };
}

function lstatOf(path: string): Parameters<typeof versionOf>[0] {
  return lstatSync(path, { bigint: true });
}

void t.test('a digest that is written is read, and other programs write the same', (t) => {
  const { image, side, temporary, read, version } = place(t);
  t.equal(read(), undefined);
  writeSideFile({ image, version: version() }, temporary, MD5);
  t.equal(readFileSync(side, 'latin1'), MD5);
  t.equal(read(), MD5);
  t.same(readdirSync(temporary), []);
  removeSideFile(image);
  removeSideFile(image);
  t.equal(read(), undefined);
  t.end();
});

void t.test('only 32 lower-case digits are believed', (t) => {
  const { side, read } = place(t);
  for (const text of [
    '',
    'x'.repeat(32),
    MD5.toUpperCase(),
    `${MD5}\n`,
    MD5.slice(1),
    ` ${MD5.slice(1)}`,
    MD5 + MD5,
  ]) {
    writeFileSync(side, text);
    t.equal(read(), undefined, JSON.stringify(text));
  }
  writeFileSync(side, MD5);
  t.equal(read(), MD5);
  t.end();
});

void t.test('a digest that is older than its image is not believed', (t) => {
  const { image, side, read } = place(t);
  writeFileSync(side, MD5);
  const { mtimeMs } = lstatSync(image);
  utimesSync(side, mtimeMs / 1000 - 10, mtimeMs / 1000 - 10);
  t.equal(read(), undefined, 'its content is older');
  writeFileSync(side, MD5);
  t.equal(read(), MD5);
  // An older file that is put in its place came later, whatever its time of change says.
  const other = `${image}.other`;
  writeFileSync(other, 'another');
  utimesSync(other, 1000, 1000);
  while (lstatOf(other).ctimeNs <= lstatOf(side).ctimeNs) utimesSync(other, 1000, 1000);
  renameSync(other, image);
  t.equal(read(), undefined, 'its image came later');
  t.end();
});

void t.test('planted things are not read, not waited for, and not written through', (t) => {
  const { image, side, temporary, read, version } = place(t);
  const secret = join(temporary, '..', 'secret');
  writeFileSync(secret, MD5);
  symlinkSync(secret, side);
  t.equal(read(), undefined);
  writeSideFile({ image, version: version() }, temporary, MD5.replace('0', '9'));
  t.equal(readFileSync(secret, 'latin1'), MD5);
  t.equal(read(), MD5.replace('0', '9'));
  removeSideFile(image);
  execFileSync('mkfifo', [side]);
  t.equal(read(), undefined);
  writeSideFile({ image, version: version() }, temporary, MD5);
  t.equal(read(), MD5);
  removeSideFile(image);
  mkdirSync(side);
  t.equal(read(), undefined);
  t.end();
});

void t.test('nothing is written beside another image than the one that was digested', (t) => {
  const { image, side, temporary, version } = place(t);
  const digested = version();
  writeFileSync(image, 'something else');
  writeSideFile({ image, version: digested }, temporary, MD5);
  t.notOk(existsSync(side));
  writeFileSync(side, MD5);
  writeSideFile({ image, version: digested }, temporary, MD5.replace('0', '9'));
  t.equal(readFileSync(side, 'latin1'), MD5, 'what another program has written of it stays');
  writeSideFile({ image: `${image}.missing`, version: digested }, temporary, MD5);
  t.notOk(existsSync(`${image}.missing.md5sum`));
  t.end();
});
