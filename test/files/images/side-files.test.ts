import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { imageTasks } from '../../../src/files/images/image-tasks.js';
import { SideFiles } from '../../../src/files/images/side-files.js';
import { ImageDisk } from '../../support/image-disk.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const digest = (digit: string): string => digit.repeat(32);

function make(t: Teardown): {
  folder: string;
  disk: ImageDisk;
  sides: SideFiles;
  version: (path: string) => string;
} {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'QEMU'));
  for (const name of ['a', 'b']) writeFileSync(join(folder, 'QEMU', name), 'content');
  const disk = new ImageDisk();
  return {
    folder,
    disk,
    sides: new SideFiles({ folder, temporary: join(folder, 'tmp'), disk }),
    version: (path) =>
      imageTasks.listImages({ root: folder, emulator: 'qemu' }).find((image) => image.path === path)
        ?.version ?? '',
  };
}

void t.test('the last of several wishes for one image counts', async (t) => {
  const { folder, disk, sides, version } = make(t);
  const read = (name: string): string => readFileSync(join(folder, `QEMU/${name}.md5sum`), 'latin1');
  let release: () => void = () => undefined;
  disk.before = () => new Promise((resolve) => (release = resolve));
  sides.settle('QEMU/a', version('QEMU/a'), digest('1'));
  sides.settle('QEMU/b', version('QEMU/b'), digest('2'));
  sides.settle('QEMU/b', version('QEMU/b'), undefined);
  sides.settle('QEMU/a', version('QEMU/a'), digest('3'));
  disk.before = () => Promise.resolve();
  release();
  await sides.idle();
  t.same(disk.asked, ['settleSideFile QEMU/a', 'settleSideFile QEMU/b', 'settleSideFile QEMU/a']);
  t.equal(read('a'), digest('3'));
  t.notOk(existsSync(join(folder, 'QEMU/b.md5sum')));
  sides.settle('QEMU/b', version('QEMU/b'), digest('4'));
  await sides.idle();
  t.equal(read('b'), digest('4'), 'and it goes on afterwards');
});

void t.test('a digest that cannot be written is no trouble for the next', async (t) => {
  const { folder, sides, version } = make(t);
  mkdirSync(join(folder, 'QEMU/a.md5sum'));
  sides.settle('../a', 'none', digest('1'));
  sides.settle('QEMU/a', version('QEMU/a'), digest('1'));
  sides.settle('QEMU/b', 'of another content', digest('1'));
  sides.settle('QEMU/b.missing', 'none', undefined);
  await sides.idle();
  t.notOk(existsSync(join(folder, 'QEMU/b.md5sum')));
  sides.settle('QEMU/b', version('QEMU/b'), digest('2'));
  await sides.idle();
  t.ok(existsSync(join(folder, 'QEMU/b.md5sum')));
});
