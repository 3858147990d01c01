import t from 'tap';
import { isLeftOut, isNotExported } from '../../src/snapshots/left-out.js';

void t.test('paths that every snapshot leaves out', (t) => {
  for (const path of [
    'snapshots',
    'tmp',
    'project-files/tmp',
    'project-files/captures',
    'project-files/snapshots',
    'lab.gns3',
    'other.gns3',
    'lab.gns3.backup',
    'lab.gns3.backup.1',
    'project-files/qemu/x/vm-state',
  ]) {
    t.ok(isLeftOut(path), path);
    t.ok(isNotExported(path), path);
  }
  t.end();
});

void t.test('the same names in other folders are ordinary files', (t) => {
  for (const path of [
    'project-files',
    'captures',
    'README.txt',
    'lab.gns3project',
    'project-files/lab.gns3',
    'project-files/qemu/tmp',
    'project-files/qemu/snapshots',
    'project-files/vm-state',
    'project-files/qemu/x/vm-state2',
    'notes/snapshots',
    'snapshots2',
    'project-files/captures.txt',
  ]) {
    t.notOk(isLeftOut(path), path);
    t.notOk(isNotExported(path), path);
  }
  t.end();
});

void t.test('logs and .DS_Store are in snapshots, but not in exports', (t) => {
  for (const path of ['project-files/dynamips/x_log.txt', 'vpcs.log', 'a/.DS_Store', '.DS_Store']) {
    t.notOk(isLeftOut(path), path);
    t.ok(isNotExported(path), path);
  }
  t.end();
});
