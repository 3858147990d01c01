/** A project of the compute interface: the nodes that run here and the UDP ports that the project has reserved. */
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { refusals } from '../base/errors/errors.js';
import type { ProjectSettings } from '../lab/gns3-file/topology-schema.js';
import type { RunEnd } from '../lab/lab-run.js';
import type { ComputeServices } from './compute-services.js';
import type { NodeTable } from './nodes/node-table.js';
import { nodeFolder } from '../files/node-files/node-folder.js';
import { nodeType } from '../lab/gns3-file/topology-schema.js';
import type { NodeKind, Properties } from '../lab/kinds/node-kind.js';
import { cloud } from '../lab/kinds/cloud.js';
import { nat } from '../lab/kinds/nat.js';
import { isProgramKind, isSwitchKind } from '../lab/kinds/node-kinds.js';
import { withProjectNumber } from '../lab/kinds/project-numbers.js';
import type { ComputeNode, NewComputeNode } from './nodes/compute-node.js';
import type { NodeProject } from './nodes/machine.js';
import type { WatchedProject } from './project-room.js';
import { ProgramNode } from './nodes/program-node.js';
import { CloudNode } from './nodes/cloud-node.js';
import { NatNode } from './nodes/nat/nat-node.js';
import { SwitchNode } from './nodes/switch-node.js';

export type Variables = ProjectSettings['variables'];

export interface ComputeProjectSettings {
  readonly id: string;
  readonly name: string;
  readonly variables: Variables;
}

/** A project of the controller may be renamed and moved while it runs: both are read anew each time. */
export interface ProjectPlace {
  readonly name: string;
  readonly folder: string;
  /** Whether a controller in this process has the files, and removes those of a node itself. */
  readonly isOfController: boolean;
}

const MOST_NODES = 4096;
const COPYING = 'copy its files';

export class ComputeProject implements NodeProject, WatchedProject {
  readonly id: string;
  readonly #place: ProjectPlace;
  readonly #services: ComputeServices;
  readonly #table: NodeTable;
  readonly #nodes = new Set<ComputeNode>();
  #variables: Variables;
  #isClosed = false;

  constructor(
    { id, variables }: ComputeProjectSettings,
    place: ProjectPlace,
    table: NodeTable,
    services: ComputeServices,
  ) {
    this.id = id;
    this.#variables = variables;
    this.#place = place;
    this.#table = table;
    this.#services = services;
    services.room.watch(this);
  }

  get name(): string {
    return this.#place.name;
  }

  get isOfOthers(): boolean {
    return !this.#place.isOfController;
  }

  get folder(): string {
    return this.#place.folder;
  }

  /** The project as clients see it, as JSON text. */
  get text(): string {
    return JSON.stringify({ name: this.name, project_id: this.id, variables: this.#variables });
  }

  update(variables: Variables): void {
    this.#variables = variables;
  }

  /** Returns the node as text. A known id is answered with the node that has it. */
  async createNode(
    kind: NodeKind,
    wanted: Omit<NewComputeNode, 'node_id'> & { node_id?: string | undefined; inputs?: Properties },
  ): Promise<string> {
    const id = wanted.node_id ?? randomUUID();
    const known = this.#table.get(id);
    if (known !== undefined) {
      if (known.home !== this || known.kind !== kind) throw refusals.nodeIdTaken(id);
      return known.settled();
    }
    if (this.#nodes.size >= MOST_NODES) throw refusals.tooMany('nodes in this project', MOST_NODES);
    const properties = this.#numbered(kind, wanted);
    const node = this.#newNode(kind, { ...wanted, properties, node_id: id });
    this.#table.add(node);
    this.#nodes.add(node);
    try {
      await node.install();
      // The controller has written those of its own nodes when they were new.
      if (wanted.heldConsole === undefined) await this.#writeFirstFiles(kind, node, wanted.inputs ?? {});
      return node.text;
    } catch (error) {
      await this.#forget(node, 'removed').catch(() => undefined);
      throw error;
    }
  }

  /** Refuses (404) a node of another project or kind. */
  node(kind: NodeKind, id: string): ComputeNode {
    const node = this.#table.get(id);
    if (node?.kind !== kind) throw refusals.nodeUnknown(id);
    if (node.home !== this) throw refusals.nodeOfOtherProject(this.id, node.name);
    return node;
  }

  get hasPrograms(): boolean {
    return this.#programs().some(({ status }) => status !== 'stopped');
  }

  async suspendPrograms(reason: string): Promise<readonly string[]> {
    const running = this.#programs().filter(({ status }) => status === 'started');
    await Promise.allSettled(running.map((node) => node.suspend(reason)));
    return running.filter(({ status }) => status === 'suspended').map(({ name }) => name);
  }

  /** Finds a node of this project, of any kind. */
  findNode(id: string): ComputeNode | undefined {
    const node = this.#table.get(id);
    return node?.home === this ? node : undefined;
  }

  /** Ends a node and removes its files. */
  async deleteNode(kind: NodeKind, id: string): Promise<void> {
    const node = this.node(kind, id);
    if (!(await this.#forget(node, 'removed'))) throw refusals.nodeUnknown(id);
    await this.#services.savedStates.forget(this.id, id);
    this.#services.channel.emit('node.deleted', node.text, this.id);
    if (this.#place.isOfController || isSwitchKind(kind)) return;
    const folder = dirname(folderOf(node));
    await this.#services.files.run('removeNodeFolder', { root: this.folder, folder, name: id });
  }

  /** Copies the files of a node into the folder of another, in the place of its own. Refuses (409) nodes that run. */
  async copyFiles(kind: NodeKind, fromId: string, toId: string): Promise<ComputeNode> {
    const [from, to] = [this.node(kind, fromId), this.node(kind, toId)];
    if (from === to || !(from instanceof ProgramNode) || !(to instanceof ProgramNode)) return to;
    const folders = { root: this.folder, from: from.folder, to: to.folder };
    const copy = (): Promise<void> => this.#services.archives.run('copyNodeFolder', folders);
    // In the order of ids, so that two copies in opposite directions do not wait for each other.
    const [first, second] = from.id < to.id ? [from, to] : [to, from];
    await first.whileStopped(COPYING, () => second.whileStopped(COPYING, copy));
    return to;
  }

  async reserveUdpPort(): Promise<number> {
    const { udpPorts } = this.#services;
    const port = await udpPorts.reserve(this.id);
    if (!this.#isClosed) return port;
    udpPorts.release(port, this.id);
    throw refusals.projectUnknown(this.id);
  }

  /** Reserves this port. Resolves with false when it is not free. */
  async takeUdpPort(port: number): Promise<boolean> {
    const { udpPorts } = this.#services;
    const isTaken = await udpPorts.take(port, this.id);
    if (!isTaken || !this.#isClosed) return isTaken;
    udpPorts.release(port, this.id);
    throw refusals.projectUnknown(this.id);
  }

  releaseUdpPort(port: number): void {
    this.#services.udpPorts.release(port, this.id);
  }

  takeRoom(bytes: number): Promise<() => void> {
    return this.#services.room.take(this, bytes);
  }

  /** Removes all nodes and releases all ports. */
  async close(how: RunEnd): Promise<void> {
    this.#isClosed = true;
    this.#services.room.forget(this);
    await Promise.all([...this.#nodes].map((node) => this.#forget(node, how)));
    this.#services.udpPorts.releaseAllOf(this.id);
  }

  /** Call only at the end of the process, when no engine runs any more. */
  closeSockets(): void {
    for (const node of this.#nodes) node.closeSockets();
  }

  /** The controller has written the files of its own nodes already. */
  async #writeFirstFiles(kind: NodeKind, node: ComputeNode, inputs: Properties): Promise<void> {
    if (!isProgramKind(kind)) return;
    const { name, properties } = node;
    const files = kind.firstFiles(name, inputs, properties);
    if (Object.keys(files).length === 0) return;
    const folder = folderOf(node);
    // A controller elsewhere makes its nodes anew each time it opens a project, and sends inputs only the first time.
    const replaces = Object.keys(inputs).length > 0;
    await this.#services.files.run('writeNodeFiles', { root: this.folder, folder, files, replaces });
  }

  /** The controller has numbered its own nodes already; their numbers are as they were stored. */
  #numbered(kind: NodeKind, { properties, heldConsole }: Omit<NewComputeNode, 'node_id'>): Properties {
    if (heldConsole !== undefined) return properties;
    const nodes = this.#nodes;
    return withProjectNumber(kind, properties, () =>
      [...nodes].filter((node) => node.kind === kind).map((node) => node.properties),
    );
  }

  #newNode(kind: NodeKind, wanted: NewComputeNode): ComputeNode {
    if (isSwitchKind(kind)) return new SwitchNode(this, kind, wanted, this.#services);
    if (kind === cloud) return new CloudNode(this, wanted, this.#services);
    if (kind === nat) return new NatNode(this, wanted, this.#services);
    if (isProgramKind(kind)) return new ProgramNode(this, kind, wanted, this.#services);
    throw new Error(`nothing runs nodes of the kind ${kind.type}`);
  }

  #programs(): ProgramNode[] {
    return [...this.#nodes].filter((node) => node instanceof ProgramNode);
  }

  async #forget(node: ComputeNode, how: RunEnd): Promise<boolean> {
    try {
      return await node.remove(how);
    } finally {
      this.#nodes.delete(node);
      this.#table.delete(node);
    }
  }
}

function folderOf({ kind, id }: ComputeNode): string {
  return nodeFolder({ node_type: nodeType.parse(kind.type), node_id: id });
}
