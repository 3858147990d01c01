/** What a job has noted of the files that it holds is not believed blindly. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readStill, stillTasks } from '../../src/snapshots/still-tasks.js';
import { jobPlace } from '../../src/snapshots/job-place.js';
import { writeFiles } from '../support/file-trees.js';
import { scratchFolder } from '../support/scratch.js';

interface Noted {
  files: { path: string; hold: string; source?: string }[];
}

const scratch = scratchFolder(t);
const root = join(scratch, 'project');
writeFiles(root, { 'project-files/disk': 'content', 'tmp/x': 'on its way', 'own.gns3': '{}', empty: '' });
const place = jobPlace(join(scratch, '.wirefarm/work'), root, 'job');
stillTasks.holdFiles({ ...place, isForOthers: false });
const noted = join(place.notes, 'still.json');
const text = readFileSync(noted, 'utf8');

void t.test('what is noted lies outside of the project, and names no place of this host', (t) => {
  t.equal(statSync(place.notes).mode & 0o777, 0o700);
  t.notMatch(text, scratch);
  const { files, held } = readStill(place);
  t.equal(held, join(place.work, 'held'));
  t.same(
    files.map(({ path }) => path),
    ['empty', 'project-files/disk'],
  );
  t.equal(readFileSync(files[1]?.source ?? '', 'utf8'), 'content');
  t.end();
});

void t.test('nothing that is held is looked for anywhere else', (t) => {
  for (const source of ['/etc/shadow', '../still.json', '..', '.', '', 'held/0', '0/../../x']) {
    for (const hold of ['clone', 'link']) {
      const changed = JSON.parse(text) as Noted;
      for (const file of changed.files) if (file.path.endsWith('disk')) Object.assign(file, { hold, source });
      writeFileSync(noted, JSON.stringify(changed));
      t.throws(() => readStill(place), /project-files\/disk is not held where it should be/, source);
    }
  }
  const changed = JSON.parse(text) as Noted;
  for (const file of changed.files)
    if (file.path.endsWith('disk')) Object.assign(file, { hold: 'none', source: '/etc/shadow' });
  writeFileSync(noted, JSON.stringify(changed));
  t.equal(readStill(place).files[1]?.source, join(root, 'project-files/disk'));
  t.end();
});
