import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  findGns3Snapshots,
  gns3Archive,
  removeGns3Snapshot,
} from '../../../src/snapshots/projects/gns3-snapshots.js';
import { recordTree, writeFiles } from '../../support/file-trees.js';
import { scratchFolder } from '../../support/scratch.js';

const ID = '11111111-2222-4333-8444-555555555555';
const entry = (name: string, more: object = {}): object => ({
  ...{ created_at: 1, description: 'd', filename: `${name}.gns3snapshot`, name, snapshot_id: name },
  ...more,
});

void t.test('snapshots of the index whose archive is a file in this folder', (t) => {
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'folder.gns3snapshot'));
  symlinkSync('a.gns3snapshot', join(folder, 'link.gns3snapshot'));
  const index = [
    entry('a'),
    entry('gone'),
    entry('folder'),
    entry('link'),
    entry('b', { name: 5 }),
    'nonsense',
  ];
  writeFiles(folder, { 'a.gns3snapshot': '', 'b.gns3snapshot': '', 'snapshots.conf': JSON.stringify(index) });
  const found = findGns3Snapshots(folder, ID);
  t.same(found, [entry('a', { project_id: ID })]);
  const [a] = found;
  if (a === undefined) throw new Error('there is none');
  t.equal(gns3Archive(folder, a), join(folder, 'a.gns3snapshot'));
  t.throws(() => gns3Archive(folder, { ...a, filename: '../a.gns3snapshot' }), {
    name: 'Refusal',
    status: 409,
  });
  t.same(findGns3Snapshots(join(folder, 'not there'), ID), []);
  t.end();
});

void t.test('without an index, the names of archives count', (t) => {
  const folder = scratchFolder(t);
  const names = [
    'a_010203_040506',
    'b_c_311299_235959',
    'none',
    'none_1_2',
    '_010203_040506',
    'bad_320103_040506',
  ];
  writeFiles(folder, Object.fromEntries(names.map((name) => [`${name}.gns3project`, ''])));
  const found = findGns3Snapshots(folder, ID);
  t.match(found, [
    { name: 'a', created_at: Date.UTC(2003, 1, 1, 4, 5, 6) / 1000 },
    { name: 'b_c', created_at: Date.UTC(2099, 11, 31, 23, 59, 59) / 1000 },
  ]);
  t.equal(found.length, 2);
  t.same(findGns3Snapshots(folder, ID), found, 'the same ids again');
  t.notSame(findGns3Snapshots(folder, 'another'), found);
  t.end();
});

void t.test('a removal removes nothing else', (t) => {
  const folder = scratchFolder(t);
  const index = [entry('a', { future: true }), entry('b')];
  writeFiles(folder, { 'a.gns3snapshot': '', 'b.gns3snapshot': '', 'snapshots.conf': JSON.stringify(index) });
  const [, b] = findGns3Snapshots(folder, ID);
  if (b === undefined) throw new Error('there is none');
  removeGns3Snapshot(folder, b);
  t.same([...recordTree(folder, ['.work']).keys()], ['a.gns3snapshot', 'snapshots.conf']);
  t.match(findGns3Snapshots(folder, ID), [{ name: 'a' }]);
  t.end();
});
