/** What the files of captures take of the disk. Runs in a worker thread. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskTable } from '../base/threads/task.js';

export interface UsageTasks extends TaskTable {
  /** Of the files in a folder, which need not exist, but those of these names. */
  readonly measureUsage: (input: { folder: string; except: readonly string[] }) => number;
}

export const usageTasks: UsageTasks = {
  measureUsage({ folder, except }) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return 0;
    let octets = 0;
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (!entry.isFile() || except.includes(entry.name)) continue;
      // It may be deleted meanwhile.
      octets += statSync(join(folder, entry.name), { throwIfNoEntry: false })?.size ?? 0;
    }
    return octets;
  },
};
