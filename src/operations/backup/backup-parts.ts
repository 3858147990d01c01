/**
 * The part of one project in a backup: its files as of one moment, and its snapshots. Each is kept in a content store of its
 * own, so that another backup stores only what is new. Runs in a worker thread.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../base/disk/published-file.js';
import { isOwnPath } from '../../base/disk/own-names.js';
import { isBelow } from '../../base/disk/path-order.js';
import type { Packed } from '../../base/store/store.js';
import { SNAPSHOTS, WORK } from '../../lab/projects/folder-layout.js';
import { ContentStore } from '../../snapshots/content/content-store.js';
import { freezeFiles, type FrozenFile, type FrozenTree } from '../../snapshots/content/frozen-tree.js';
import type { JobProgress } from '../../snapshots/content/job-progress.js';
import { publishManifest } from '../../snapshots/content/manifest.js';
import { makeWorkFolder } from '../../snapshots/freeze-tasks.js';
import { isLeftOut } from '../../snapshots/left-out.js';
import { factsOf } from '../../snapshots/snapshot-list-tasks.js';
import { BACKUP_WORK, partFolder, type PartKind } from './backup-form.js';

/** The project of a part, and the backup that it is for. */
export interface PartPlace {
  /** The folder of backups. */
  readonly folder: string;
  readonly backupId: string;
  readonly projectId: string;
  /** The folder of the project. */
  readonly root: string;
}

interface FrozenPart {
  readonly files: FrozenTree;
  readonly snapshots: FrozenTree | undefined;
}

const MOST_FILES = 500_000;
const FROZEN = 'frozen.json';

/**
 * Keeps all files of the project as they are now. Call it while nothing changes. Programs that go on afterwards write in the
 * folders `written`, and those that could not be held write in `changing` even now.
 */
export function freezePart(
  place: PartPlace,
  earlierId: string | undefined,
  { written, changing }: { written: readonly string[]; changing: readonly string[] },
): void {
  const { root } = place;
  const notes = notesOf(place);
  makeFolder(notes);
  const kept = keptFolder(place);
  const freeze = (kind: PartKind, from: string, isOut: (path: string) => boolean): FrozenTree => {
    const store = new ContentStore(join(place.folder, partFolder(kind, place.projectId)));
    const known = earlierId === undefined ? new Map<string, string>() : store.versions(earlierId);
    const isFiles = kind === 'projects';
    mkdirSync(join(kept, kind));
    return freezeFiles(from, join(kept, kind), {
      isLeftOut: isOut,
      known: (path) => known.get(path),
      isWritten: (path) => isFiles && written.some((name) => isBelow(name, path)),
      mayChange: (path) => isFiles && changing.some((name) => isBelow(name, path)),
      limit: MOST_FILES,
    });
  };
  const frozen: FrozenPart = {
    files: freeze('projects', root, isLeftOut),
    snapshots: existsSync(join(root, SNAPSHOTS))
      ? freeze('project-snapshots', join(root, SNAPSHOTS), isNoSnapshot)
      : undefined,
  };
  writeFileSync(join(notes, FROZEN), JSON.stringify(frozen));
}

/** Stores what `freezePart` has kept, and the records of the project. */
export function storePart(
  place: PartPlace,
  records: Packed,
  progress: JobProgress,
): { readonly size: number; readonly added: number; readonly hasSnapshots: boolean } {
  const text = readFileSync(join(notesOf(place), FROZEN), 'utf8');
  const { files, snapshots } = JSON.parse(text) as FrozenPart;
  // The folder of the project may have gone meanwhile.
  const isElsewhere = !existsSync(keptHere(place));
  const store = (kind: PartKind, frozen: FrozenTree, topology: unknown): { size: number; added: number } => {
    const folder = join(place.folder, partFolder(kind, place.projectId));
    const contents = new ContentStore(folder);
    const taken = isElsewhere ? { ...frozen, files: frozen.files.map(asCopy) } : frozen;
    const { tree, added } = contents.store(place.backupId, taken, progress);
    const sealed = contents.seal(tree, progress);
    const facts = factsOf(sealed);
    const snapshot = { snapshot_id: place.backupId };
    publishManifest(folder, { snapshot, counts: {}, added, ...facts }, topology, sealed);
    return { size: facts.size, added };
  };
  const own = store('projects', files, Buffer.from(records).toString('base64'));
  const kept = snapshots === undefined ? undefined : store('project-snapshots', snapshots, null);
  return {
    size: own.size + (kept?.size ?? 0),
    added: own.added + (kept?.added ?? 0),
    hasSnapshots: kept !== undefined,
  };
}

/** Removes what was kept, whatever there is of it. */
export function forgetPart(place: PartPlace): void {
  const folders = [notesOf(place), join(place.root, WORK, `backup-${place.backupId}`)];
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

function notesOf({ folder, projectId }: PartPlace): string {
  return join(folder, BACKUP_WORK, projectId);
}

function keptHere(place: PartPlace): string {
  return join(notesOf(place), 'kept');
}

/** Second names and clones are possible on the disk of the project alone. */
function keptFolder(place: PartPlace): string {
  const { root, backupId } = place;
  const kept = isOnSameDisk(place)
    ? keptHere(place)
    : join(makeWorkFolder(root, join(root, WORK, `backup-${backupId}`)), 'kept');
  mkdirSync(kept);
  return kept;
}

function isOnSameDisk({ folder, root }: PartPlace): boolean {
  return statSync(folder).dev === lstatSync(root).dev;
}

/** A clone on another disk cannot become an object: it is read. */
function asCopy(file: FrozenFile): FrozenFile {
  return file.keptAs === 'clone' ? { ...file, keptAs: 'copy' } : file;
}

function isNoSnapshot(path: string): boolean {
  return path.startsWith('.') || (!path.includes('/') && isOwnPath(path));
}
