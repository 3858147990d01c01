/**
 * Containers of a Docker engine, which runs their processes. Each adapter is a TAP whose descriptor an engine of this
 * server holds, and whose interface is moved into the container.
 *
 * A container is made at the first start of its node, and kept until the node is closed or its settings are others. A
 * program of the keeper stands for each container that runs. All processes of a container have the mark of the server
 * in their environment, and the keeper ends processes of that mark whose program it does not have. So containers end
 * with the server, however that ends.
 */
import type { PortEndpoint } from '../../../engine/forwarding/transport.js';
import { refusals } from '../../../base/errors/errors.js';
import { docker } from '../../../lab/kinds/docker.js';
import type { NodePort } from '../../../lab/kinds/port.js';
import { portOwnerOf } from '../../../lab/topology/port-owner.js';
import { AuxiliaryConsole } from '../../consoles/auxiliary-console.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program, ProgramEnd } from '../../keeper/keeper.js';
import type { NioSockets } from '../../links/nio-sockets.js';
import type { Ability, Machine, MachineNode, NodeHost, ProgramRunner, Run } from '../machine.js';
import { ContainerConsole } from './container-console.js';
import {
  auxiliaryCommand,
  containerName,
  containerSettings,
  persistentPaths,
  savingCommand,
  type ImageDescription,
  type Privileges,
} from './container-settings.js';
import { moveTaps, newTapName, type ContainerTap } from './container-taps.js';
import { DockerClient, DockerError } from './docker-client.js';
import { DockerEngine } from './docker-engine.js';

/** A container that was asked to end is killed after so many seconds. */
const GRACE_SECONDS = 5;
/** The steps of a download are told at most so often. */
const TOLD_MS = 2000;
/** An engine that cannot be asked about a container for so long has ended, and its containers with it. */
const LOST_LOOKS = 20;
const LOST_LOOK_MS = 250;
const UNKNOWN_END: ProgramEnd = { code: null, signal: null };

export interface DockerOptions {
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
  readonly sockets: NioSockets;
  /** The address at which auxiliary consoles listen. */
  readonly consoleHost: string;
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
    const { name, consoleType = 'telnet' } = this.#node;
    if (consoleType !== 'telnet' && consoleType !== 'none')
      throw refusals.nodeNotStarted(
        name,
        `this server has no consoles of type ${consoleType} for containers`,
      );
    const { engine } = this.#services;
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
    return this.#refusing(() => this.#start(host));
  }

  async release(): Promise<void> {
    await this.#remove();
  }

  async #start(host: NodeHost): Promise<Run> {
    const { engine, sockets } = this.#services;
    const ports = this.#ports;
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
    let aux: AuxiliaryConsole | undefined;
    try {
      console = new ContainerConsole(await engine.attach(id));
      await engine.start(id);
      await this.#wire(id, taps);
      aux = await this.#openAux(id);
    } catch (error) {
      console?.close();
      await engine.kill(id).catch(() => undefined);
      guard.kill('SIGKILL');
      await guard.ended;
      throw error;
    }
    if (this.#services.keepsNodes)
      host.inform(`${this.#node.name} ends with the server: containers do not live on without it`);
    return new ContainerRun(this.#services, { id, commandLine, console, endpoints, guard, aux });
  }

  /** A shell beside the command of the container. One that has ended already has none. */
  async #openAux(id: string): Promise<AuxiliaryConsole | undefined> {
    const { aux: port } = this.#node.properties;
    if (typeof port !== 'number') return undefined;
    const { engine, consoleHost: host } = this.#services;
    if (!(await engine.state(id)).isRunning) return undefined;
    const source = new ContainerConsole(await engine.execute(id, auxiliaryCommand()));
    return AuxiliaryConsole.open(this.#node, { host, port }, source);
  }

  /** A container that has ended has nothing to wire: its run says why it has ended. */
  async #wire(id: string, taps: readonly ContainerTap[]): Promise<void> {
    const { engine, keeper } = this.#services;
    const { pid } = await engine.state(id);
    if (pid === 0) return;
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
    const { id: nodeId, name, home, folder, properties, consolePort } = this.#node;
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
      { ...this.#services, sources },
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
      ...{ niceness: 0, console: 'pipes', memo: null, endsWithServer: true },
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

interface ContainerParts {
  readonly id: string;
  readonly commandLine: string;
  readonly console: ContainerConsole;
  /** The TAPs of the adapters. */
  readonly endpoints: readonly PortEndpoint[];
  readonly guard: Program;
  readonly aux: AuxiliaryConsole | undefined;
}

class ContainerRun implements Run {
  readonly commandLine: string;
  readonly console: ContainerConsole;
  readonly ended: Promise<ProgramEnd>;
  readonly #id: string;
  readonly #parts: ContainerParts;
  readonly #guard: Program;
  readonly #services: DockerServices;
  #isPaused = false;
  #hasEnded = false;

  constructor(services: DockerServices, parts: ContainerParts) {
    const { id, commandLine, console, guard } = parts;
    this.#id = id;
    this.commandLine = commandLine;
    this.console = console;
    this.#parts = parts;
    this.#guard = guard;
    this.#services = services;
    this.ended = this.#follow();
    // Something has killed it, or the keeper: nothing would end the container with the server.
    void guard.ended.then(() => this.#kill());
  }

  get output(): Uint8Array {
    return this.console.output;
  }

  async stop(reason: 'asked' | 'closing'): Promise<void> {
    const { engine } = this.#services;
    try {
      if (this.#isPaused) await this.resume();
      const [user, group] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0];
      await engine.run(this.#id, savingCommand(user, group)).catch(() => undefined);
      await engine.stop(this.#id, reason === 'closing' ? 0 : GRACE_SECONDS);
    } catch {
      await this.#kill();
    }
    await this.ended;
  }

  async suspend(): Promise<void> {
    await this.#services.engine.pause(this.#id);
    this.#isPaused = true;
  }

  async resume(): Promise<void> {
    await this.#services.engine.unpause(this.#id);
    this.#isPaused = false;
  }

  cable(index: number, isPlugged: boolean): Promise<void> {
    const endpoint = this.#parts.endpoints[index];
    return new Promise((resolve) => {
      if (endpoint !== undefined) this.#services.sockets.setCarrier(endpoint, isPlugged);
      resolve();
    });
  }

  async #follow(): Promise<ProgramEnd> {
    const end = await this.#waitForEnd();
    this.#hasEnded = true;
    await this.console.closed;
    await this.#parts.aux?.close();
    this.#guard.kill('SIGKILL');
    await this.#guard.ended;
    return end;
  }

  /** An engine that was started again may have kept the container. */
  async #waitForEnd(): Promise<ProgramEnd> {
    const { engine } = this.#services;
    for (let look = 0; look < LOST_LOOKS; look++) {
      try {
        return { code: await engine.ended(this.#id), signal: null };
      } catch (error) {
        // It was removed.
        if (error instanceof DockerError && error.status !== 0) return UNKNOWN_END;
      }
      await new Promise((resolve) => setTimeout(resolve, LOST_LOOK_MS));
    }
    return UNKNOWN_END;
  }

  async #kill(): Promise<void> {
    if (!this.#hasEnded) await this.#services.engine.kill(this.#id).catch(() => undefined);
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
