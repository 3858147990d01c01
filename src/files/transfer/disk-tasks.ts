/** Syncs, renames and other work on whole files that may wait long for the disk. Runs in a disk thread. */
import { randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { slabView } from '../../base/memory/transfer-memory.js';
import type { TaskTable } from '../../base/threads/task.js';
import { cloneFile, readOnlyWhatIsAskedFor } from '../../base/disk/linux-files.js';
import { checkGrowth } from '../../base/disk/disk-floor.js';
import {
  discardFile,
  replaceSynced,
  syncFolder,
  type UnpublishedFile,
} from '../../base/disk/published-file.js';
import { contentVersion, isVersionOf, NO_VERSION } from '../../base/disk/content-version.js';
import { openRegularFile, versionOf } from '../../base/disk/regular-file.js';
import { ContentWriter } from './content-writer.js';
import { createForLanding, landingTarget, temporaryFolder } from './file-place.js';
import {
  type Content,
  type DigestName,
  type Digests,
  type Landed,
  type Twin,
  checkPromise,
} from './landing.js';
import { digestFile } from './digester.js';
import { slabBytes } from './slabs.js';
import type { FilePlace, OpenPart } from './transfer-orders.js';

interface LandInput {
  readonly place: FilePlace;
  readonly mode: number;
  /** Whether the file is synced before the answer. */
  readonly isSynced: boolean;
  readonly twin: Twin | undefined;
}

export interface DiskTasks extends TaskTable {
  /** Gives the file its name; returns its version. If it fails, nothing is left of the file. */
  readonly landFile: (input: LandInput & { file: UnpublishedFile }) => string;
  /** The same for a part, which has a name elsewhere and keeps it if it cannot land. */
  readonly landPart: (input: LandInput & { part: string }) => string;
  /** Lands a whole small upload. Refuses (400) digests that differ from the promised ones. */
  readonly landBytes: (
    input: Omit<LandInput, 'twin'> & {
      bytes: Uint8Array;
      /** The wanted digests besides SHA-256. */
      digests: readonly DigestName[];
      promised: Digests;
    },
  ) => Landed;
  /**
   * Ends an upload whose content was found at the target: the new file is deleted and the present one kept. `compared` is
   * the version of the present file before the comparison. Refuses when it has other content by now.
   */
  readonly keepPresent: (
    input: Omit<LandInput, 'twin'> & { file: UnpublishedFile; content: Content; compared: string },
  ) => string;
  readonly discardFile: (input: UnpublishedFile) => void;
  /** The same for a file whose loop has died and may have discarded it. */
  readonly discardLost: (input: UnpublishedFile) => void;
  /** Closes a part whose loop has died, and keeps it. */
  readonly closeLost: (input: OpenPart) => void;
  /** Reads into a slab; returns the number of bytes, 0 at the end of the file. */
  readonly readSlab: (input: { fd: number; position: number; slab: number; length: number }) => number;
}

const OPEN = constants.O_RDWR | constants.O_NOFOLLOW;
/** For a digest that is never cancelled. */
const WANTED = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

export function diskTasks(memory: SharedArrayBuffer): DiskTasks {
  const slabs = slabBytes(memory);
  return {
    landFile({ file, ...input }) {
      const copy = cloneOf(input.twin, file.temporary);
      try {
        if (copy === undefined) return land(input, file.fd, file.temporary, file.target);
        return landFrom(input, copy, file.target);
      } finally {
        discardFile(file);
        if (copy !== undefined) rmSync(copy, { force: true });
      }
    },

    landPart({ part, ...input }) {
      const temporary = temporaryFolder(input.place);
      const target = landingTarget(input.place, temporary);
      const unpublished = join(temporary, `${randomUUID()}.tmp`);
      const clone = cloneOf(input.twin, unpublished);
      try {
        const version =
          clone === undefined
            ? landPartFrom(input, part, unpublished, target)
            : landFrom(input, clone, target);
        rmSync(part, { force: true });
        return version;
      } finally {
        rmSync(unpublished, { force: true });
        if (clone !== undefined) rmSync(clone, { force: true });
      }
    },

    landBytes({ bytes, digests, promised, ...input }) {
      const { place, mode } = input;
      const { file, present, growth } = createForLanding(place, bytes.length, mode);
      const names = new Set<DigestName>(['sha-256', ...digests, ...(Object.keys(promised) as DigestName[])]);
      const writer = new ContentWriter(file.fd, 0, [...names], { present, growth });
      try {
        while (!writer.take(bytes, () => undefined)) continue;
        const { content, unchanged } = writer.finish();
        checkPromise(promised, content.digests);
        const version =
          unchanged === undefined
            ? publish(input, file.fd, file.temporary, file.target)
            : keep(file.target, content, unchanged, input.isSynced);
        return { ...content, version, isUnchanged: unchanged !== undefined };
      } finally {
        writer.close();
        discardFile(file);
      }
    },

    keepPresent({ place, isSynced, file, content, compared }) {
      try {
        if (landingTarget(place, temporaryFolder(place)) !== file.target) throw refusals.fileForbidden();
        return keep(file.target, content, compared, isSynced);
      } finally {
        discardFile(file);
      }
    },

    discardFile,

    discardLost(file) {
      // If the loop closed the descriptor, its number may belong to another file by now.
      if (isOpenAs(file.fd, file.temporary)) discardFile(file);
      else rmSync(file.temporary, { force: true });
    },

    closeLost({ fd, path }) {
      if (isOpenAs(fd, path)) closeSync(fd);
    },

    readSlab({ fd, position, slab, length }) {
      readOnlyWhatIsAskedFor(fd);
      return readSync(fd, slabView(slabs, slab), 0, length, position);
    },
  };
}

/** Resolves the target again, because its folders may have changed during the upload. */
function land(input: LandInput, fd: number, from: string, target: string): string {
  if (landingTarget(input.place, temporaryFolder(input.place)) !== target) throw refusals.fileForbidden();
  return publish(input, fd, from, target);
}

function publish(
  { mode, isSynced }: Pick<LandInput, 'mode' | 'isSynced'>,
  fd: number,
  from: string,
  target: string,
): string {
  fchmodSync(fd, mode);
  if (isSynced) {
    fsyncSync(fd);
    replaceSynced(from, target);
  } else {
    renameSync(from, target);
  }
  return versionOf(fstatSync(fd, { bigint: true }));
}

/**
 * Keeps the present file, which may not have been synced yet. When another file has taken its place since it was
 * compared, this upload counts as the one before that, and its file has no version any more.
 */
function keep(target: string, { digests }: Content, compared: string, isSynced: boolean): string {
  const { fd, version } = openRegularFile(target);
  try {
    const found = fstatSync(fd, { bigint: true });
    if (!isVersionOf(compared, found)) return NO_VERSION;
    const isTouched = contentVersion(found) !== compared;
    if (isTouched && sha256Of(fd) !== digests['sha-256']) throw refusals.uploadOvertaken();
    if (isSynced) {
      fdatasyncSync(fd);
      syncFolder(dirname(target));
    }
    return version;
  } finally {
    closeSync(fd);
  }
}

function landFrom(input: LandInput, path: string, target: string): string {
  const fd = openSync(path, OPEN);
  try {
    return land(input, fd, path, target);
  } finally {
    closeSync(fd);
  }
}

function isOpenAs(fd: number, path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  try {
    const opened = fstatSync(fd);
    return found?.ino === opened.ino && found.dev === opened.dev;
  } catch {
    return false;
  }
}

/** Renames the part, or a copy if it is on another file system. Only EXDEV tells: one file system can be mounted twice. */
function landPartFrom(input: LandInput, part: string, copy: string, target: string): string {
  try {
    return landFrom(input, part, target);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error;
    checkGrowth(dirname(copy), statSync(part).size);
    copyFileSync(part, copy, constants.COPYFILE_EXCL);
    return landFrom(input, copy, target);
  }
}

/** Makes a file that shares the blocks of the twin, beside the temporary file. Undefined where that is impossible. */
function cloneOf(twin: Twin | undefined, temporary: string): string | undefined {
  if (twin === undefined) return undefined;
  const copy = `${temporary}.twin`;
  try {
    // Checked first, because the copy would wait forever if a FIFO was put in its place.
    if (readVersion(twin.path) !== twin.version) return undefined;
    // The copy is digested, because a version is no proof: the times of a file can be set back.
    if (cloneFile(twin.path, copy) && hasContent(copy, twin.sha256)) return copy;
  } catch {
    // The twin has gone.
  }
  rmSync(copy, { force: true });
  return undefined;
}

function hasContent(path: string, sha256: string): boolean {
  const { fd } = openRegularFile(path);
  try {
    return sha256Of(fd) === sha256;
  } finally {
    closeSync(fd);
  }
}

function sha256Of(fd: number): string | undefined {
  return digestFile(fd, ['sha-256'], WANTED)?.['sha-256'];
}

function readVersion(path: string): string {
  const { fd, version } = openRegularFile(path);
  closeSync(fd);
  return version;
}
