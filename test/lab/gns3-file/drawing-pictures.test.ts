import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { withPicture, withPictures } from '../../../src/lab/gns3-file/drawing-pictures.js';
import type { StoredDrawing } from '../../../src/lab/gns3-file/topology-schema.js';
import { scratchFolder } from '../../support/scratch.js';
import { idOf } from '../../support/stored-objects.js';

const NAME = 'a'.repeat(32);
/** The head of one, which is enough to tell its type and size. */
const PNG_7_BY_3 = Buffer.from('89504e470d0a1a0a0000000d494844520000000700000003', 'hex');
const drawing = (svg?: string): StoredDrawing => ({
  drawing_id: idOf(1),
  x: 5,
  ...(svg === undefined ? {} : { svg }),
});

function projectFolder(t: Test, pictures: Readonly<Record<string, string | Buffer>>): string {
  const folder = scratchFolder(t);
  const images = join(folder, 'project-files', 'images');
  mkdirSync(images, { recursive: true });
  for (const [name, content] of Object.entries(pictures)) writeFileSync(join(images, name), content);
  return folder;
}

void t.test('a named picture is read back into the drawing', (t) => {
  const folder = projectFolder(t, { 'one.svg': '<svg><rect/></svg>' });
  t.same(withPicture(folder, drawing('one.svg')), drawing('<svg><rect/></svg>'));
  t.end();
});

void t.test('an image that the picture names is put into it, of the type of its content', (t) => {
  const picture = `<svg><image href="${NAME}.png"/><image xlink:href='${NAME}.xmsbmp'/><use href="${NAME}.svg"/></svg>`;
  const folder = projectFolder(t, {
    'one.svg': picture,
    [`${NAME}.png`]: PNG_7_BY_3,
    [`${NAME}.xmsbmp`]: 'BMP',
    [`${NAME}.svg`]: 'SVG',
  });
  t.equal(
    withPicture(folder, drawing('one.svg')).svg,
    `<svg><image href="data:image/png;base64,${PNG_7_BY_3.toString('base64')}"/>` +
      '<image xlink:href=\'data:image/bmp;base64,Qk1Q\'/><use href="data:image/svg+xml;base64,U1ZH"/></svg>',
  );
  t.end();
});

void t.test('images that are not there, of unknown type or elsewhere stay named', (t) => {
  const picture = `<svg><image href="${NAME}.png"/><image href="${NAME}.exe"/><image href="../x.png"/></svg>`;
  const folder = projectFolder(t, { 'one.svg': picture, [`${NAME}.exe`]: 'EXE' });
  t.equal(withPicture(folder, drawing('one.svg')).svg, picture);
  t.end();
});

void t.test('a bitmap becomes a picture of its size, whatever its name ends with', (t) => {
  const bitmaps = {
    png: PNG_7_BY_3,
    gif: Buffer.from('47494638396107000300', 'hex'),
    bmp: Buffer.from(`424d${'00'.repeat(12)}280000000700000003000000`, 'hex'),
    webp: Buffer.from(`RIFF....WEBPVP8X${'.'.repeat(8)}\x06\0\0\x02\0\0`, 'latin1'),
  };
  for (const [type, bitmap] of Object.entries(bitmaps)) {
    const folder = projectFolder(t, { 'one.any': bitmap });
    t.equal(
      withPicture(folder, drawing('one.any')).svg,
      '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" height="3" width="7">' +
        `<image height="3" width="7" xlink:href="data:image/${type};base64,${bitmap.toString('base64')}"/></svg>`,
    );
    t.match(withPicture(folder, drawing('elsewhere/one.any')).svg, type, 'the last part of a name counts');
  }
  const cut = projectFolder(t, { 'one.png': PNG_7_BY_3.subarray(0, 20) });
  t.equal(withPicture(cut, drawing('one.png')).svg, 'one.png', 'one without a size is none');
  t.end();
});

void t.test('a picture in the folder of GNS3 1 is found', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'images'));
  writeFileSync(join(folder, 'images', 'logo.png'), PNG_7_BY_3);
  t.match(withPicture(folder, drawing('logo.png')).svg, '<image height="3" width="7"');
  t.end();
});

void t.test('pictures are bounded together', (t) => {
  const large = `<svg>${'x'.repeat(12 * 1024 * 1024)}</svg>`;
  const folder = projectFolder(t, { 'large.svg': large });
  t.equal(withPictures(folder, [drawing('large.svg'), drawing('large.svg')]).length, 2);
  t.throws(
    () =>
      withPictures(
        folder,
        Array.from({ length: 1000 }, () => drawing('large.svg')),
      ),
    { status: 409, message: /pictures included/ },
  );
  t.end();
});

void t.test('an inline picture, none, or one that cannot be read leaves the drawing as it is', (t) => {
  const folder = projectFolder(t, { 'text.svg': 'no picture' });
  for (const svg of ['<svg></svg>', '', undefined, 'missing.svg', 'text.svg', 'a\0b', 'x'.repeat(5000)]) {
    const given = drawing(svg);
    t.equal(withPicture(folder, given), given, svg?.slice(0, 20) ?? 'none');
  }
  t.end();
});

void t.test('a name that leads out, or to what is no file, is not read', (t) => {
  const folder = projectFolder(t, {});
  const images = join(folder, 'project-files', 'images');
  const outside = scratchFolder(t);
  writeFileSync(join(outside, 'secret.svg'), '<svg>secret</svg>');
  symlinkSync(join(outside, 'secret.svg'), join(images, 'link.svg'));
  t.equal(spawnSync('mkfifo', [join(images, 'fifo.svg')]).status, 0);
  mkdirSync(join(images, 'folder.svg'));
  for (const svg of [
    'link.svg',
    'fifo.svg',
    'folder.svg',
    '../../../secret.svg',
    join(outside, 'secret.svg'),
  ]) {
    t.equal(withPicture(folder, drawing(svg)).svg, svg);
  }
  t.end();
});
