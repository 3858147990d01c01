/** Checks of what a server has stored: its backups, and the files of its projects. Runs in a worker thread. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../base/errors/errors.js';
import { glanceAtJournal } from '../../base/store/journal-glance.js';
import { digestOf, readTopology, stampOf } from '../../lab/gns3-file/reading.js';
import type { FileRecord, ProjectRecord } from '../../lab/projects/records.js';
import { HEADS } from '../../lab/projects/records.js';
import type { Diagnosis } from './diagnosis.js';
import type { Patient } from './patient.js';

const DAY_MS = 24 * 3600 * 1000;
const OLD_BACKUP_DAYS = 8;
/** The manifest of a backup. */
const NAME = /^[0-9a-f-]{36}\.json$/;
/** So many files that seem to be edited are read. */
const MOST_READ = 200;
const MOST_NAMED = 5;

export function checkData({ backups, parts }: Patient): Diagnosis[] {
  return [checkBackups(backups), checkEdits(parts.state)];
}

/** The manifest of a backup is written last, so its time is that of the backup. */
function checkBackups(folder: string): Diagnosis {
  const id = 'backups.age';
  const manifests = existsSync(folder) ? readdirSync(folder).filter((name) => NAME.test(name)) : [];
  const times = manifests.flatMap(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? [],
  );
  const repair = 'wirefarm backup create';
  if (times.length === 0) {
    const means = 'a lost disk takes the labs along, unless its file system is backed up';
    return { id, level: 'note', found: 'there is no backup', means, repair };
  }
  const days = Math.floor((Date.now() - Math.max(...times)) / DAY_MS);
  const found = `the last backup is ${days === 0 ? 'of the last 24 hours' : `${days} days old`}`;
  if (days < OLD_BACKUP_DAYS) return { id, level: 'ok', found };
  return { id, level: 'warning', found, means: 'a lost disk takes along what was changed since', repair };
}

/** The projects whose files have a content that no server has written. */
function checkEdits(state: string): Diagnosis {
  const id = 'projects.edited';
  if (!existsSync(join(state, 'journal'))) return { id, level: 'ok', found: 'no projects are stored yet' };
  try {
    const first = editedFiles(state);
    // A server remembers the digest of a file before it writes it: one that was written meanwhile is known now.
    const again = first?.length === 0 ? first : editedFiles(state);
    if (first === undefined || again === undefined)
      return { id, level: 'note', found: 'the store is too large to be compared with the files of projects' };
    const edited = again.filter((path) => first.includes(path));
    if (edited.length === 0) return { id, level: 'ok', found: 'no file of a project was edited outside' };
    const shown = edited.slice(0, MOST_NAMED).join(', ');
    return {
      id,
      level: 'warning',
      found: `${edited.length} files of projects were edited by another program: ${shown}`,
      means:
        'the file wins when its project is opened, and a snapshot keeps what was before; the version of an open project ' +
        'wins, and the edited file is kept beside its snapshots',
      repair: 'close and open the project to take the file over, or put the former file back',
    };
  } catch (error) {
    // A store that is damaged or of another version is told by the check of its format.
    return { id, level: 'note', found: `the store cannot be compared with files: ${messageOf(error)}` };
  }
}

function editedFiles(state: string): string[] | undefined {
  const [head = ''] = HEADS;
  const records = glanceAtJournal(state, head);
  if (records === undefined) return undefined;
  const valueOf = new Map(records.map(({ key, value }) => [key.join('/'), value]));
  const edited: string[] = [];
  let read = 0;
  for (const { key, value } of records) {
    const [, projectId, kind] = key;
    if (kind !== 'project' || projectId === undefined) continue;
    const { path, filename } = value as ProjectRecord;
    const file = valueOf.get(`${head}/${projectId}/file`) as FileRecord | undefined;
    const place = join(path, filename);
    const stamp = stampOf(place);
    if (file === undefined || stamp === undefined || stamp === file.stamp || read >= MOST_READ) continue;
    read++;
    if (!file.digests.includes(digestOf(readTopology(place)))) edited.push(place);
  }
  return edited;
}
