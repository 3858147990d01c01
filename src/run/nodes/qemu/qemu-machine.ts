/** QEMU machines: which this host can run, and how one is started. */
import { freemem } from 'node:os';
import { join } from 'node:path';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import { qemu } from '../../../lab/kinds/qemu.js';
import { portOwnerOf } from '../../../lab/topology/port-owner.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { ProgramConfinement } from '../../keeper/program.js';
import { endProgram, outputOf } from '../keeper-programs.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';
import { lastLines } from '../printed-text.js';
import { checkCpuLimit, limitCpu } from './cpu-limit.js';
import { kvmOf, type KvmSetting } from './kvm.js';
import { qemuCommand, qemuPlatform, qemuProgramName, type QemuCommand } from './qemu-command.js';
import { prepareDisks, type QemuDiskOptions } from './qemu-disks.js';
import type { PreparedDisks } from './prepared-disks.js';
import { qemuPackage } from './qemu-packages.js';
import { eventsOf, meetQemu, plug, QemuRun, undo, type EndStep } from './qemu-run.js';
import type { QmpClient } from './qmp.js';
import { SerialConsole } from './serial-console.js';
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
/** The name by which QEMU knows the serial port. */
const FIRST_SERIAL_PORT = 'serial0';

export type QemuVersion = readonly [major: number, minor: number];

export interface QemuOptions extends QemuDiskOptions {
  /** The folder below which guests have their sockets; it belongs to QEMU machines only. */
  readonly socketsFolder: string;
  readonly kvm: KvmSetting;
  /** Whether nodes may have options that reach the host. */
  readonly allowsUnsafe: boolean;
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
    const { files, socketsFolder: root } = this.#options;
    this.#cleared ??= files.run('clearSocketFolders', { root });
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

  async start(host: NodeHost): Promise<Run> {
    const endSteps: EndStep[] = [];
    try {
      return await this.#launch(host, endSteps);
    } catch (error) {
      await undo(endSteps);
      throw error;
    }
  }

  release(): void {
    // A machine that does not run holds nothing.
  }

  /** Adds to `endSteps` what undoes its own steps, at the end of the run or when one fails. */
  async #launch(host: NodeHost, endSteps: EndStep[]): Promise<Run> {
    const { files, socketsFolder: root } = this.#options;
    const { name, properties, consoleType } = this.#node;
    if (properties['on_close'] === 'save_vm_state') throw refusals.savedStateNotSupported(name);
    await checkCpuLimit(this.#options, this.#node);
    const version = await this.#findVersion();
    const isKvm = await this.#findKvm();
    this.#warnOfMemory(host);
    const disks = await prepareDisks(this.#options, this.#node);
    endSteps.push(disks.release);
    for (const warning of disks.warnings) host.warn(`${name}: ${warning}`);
    const folder = await files.run('makeSocketFolder', { root });
    endSteps.push(() => files.run('removeSocketFolder', { path: folder }));
    const sockets = { qmp: join(folder, 'qmp'), console: join(folder, 'console'), tpm: join(folder, 'tpm') };
    const adapters = await host.openUdp([...Array(this.#adapters).keys()]);
    const { network } = this.#node;
    const hasTpm = properties['tpm'] === true;
    if (hasTpm) {
      const confinement = { network, writable: [disks.folder, folder], readable: [] };
      endSteps.push(await startTpm(this.#options, this.#node, disks.folder, sockets.tpm, confinement));
    }
    const { id, home, customAdapters, consolePort } = this.#node;
    const order = qemuCommand({
      node: { id, name, projectId: home.id, projectFolder: home.folder },
      ...{
        properties,
        customAdapters,
        disks,
        images: disks.images,
        consoleType,
        consolePort,
        isKvm,
        version,
      },
      adapters,
      sockets: { ...sockets, tpm: hasTpm ? sockets.tpm : undefined },
      allowsUnsafe: this.#options.allowsUnsafe,
    });
    const program = await this.#spawn(order, {
      network,
      ...filesOf(disks, folder),
      devices: isKvm ? [KVM_DEVICE] : [],
    });
    endSteps.push(() => endProgram(program));
    endSteps.push(await limitCpu(this.#options, this.#node, program));
    const control = await this.#meet(host, program, sockets.qmp);
    endSteps.push(() => {
      control.close();
    });
    const console = consoleType === 'telnet' ? await openSerial(control, sockets.console) : undefined;
    endSteps.push(() => console?.close());
    const hasCarrier = properties['replicate_network_connection_state'] !== false;
    for (let index = 0; hasCarrier && index < this.#adapters; index++)
      if (!host.isPlugged(index)) await plug(control, index, false);
    await control.execute('cont');
    return new QemuRun({
      ...{ node: this.#node, program, control, console, hasCarrier, endSteps },
      commandLine: [order.command, ...order.args].join(' '),
      consoleSocket: console !== undefined || consoleType === 'none' ? undefined : sockets.console,
    });
  }

  /** QEMU looks for files of its own in its working folder first, so that is none of a project. */
  async #spawn({ command, args, niceness }: QemuCommand, confinement: ProgramConfinement): Promise<Program> {
    const { id, name, home } = this.#node;
    const order = { id, command, args, folder: '/', environment: {}, niceness, console: 'pipes' } as const;
    try {
      return await this.#options.keeper.spawn({ ...order, project: home.id, confinement, memo: null });
    } catch (error) {
      throw refusals.nodeNotStarted(name, messageOf(error));
    }
  }

  /** Resolves when QEMU takes commands. Its guest does not run yet. */
  async #meet(host: NodeHost, program: Program, path: string): Promise<QmpClient> {
    const { name } = this.#node;
    const control = await meetQemu(program, path, eventsOf(name, host));
    if (control !== undefined) return control;
    const printed = lastLines(program.output);
    throw refusals.nodeNotStarted(name, printed === '' ? 'QEMU has ended without a word' : printed);
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
  const disks = drives.filter(({ base }) => base === undefined).map(({ path }) => path);
  const read = [...drives.map(({ base }) => base), images.cdrom, images.kernel, images.initrd, images.bios];
  return { writable: [own, folder, ...disks], readable: read.filter((path) => path !== undefined) };
}

/** Connects to the serial port; a break goes over the control socket. */
function openSerial(control: QmpClient, path: string): Promise<SerialConsole> {
  return SerialConsole.open(path, () => {
    control.execute('chardev-send-break', { id: FIRST_SERIAL_PORT }).catch(() => undefined);
  });
}

async function versionOf(keeper: Keeper, command: string): Promise<QemuVersion | undefined> {
  const printed = await outputOf(keeper, { command, args: ['--version'], console: 'pipes' });
  const [, major, minor] = /version (\d{1,4})\.(\d{1,4})/.exec(printed ?? '') ?? [];
  return major === undefined || minor === undefined ? undefined : [Number(major), Number(minor)];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
