/** Ten thousand commits on a full disk with a large store, and a thousand that the kernel answers with EIO. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { JournalStore } from '../../../src/base/store/journal-store.js';
import { Random, testSeed } from '../../support/random.js';
import { refuseCommits } from '../../support/refused-commits.js';
import { scratchFolder } from '../../support/scratch.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

void t.test('10,000 commits of 10 octets to a mebibyte on a full disk, with 50 MB in the store', (t) => {
  const disk = smallDisk(t, 96 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    t.end();
    return;
  }
  const state = join(disk, 'state');
  mkdirSync(state);
  const store = new JournalStore(state);
  for (let index = 0; index < 50; index++) {
    const records = Array.from({ length: 100 }, (_, part) => ({
      put: ['x', `n${index}-${part}`],
      value: 'x'.repeat(10_000),
    }));
    store.commit(records);
  }
  const giveBack = fillDisk(disk);
  for (const length of [16_384, 256, 1]) {
    for (let count = 0, isFull = false; !isFull; count++) {
      try {
        store.commit([{ put: ['y', `${length}-${count}`], value: 'f'.repeat(length) }]);
      } catch {
        isFull = true;
      }
    }
  }
  refuseCommits(t, store, new Random(testSeed(71)), 10_000, 507);
  for (let index = 0; index < 50; index++) store.commit([{ remove: ['x', `n${index}-0`] }]);
  t.equal(store.load(['x']).length, 50 * 99);
  giveBack();
  store.commit([{ put: ['z'], value: 'z'.repeat(1_000_000) }]);
  store.close();
  const again = new JournalStore(state);
  t.equal(again.load(['x']).length, 50 * 99);
  t.equal(again.load(['z']).length, 1);
  t.same(again.notices, []);
  again.close();
  t.end();
});

void t.test('1,000 commits whose sync the kernel fails, and one that it does not', (t) => {
  if (spawnSync('strace', ['-V']).error !== undefined) {
    t.pass('# SKIP it needs strace: install the package strace');
    t.end();
    return;
  }
  const folder = scratchFolder(t);
  const module = new URL('../../../src/base/store/journal-store.js', import.meta.url).href;
  // The journal is made with fsync twice; the first fdatasync makes its room, the second is of the first commit. Each
  // refused commit then takes one that fails, and one that takes its octets off the disk again.
  const program = `
    const { JournalStore } = await import(${JSON.stringify(module)});
    const store = new JournalStore(${JSON.stringify(folder)});
    store.commit([{ put: ['first'], value: 1 }]);
    const statuses = [];
    for (let index = 0; index < 1000; index++) {
      try {
        store.commit([{ put: ['n' + index], value: 'v'.repeat(index) }]);
        statuses.push(200);
      } catch (error) {
        statuses.push(error.status);
      }
      if (store.load([]).length !== 1 + statuses.filter((status) => status === 200).length) statuses.push('changed');
    }
    console.log(JSON.stringify([...new Set(statuses)]), statuses.filter((status) => status === 503).length);
    process.kill(process.pid, 'SIGKILL');`;
  const path = join(folder, 'program.mjs');
  writeFileSync(path, program);
  const flags = [
    '-f',
    '-o',
    '/dev/null',
    '-e',
    'trace=fdatasync',
    '-e',
    'inject=fdatasync:error=EIO:when=3+2',
  ];
  const run = spawnSync('strace', [...flags, process.execPath, path], { encoding: 'utf8' });
  t.match(run.stdout, /^\[503\] 1000$/m, run.stderr.slice(-2000));
  const store = new JournalStore(folder);
  t.same(store.load([]), [{ key: ['first'], value: 1 }], 'after a kill, too');
  store.commit([{ put: ['good'], value: 2 }]);
  t.equal(store.load([]).length, 2);
  store.close();
  t.end();
});
