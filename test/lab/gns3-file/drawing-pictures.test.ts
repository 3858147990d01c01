import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { withPicture } from '../../../src/lab/gns3-file/drawing-pictures.js';
import type { StoredDrawing } from '../../../src/lab/gns3-file/topology-schema.js';
import { scratchFolder } from '../../support/scratch.js';
import { idOf } from '../../support/stored-objects.js';

const NAME = 'a'.repeat(32);
const drawing = (svg?: string): StoredDrawing => ({
  drawing_id: idOf(1),
  x: 5,
  ...(svg === undefined ? {} : { svg }),
});

function projectFolder(t: Test, pictures: Readonly<Record<string, string>>): string {
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

void t.test('an image that the picture names is put into it, of the right type', (t) => {
  const picture = `<svg><image href="${NAME}.png"/><image xlink:href='${NAME}.jpg'/></svg>`;
  const folder = projectFolder(t, { 'one.svg': picture, [`${NAME}.png`]: 'PNG', [`${NAME}.jpg`]: 'JPG' });
  t.equal(
    withPicture(folder, drawing('one.svg')).svg,
    '<svg><image href="data:image/png;base64,UE5H"/><image xlink:href=\'data:image/jpeg;base64,SlBH\'/></svg>',
  );
  t.end();
});

void t.test('images that are not there, of unknown type or elsewhere stay named', (t) => {
  const picture = `<svg><image href="${NAME}.png"/><image href="${NAME}.exe"/><image href="../x.png"/></svg>`;
  const folder = projectFolder(t, { 'one.svg': picture, [`${NAME}.exe`]: 'EXE' });
  t.equal(withPicture(folder, drawing('one.svg')).svg, picture);
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
