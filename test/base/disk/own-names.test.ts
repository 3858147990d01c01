/** Which names are the server's own, whatever a file system takes for the same. */
import t from 'tap';
import { isOwnPath, OWN_FOLDERS } from '../../../src/base/disk/own-names.js';

void t.test('folders of the server are its own, with all that is in them', (t) => {
  for (const folder of OWN_FOLDERS) {
    for (const path of [folder, `${folder}/x`, `${folder}/x/y.txt`, `${folder}/`]) {
      t.ok(isOwnPath(path, 'write'), path);
      t.ok(isOwnPath(path, 'read'), path);
    }
    t.notOk(isOwnPath(`project-files/${folder}/x`), 'deeper down anybody may use the name');
    t.notOk(isOwnPath(`${folder}x`));
    t.notOk(isOwnPath(`x${folder}/x`));
  }
  t.end();
});

void t.test('topology files at the top are for reading', (t) => {
  for (const path of ['lab.gns3', '.gns3', 'LAB.GNS3', 'lab.gns3/x', 'lab.gns3.']) {
    t.ok(isOwnPath(path), path);
    t.notOk(isOwnPath(path, 'read'), path);
  }
  for (const path of ['project-files/lab.gns3', 'lab.gns3a', 'lab.gns3 x', 'README.txt', '']) {
    t.notOk(isOwnPath(path), path);
  }
  t.end();
});

void t.test('names that some file system takes for the same are the same', (t) => {
  const same = [
    'TMP/x',
    'Snapshots/x',
    'tmp./x',
    'tmp. . /x',
    't\u200cmp/x',
    'tm\u00adp/x',
    '\ufefftmp',
    '\u017fnapshot\u017f/x',
    '\uff54\uff4d\uff50/x',
    '.WireFarm/x',
  ];
  for (const path of same) t.ok(isOwnPath(path), JSON.stringify(path));
  t.notOk(isOwnPath('tmpé'));
  t.notOk(isOwnPath('...'));
  t.end();
});
