/** The TPM of a machine: the program swtpm beside its QEMU. */
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import type { ProgramConfinement } from '../../keeper/program.js';
import { endProgram } from '../keeper-programs.js';
import type { MachineNode } from '../machine.js';
import { lastLines } from '../printed-text.js';
import { tpmCommand, type QemuDiskOptions } from './qemu-disks.js';

const LOOK_MS = 20;

/** Resolves when the TPM listens at the socket, with what ends it. `folder` is that of the node. */
export async function startTpm(
  { keeper, files }: Pick<QemuDiskOptions, 'keeper' | 'files'>,
  node: MachineNode,
  folder: string,
  socket: string,
  confinement: ProgramConfinement,
): Promise<() => Promise<void>> {
  const command = await tpmCommand(files, node, folder, socket);
  const how = { environment: {}, console: 'pipes', memo: null } as const;
  const order = { ...command, ...how, project: node.home.id, confinement };
  const program = await keeper.spawn(order).catch((error: unknown) => {
    throw refusals.nodeNotStarted(node.name, messageOf(error));
  });
  while (program.isRunning) {
    if (await files.run('isThere', { path: socket })) return () => endProgram(program);
    await sleep(LOOK_MS);
  }
  throw refusals.nodeNotStarted(node.name, `its TPM has ended: ${lastLines(program.output)}`);
}
