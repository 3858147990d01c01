import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { NO_VERSION } from '../../../src/base/disk/content-version.js';
import { ImageDigests } from '../../../src/files/images/image-digests.js';
import { imageTasks, type ImageFacts } from '../../../src/files/images/image-tasks.js';
import type { Digests, Landed } from '../../../src/files/transfer/landing.js';
import { eventually } from '../../support/eventually.js';
import { FakeStore } from '../../support/fake-store.js';
import { ImageDisk } from '../../support/image-disk.js';
import { scratchFolder, type Teardown } from '../../support/scratch.js';

const hex = (algorithm: string, content: string): string =>
  createHash(algorithm).update(content).digest('hex');

class Rig {
  readonly folder: string;
  readonly disk = new ImageDisk();
  readonly store = new FakeStore();
  digests: ImageDigests;

  constructor(t: Teardown) {
    this.folder = scratchFolder(t);
    this.digests = this.another();
  }

  another(): ImageDigests {
    const { folder, disk, store } = this;
    return new ImageDigests({ folder, temporary: join(folder, 'tmp'), disk, store });
  }

  put(path: string, content: string): ImageFacts {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    // Another file, so that it is another version even within a tick of the clock.
    rmSync(join(this.folder, path), { force: true });
    writeFileSync(join(this.folder, path), content);
    const found = imageTasks.listImages({ root: this.folder, emulator: 'qemu' });
    const facts = found.find((image) => image.path === path);
    if (facts === undefined) throw new Error(`${path} is no image`);
    return facts;
  }

  landed({ size, version }: ImageFacts, digests: Digests, isUnchanged = false): Landed {
    return { size, version, digests, isUnchanged };
  }

  side(path: string): string | undefined {
    const side = join(this.folder, `${path}.md5sum`);
    return existsSync(side) ? readFileSync(side, 'latin1') : undefined;
  }

  digested(
    path: string,
    version: string,
  ): Promise<{ md5?: string | undefined; sha256?: string | undefined }> {
    return eventually(`${path} is digested`, () => {
      const known = this.digests.of(path, version);
      return known?.md5 === undefined || known.sha256 === undefined ? undefined : known;
    });
  }
}

void t.test('a digest that is asked for is found out, once, told beside the image, and kept', async (t) => {
  const rig = new Rig(t);
  const { version } = rig.put('QEMU/a', 'content a');
  for (let times = 0; times < 3; times++) t.equal(rig.digests.of('QEMU/a', version), undefined);
  const known = await rig.digested('QEMU/a', version);
  t.match(known, { md5: hex('md5', 'content a'), sha256: hex('sha256', 'content a') });
  await eventually('it is told', () => rig.side('QEMU/a'));
  t.equal(rig.side('QEMU/a'), known.md5);
  t.equal(rig.disk.asked.filter((task) => task.startsWith('digestImage')).length, 1);

  rig.digests = rig.another();
  await rig.digests.start();
  rig.disk.asked.length = 0;
  t.match(rig.digests.of('QEMU/a', version), known, 'also after a start');
  await rig.digests.close();
  t.same(rig.disk.asked, []);
});

void t.test('digests of another version are forgotten', async (t) => {
  const rig = new Rig(t);
  const before = rig.put('QEMU/a', 'content a');
  rig.digests.of('QEMU/a', before.version);
  await rig.digested('QEMU/a', before.version);
  const after = rig.put('QEMU/a', 'content b');
  t.equal(rig.digests.of('QEMU/a', after.version), undefined);
  t.match(await rig.digested('QEMU/a', after.version), { md5: hex('md5', 'content b') });
  t.same(await rig.store.load(['image']), [
    {
      key: ['image', 'QEMU/a'],
      value: {
        version: after.version,
        size: 9,
        md5: hex('md5', 'content b'),
        sha256: hex('sha256', 'content b'),
      },
    },
  ]);
});

void t.test('an upload whose digests are known needs none to be found out', async (t) => {
  const rig = new Rig(t);
  const image = rig.put('QEMU/a', 'content a');
  const [md5, sha256] = [hex('md5', 'content a'), hex('sha256', 'content a')];
  rig.digests.landed('QEMU/a', rig.landed(image, { md5, 'sha-256': sha256 }));
  t.match(rig.digests.of('QEMU/a', image.version), { md5, sha256 });
  await rig.digests.close();
  t.equal(rig.side('QEMU/a'), md5);
  t.same(rig.disk.asked, ['settleSideFile QEMU/a']);
});

void t.test('an upload takes away the old digest beside it, until the new one is known', async (t) => {
  const rig = new Rig(t);
  const image = rig.put('QEMU/a', 'content a');
  writeFileSync(join(rig.folder, 'QEMU/a.md5sum'), hex('md5', 'before'));
  let release: () => void = () => undefined;
  rig.disk.before = (task) =>
    task === 'digestImage' ? new Promise((resolve) => (release = resolve)) : Promise.resolve();
  rig.digests.landed('QEMU/a', rig.landed(image, { 'sha-256': hex('sha256', 'content a') }));
  await eventually('it is gone', () => rig.side('QEMU/a') === undefined || undefined);
  t.equal(rig.digests.md5Of(image), undefined);
  t.equal(rig.digests.of('QEMU/a', image.version)?.sha256, hex('sha256', 'content a'));
  release();
  await eventually('it is told', () => rig.side('QEMU/a'));
  t.equal(rig.side('QEMU/a'), hex('md5', 'content a'));
  t.equal(rig.digests.md5Of(image), hex('md5', 'content a'));
});

void t.test('an upload that changed nothing changes nothing', async (t) => {
  const rig = new Rig(t);
  const image = rig.put('QEMU/a', 'content a');
  const [md5, sha256] = [hex('md5', 'content a'), hex('sha256', 'content a')];
  writeFileSync(join(rig.folder, 'QEMU/a.md5sum'), md5);
  rig.digests.landed('QEMU/a', rig.landed(image, { md5, 'sha-256': sha256 }));
  rig.digests.landed('QEMU/a', rig.landed(image, { 'sha-256': sha256 }, true));
  t.match(rig.digests.of('QEMU/a', image.version), { md5, sha256 });
  const other = rig.put('QEMU/b', 'content b');
  writeFileSync(join(rig.folder, 'QEMU/b.md5sum'), hex('md5', 'content b'));
  rig.digests.landed('QEMU/b', rig.landed(other, {}, true));
  await rig.digests.close();
  t.notOk(rig.disk.asked.includes('settleSideFile QEMU/b'));
  t.equal(rig.side('QEMU/b'), hex('md5', 'content b'));
});

for (const moment of ['before', 'after'] as const) {
  void t.test(
    `an image that is replaced ${moment} it is read has no digest of its old content`,
    async (t) => {
      const rig = new Rig(t);
      const before = rig.put('QEMU/a', 'content a');
      let release: () => void = () => undefined;
      const isHeld = new Promise<void>((resolve) => {
        rig.disk[moment] = () => {
          resolve();
          return new Promise((go) => (release = go));
        };
      });
      rig.digests.of('QEMU/a', before.version);
      await isHeld;
      const after = rig.put('QEMU/a', 'content b');
      rig.disk[moment] = () => Promise.resolve();
      rig.digests.landed('QEMU/a', rig.landed(after, {}));
      release();
      t.match(await rig.digested('QEMU/a', after.version), { md5: hex('md5', 'content b') });
      const puts = rig.store.commits.flat().filter((change) => 'put' in change);
      t.ok(puts.every((change) => (change.value as { version: string }).version === after.version));
      t.equal(rig.disk.asked.filter((task) => task.startsWith('digestImage')).length, 2);
      await rig.digests.close();
      t.equal(rig.side('QEMU/a'), hex('md5', 'content b'));
    },
  );
}

void t.test('an image that is replaced, unseen, while it is digested gets no digest beside it', async (t) => {
  const rig = new Rig(t);
  const before = rig.put('QEMU/a', 'content a');
  rig.disk.before = (task) => {
    if (task === 'settleSideFile') rig.put('QEMU/a', 'content b');
    return Promise.resolve();
  };
  rig.digests.of('QEMU/a', before.version);
  await eventually('it was to be told', () => rig.disk.asked.includes('settleSideFile QEMU/a') || undefined);
  await rig.digests.close();
  t.equal(rig.side('QEMU/a'), undefined);
});

void t.test('the file beside an image is mended where it tells something else', async (t) => {
  const rig = new Rig(t);
  const image = rig.put('QEMU/a', 'content a');
  rig.digests.of('QEMU/a', image.version);
  const { md5 } = await rig.digested('QEMU/a', image.version);
  await eventually('it is told', () => rig.side('QEMU/a'));
  rig.disk.asked.length = 0;
  t.equal(rig.digests.md5Of({ ...image, md5 }), md5);
  t.equal(rig.digests.md5Of({ ...image, md5: '0'.repeat(32) }), md5);
  await rig.digests.close();
  t.same(rig.disk.asked, ['settleSideFile QEMU/a']);
});

void t.test('a twin has the same digest and the same length', async (t) => {
  const rig = new Rig(t);
  const image = rig.put('QEMU/a', 'content a');
  const sha256 = hex('sha256', 'content a');
  rig.digests.landed('QEMU/a', rig.landed(image, { 'sha-256': sha256 }));
  const twin = { path: join(rig.folder, 'QEMU/a'), version: image.version, sha256 };
  t.same(rig.digests.twinOf({ size: 9, digests: { 'sha-256': sha256 } }), twin);
  t.equal(rig.digests.twinOf({ size: 8, digests: { 'sha-256': sha256 } }), undefined);
  t.equal(rig.digests.twinOf({ size: 9, digests: { 'sha-256': hex('sha256', '') } }), undefined);
  t.equal(rig.digests.twinOf({ size: 9, digests: {} }), undefined);
  rig.digests.removed('QEMU/a');
  t.equal(rig.digests.twinOf({ size: 9, digests: { 'sha-256': sha256 } }), undefined);
  t.same(await rig.store.load(['image']), []);
  await rig.digests.close();
});

void t.test('a digest that cannot be read or stored is no trouble', async (t) => {
  const rig = new Rig(t);
  rig.store.failure = new Error('the disk is full');
  t.equal(rig.digests.of('QEMU/missing', 'none'), undefined);
  const image = rig.put('QEMU/a', 'content a');
  rig.digests.of('QEMU/a', image.version);
  await rig.digested('QEMU/a', image.version);
  await rig.digests.close();
  t.equal(rig.digests.of('QEMU/missing', 'none'), undefined);
  t.equal(
    rig.disk.asked.filter((task) => task === 'digestImage QEMU/missing').length,
    1,
    'none after the end',
  );
});

void t.test('the end cuts short what is being digested', async (t) => {
  const rig = new Rig(t);
  const images = ['a', 'b', 'c'].map((name) => rig.put(`QEMU/${name}`, 'content'));
  let release: () => void = () => undefined;
  rig.disk.before = () => new Promise((resolve) => (release = resolve));
  for (const { path, version } of images) rig.digests.of(path, version);
  const closed = rig.digests.close();
  release();
  await closed;
  t.same(rig.disk.asked, ['digestImage QEMU/a']);
  t.same(rig.store.commits, []);
});

void t.test('an upload that was replaced already says nothing of the image that is there', async (t) => {
  const rig = new Rig(t);
  const image = rig.put('QEMU/a', 'content b');
  const [md5, sha256] = [hex('md5', 'content b'), hex('sha256', 'content b')];
  rig.digests.landed('QEMU/a', rig.landed(image, { md5, 'sha-256': sha256 }));
  const earlier = { md5: hex('md5', 'content a'), 'sha-256': hex('sha256', 'content a') };
  rig.digests.landed('QEMU/a', rig.landed({ ...image, version: NO_VERSION }, earlier, true));
  t.match(rig.digests.of('QEMU/a', image.version), { md5, sha256 });
  await eventually('the MD5 lies beside it', () => rig.side('QEMU/a'));
  t.equal(rig.side('QEMU/a'), md5);
});
