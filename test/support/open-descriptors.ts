/** The files and sockets that the descriptors of a process lead to. */
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import type { ServerProcess } from './server-process.js';

/** Their targets, but for those of threads, which come with them. Empty where the host does not tell. */
export function descriptorsOf({ child: { pid } }: Pick<ServerProcess, 'child'>): string[] {
  const folder = `/proc/${pid ?? 0}/fd`;
  if (process.platform !== 'linux') return [];
  const targets = readdirSync(folder).map((number) => {
    try {
      return readlinkSync(join(folder, number));
    } catch {
      return 'closed meanwhile';
    }
  });
  return targets.filter((target) => !/^(?:anon_inode|pipe):/.test(target));
}

/** Waits until a server has no more than so many: connections are kept for a while. */
export async function noMoreDescriptors(server: ServerProcess, most: number): Promise<void> {
  try {
    await eventually(`no more than ${most} descriptors`, () =>
      descriptorsOf(server).length <= most ? true : undefined,
    );
  } catch (error) {
    throw new Error(`open: ${descriptorsOf(server).join(', ')}`, { cause: error });
  }
}

/** Waits until a server has no file of a project open, not even one that has lost its name. */
export async function noProjectFiles(server: ServerProcess): Promise<void> {
  const folder = join(server.data, 'projects');
  await eventually('no file of a project is open', () =>
    descriptorsOf(server).some((target) => target.startsWith(`${folder}/`)) ? undefined : true,
  );
}
