/** Parts of a backup whose sources go while it is made. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { packRecords } from '../../src/base/store/packing.js';
import { addFiles } from '../../src/operations/backup/backup-objects.js';
import { backupTasks } from '../../src/operations/backup/backup-tasks.js';
import { JobProgress } from '../../src/snapshots/content/job-progress.js';
import { writeFiles } from '../support/file-trees.js';
import { scratchFolder } from '../support/scratch.js';

const ID = '11111111-2222-4333-8444-555555555555';
const PROJECT = '99999999-2222-4333-8444-555555555555';

void t.test('a project that is deleted after it was kept is in the backup as it was', (t) => {
  const scratch = scratchFolder(t);
  const [folder, root] = [join(scratch, 'backups'), join(scratch, 'project')];
  writeFiles(root, { 'lab.gns3': '{}', 'project-files/disk': 'content', 'snapshots/one.json': '{}' });
  const progress = new JobProgress();
  backupTasks.beginBackup({ folder });
  const place = { folder, backupId: ID, projectId: PROJECT, root };
  backupTasks.freezePart({ ...place, earlierId: undefined, written: [], changing: [] });
  rmSync(root, { recursive: true });
  const stored = backupTasks.storePart({ ...place, records: packRecords([]), progress: progress.memory });
  t.match(stored, { size: 9, hasSnapshots: true });
  t.end();
});

void t.test('files and folders that go while others are read are no part of the backup', (t) => {
  const scratch = scratchFolder(t);
  const [folder, path] = [join(scratch, 'backups'), join(scratch, 'images')];
  writeFiles(path, { a: 'stays', b: 'goes', 'c/d': 'goes with its folder', 'e/f': 'stays' });
  backupTasks.beginBackup({ folder });
  const removing = new (class extends JobProgress {
    override advance(bytes: number): void {
      super.advance(bytes);
      for (const name of ['b', 'c']) rmSync(join(path, name), { recursive: true, force: true });
    }
  })();
  const sources = [
    { name: 'images', path, isReplaced: false },
    { name: 'nowhere', path: join(scratch, 'nowhere'), isReplaced: false },
  ];
  const { files } = addFiles(folder, sources, { earlier: [], written: new Set() }, removing);
  t.same(
    files.map(({ path }) => path),
    ['images/a', 'images/e/f'],
  );
  for (const { digest, size } of files) t.equal(readFileSync(join(folder, 'objects', digest)).length, size);
  t.end();
});
