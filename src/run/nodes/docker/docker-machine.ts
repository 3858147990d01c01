/**
 * Containers of a Docker engine, which runs their processes. Each adapter is a TAP whose descriptor an engine of this
 * server holds, and whose interface is moved into the container.
 *
 * A container is made at the first start of its node, and kept until the node is closed or its settings are others. A
 * program of the keeper stands for each container that runs. All processes of a container have the mark of the server
 * in their environment, and the keeper ends processes of that mark whose program it does not have. So containers end
 * with the server, however that ends.
 */
import type { ConsoleReach } from '../../consoles/console-port.js';
import type { PortEndpoint } from '../../../engine/forwarding/transport.js';
import { refusals } from '../../../base/errors/errors.js';
import { docker } from '../../../lab/kinds/docker.js';
import type { NodePort } from '../../../lab/kinds/port.js';
import { portOwnerOf } from '../../../lab/topology/port-owner.js';
import { AuxiliaryConsole } from '../../consoles/auxiliary-console.js';
import type { ConsoleOpener } from '../../consoles/socket-relay.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { Confinement } from '../confinement.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';
import { ConsoleTarget } from './console-target.js';
import { ContainerConsole } from './container-console.js';
import {
  ContainerDisplay,
  displayFolder,
  displaySockets,
  type DisplayServices,
} from './container-display.js';
import { ContainerRun, type ContainerHelper } from './container-run.js';
import {
  auxiliaryCommand,
  containerName,
  containerSettings,
  persistentPaths,
  type ImageDescription,
  type Privileges,
} from './container-settings.js';
import { moveTaps, newTapName, type ContainerTap } from './container-taps.js';
import { DockerClient, DockerError } from './docker-client.js';
import { DockerEngine } from './docker-engine.js';

/** The steps of a download are told at most so often. */
const TOLD_MS = 2000;

/** The port of a web server in a container, when its node names none. */
const HTTP_PORT = 80;

export interface DockerOptions extends DisplayServices {
  /** The path of the engine's socket. */
  readonly socket: string;
  /** Tells what belongs to this server from what belongs to others. */
  readonly mark: string;
  /** The folder of the files that all containers see. */
  readonly resources: string;
  readonly privileges: Privileges;
  /** Whether other nodes live on without the server: people are told that containers do not. */
  readonly keepsNodes: boolean;
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly confinement: Pick<Confinement, 'connect' | 'networkOf' | 'openNetwork' | 'problem'>;
  readonly sockets: NioSockets;
  readonly consoles: ConsoleReach;
}

interface DockerServices extends DockerOptions {
  readonly engine: DockerEngine;
  /** Makes the files that all containers see, once. */
  readonly prepare: () => Promise<void>;
}

export class DockerRunner implements ProgramRunner {
  readonly kind = docker;
  readonly #services: DockerServices;
  #prepared: Promise<void> | undefined;
  #hasCleaned = false;

  constructor(options: DockerOptions) {
    const engine = new DockerEngine(new DockerClient(options.socket));
    this.#services = { ...options, engine, prepare: () => this.#prepare() };
  }

  /** Containers that an earlier life of this server has left are removed before the first one starts. */
  async probe(): Promise<Ability> {
    if (process.platform !== 'linux') return { isAble: false, why: 'containers run on Linux only' };
    const { engine, files, mark } = this.#services;
    try {
      await engine.open();
    } catch (error) {
      return { isAble: false, why: reasonOf(error), debianPackage: 'docker.io' };
    }
    try {
      if (!(await files.run('hasProgram', { name: 'ip' })))
        return { isAble: false, why: 'the program ip is not installed', debianPackage: 'iproute2' };
      if (!(await files.run('hasStaticBusybox', undefined))) {
        const why = 'there is no /bin/busybox without libraries';
        return { isAble: false, why, debianPackage: 'busybox-static' };
      }
      const missing = await files.run('missingRights', undefined);
      if (missing.length > 0) return { isAble: false, why: `the server lacks ${missing.join(', ')}` };
      const { sockets } = this.#services;
      sockets.close(sockets.openTap(newTapName()));
      if (!this.#hasCleaned) await engine.removeAll(mark);
      this.#hasCleaned = true;
      return { isAble: true };
    } catch (error) {
      return { isAble: false, why: reasonOf(error) };
    }
  }

  newMachine(node: MachineNode): Machine {
    return new DockerMachine(node, this.#services);
  }

  /** The names of the images that the engine has. Rejects with a reason for the user. */
  imageNames(): Promise<string[]> {
    return this.#services.engine.imageNames();
  }

  #prepare(): Promise<void> {
    const { files, resources: folder } = this.#services;
    this.#prepared ??= files.run('prepareContainers', { folder }).catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }
}

class DockerMachine implements Machine {
  readonly #node: MachineNode;
  readonly #services: DockerServices;
  /** The container that is there, and what it was made of. */
  #container: { readonly id: string; readonly settings: string } | undefined;

  constructor(node: MachineNode, services: DockerServices) {
    this.#node = node;
    this.#services = services;
  }

  /** Gets the image when the engine does not have it. */
  async prepare(host: NodeHost): Promise<void> {
    const { engine } = this.#services;
    const { name } = this.#node;
    const image = this.#image;
    await this.#refusing(async () => {
      if ((await engine.image(image)) !== undefined) return;
      host.inform(`${name} needs the image ${image}, which is being downloaded`);
      let toldAt = performance.now();
      await engine.pull(image, (step) => {
        if (performance.now() - toldAt < TOLD_MS) return;
        toldAt = performance.now();
        host.inform(`${image}: ${step}`);
      });
    });
  }

  start(host: NodeHost): Promise<Run> {
    return this.#refusing(async () => {
      const helpers: ContainerHelper[] = [];
      try {
        return await this.#start(host, helpers);
      } catch (error) {
        for (const helper of helpers) await helper.close();
        throw error;
      }
    });
  }

  async release(): Promise<void> {
    const { files } = this.#services;
    await this.#remove();
    await files.run('removeTree', { folder: displayFolder(this.#services, this.#node.id) });
  }

  /** The run closes the helpers when the container has ended; when this rejects, the caller does. */
  async #start(host: NodeHost, helpers: ContainerHelper[]): Promise<Run> {
    const { engine, sockets } = this.#services;
    const { name, consoleType } = this.#node;
    const ports = this.#ports;
    let openConsole: ConsoleOpener | undefined;
    if (consoleType === 'vnc') {
      const display = await ContainerDisplay.start(this.#node, this.#services, host);
      helpers.push(display);
      openConsole = display.open;
    }
    const { id, commandLine } = await this.#prepareContainer(ports);
    const endpoints: PortEndpoint[] = [];
    const taps: ContainerTap[] = [];
    for (const [index, { mac_address: address = '' }] of ports.entries()) {
      const tap = { name: newTapName(), address, index };
      const endpoint = sockets.openTap(tap.name);
      await host.attach(index, endpoint);
      if (!host.isPlugged(index)) sockets.setCarrier(endpoint, false);
      endpoints.push(endpoint);
      taps.push(tap);
    }
    const guard = await this.#spawnGuard();
    let console: ContainerConsole | undefined;
    try {
      console = new ContainerConsole(await engine.attach(id));
      await engine.start(id);
      await this.#wire(id, taps, guard);
      await this.#openAux(id, helpers, host);
      if (consoleType === 'http' || consoleType === 'https') openConsole = await this.#reach(id, helpers);
    } catch (error) {
      console?.close();
      await engine.kill(id).catch(() => undefined);
      guard.kill('SIGKILL');
      await guard.ended;
      throw error;
    }
    if (this.#services.keepsNodes)
      host.inform(`${name} ends with the server: containers do not live on without it`);
    const parts = { id, commandLine, console, endpoints, guard, openConsole, helpers };
    return new ContainerRun(this.#services, parts);
  }

  /** A shell beside the command of the container. One that has ended already has none. */
  async #openAux(id: string, helpers: ContainerHelper[], { used }: Pick<NodeHost, 'used'>): Promise<void> {
    const { aux: port } = this.#node.properties;
    if (typeof port !== 'number') return;
    const { engine, consoles: reach } = this.#services;
    if (!(await engine.state(id)).isRunning) return;
    const source = new ContainerConsole(await engine.execute(id, auxiliaryCommand()));
    helpers.push(await AuxiliaryConsole.open(this.#node, { reach, port }, source, used));
  }

  /** Opens connections to the web server in the container. One that has ended already has none. */
  async #reach(id: string, helpers: ContainerHelper[]): Promise<ConsoleOpener | undefined> {
    const { engine, confinement } = this.#services;
    const { pid } = await engine.state(id);
    if (pid === 0) return undefined;
    const network = await confinement.networkOf(pid);
    const target = new ConsoleTarget(confinement, network, () => {
      const { console_http_port: port } = this.#node.properties;
      return typeof port === 'number' ? port : HTTP_PORT;
    });
    helpers.push(target);
    // Another process may have the number of one that has ended.
    return (await engine.state(id)).pid === pid ? target.open : undefined;
  }

  /** A container that has ended has nothing to wire: its run says why it has ended. */
  async #wire(id: string, taps: readonly ContainerTap[], guard: Program): Promise<void> {
    const { engine, keeper } = this.#services;
    const { pid } = await engine.state(id);
    if (pid === 0) return;
    guard.standsFor(pid);
    try {
      await moveTaps(keeper, pid, taps);
    } catch (error) {
      if ((await engine.state(id)).isRunning) throw error;
    }
  }

  /** The container of the present settings: the one that is there, or a new one. */
  async #prepareContainer(
    ports: readonly NodePort[],
  ): Promise<{ readonly id: string; readonly commandLine: string }> {
    const { engine, files, prepare, mark } = this.#services;
    const { id: nodeId, name, home, folder, properties, consolePort, consoleType } = this.#node;
    const image = await engine.image(this.#image);
    if (image === undefined) throw new DockerError(0, `there is no image ${this.#image}`);
    await prepare();
    const paths = persistentPaths(properties, image);
    const sources = await files.run('prepareVolumes', { root: home.folder, folder, paths });
    const place = { id: nodeId, name, projectId: home.id, projectFolder: home.folder };
    const wanted = containerSettings(
      { ...place, properties, consolePort, adapters: ports.length },
      image,
      paths,
      {
        ...this.#services,
        sources,
        display: consoleType === 'vnc' ? displaySockets(this.#services, nodeId) : undefined,
      },
    );
    const settings = JSON.stringify(wanted);
    if (this.#container?.settings !== settings) {
      await this.#remove();
      const id = await engine.create(containerName({ id: nodeId, name }), wanted, mark);
      this.#container = { id, settings };
    }
    return { id: this.#container.id, commandLine: commandLineOf(this.#image, image, properties) };
  }

  get #image(): string {
    const { image } = this.#node.properties;
    return typeof image === 'string' ? image : '';
  }

  get #ports(): NodePort[] {
    const { id: node_id, properties, customAdapters: custom_adapters } = this.#node;
    return docker.ports(
      portOwnerOf({ node_id, properties: { ...properties }, custom_adapters: [...custom_adapters] }, docker),
    );
  }

  /** It does nothing but to be there, so that the keeper lets the processes of the container live. */
  #spawnGuard(): Promise<Program> {
    return this.#services.keeper.spawn({
      ...{ id: this.#node.id, command: 'sleep', args: ['infinity'], folder: '/', environment: {} },
      ...{ console: 'pipes', memo: null, endsWithServer: true },
    });
  }

  async #remove(): Promise<void> {
    const container = this.#container;
    this.#container = undefined;
    // A container of an engine that does not answer is removed at the next start of the server.
    if (container !== undefined) await this.#services.engine.remove(container.id).catch(() => undefined);
  }

  /** Faults of the engine become refusals with its own sentence. */
  async #refusing<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DockerError) throw refusals.nodeNotStarted(this.#node.name, error.message);
      throw error;
    }
  }
}

function commandLineOf(
  name: string,
  image: ImageDescription,
  { start_command: own }: MachineNode['properties'],
) {
  return [name, ...image.entrypoint, ...(typeof own === 'string' ? [own] : image.command)].join(' ');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
