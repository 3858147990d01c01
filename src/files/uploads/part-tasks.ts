/**
 * The folder of unfinished uploads. Each has a part with the bytes that have arrived, and a record beside it. An upload
 * exists while its record does: the record is made after the part and deleted before it. A missing part has landed if
 * the record says that it was about to; otherwise somebody has deleted it. Runs in a disk thread.
 */
import {
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { join } from 'node:path';
import type { TaskTable } from '../../base/threads/task.js';
import { checkGrowth } from '../../base/disk/disk-floor.js';
import { publishBytes } from '../../base/disk/published-file.js';
import { openRegularFile, readRegularFile } from '../../base/disk/regular-file.js';
import { digestFile } from '../transfer/digester.js';
import type { DigestName, Digests } from '../transfer/landing.js';
import { parseRecord, type UploadRecord, partPath, type UploadPlace } from './upload-request.js';

export interface StoredUpload {
  readonly record: UploadRecord;
  /** Undefined when there is no part any more. */
  readonly part: { readonly size: number; readonly modifiedMs: number } | undefined;
}

export interface PartLoading extends TaskTable {
  /** Called at start; removes the remains of a crash. */
  readonly loadParts: (input: { folder: string }) => StoredUpload[];
}

export interface PartTasks extends TaskTable {
  /** Nothing is synced, as a power cut loses nothing of an upload without bytes. Refuses (507) a size without room. */
  readonly createPart: (input: { folder: string; record: UploadRecord }) => void;
  /** Writes and syncs the record. */
  readonly writeRecord: (input: { folder: string; record: UploadRecord }) => void;
  /** The length of the part; undefined when there is none. */
  readonly measurePart: (input: UploadPlace) => number | undefined;
  readonly truncatePart: (input: UploadPlace & { length: number }) => void;
  /** Undefined when it was cancelled by setting word 0. */
  readonly digestPart: (
    input: UploadPlace & { digests: readonly DigestName[]; cancelled: Int32Array<SharedArrayBuffer> },
  ) => Digests | undefined;
  readonly removeUpload: (input: UploadPlace) => void;
}

const LARGEST_RECORD = 64 * 1024;
function recordPath({ folder, id }: UploadPlace): string {
  return join(folder, `${id}.json`);
}

/** In a file thread: a server that is not uploaded to has no disk threads. */
export const partLoading: PartLoading = {
  loadParts({ folder }) {
    mkdirSync(folder, { recursive: true });
    const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    const known = files.flatMap(({ name }) => readRecord(folder, name) ?? []);
    const kept = new Set(known.flatMap(({ upload_id: id }) => [`${id}.json`, `${id}.part`]));
    for (const { name } of files) {
      if (!kept.has(name) && /\.(json|part|tmp)$/.test(name)) rmSync(join(folder, name), { force: true });
    }
    return known.map((record) => {
      const found = partStats({ folder, id: record.upload_id });
      return { record, part: found && { size: found.size, modifiedMs: found.mtimeMs } };
    });
  },
};

export const partTasks: PartTasks = {
  createPart({ folder, record }) {
    mkdirSync(folder, { recursive: true });
    checkGrowth(folder, record.size);
    const part = partPath({ folder, id: record.upload_id });
    closeSync(openSync(part, 'wx', 0o600));
    try {
      writeFileSync(recordPath({ folder, id: record.upload_id }), JSON.stringify(record), {
        flag: 'wx',
        mode: 0o600,
      });
    } catch (error) {
      partTasks.removeUpload({ folder, id: record.upload_id });
      throw error;
    }
  },

  writeRecord({ folder, record }) {
    const target = recordPath({ folder, id: record.upload_id });
    publishBytes(folder, target, Buffer.from(JSON.stringify(record)));
  },

  measurePart: (place) => partStats(place)?.size,

  truncatePart({ length, ...place }) {
    truncateSync(partPath(place), length);
  },

  digestPart({ digests, cancelled, ...place }) {
    const { fd } = openRegularFile(partPath(place));
    try {
      return digestFile(fd, digests, cancelled);
    } finally {
      closeSync(fd);
    }
  },

  removeUpload(place) {
    for (const path of [recordPath(place), partPath(place)]) rmSync(path, { recursive: true, force: true });
  },
};

/** Undefined where there is no part. A link, a folder or a FIFO in its place is none, and is not written to. */
function partStats(place: UploadPlace): Stats | undefined {
  const found = lstatSync(partPath(place), { throwIfNoEntry: false });
  return found?.isFile() === true ? found : undefined;
}

/** Undefined for a file that is no record, or has another name than its record. */
function readRecord(folder: string, name: string): UploadRecord | undefined {
  if (!name.endsWith('.json')) return undefined;
  try {
    const record = parseRecord(readRegularFile(join(folder, name), LARGEST_RECORD).toString());
    return `${record?.upload_id ?? ''}.json` === name ? record : undefined;
  } catch {
    return undefined;
  }
}
