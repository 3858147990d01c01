/** IOU nodes: each is a process of its image, whose frames pass a bridge on the engine. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { refusals } from '../../../base/errors/errors.js';
import type { ImageLibrary } from '../../../files/images/image-library.js';
import type { LicenseSettings } from '../../../lab/iou-license.js';
import { iou } from '../../../lab/kinds/iou.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { Confinement } from '../confinement.js';
import { endProgram } from '../keeper-programs.js';
import type { KeptNode } from '../kept-programs.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';
import type { IouFolder, IouReady } from './iou-tasks.js';
import { netioSockets, type NetioSockets } from './netio-paths.js';
import { bridgeOf } from './netmap.js';

interface IouOptions {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly sockets: NioSockets;
  readonly images: Pick<ImageLibrary, 'pathOf'>;
  /** The folder of licence files, for the user of the server alone. */
  readonly licenseFolder: string;
  /** The licence at this moment. */
  readonly license: () => LicenseSettings;
  /** The folder below which confined images have their sockets. */
  readonly socketsFolder: string;
  readonly confinement: Pick<Confinement, 'userOf'>;
}

const OTHER_PROCESSOR: Ability = {
  isAble: false,
  why: 'IOU images are programs for Linux on PCs',
  debianPackage: 'qemu-user-static',
};
/** Images are programs for these. */
const PROCESSORS: readonly string[] = ['x64', 'ia32'];
/** How often the NVRAM of a node that runs is looked at. */
const SAVE_MS = 2000;
/** How often the socket of an image that starts is looked for, at first. */
const JOIN_MS = 10;
/** The adapters of each sort that an image has by itself. */
const USUAL_ADAPTERS = 2;
/** The device's port for the socket of the image. */
const SOCKET_PORT = 0;

export class IouRunner implements ProgramRunner {
  readonly kind = iou;
  readonly confinement = { network: 'own' } as const;
  readonly #options: IouOptions;

  constructor(options: IouOptions) {
    this.#options = options;
  }

  probe(): Promise<Ability> {
    const isAble = process.platform === 'linux' && PROCESSORS.includes(process.arch);
    return Promise.resolve(isAble ? { isAble } : OTHER_PROCESSOR);
  }

  newMachine(node: MachineNode): Machine {
    return new IouMachine(node, this.#options);
  }
}

/** The kind's part of the memo of an image that runs. */
const iouMemo = z.object({
  applicationId: z.int(),
  sockets: netioSockets,
  /** The path of its licence file. */
  license: z.string().optional(),
});

type IouMemo = z.infer<typeof iouMemo>;
type ReadyNode = Exclude<IouReady, { fault: string }> & { readonly image: string };

class IouMachine implements Machine {
  readonly #node: MachineNode;
  readonly #options: IouOptions;

  constructor(node: MachineNode, options: IouOptions) {
    this.#node = node;
    this.#options = options;
  }

  get device() {
    const image = this.#applicationId ?? 0;
    return { kind: 'netio_bridge', settings: { image, bridge: bridgeOf(image) } } as const;
  }

  async start(host: NodeHost, inputs: Properties): Promise<Run> {
    const { id, home, properties } = this.#node;
    const { keeper, sockets } = this.#options;
    const applicationId = this.#applicationId;
    if (applicationId === undefined) throw this.#notStarted('it has no application id');
    if (properties['l1_keepalives'] === true)
      throw this.#notStarted('this server sends no keepalives: set l1_keepalives to false');
    // Its frames pass Unix sockets; its network has nothing but loopback.
    await host.openUdp([]);
    const { network } = this.#node;
    const ready = await this.#prepare(applicationId, inputs);
    const args = [...switchesOf(properties), String(applicationId)];
    const environment = ready.license === undefined ? {} : { IOURC: ready.license };
    const { command, folder, image, license } = ready;
    const commandLine = [command, ...args].join(' ');
    const { bridge, peer, own } = ready.sockets;
    const known: IouMemo = { applicationId, sockets: ready.sockets, license };
    let program: Program;
    try {
      await host.attach(SOCKET_PORT, sockets.openUnix(bridge, peer));
      program = await keeper.spawn({
        ...{ id, command, args, folder, environment, console: 'pipes' },
        project: home.id,
        confinement: {
          network,
          writable: [folder, ...(license === undefined ? [] : [license])],
          readable: [image],
          moved: own === undefined ? [] : [own.shown],
        },
        memo: host.memo(commandLine, known),
      });
    } catch (error) {
      await this.#clear(known);
      throw error instanceof Error && !('code' in error) ? this.#notStarted(error.message) : error;
    }
    return this.#runOf(program, commandLine, known, host);
  }

  async adopt({ programs: [program], commandLine, own }: KeptNode, host: NodeHost): Promise<Run> {
    const { files, sockets } = this.#options;
    const known = iouMemo.parse(own);
    if (known.applicationId !== this.#applicationId) throw new Error('it has another application id');
    if (!(await files.run('rejoinIou', known.sockets))) throw new Error('another program has its socket');
    await host.attach(SOCKET_PORT, sockets.openUnix(known.sockets.bridge, known.sockets.peer));
    // An earlier server may have let it stand still.
    program.kill('SIGCONT');
    return this.#runOf(program, commandLine, known, host);
  }

  #runOf(program: Program, commandLine: string, known: IouMemo, host: NodeHost): Run {
    void this.#join(program, known.sockets);
    const ended = this.#follow(program, known, host);
    return {
      commandLine,
      ended,
      get output() {
        return program.output;
      },
      console: program,
      haltable: program,
      stop: async () => {
        await endProgram(program);
        await ended;
      },
    };
  }

  release(): void {
    // The application id is a property of the node.
  }

  get #applicationId(): number | undefined {
    const { application_id: id } = this.#node.properties;
    return typeof id === 'number' ? id : undefined;
  }

  async #prepare(applicationId: number, inputs: Properties): Promise<ReadyNode> {
    const { id, home, folder, properties } = this.#node;
    const { files, images, licenseFolder, license, socketsFolder, confinement } = this.#options;
    const { content, isChecked } = licenseOf(license(), inputs);
    if (isChecked && content.trim() === '')
      throw this.#notStarted('IOU images need a licence: set one in the preferences');
    const image = await images.pathOf('iou', String(properties['path']));
    const ready = await files.run('prepareIou', {
      ...{ root: home.folder, folder, applicationId, image, nvram: Number(properties['nvram']) },
      license: { folder: licenseFolder, name: id, content },
      own:
        this.#node.network === undefined
          ? undefined
          : { user: confinement.userOf(id), root: socketsFolder, name: id },
    });
    if ('fault' in ready) throw this.#notStarted(ready.fault);
    return { ...ready, image };
  }

  /** Lets the engine find the socket of the image when it is there. */
  async #join(program: Program, sockets: NetioSockets): Promise<void> {
    for (let wait = JOIN_MS; program.isRunning; wait = Math.min(2 * wait, SAVE_MS)) {
      if (await this.#options.files.run('joinIou', sockets).catch(() => false)) return;
      await delay(wait, undefined, { ref: false });
    }
  }

  /** Copies the configurations out of the NVRAM now and then, and when the image has ended. */
  async #follow(program: Program, known: IouMemo, host: NodeHost) {
    const { home, folder } = this.#node;
    const place = { root: home.folder, folder, applicationId: known.applicationId };
    let seen = await this.#save(place, '', host);
    const timer = new AbortController();
    void program.ended.then(() => {
      timer.abort();
    });
    while (program.isRunning) {
      await delay(SAVE_MS, undefined, { signal: timer.signal, ref: false }).catch(() => undefined);
      seen = await this.#save(place, seen, host);
    }
    const end = await program.ended;
    await this.#save(place, seen, host);
    await this.#clear(known);
    return end;
  }

  async #save(place: IouFolder, seen: string, host: NodeHost): Promise<string> {
    try {
      const saved = await this.#options.files.run('saveIou', { ...place, seen });
      if (saved.isChanged) host.changed();
      return saved.seen;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (seen !== 'unreadable')
        host.warn(`The configuration of ${this.#node.name} could not be saved: ${reason}`);
      return 'unreadable';
    }
  }

  async #clear({ sockets, license }: IouMemo): Promise<void> {
    await this.#options.files.run('clearIou', { sockets, license }).catch(() => undefined);
  }

  #notStarted(reason: string): Error {
    return refusals.nodeNotStarted(this.#node.name, reason);
  }
}

/** A controller of another server sends its licence with each start; it comes before that of this server. */
function licenseOf(own: LicenseSettings, { iourc_content: sent, license_check: isSentChecked }: Properties) {
  return {
    content: typeof sent === 'string' && sent !== '' ? sent : own.iourc_content,
    isChecked: typeof isSentChecked === 'boolean' ? isSentChecked : own.license_check,
  };
}

function switchesOf(properties: MachineNode['properties']): string[] {
  const {
    ethernet_adapters: ethernet,
    serial_adapters: serial,
    use_default_iou_values: usesDefaults,
    nvram,
    ram,
  } = properties;
  return [
    ...(ethernet === USUAL_ADAPTERS ? [] : ['-e', String(ethernet)]),
    ...(serial === USUAL_ADAPTERS ? [] : ['-s', String(serial)]),
    ...(usesDefaults === true ? [] : ['-n', String(nvram), '-m', String(ram)]),
  ];
}
