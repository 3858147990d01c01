/**
 * Converts a project of an earlier revision in its folder: keeps the original beside, moves the files that lie elsewhere
 * since then, and writes the topology file. Runs in worker threads. All of it can be done again after a crash.
 */
import { lstatSync, readdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { containedPath, ownFolder } from '../../../base/disk/containment.js';
import { publishBytes, syncFolder } from '../../../base/disk/published-file.js';
import { readRegularFile } from '../../../base/disk/regular-file.js';
import { isRefusal, Refusal, refusals } from '../../../base/errors/errors.js';
import { TEMPORARY } from '../../projects/folder-layout.js';
import { FIRST_SNAPSHOTS, movedFiles, type OlderProject } from './conversion.js';

/** The folders that have files or folders to move; what is below these goes along. */
const MOVING = ['', 'project-files/dynamips', 'project-files/dynamips/configs', FIRST_SNAPSHOTS];
const MOST_ORIGINALS = 100;

/** Returns the bytes of the converted file. Refuses (409) when the folder cannot be written. */
export function convertFolder(
  folder: string,
  filename: string,
  original: Buffer,
  older: OlderProject & { readonly text: string },
): Buffer {
  const bytes = Buffer.from(older.text);
  try {
    keepOriginal(folder, `${filename}.backup${older.revision}`, original);
    moveFiles(folder, older);
    publishBytes(containedPath(folder, TEMPORARY), containedPath(folder, filename), bytes);
  } catch (error) {
    if (isRefusal(error, 'topology_not_converted')) throw error;
    const isKnown = error instanceof Refusal || (error instanceof Error && 'code' in error);
    if (!isKnown) throw error;
    throw refusals.topologyNotConverted(join(folder, filename), error.message);
  }
  return bytes;
}

/** The name is that of GNS3; an original of the same name that differs stays, and this one gets a number. */
function keepOriginal(folder: string, name: string, bytes: Buffer): void {
  for (let number = 1; number <= MOST_ORIGINALS; number++) {
    const place = containedPath(folder, number === 1 ? name : `${name}-${number}`);
    const found = lstatSync(place, { throwIfNoEntry: false });
    if (found === undefined) {
      publishBytes(containedPath(folder, TEMPORARY), place, bytes);
      return;
    }
    if (found.isFile() && found.size === bytes.length && readRegularFile(place, bytes.length).equals(bytes))
      return;
  }
  throw refusals.topologyNotConverted(join(folder, name), 'too many originals of that name lie beside it');
}

function moveFiles(folder: string, older: OlderProject): void {
  const entries = MOVING.flatMap((inner) =>
    entriesOf(join(folder, inner)).map((entry) => ({
      path: inner === '' ? entry.name : `${inner}/${entry.name}`,
      kind: entry.isFile() ? ('file' as const) : ('folder' as const),
    })),
  );
  for (const [from, to] of movedFiles(older, entries)) {
    const [source, target] = [inFolder(folder, from), inFolder(folder, to)];
    // A router that was moved before has its folder.
    if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(source, target);
    syncFolder(dirname(target));
    syncFolder(dirname(source));
  }
}

function entriesOf(folder: string): { readonly name: string; isFile(): boolean }[] {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  return found?.isDirectory() === true ? readdirSync(folder, { withFileTypes: true }) : [];
}

/** The place of a file in folders that are no links. */
function inFolder(root: string, path: string): string {
  return path.includes('/')
    ? join(ownFolder(root, dirname(path), true), basename(path))
    : containedPath(root, path);
}
