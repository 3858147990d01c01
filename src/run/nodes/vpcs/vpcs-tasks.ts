/** The files of VPCS nodes. Runs in a file thread. */
import { lstatSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { publishBytes } from '../../../base/disk/published-file.js';
import { readRegularFile } from '../../../base/disk/regular-file.js';
import { ownFolder } from '../../../base/disk/containment.js';
import type { TaskTable } from '../../../base/threads/task.js';
import { promptOf, STARTUP_SCRIPT } from '../../../lab/kinds/vpcs.js';
import { TEMPORARY } from '../../../lab/projects/folder-layout.js';

const LARGEST_SCRIPT = 1024 * 1024;
const PROMPT_LINE = /^set pcname [^\r\n]*/m;

export interface VpcsTasks extends TaskTable {
  /**
   * Makes the folder of a node that starts. The prompt of its startup script becomes the name of the node. Returns the
   * real path of the folder, and whether there is a script.
   */
  readonly prepareVpcs: (input: { root: string; folder: string; name: string }) => {
    readonly folder: string;
    readonly hasScript: boolean;
  };
}

export const vpcsTasks: VpcsTasks = {
  prepareVpcs({ root, folder: path, name }) {
    const folder = ownFolder(root, path, true);
    const script = join(folder, STARTUP_SCRIPT);
    const found = lstatSync(script, { throwIfNoEntry: false });
    if (found === undefined) return { folder, hasScript: false };
    // The program would follow a link, out of the folder, and write there.
    if (!found.isFile()) rmSync(script, { recursive: true });
    else {
      const text = readRegularFile(script, LARGEST_SCRIPT).toString('latin1');
      const wanted = text.replace(
        PROMPT_LINE,
        () => `set pcname ${Buffer.from(promptOf(name)).toString('latin1')}`,
      );
      if (wanted !== text) {
        publishBytes(ownFolder(root, TEMPORARY, true), script, Buffer.from(wanted, 'latin1'));
      }
    }
    return { folder, hasScript: found.isFile() };
  },
};
