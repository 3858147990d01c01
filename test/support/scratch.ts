/** Folders of a test's own, removed at its end. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Teardown {
  teardown(callback: () => unknown): unknown;
}

export function scratchFolder(t: Teardown): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'wirefarm-')));
  t.teardown(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}
