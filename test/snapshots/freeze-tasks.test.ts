/** The notes of a job about the files that it keeps are not believed blindly. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readFrozen, freezeTasks } from '../../src/snapshots/freeze-tasks.js';
import { jobPlace } from '../../src/snapshots/job-place.js';
import { writeFiles } from '../support/file-trees.js';
import { scratchFolder } from '../support/scratch.js';

interface Noted {
  files: { path: string; keptAs: string; source?: string }[];
}

const scratch = scratchFolder(t);
const root = join(scratch, 'project');
writeFiles(root, { 'project-files/disk': 'content', 'tmp/x': 'on its way', 'own.gns3': '{}', empty: '' });
const place = jobPlace(join(scratch, '.wirefarm/work'), root, 'job');
freezeTasks.freezeProject({ ...place, isForOthers: false });
const noted = join(place.notes, 'frozen.json');
const text = readFileSync(noted, 'utf8');

void t.test('the notes lie outside of the project, and name no path of this host', (t) => {
  t.equal(statSync(place.notes).mode & 0o777, 0o700);
  t.notMatch(text, scratch);
  const { files, keptFolder } = readFrozen(place);
  t.equal(keptFolder, join(place.workFolder, 'held'));
  t.same(
    files.map(({ path }) => path),
    ['empty', 'project-files/disk'],
  );
  t.equal(readFileSync(files[1]?.source ?? '', 'utf8'), 'content');
  t.end();
});

void t.test('kept files are looked for in the kept folder only', (t) => {
  for (const source of ['/etc/shadow', '../frozen.json', '..', '.', '', 'held/0', '0/../../x']) {
    for (const keptAs of ['clone', 'link']) {
      const changed = JSON.parse(text) as Noted;
      for (const file of changed.files)
        if (file.path.endsWith('disk')) Object.assign(file, { keptAs, source });
      writeFileSync(noted, JSON.stringify(changed));
      t.throws(() => readFrozen(place), /project-files\/disk is not kept where it should be/, source);
    }
  }
  const changed = JSON.parse(text) as Noted;
  for (const file of changed.files)
    if (file.path.endsWith('disk')) Object.assign(file, { keptAs: 'none', source: '/etc/shadow' });
  writeFileSync(noted, JSON.stringify(changed));
  t.equal(readFrozen(place).files[1]?.source, join(root, 'project-files/disk'));
  t.end();
});
