/** The content of a folder, to be compared with its content later. */
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** A line for all that is below it, with permissions and digests. */
export function folderContent(root: string, leftOut: readonly string[]): string[] {
  const found: string[] = [];
  const look = (folder: string): void => {
    for (const name of namesIn(join(root, folder)).sort()) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (leftOut.includes(path)) continue;
      const full = join(root, path);
      const stats = lstatSync(full);
      const kind = stats.mode.toString(8);
      if (stats.isDirectory()) look(path);
      const what = stats.isSymbolicLink() ? readlinkSync(full) : stats.isFile() ? digestOf(full) : '';
      found.push(`${path} ${kind} ${what}`);
    }
  };
  look('');
  return found;
}

/** None where there is no folder. */
export function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function digestOf(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex');
}
