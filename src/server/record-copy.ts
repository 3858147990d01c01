/** The records beside those of projects that a backup of a server of a farm has. */
import { open } from 'node:fs/promises';
import { packRecords } from '../base/store/packing.js';
import type { Key, StoredRecord } from '../base/store/store.js';
import { KEPT } from '../farm/farm-store.js';

export const KEPT_BY_ALL: readonly Key[] = KEPT.map((first) => [first]);
/** Records of a server's run (nodes that run, folders under way, lines of the audit) are no part of it. */
export const KEPT_BY_HOSTS: readonly Key[] = ['token-use', 'session-use', 'project-use', 'image'].map(
  (first) => [first],
);

/** Writes the records to a new file. */
export async function copyRecords(path: string, load: () => Promise<readonly StoredRecord[]>): Promise<void> {
  const packed = packRecords(await load());
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(packed);
    await file.sync();
  } finally {
    await file.close();
  }
}
