/**
 * The folder of unfinished uploads: of each a part, which is what has arrived, and a record beside it. The record is
 * what makes it an upload: it comes after the part and goes before it. A part that is missing has landed. Runs in a
 * disk thread.
 */
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { refusals } from '../errors.js';
import type { TaskTable } from '../pool/task.js';
import { publishBytes } from '../storage/published-file.js';
import { openRegularFile, readRegularFile } from '../storage/regular-file.js';
import { digestFile } from '../transfer/digester.js';
import type { DigestName, Digests } from '../transfer/landing.js';
import { parseRecord, type UploadRecord } from './upload-record.js';

interface UploadPlace {
  readonly folder: string;
  /** A UUID of ours. */
  readonly id: string;
}

export interface StoredUpload {
  readonly record: UploadRecord;
  /** Undefined when there is no part any more. */
  readonly part: { readonly size: number; readonly modifiedMs: number } | undefined;
}

export interface PartTasks extends TaskTable {
  /** Afterwards both are on the disk. Refuses (507) what has no room. */
  readonly createPart: (input: { folder: string; record: UploadRecord }) => void;
  readonly writeRecord: (input: { folder: string; record: UploadRecord }) => void;
  /** At start: what a crash has left behind is removed. */
  readonly loadParts: (input: { folder: string }) => StoredUpload[];
  /** Undefined when there is none. */
  readonly measurePart: (input: UploadPlace) => number | undefined;
  readonly truncatePart: (input: UploadPlace & { length: number }) => void;
  /** Undefined when it is no longer wanted: word 0 is then not 0. */
  readonly digestPart: (
    input: UploadPlace & { digests: readonly DigestName[]; cancelled: Int32Array<SharedArrayBuffer> },
  ) => Digests | undefined;
  readonly removeUpload: (input: UploadPlace) => void;
}

const LARGEST_RECORD = 64 * 1024;
export function partPath({ folder, id }: UploadPlace): string {
  return join(folder, `${id}.part`);
}

function recordPath({ folder, id }: UploadPlace): string {
  return join(folder, `${id}.json`);
}

export const partTasks: PartTasks = {
  createPart({ folder, record }) {
    mkdirSync(folder, { recursive: true });
    const { bavail, bsize } = statfsSync(folder);
    if (record.size > bavail * bsize) throw refusals.uploadNoRoom(record.size, bavail * bsize);
    const part = partPath({ folder, id: record.upload_id });
    closeSync(openSync(part, 'wx', 0o600));
    try {
      publishRecord(folder, record);
    } catch (error) {
      rmSync(part, { force: true });
      throw error;
    }
  },

  writeRecord({ folder, record }) {
    publishRecord(folder, record);
  },

  loadParts({ folder }) {
    mkdirSync(folder, { recursive: true });
    const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
    const known = files.flatMap(({ name }) => readRecord(folder, name) ?? []);
    const kept = new Set(known.flatMap(({ upload_id: id }) => [`${id}.json`, `${id}.part`]));
    for (const { name } of files) {
      if (!kept.has(name) && /\.(json|part|tmp)$/.test(name)) rmSync(join(folder, name), { force: true });
    }
    return known.map((record) => {
      const found = statSync(partPath({ folder, id: record.upload_id }), { throwIfNoEntry: false });
      return { record, part: found && { size: found.size, modifiedMs: found.mtimeMs } };
    });
  },

  measurePart: (place) => statSync(partPath(place), { throwIfNoEntry: false })?.size,

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
    rmSync(recordPath(place), { force: true });
    rmSync(partPath(place), { force: true });
  },
};

function publishRecord(folder: string, record: UploadRecord): void {
  const target = recordPath({ folder, id: record.upload_id });
  publishBytes(folder, target, Buffer.from(JSON.stringify(record)));
}

/** Undefined for a file that is no record under its own name. */
function readRecord(folder: string, name: string): UploadRecord | undefined {
  if (!name.endsWith('.json')) return undefined;
  try {
    const record = parseRecord(readRegularFile(join(folder, name), LARGEST_RECORD).toString());
    return `${record?.upload_id ?? ''}.json` === name ? record : undefined;
  } catch {
    return undefined;
  }
}
