/** Reads the file of settings again. Runs in a worker thread. */
import { readLinkedFile } from '../base/disk/linked-file.js';
import type { TaskTable } from '../base/threads/task.js';

/** The text of the file, or the reason why there is none. */
type FoundSettings = { readonly text: string } | { readonly reason: string };

export interface SettingsTasks extends TaskTable {
  readonly readSettings: (input: { readonly path: string; readonly limit: number }) => FoundSettings;
}

export const settingsTasks: SettingsTasks = {
  readSettings({ path, limit }) {
    try {
      return { text: readLinkedFile(path, limit).text };
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error) };
    }
  },
};
