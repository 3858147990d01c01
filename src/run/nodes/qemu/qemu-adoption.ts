/** Machines whose programs have outlived the server: the memo of one, and how the next server takes it over. */
import { z } from 'zod';
import { endProgram } from '../keeper-programs.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { KeptNode, NodeMemo } from '../kept-programs.js';
import type { MachineNode, NodeHost } from '../machine.js';
import { limitCpu, limiterOf } from './cpu-limit.js';
import { keepConfig, type QemuDiskOptions } from './qemu-disks.js';
import { GuestMemory, type MemoryThreads } from './guest-memory.js';
import type { SavedMemories } from './saved-memories.js';
import { eventsOf, meetQemu, openSerial, QemuRun, socketsIn, undo, type EndStep } from './qemu-run.js';
import type { QmpClient } from './qmp.js';
import { reopenShared } from './guest-adapters.js';

/** A machine that is not met in this time is ended, and started again. */
const MEETING_LIMIT_MS = 10_000;
const RUNS = 'running';
const IS_SUSPENDED = 'paused';
const WAS_SAVED = 'postmigrate';

/** The kind's part of the memo of a machine. */
const qemuMemo = z.object({
  /** The folder of its sockets. */
  folder: z.string(),
  /** The images that it reads, and those that it writes. */
  reads: z.array(z.string()),
  writes: z.array(z.string()),
  hasConfigDisk: z.boolean(),
  /** Its disks and all other files that it has opened. */
  files: z.array(z.string()),
  /** Its memory in bytes, and the parts of its command line by `partsOf`. */
  size: z.number(),
  parts: z.array(z.string()),
  /** The adapters that share memory. */
  shared: z.array(z.number()).default([]),
});

export type QemuMemo = z.infer<typeof qemuMemo>;

const status = z.object({ status: z.string() });

/** The folders of sockets of machines that an earlier server has left. */
export function keptFolders(memos: readonly NodeMemo[]): string[] {
  return memos.flatMap(({ own }) => qemuMemo.safeParse(own).data?.folder ?? []);
}

/** Rejects when a machine cannot be controlled, or was about to be started; the host ends its programs. */
export async function adoptQemu(
  options: QemuDiskOptions & MemoryThreads & { readonly saved: SavedMemories; readonly sockets: NioSockets },
  node: MachineNode,
  kept: KeptNode,
  host: NodeHost,
): Promise<QemuRun> {
  const known = qemuMemo.parse(kept.own);
  const { folder, reads, writes, hasConfigDisk, shared, size } = known;
  const sockets = socketsIn(folder);
  const { files, uses, sockets: opener } = options;
  const [program, ...helpers] = kept.programs;
  const endSteps: EndStep[] = [() => files.run('removeSockets', { path: folder })];
  try {
    for (const path of reads) endSteps.push(uses.begin(path, node.name, 'read'));
    for (const path of writes) endSteps.push(uses.begin(path, node.name, 'write'));
    if (hasConfigDisk)
      endSteps.push(() =>
        keepConfig(options, node, (message) => {
          host.warn(message);
        }),
      );
    for (const helper of helpers) endSteps.push(() => endProgram(helper));
    const place = { name: node.name, sockets: opener, host, folder, size };
    for (const index of shared) await reopenShared(place, files, index);
    const events = eventsOf(node.name, host);
    const control = await meetQemu(files, program, sockets.qmp, events, MEETING_LIMIT_MS);
    if (control === undefined) throw new Error('its program has ended');
    endSteps.push(() => {
      control.close();
    });
    const { status: now } = status.parse(await control.execute('query-status'));
    // The earlier server has died while it saved the memory.
    await options.saved.forget(node);
    if (now === WAS_SAVED) await control.execute('cont');
    else if (now !== RUNS && now !== IS_SUSPENDED) throw new Error(`its guest is in the state ${now}`);
    const isLimited = helpers.some(({ id }) => id === limiterOf(node));
    if (!isLimited) endSteps.push(await limitCpu(options, node, program));
    const { consoleType, properties } = node;
    const console =
      consoleType === 'telnet' ? await openSerial(files, program, control, sockets.console) : undefined;
    endSteps.push(() => console?.close());
    const memory = guestMemoryOf(options, node.name, { control, pid: program.pid }, known);
    return new QemuRun({
      ...{ files, node, host, program, control, console, endSteps, commandLine: kept.commandLine },
      isSuspended: now === IS_SUSPENDED,
      hasCarrier: properties['replicate_network_connection_state'] !== false,
      consoleSocket: console !== undefined || consoleType === 'none' ? undefined : sockets.console,
      ...{ memory, saveMemory: () => options.saved.save(node, memory, known.files, host) },
    });
  } catch (error) {
    await undo(endSteps);
    throw error;
  }
}

/** How a machine that runs is part of snapshots. */
export function guestMemoryOf(
  threads: MemoryThreads,
  name: string,
  machine: { readonly control: QmpClient; readonly pid: number },
  { folder, size, parts, writes }: QemuMemo,
): GuestMemory {
  const { memory: socket } = socketsIn(folder);
  return new GuestMemory({ threads, name, ...machine, socket, size, parts, writesImages: writes.length > 0 });
}
