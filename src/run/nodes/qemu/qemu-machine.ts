/** QEMU machines: which this host can run, and how one is started. */
import { freemem } from 'node:os';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import { qemu } from '../../../lab/kinds/qemu.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { KeptMemory } from '../../../lab/lab-run.js';
import { portOwnerOf } from '../../../lab/topology/port-owner.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { ProgramConfinement } from '../../keeper/program.js';
import { endProgram, outputOf } from '../keeper-programs.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { KeptNode, KeptPrograms } from '../kept-programs.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';
import { lastLines } from '../printed-text.js';
import { checkCpuLimit, cpuLimitOf, limitCpu } from './cpu-limit.js';
import { kvmOf, type KvmSetting } from './kvm.js';
import { differenceOf, loadingArgs, loadMemory, partsOf, type MemoryThreads } from './guest-memory.js';
import { qemuCommand, qemuMemory, qemuPlatform, qemuProgramName, type QemuCommand } from './qemu-command.js';
import { keepConfig, prepareDisks, type QemuDiskOptions } from './qemu-disks.js';
import { checkOpened } from './opened-files.js';
import type { PreparedDisks } from './prepared-disks.js';
import { adoptQemu, guestMemoryOf, keptFolders, type QemuMemo } from './qemu-adoption.js';
import { qemuPackage } from './qemu-packages.js';
import {
  eventsOf,
  meetQemu,
  openSerial,
  QemuRun,
  setCarrier,
  socketsIn,
  undo,
  type EndStep,
} from './qemu-run.js';
import type { QmpClient } from './qmp.js';
import type { SavedMemories } from './saved-memories.js';
import { checkShared, openAdapters, sharedAdapters } from './guest-adapters.js';
import { startTpm } from './tpm.js';

const IMAGE_TOOL_MISSING: Ability = {
  isAble: false,
  why: 'the program qemu-img is not installed',
  debianPackage: 'qemu-utils',
};
const SYSTEM_MISSING: Ability = {
  isAble: false,
  why: 'no program of QEMU is installed',
  debianPackage: 'qemu-system-x86',
};
const MEBI = 1024 * 1024;
const KVM_DEVICE = '/dev/kvm';

type QemuVersion = readonly [major: number, minor: number];

interface QemuOptions extends QemuDiskOptions, MemoryThreads {
  /** The folder below which guests have their sockets; it belongs to QEMU machines only. */
  readonly socketsFolder: string;
  readonly kvm: KvmSetting;
  readonly sockets: NioSockets;
  /** Whether nodes may have options that reach the host. */
  readonly allowsUnsafe: boolean;
  /** The programs that an earlier server has left. */
  readonly kept: Pick<KeptPrograms, 'memos'>;
  readonly saved: SavedMemories;
}

/** The things that a program needs. */
interface PreparedMachine {
  readonly disks: PreparedDisks;
  /** The folder of its sockets. */
  readonly folder: string;
  /** The adapters that share the memory of the guest. */
  readonly shared: number[];
  readonly isKvm: boolean;
  readonly order: QemuCommand;
}

/** A program that has been started. */
interface BegunMachine {
  readonly program: Program;
  readonly commandLine: string;
  readonly disks: PreparedDisks;
  readonly known: QemuMemo;
}

export class QemuRunner implements ProgramRunner {
  readonly kind = qemu;
  readonly confinement = { network: 'own' } as const;
  readonly #options: QemuOptions;
  readonly #versions = new Map<string, Promise<QemuVersion | undefined>>();
  #cleared: Promise<void> | undefined;

  constructor(options: QemuOptions) {
    this.#options = options;
  }

  async probe(): Promise<Ability> {
    const { files, socketsFolder: root, kept } = this.#options;
    this.#cleared ??= files.run('clearSocketFolders', { root, except: keptFolders(kept.memos) });
    await this.#cleared.catch(() => undefined);
    const found = await files.run('findQemu', undefined).catch(() => undefined);
    if (found === undefined || found.platforms.length === 0) return SYSTEM_MISSING;
    return found.hasImageTool ? { isAble: true } : IMAGE_TOOL_MISSING;
  }

  newMachine(node: MachineNode): Machine {
    return new QemuMachine(node, this.#options, (program) => this.#versionOf(program));
  }

  /** A program is asked once. Undefined when it cannot be started. */
  #versionOf(program: string): Promise<QemuVersion | undefined> {
    const known = this.#versions.get(program);
    if (known !== undefined) return known;
    const asked = versionOf(this.#options.keeper, program);
    this.#versions.set(program, asked);
    void asked.then((version) => {
      if (version === undefined) this.#versions.delete(program);
    });
    return asked;
  }
}

class QemuMachine implements Machine {
  readonly #node: MachineNode;
  readonly #options: QemuOptions;
  readonly #versionOf: (program: string) => Promise<QemuVersion | undefined>;

  constructor(
    node: MachineNode,
    options: QemuOptions,
    versionOf: (program: string) => Promise<QemuVersion | undefined>,
  ) {
    this.#node = node;
    this.#options = options;
    this.#versionOf = versionOf;
  }

  savedMemory(host: Pick<NodeHost, 'warn'>): Promise<KeptMemory | undefined> {
    return this.#options.saved.find(this.#node, host);
  }

  async start(host: NodeHost, _inputs: Properties, memory?: KeptMemory): Promise<Run> {
    const endSteps: EndStep[] = [];
    try {
      return await this.#launch(host, endSteps, memory);
    } catch (error) {
      await undo(endSteps);
      throw error;
    }
  }

  adopt(kept: KeptNode, host: NodeHost): Promise<Run> {
    return adoptQemu(this.#options, this.#node, kept, host);
  }

  release(): void {
    // A machine that does not run holds nothing.
  }

  /** Adds to `endSteps` what undoes its own steps, at the end of the run or when one fails. */
  async #launch(host: NodeHost, endSteps: EndStep[], memory: KeptMemory | undefined): Promise<Run> {
    const { name, properties } = this.#node;
    const hasMemory = memory !== undefined;
    const { disks, folder, shared, isKvm, order } = await this.#prepare(host, endSteps, hasMemory);
    const parts = partsOf(order.command, order.args);
    const difference = hasMemory ? differenceOf(memory.parts, parts) : undefined;
    if (difference !== undefined) throw refusals.memoryNotLoaded(name, difference);
    const args = [...order.args, ...(hasMemory ? loadingArgs(memory) : [])];
    // There is a network since the adapters are open.
    const { network } = this.#node;
    const confinement = { network, ...filesOf(disks, folder), devices: isKvm ? [KVM_DEVICE] : [] };
    const commandLine = [order.command, ...args].join(' ');
    const known: QemuMemo = {
      ...{ folder, hasConfigDisk: disks.hasConfigDisk, ...imagesOf(disks.drives, disks.images) },
      ...{ size: qemuMemory(properties) * MEBI, parts, files: openedFiles(disks), shared },
    };
    const program = await this.#spawn({ ...order, args }, confinement, host.memo(commandLine, known));
    endSteps.push(() => endProgram(program));
    endSteps.push(await limitCpu(this.#options, this.#node, program));
    return this.#begin(host, endSteps, { program, commandLine, disks, known }, memory);
  }

  /** Makes all ready that the program needs, from its disks to its command line. Adds to `endSteps` as well. */
  async #prepare(host: NodeHost, endSteps: EndStep[], hasMemory: boolean): Promise<PreparedMachine> {
    const { files, socketsFolder: root, sockets: opener, allowsUnsafe } = this.#options;
    const { name, properties, consoleType } = this.#node;
    const shared = sharedAdapters(this.#node, this.#adapters);
    const size = qemuMemory(properties) * MEBI;
    if (shared.length > 0) checkShared(name, this.#node, size);
    const version = await this.#findVersion();
    await checkCpuLimit(this.#options, this.#node);
    const isKvm = await this.#findKvm();
    this.#warnOfMemory(host);
    const disks = await prepareDisks(this.#options, this.#node, hasMemory);
    endSteps.push(disks.release);
    if (disks.hasConfigDisk)
      endSteps.push(() =>
        keepConfig(this.#options, this.#node, (message) => {
          host.warn(message);
        }),
      );
    for (const warning of disks.warnings) host.warn(`${name}: ${warning}`);
    const folder = await files.run('makeSocketFolder', { root });
    endSteps.push(() => files.run('removeSockets', { path: folder }));
    const sockets = socketsIn(folder);
    const place = { name, sockets: opener, host, folder, size };
    const adapters = await openAdapters(place, this.#adapters, shared);
    const hasTpm = properties['tpm'] === true;
    if (hasTpm) {
      const { network } = this.#node;
      const confinement = { network, writable: [disks.folder, folder], readable: [] };
      endSteps.push(await startTpm(this.#options, this.#node, disks.folder, sockets.tpm, confinement));
    }
    const { id, home, customAdapters, consolePort } = this.#node;
    const order = qemuCommand({
      node: { id, name, projectId: home.id, projectFolder: home.folder },
      ...{ properties, customAdapters, disks, images: disks.images },
      ...{ consoleType, consolePort, isKvm, version, adapters, allowsUnsafe },
      sockets: { ...sockets, tpm: hasTpm ? sockets.tpm : undefined },
    });
    return { disks, folder, shared, isKvm, order };
  }

  /** Connects to the program, whose guest does not run yet, and lets the guest go. */
  async #begin(
    host: NodeHost,
    endSteps: EndStep[],
    { program, commandLine, disks, known }: BegunMachine,
    memory: KeptMemory | undefined,
  ): Promise<Run> {
    const { files, saved, allowsUnsafe } = this.#options;
    const { name, properties, consoleType } = this.#node;
    const sockets = socketsIn(known.folder);
    const control = await this.#meet(host, program, sockets.qmp, memory);
    endSteps.push(() => {
      control.close();
    });
    // Options of the operator's choice may have drives of their own.
    if (!allowsUnsafe) await checkOpened({ files, control, pid: program.pid }, disks);
    const console =
      consoleType === 'telnet' ? await openSerial(files, program, control, sockets.console) : undefined;
    endSteps.push(() => console?.close());
    if (memory !== undefined) await this.#load(program, control, sockets.memory, memory);
    const hasCarrier = properties['replicate_network_connection_state'] !== false;
    for (let index = 0; hasCarrier && index < this.#adapters; index++) await setCarrier(control, host, index);
    await saved.forget(this.#node);
    await control.execute('cont');
    const guestMemory = guestMemoryOf(this.#options, name, { control, pid: program.pid }, known);
    return new QemuRun({
      ...{ files, node: this.#node, host, program, control, console, hasCarrier, endSteps },
      ...{ commandLine, isSuspended: false },
      memory: guestMemory,
      saveMemory: () => saved.save(this.#node, guestMemory, known.files, host),
      consoleSocket: console !== undefined || consoleType === 'none' ? undefined : sockets.console,
    });
  }

  /** QEMU looks for its own files in its working folder first, so it does not work in the folder of a project. */
  async #spawn(
    { command, args, niceness }: QemuCommand,
    confinement: ProgramConfinement,
    memo: unknown,
  ): Promise<Program> {
    const { id, name, home } = this.#node;
    const order = { id, command, args, folder: '/', environment: {}, niceness, console: 'pipes' } as const;
    try {
      const cpuPercent = cpuLimitOf(this.#node);
      return await this.#options.keeper.spawn({ ...order, cpuPercent, project: home.id, confinement, memo });
    } catch (error) {
      throw refusals.nodeNotStarted(name, messageOf(error));
    }
  }

  /** Resolves when QEMU takes commands. Its guest does not run yet. */
  async #meet(
    host: NodeHost,
    program: Program,
    path: string,
    memory: KeptMemory | undefined,
  ): Promise<QmpClient> {
    const { name } = this.#node;
    const control = await meetQemu(this.#options.files, program, path, eventsOf(name, host));
    if (control !== undefined) return control;
    const printed = lastLines(program.output);
    const reason = printed === '' ? 'QEMU has ended without a word' : printed;
    // Another QEMU may no longer have the machine that was saved.
    throw memory === undefined
      ? refusals.nodeNotStarted(name, reason)
      : refusals.memoryNotLoaded(name, reason);
  }

  /** Refuses (409) a memory that is not what was saved, or that QEMU does not take. */
  async #load(program: Program, control: QmpClient, socket: string, memory: KeptMemory): Promise<void> {
    try {
      await loadMemory(this.#options, control, socket, memory);
    } catch (error) {
      const printed = lastLines(program.output);
      const { name } = this.#node;
      throw refusals.memoryNotLoaded(
        name,
        [messageOf(error), printed].filter((text) => text !== '').join('\n'),
      );
    }
  }

  /** Refuses (409) a platform that this host has no program for. */
  async #findVersion(): Promise<QemuVersion> {
    const { properties } = this.#node;
    const program = qemuProgramName(properties);
    const version = await this.#versionOf(program);
    if (version !== undefined) return version;
    const why = `the program ${program} is not installed`;
    throw refusals.nodeKindNotAble(qemu.type, why, qemuPackage(qemuPlatform(properties)));
  }

  async #findKvm(): Promise<boolean> {
    const { files, kvm: setting } = this.#options;
    const { name, properties } = this.#node;
    const fault = setting === 'off' ? undefined : await files.run('kvmFault', undefined);
    const platform = qemuPlatform(properties);
    const isKvm = kvmOf({ setting, fault, platform, options: textOf(properties['options']) });
    if (typeof isKvm === 'boolean') return isKvm;
    throw refusals.nodeNotStarted(name, isKvm.why);
  }

  #warnOfMemory(host: NodeHost): void {
    const { name, properties } = this.#node;
    const wanted = Number(properties['ram'] ?? 0);
    const free = Math.floor(freemem() / MEBI);
    if (wanted > free)
      host.warn(`${name} has ${wanted} MiB of memory, and this host has ${free} MiB that are free`);
  }

  get #adapters(): number {
    const { id, properties } = this.#node;
    return qemu.ports(portOwnerOf({ node_id: id, properties }, qemu)).length;
  }
}

/** The files of the server that a machine uses. The folder is that of its sockets. */
function filesOf(
  { folder: own, drives, images }: PreparedDisks,
  folder: string,
): Pick<ProgramConfinement, 'writable' | 'readable'> {
  const { reads, writes } = imagesOf(drives, images);
  return { writable: [own, folder, ...writes], readable: reads };
}

function imagesOf(
  drives: PreparedDisks['drives'],
  { cdrom, kernel, initrd, bios }: PreparedDisks['images'],
): Pick<QemuMemo, 'reads' | 'writes'> {
  const read = [...drives.map(({ base }) => base), cdrom, kernel, initrd, bios];
  const written = drives.filter(({ base }) => base === undefined);
  return {
    reads: read.filter((path) => path !== undefined),
    writes: written.map(({ path }) => path),
  };
}

/** The files that a machine has opened, and that its memory fits. */
function openedFiles({ drives, images, uefi }: PreparedDisks): string[] {
  const { reads } = imagesOf(drives, images);
  return [...drives.map(({ path }) => path), ...reads, ...(uefi === undefined ? [] : [uefi.variables])];
}

async function versionOf(keeper: Keeper, command: string): Promise<QemuVersion | undefined> {
  const printed = await outputOf(keeper, { command, args: ['--version'], console: 'pipes' });
  const [, major, minor] = /version (\d{1,4})\.(\d{1,4})/.exec(printed ?? '') ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
