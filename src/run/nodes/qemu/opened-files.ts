/**
 * Compares what QEMU has opened with the files that were checked: between the two another file, or another backing file in
 * it, may have been put in the place of one.
 */
import { basename } from 'node:path';
import { z } from 'zod';
import { refusals } from '../../../base/errors/errors.js';
import type { ComputeFiles } from '../../files.js';
import type { PreparedDisks } from './prepared-disks.js';
import type { QmpClient } from './qmp.js';

const blockNodes = z.array(z.object({ file: z.string() }));

interface OpenedDisks {
  readonly files: ComputeFiles;
  readonly control: QmpClient;
  /** The process of QEMU. Its guest does not run yet. */
  readonly pid: number;
}

/** Refuses (409) a machine whose QEMU has opened a file that was not checked. */
export async function checkOpened({ files, control, pid }: OpenedDisks, disks: PreparedDisks): Promise<void> {
  const checked = new Set(checkedFiles(disks));
  // The names by which QEMU reached the files and what they lie upon, and where these names have led to.
  const named = blockNodes.parse(await control.execute('query-named-block-nodes')).map(({ file }) => file);
  const opened = await files.run('openedFiles', { pid });
  const other = [...named, ...opened].find((path) => !checked.has(path));
  if (other === undefined) return;
  throw refusals.diskRefused(basename(other), 'QEMU has opened it, but another file was checked before');
}

function checkedFiles({ drives, images, uefi }: PreparedDisks): string[] {
  return [
    ...drives.flatMap(({ path, base }) => [path, base]),
    ...[images.cdrom, images.kernel, images.initrd, images.bios],
    ...(uefi === undefined ? [] : [uefi.code, uefi.variables]),
  ].filter((path) => path !== undefined);
}
