/** Compares the contents of one file of a project with those in a snapshot; the job threads run it for the HTTP thread. */
import { closeSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ownFolder } from '../base/disk/containment.js';
import { openRegularFile } from '../base/disk/regular-file.js';
import { isRefusal, refusals, systemCode } from '../base/errors/errors.js';
import type { TaskTable } from '../base/threads/task.js';
import { SNAPSHOTS } from '../lab/projects/folder-layout.js';
import { JobProgress } from './content/job-progress.js';
import { readManifest } from './content/manifest.js';
import { CONTENT } from './content/objects.js';
import { readStored } from './content/stored-reading.js';
import { lineChanges, type LineChanges } from './line-changes.js';
import { isBelowLeftOut, unpackSnapshot } from './projects/archived-snapshot.js';
import { gns3Archive } from './projects/gns3-snapshots.js';
import type { SnapshotPlace } from './snapshot-tasks.js';

export interface FileChange extends LineChanges {
  /** Texts alone have lines. */
  readonly kind: 'text' | 'binary' | 'large';
  /** In octets; undefined where there is no such file. */
  readonly before: number | undefined;
  readonly after: number | undefined;
}

type FileInput = SnapshotPlace & { workFolder: string; path: string; progress: SharedArrayBuffer };

export interface FileChangeTasks extends TaskTable {
  /** Refuses (404) a path that neither the snapshot nor the project has. */
  readonly compareFile: (input: FileInput) => Promise<FileChange>;
}

/** Larger files are no configurations. */
const LARGEST = 512 * 1024;
const NO_LINES = { added: 0, removed: 0, hunks: [], isCut: false };

export const fileChangeTasks: FileChangeTasks = {
  async compareFile(input) {
    const { listed, root, path } = input;
    if (!isPlain(path) || isBelowLeftOut(path) || listed.form === 'topology') throw refusals.fileMissing();
    const before = await earlierFile(input);
    const after = presentFile(root, path);
    if (before === undefined && after === undefined) throw refusals.fileMissing();
    const sizes = { before: before?.size, after: after?.size };
    const [then, now] = [before, after].map(textOf);
    if (then === undefined || now === undefined) {
      const isLarge = [before, after].some((file) => file !== undefined && file.content === undefined);
      return { kind: isLarge ? 'large' : 'binary', ...sizes, ...NO_LINES };
    }
    return { kind: 'text', ...sizes, ...lineChanges(then, now) };
  },
};

interface ReadFile {
  readonly size: number;
  /** Undefined when it is too large. */
  readonly content: Buffer | undefined;
}

function isPlain(path: string): boolean {
  return !path.includes('\0') && path.split('/').every((name) => !['', '.', '..'].includes(name));
}

async function earlierFile({
  listed,
  root,
  workFolder,
  path,
  progress,
}: FileInput): Promise<ReadFile | undefined> {
  const { snapshot, form } = listed;
  const folder = join(root, SNAPSHOTS);
  if (form === 'gns3') {
    const unpacked = join(workFolder, 'then');
    const wants = (): ((member: string) => boolean) => (member) => member === path;
    await unpackSnapshot(gns3Archive(folder, snapshot), unpacked, new JobProgress(progress), wants);
    return presentFile(unpacked, path);
  }
  const found = readManifest(folder, snapshot.snapshot_id).tree.files.find((file) => file.path === path);
  if (found === undefined) return undefined;
  const { size } = found;
  return { size, content: size > LARGEST ? undefined : readStored(join(folder, CONTENT), found, 0, size) };
}

/** The file as it is now. No link leads to it: a link is a file of its own. */
function presentFile(root: string, path: string): ReadFile | undefined {
  try {
    const folder = dirname(path) === '.' ? root : ownFolder(root, dirname(path));
    const { fd, size } = openRegularFile(join(folder, path.slice(path.lastIndexOf('/') + 1)));
    try {
      return { size, content: size > LARGEST ? undefined : readFileSync(fd) };
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const isThere = !['ENOENT', 'ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '');
    if (isThere && !isRefusal(error, 'file_missing')) throw error;
    return undefined;
  }
}

/** Undefined for what is no text in UTF-8. A file that is not there has no text. */
function textOf(file: ReadFile | undefined): string | undefined {
  if (file === undefined) return '';
  if (file.content === undefined || file.content.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(file.content);
  } catch {
    return undefined;
  }
}
