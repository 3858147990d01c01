/** The folders of nodes, as nodes are made, copied and deleted. */
import { randomUUID } from 'node:crypto';
import { dirname, posix } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import { parseOrRefuse } from '../../base/errors/validation.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { LOCAL_COMPUTE, type StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { NodeKind, Properties } from '../../lab/kinds/node-kind.js';
import { numberAmongHosts } from '../../lab/kinds/vpcs.js';
import { isProgramKind, isSwitchKind, servedKind } from '../../lab/kinds/node-kinds.js';
import type { NodePlacing } from '../../lab/node-placing.js';
import type { Project } from '../../lab/projects/project.js';
import {
  createNode,
  deleteNode,
  duplicateNode,
  findNode,
  type NewNode,
  type NodePlace,
  type NodeRequest,
  updateNode,
} from '../../lab/topology/nodes.js';
import { findMovable, moveNode } from '../../lab/topology/node-moving.js';
import type { NodeArchiveTasks } from './node-archive-tasks.js';
import type { NodeFileTasks } from './node-file-tasks.js';
import { nodeFolder } from './node-folder.js';

interface NodeFoldersOptions {
  readonly files: TaskRunner<NodeFileTasks>;
  /** Copies folders, which may be large. */
  readonly archives: TaskRunner<NodeArchiveTasks>;
  /** The folder of base configurations. */
  readonly configs: string;
  /** Finds places for nodes, in a farm. */
  readonly placing: NodePlacing | undefined;
}

export class NodeFolders {
  readonly #options: NodeFoldersOptions;

  constructor(options: NodeFoldersOptions) {
    this.#options = options;
  }

  /** Makes a node and the files that it begins with. Returns its text, or that of the node which has its id already. */
  make(project: Project, wanted: NewNode): Promise<string> {
    const make = (placed: NewNode): Promise<string> => this.#makeAt(project, placed);
    return this.#options.placing?.place(project, wanted, make) ?? make(wanted);
  }

  async #makeAt(project: Project, wanted: NewNode): Promise<string> {
    const kind = servedKind(wanted.node_type);
    const isHere = project.isOpen && project.topology.context.isHere(wanted.compute_id);
    if (kind !== undefined && !isHere && wanted.compute_id !== LOCAL_COMPUTE)
      return this.#makeElsewhere(project, kind, wanted);
    if (kind === undefined || isSwitchKind(kind)) {
      return project.change((topology, transaction) => createNode(topology, transaction, wanted));
    }
    const topology = await project.change((open) => open);
    const known = wanted.node_id === undefined ? undefined : topology.nodes.published(wanted.node_id);
    if (known !== undefined) return known;
    await topology.run.checkAble(kind.type, LOCAL_COMPUTE);
    if (!isProgramKind(kind)) {
      const interfaces =
        kind.usesHostInterfaces === true ? await topology.run.hostInterfaces(LOCAL_COMPUTE) : undefined;
      return project.change((now, transaction) => createNode(now, transaction, { ...wanted, interfaces }));
    }
    const id = wanted.node_id ?? randomUUID();
    const given = { ...wanted.properties, ...wanted.inputs };
    const { properties, inputs } = await this.#split(kind, given);
    const made = await project.change((now, transaction) =>
      createNode(now, transaction, { ...wanted, node_id: id, properties }),
    );
    const node = topology.nodes.get(id);
    if (node === undefined) return made;
    try {
      await this.#writeFirst(project, node, kind.firstFiles(node.name, inputs, node.properties ?? {}));
      return made;
    } catch (error) {
      await this.remove(project, id);
      throw error;
    }
  }

  /** Changes a node. Returns its text. */
  change(project: Project, id: string, wanted: NodeRequest): Promise<string> {
    const change = (room: NodeRequest['room']): Promise<string> =>
      project.change((topology, transaction) => updateNode(topology, transaction, id, { ...wanted, room }));
    return this.#options.placing?.grow(project, id, wanted.properties, change) ?? change(undefined);
  }

  /** Moves a node without files to this compute, or where placement finds room: without a farm that is this server. Returns its text. */
  move(project: Project, id: string, computeId: string | undefined): Promise<string> {
    const { placing } = this.#options;
    const { name, node_type, properties, compute_id: except } = findMovable(project.topology, id);
    if (computeId !== undefined || placing === undefined)
      return moveNode(project, id, computeId ?? LOCAL_COMPUTE);
    const wanted = { name, node_type, compute_id: LOCAL_COMPUTE, properties };
    const move = (placed: NewNode): Promise<string> => moveNode(project, id, placed.compute_id);
    return placing.place(project, wanted, move, false, except);
  }

  /** Copies a node that does not run, and its folder. Returns the text of the copy. */
  async duplicate(project: Project, id: string, place: NodePlace): Promise<string> {
    const found = await project.change((topology, transaction) => {
      const node = findNode(topology, id);
      const kind = servedKind(node.node_type);
      const isProgram = kind !== undefined && isProgramKind(kind);
      return isProgram ? { topology, node, kind } : duplicateNode(topology, transaction, id, place);
    });
    if (typeof found === 'string') return found;
    const { topology, node, kind } = found;
    if (!topology.context.isHere(node.compute_id))
      throw refusals.notOnOtherComputes('A copy with its files', node.name);
    await topology.run.checkAble(kind.type, LOCAL_COMPUTE);
    if (topology.statusOf(node) !== 'stopped') throw refusals.nodeCopiedWhileRunning();
    const copyId = randomUUID();
    const { name, node_type, properties } = node;
    const copy: Pick<StoredNode, 'node_id' | 'node_type'> = { ...node, node_id: copyId };
    const folders = { root: project.place.folder, from: nodeFolder(node), to: nodeFolder(copy) };
    await project.gate.pass(() => this.#options.archives.run('copyNodeFolder', folders));
    const make = ({ room }: Pick<NewNode, 'room'>): Promise<string> =>
      project.change((now, transaction) =>
        duplicateNode(now, transaction, id, { ...place, node_id: copyId, room }),
      );
    try {
      // Room is held for the moment of the commit, not for that of the copy.
      const wanted = { name, node_type, compute_id: LOCAL_COMPUTE, properties };
      return await (this.#options.placing?.place(project, wanted, make, true) ?? make({}));
    } catch (error) {
      await this.#removeFolder(project, copy);
      throw error;
    }
  }

  /** Deletes a node, its links and its folder. */
  async remove(project: Project, id: string): Promise<void> {
    const node = await project.change((topology, transaction) => {
      const found = topology.nodes.get(id);
      deleteNode(topology, transaction, id);
      return found;
    });
    const kind = node === undefined ? undefined : servedKind(node.node_type);
    if (node === undefined || kind === undefined || isSwitchKind(kind)) return;
    await this.#removeFolder(project, node);
  }

  /** Makes a node on another compute, which has its files. One that cannot be made there is not kept. */
  async #makeElsewhere(project: Project, kind: NodeKind, wanted: NewNode): Promise<string> {
    const topology = await project.change((open) => open);
    const id = wanted.node_id ?? newIdElsewhere([...topology.nodes.values()]);
    const known = topology.nodes.published(id);
    if (known !== undefined) return known;
    const { run } = topology;
    await run.checkAble(kind.type, wanted.compute_id);
    const interfaces =
      kind.usesHostInterfaces === true ? await run.hostInterfaces(wanted.compute_id) : undefined;
    const { properties, inputs } = await this.#split(kind, { ...wanted.properties, ...wanted.inputs });
    run.giveInputs(id, inputs);
    const made = await project.change((now, transaction) =>
      createNode(now, transaction, { ...wanted, node_id: id, properties, interfaces }),
    );
    const node = topology.nodes.get(id);
    if (node === undefined) return made;
    try {
      run.checkMade(id);
      return topology.nodes.textOf(node);
    } catch (error) {
      await this.remove(project, id);
      throw error;
    }
  }

  async #writeFirst(
    { gate, place }: Project,
    node: StoredNode,
    files: Readonly<Record<string, string>>,
  ): Promise<void> {
    if (Object.keys(files).length === 0) return;
    const target = { root: place.folder, folder: nodeFolder(node), files, replaces: true };
    await gate.pass(() => this.#options.files.run('writeNodeFiles', target));
  }

  async #removeFolder(project: Project, node: Pick<StoredNode, 'node_id' | 'node_type'>): Promise<void> {
    const folder = nodeFolder(node);
    await project.gate.pass(() =>
      this.#options.files.run('removeNodeFolder', {
        root: project.place.folder,
        folder: dirname(folder),
        name: node.node_id,
      }),
    );
  }

  /** Parts the settings of a new node into its properties and the inputs of its creation. */
  async #split(kind: NodeKind, given: Properties): Promise<{ properties: Properties; inputs: Properties }> {
    const { schema, files } = kind.creation ?? NOTHING;
    const properties: Record<string, unknown> = { ...given };
    const inputs: Record<string, unknown> = {};
    for (const name of Object.keys(schema?.shape ?? {})) {
      inputs[name] = properties[name];
      Reflect.deleteProperty(properties, name);
    }
    for (const [name, content] of Object.entries(files)) {
      const file = properties[name];
      Reflect.deleteProperty(properties, name);
      if (typeof file !== 'string' || inputs[content] != null) continue;
      inputs[content] = (await this.#readConfig(file)) ?? kind.creation?.baseFiles?.[posix.basename(file)];
    }
    return {
      properties,
      inputs: schema === undefined ? {} : parseOrRefuse(schema, inputs, `settings of ${kind.type}`),
    };
  }

  #readConfig(file: string): Promise<string | undefined> {
    return this.#options.files.run('readConfig', { root: this.#options.configs, path: file });
  }
}

const MOST_TRIES = 1000;

/** An id from which a number follows that no other virtual PC on another host has, as long as there are such. */
function newIdElsewhere(nodes: readonly StoredNode[]): string {
  const away = nodes.filter(({ compute_id: id }) => id !== LOCAL_COMPUTE);
  const taken = new Set(away.map(({ node_id: id }) => numberAmongHosts(id)));
  let id: string = randomUUID();
  for (let tries = 0; tries < MOST_TRIES && taken.has(numberAmongHosts(id)); tries++) id = randomUUID();
  return id;
}

const NOTHING = { schema: undefined, files: {} };
