/** This server as a compute of GNS3: its abilities, the numbers it has reserved, and the projects that run here. */
import { randomUUID } from 'node:crypto';
import type { ConsoleReach } from './consoles/console-port.js';
import { availableParallelism, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import type { Engines } from '../engine/control/engines.js';
import { refusals } from '../base/errors/errors.js';
import { Channel } from '../base/streams/channel.js';
import type { ConsolePorts } from '../lab/console-ports.js';
import type { ImageLibrary } from '../files/images/image-library.js';
import { isEmulator } from '../files/images/image-name.js';
import { FILTER_TYPES, type FilterType } from '../lab/topology/link-filters.js';
import type { NodeKind, Properties } from '../lab/kinds/node-kind.js';
import { SERVED_KINDS } from '../lab/kinds/node-kinds.js';
import type { Claims, DiskQuotas } from '../lab/quotas/quotas.js';
import type { Remember } from '../lab/history-event.js';
import type { LicenseSettings } from '../lab/iou-license.js';
import type { ComputeHost } from '../lab/other-computes.js';
import type { Project } from '../lab/projects/project.js';
import type { Projects } from '../lab/projects/projects.js';
import type { ComputeProject } from './compute-project.js';
import { ComputeProjects } from './compute-projects.js';
import { ComputeRun } from './compute-run.js';
import type { ComputeServices } from './compute-services.js';
import { FileLists } from './file-list.js';
import { FilterPlans } from './nodes/filter-plans.js';
import type { ComputeFiles } from './files.js';
import { shownInterface, type ShownInterface } from './host-interfaces.js';
import type { Keeper, Program } from './keeper/keeper.js';
import type { Confinement } from './nodes/confinement.js';
import { DockerRunner, type DockerOptions } from './nodes/docker/docker-machine.js';
import { KeptPrograms } from './nodes/kept-programs.js';
import type { ProgramRunner } from './nodes/machine.js';
import { NatWays } from './nodes/nat/nat-ways.js';
import type { RunningNodes } from './running-nodes.js';
import { Programs } from './nodes/programs.js';
import { DynamipsRunner } from './nodes/dynamips/dynamips-machine.js';
import { IouRunner } from './nodes/iou/iou-machine.js';
import { DiskUses } from './nodes/qemu/disk-uses.js';
import { kvmPlatforms, type KvmSetting } from './nodes/qemu/kvm.js';
import type { QemuDiskOptions } from './nodes/qemu/qemu-disks.js';
import type { MemoryThreads } from './nodes/qemu/guest-memory.js';
import { QemuRunner } from './nodes/qemu/qemu-machine.js';
import { SavedMemories } from './nodes/qemu/saved-memories.js';
import { QemuTools } from './nodes/qemu/qemu-tools.js';
import { VpcsRunner } from './nodes/vpcs/vpcs-machine.js';
import { LinkEnds } from './links/link-ends.js';
import { NioSockets, type NioSocketsOptions } from './links/nio-sockets.js';
import { PathProbes } from './links/path-probes.js';
import { ProjectRoom } from './project-room.js';
import type { SavedStates } from './saved-states.js';
import { ProjectFolders } from './project-folders.js';
import type { UdpPorts } from './links/udp-ports.js';
import type { UdpReach } from './links/udp-reach.js';
import { WantedProject } from './wanted-project.js';

interface LocalComputeOptions extends NioSocketsOptions {
  readonly engines: Engines;
  readonly intake: ComputeServices['intake'];
  readonly udpPorts: UdpPorts;
  /** ATM switches drop cells whose header error control is wrong. */
  readonly refusesBadHec: boolean;
  readonly log: Logger;
  readonly gns3Version: string;
  readonly projectsFolder: string;
  readonly allowsAnyPath: boolean;
  /** The projects of the controller. */
  readonly projects: Projects;
  readonly consolePorts: ConsolePorts;
  readonly bpf: BpfCompiler;
  readonly keeper: Keeper;
  readonly memories: MemoryThreads['memories'];
  readonly images: ImageLibrary;
  readonly archives: ComputeServices['archives'];
  readonly running: RunningNodes;
  readonly savedStates: SavedStates;
  readonly iouLicense: () => LicenseSettings;
  /** The folder for what programs keep between their lives, and for secrets. No client may write there. */
  readonly programFolder: string;
  readonly docker: Pick<DockerOptions, 'keepsNodes' | 'mark' | 'privileges' | 'resources' | 'socket'>;
  readonly consoles: ConsoleReach;
  readonly confinement: Confinement;
  /** Whether programs may start that have the rights of the server. */
  readonly runsUnconfined: boolean;
  /** The folder below which virtual machines have their sockets. */
  readonly guestSocketsFolder: string;
  readonly kvm: KvmSetting;
  /** Bytes of the disk of projects that guests leave free; undefined is the usual part of it. */
  readonly guestFloor: () => number | undefined;
  readonly quotas: Claims & DiskQuotas;
  /** Whether clients may add options to virtual machines that reach the host. */
  readonly allowsUnsafeOptions: boolean;
  readonly remember: Remember;
  /** Called when somebody uses a console of a node of the project. */
  readonly used: ComputeServices['used'];
}

const MEBI = 1024 * 1024;

interface Capabilities {
  readonly node_types: readonly string[];
  readonly platform: string;
  readonly version: string;
}

export class LocalCompute {
  /** Another one after each start: who has told this compute anything before knows that it is forgotten. */
  readonly life = randomUUID();
  readonly channel = new Channel({ namesProjects: true });
  readonly projects: ComputeProjects;
  readonly folders: ProjectFolders;
  readonly fileLists: FileLists;
  /** QEMU beside its nodes. */
  readonly machines: QemuTools;
  readonly dynamips: DynamipsRunner;
  readonly probes: PathProbes;
  readonly reach: UdpReach;
  readonly #files: ComputeFiles;
  readonly #bpf: BpfCompiler;
  readonly #runs = new Map<string, ComputeRun>();
  readonly #wanted = new WeakMap<ComputeProject, WantedProject>();
  readonly #gns3Version: string;
  readonly #images: ImageLibrary;
  readonly #services: ComputeServices;
  readonly #docker: DockerRunner;
  constructor(options: LocalComputeOptions) {
    const { engines, files, udpPorts, consolePorts, refusesBadHec, confinement, consoles } = options;
    this.#files = files;
    this.#bpf = options.bpf;
    this.fileLists = new FileLists(files);
    const { keeper, images, kvm } = options;
    const disks = { keeper, files, images, uses: new DiskUses() };
    this.machines = new QemuTools({
      ...disks,
      kvmPlatforms: async () => {
        const fault = kvm === 'off' ? kvm : await files.run('kvmFault', undefined);
        return fault === undefined ? kvmPlatforms() : [];
      },
    });
    this.#gns3Version = options.gns3Version;
    this.#images = images;
    this.folders = new ProjectFolders(options.projectsFolder, options.projects, files);
    const nat = new NatWays({ keeper, files, interfaces: options.interfaces });
    const sockets = new NioSockets(options);
    this.probes = new PathProbes(options);
    this.reach = options.reach;
    const tables = join(options.programFolder, 'dynamips');
    this.dynamips = new DynamipsRunner({ keeper, files, images, tables, consoles });
    this.#docker = new DockerRunner({
      ...{ ...options.docker, keeper, files, sockets, consoles, confinement },
      displays: join(options.programFolder, 'displays'),
    });
    const kept = new KeptPrograms(udpPorts);
    const runners = [this.#docker, this.dynamips, ...programRunners(options, disks, sockets, kept)];
    const report: ComputeServices['report'] = (projectId, level, message) => {
      const text = JSON.stringify({ message });
      this.channel.emit(`log.${level}`, text, projectId);
      this.folders.ownerOf(projectId)?.tell(`log.${level}`, text);
    };
    this.#services = {
      channel: this.channel,
      consolePorts,
      udpPorts,
      sockets,
      linkEnds: new LinkEnds(),
      refusesBadHec,
      newDevice: (lab) => engines.newDevice(lab),
      log: options.log,
      filterPlans: new FilterPlans(options.bpf),
      programs: new Programs({
        ...{
          runners,
          quotas: options.quotas,
          others: [nat],
          mayBeUnconfined: options.runsUnconfined,
          confinement,
        },
      }),
      kept,
      room: new ProjectRoom({
        ...{ files, quotas: options.quotas, remember: options.remember, floor: options.guestFloor },
        folder: options.projectsFolder,
        known: () => foldersOf(options.projects),
        warn: (projectId, message) => {
          report(projectId, 'warning', message);
        },
      }),
      intake: options.intake,
      running: options.running,
      savedStates: options.savedStates,
      nat,
      consoles,
      files,
      archives: options.archives,
      nodeChanged: (projectId, nodeId, text) => {
        this.channel.emit('node.updated', text, projectId);
        this.folders.ownerOf(projectId)?.nodeChanged(nodeId);
      },
      report,
      remember: options.remember,
      used: options.used,
    };
    this.projects = new ComputeProjects(this.folders, options.allowsAnyPath, this.#services);
  }

  /** The types of node that can run here: programs may be installed while the server runs. */
  async nodeTypes(): Promise<readonly string[]> {
    const unable = new Set(await this.#services.programs.unableKinds());
    return SERVED_KINDS.map(({ type }) => type).filter((type) => !unable.has(type));
  }

  /** Refuses (409) a new node of a kind whose program this host does not have. */
  checkAble(type: string): Promise<void> {
    return this.#services.programs.check(type);
  }

  /**
   * Refuses (409) settings that name an image which is not here: a controller of another host then uploads it, and asks
   * again.
   */
  async checkImages({ type, imageProperties }: NodeKind, properties: Properties): Promise<void> {
    if (!isEmulator(type)) return;
    for (const name of imageProperties.map((key) => properties[key]))
      if (typeof name === 'string' && name !== '') await this.#images.pathOf(type, name);
  }

  /** The wishes of a controller on another host for a project here. */
  wantedOf(project: ComputeProject): WantedProject {
    const known = this.#wanted.get(project);
    if (known !== undefined) return known;
    const wanted = new WantedProject({
      project,
      checkNode: async (kind, properties) => {
        await this.checkAble(kind.type);
        await this.checkImages(kind, properties);
      },
    });
    this.#wanted.set(project, wanted);
    return wanted;
  }

  /** The names of the images of containers. Refuses (409) when there is no engine. */
  async containerImages(): Promise<string[]> {
    try {
      return await this.#docker.imageNames();
    } catch (error) {
      throw refusals.dockerNotAnswering(error instanceof Error ? error.message : String(error));
    }
  }

  async capabilities(): Promise<Capabilities> {
    return {
      node_types: await this.nodeTypes(),
      platform: platform(),
      version: this.#gns3Version,
    };
  }

  /** The abilities of this host. */
  async host(): Promise<Omit<ComputeHost, 'server'>> {
    const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity);
    return {
      memoryMib: Math.floor(memory / MEBI),
      processors: availableParallelism(),
      kvm: await this.machines.kvmPlatforms(),
    };
  }

  /** Runs a project that the controller has opened. In a farm, all that ran here of it for another owner ends first. */
  beginRun(projectId: string, isShared: boolean): ComputeRun {
    const ownerOf = (id: string): Project | undefined => this.folders.ownerOf(id);
    const run = new ComputeRun({ id: projectId, isShared }, this.projects, this.#services, ownerOf);
    this.#runs.set(projectId, run);
    run.listen({
      ending: () => {
        if (this.#runs.get(projectId) === run) this.#runs.delete(projectId);
      },
    });
    return run;
  }

  /** The run of an open project of the controller. */
  runOf(projectId: string): ComputeRun | undefined {
    return this.#runs.get(projectId);
  }

  /** The packet filters that this host can run. */
  async availableFilters(): Promise<readonly FilterType[]> {
    const hasBpf = await this.#bpf.isAvailable;
    return hasBpf ? FILTER_TYPES : FILTER_TYPES.filter(({ type }) => type !== 'bpf');
  }

  async interfaces(): Promise<ShownInterface[]> {
    return (await this.#files.run('findInterfaces', undefined)).map(shownInterface);
  }

  /** Warns the listeners of all labs on an engine that was started again. */
  engineRestarted(labs: readonly string[], reason: string): void {
    const message =
      `The packet engine of this project was restarted (${reason}): ` +
      'frames on their way were lost, and what its switches had learnt is forgotten';
    const { remember } = this.#services;
    remember(undefined, { kind: 'engine_restarted', message: `A packet engine was restarted (${reason})` });
    for (const lab of labs) {
      remember(lab, { kind: 'engine_restarted', message });
      this.channel.emit('log.warning', JSON.stringify({ message }), lab);
      this.folders.ownerOf(lab)?.warn(message);
    }
  }

  /** Call before projects open: nodes of theirs take over these programs of an earlier server. */
  keep(programs: readonly Program[]): void {
    this.#services.kept.hold(programs);
  }

  /** Call when the projects that were open have opened: what no node has taken over ends, and nothing else begins again. */
  async forgetEarlier(): Promise<void> {
    for (const run of [...this.#runs.values()]) await run.settled();
    this.#services.kept.endRest();
    this.#services.running.forgetRest();
  }

  /** Refuses (503) nodes that wait for their start. With `leaves`, programs are left to the next server. */
  stopStarting(leaves: boolean): void {
    this.#services.programs.close(leaves);
    this.machines.close();
  }

  /** Closes all sockets and removes their files. Call only when no engine runs any more. */
  close(): void {
    this.projects.closeSockets();
  }
}

function* foldersOf({ all }: Pick<Projects, 'all'>): Generator<{ id: string; folder: string }> {
  for (const { id, place } of all.values()) yield { id, folder: place.folder };
}

/** One for each kind of program. */
function programRunners(
  options: LocalComputeOptions,
  disks: QemuDiskOptions,
  sockets: NioSockets,
  kept: KeptPrograms,
): ProgramRunner[] {
  const { keeper, files, memories, images, guestSocketsFolder: socketsFolder, kvm } = options;
  const allowsUnsafe = options.allowsUnsafeOptions;
  return [
    new VpcsRunner({ keeper, files }),
    new IouRunner({
      ...{ keeper, files, sockets, images, license: options.iouLicense },
      licenseFolder: join(options.programFolder, 'iou'),
      socketsFolder: join(options.programFolder, 'i'),
      confinement: options.confinement,
    }),
    new QemuRunner({
      ...{ ...disks, memories, sockets, socketsFolder, kvm, allowsUnsafe, kept },
      saved: new SavedMemories({ files, states: options.savedStates }),
    }),
  ];
}
