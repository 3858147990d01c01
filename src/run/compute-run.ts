/**
 * Makes an open project of the controller run on this compute, through the same doors as any client of the
 * compute interface: its switches are nodes of a compute project, and each end of a link is a UDP attachment.
 */
import { join } from 'node:path';
import { messageOf, refusals } from '../base/errors/errors.js';
import type { AcceptedFilters } from '../lab/topology/link-filters.js';
import type {
  Client,
  HeldFiles,
  HeldNodes,
  HoldPlan,
  KeptMemory,
  LabRun,
  LinkPlace,
  NodeAction,
  NodeState,
  RunEnd,
  RunLink,
  RunReport,
} from '../lab/lab-run.js';
import type { ProgramKind, Properties } from '../lab/kinds/node-kind.js';
import type { NodePort } from '../lab/kinds/port.js';
import { captureOf } from '../lab/kinds/port-types.js';
import { portOwnerOf } from '../lab/topology/port-owner.js';
import { isProgramKind, kindOfType, servedKind } from '../lab/kinds/node-kinds.js';
import type { CloudInterface } from '../lab/kinds/host-interface.js';
import { storedList } from '../lab/kinds/ports-mapping.js';
import type { StoredLink, StoredNode } from '../lab/gns3-file/topology-schema.js';
import { nodeFolder } from '../files/node-files/node-folder.js';
import type { ComputeProjects } from './compute-projects.js';
import type { ComputeServices } from './compute-services.js';
import { cloudInterfaces } from './host-interfaces.js';
import { LinkWires, type OutwardEnd } from './links/link-wires.js';
import type { ComputeNode } from './nodes/compute-node.js';
import { holdFiles, holdNodes, planHold } from './nodes/held-nodes.js';
import { ProgramNode } from './nodes/program-node.js';

/** The project of the controller: its name, and where its listeners are warned. */
interface RunOwner {
  readonly name: string;
  readonly place: { readonly folder: string };
  warn(message: string): void;
}

/** Follows a run from outside, as the streams of its links do. */
interface RunListener {
  /** Links were connected or disconnected. */
  readonly linksChanged?: () => void;
  /** Called before everything is stopped. */
  readonly ending?: () => void;
}

export class ComputeRun implements Omit<LabRun, 'checkMade' | 'giveInputs'> {
  readonly #id: string;
  readonly #projects: ComputeProjects;
  readonly #services: Pick<
    ComputeServices,
    'files' | 'filterPlans' | 'log' | 'programs' | 'remember' | 'running'
  >;
  readonly #ownerOf: (projectId: string) => RunOwner | undefined;
  readonly #nodes = new Map<string, StoredNode>();
  readonly wires: LinkWires;
  readonly #listeners = new Set<RunListener>();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isEnded = false;

  constructor(
    { id, isShared }: { readonly id: string; readonly isShared: boolean },
    projects: ComputeProjects,
    services: Pick<ComputeServices, 'files' | 'filterPlans' | 'log' | 'programs' | 'remember' | 'running'>,
    ownerOf: (projectId: string) => RunOwner | undefined,
  ) {
    this.#id = id;
    this.#projects = projects;
    this.#services = services;
    this.#ownerOf = ownerOf;
    this.wires = new LinkWires(
      () => projects.find(id),
      services.filterPlans,
      (message) => ownerOf(id)?.warn(message),
    );
    this.#follow('The project', () => projects.adopt(id, ownerOf(id)?.name ?? id, isShared));
  }

  nodeStored(node: StoredNode): void {
    const before = this.#nodes.get(node.node_id);
    if (before !== undefined && isSameForRun(before, node)) return;
    this.#nodes.set(node.node_id, node);
    const what = `Node ${node.name}`;
    this.#follow(what, () => (before === undefined ? this.#create(node) : this.#update(node)));
  }

  nodeRemoved({ node_id: id, name }: StoredNode): void {
    this.#nodes.delete(id);
    const what = `Node ${name}`;
    // A link that is being made may be connected already although nobody has removed it.
    this.#follow(what, async () => {
      if (await this.wires.disconnectNode(id)) this.#linksChanged();
    });
    this.#follow(what, async () => {
      const node = this.#find(id);
      if (node !== undefined) await this.#projects.find(this.#id).deleteNode(node.kind, id);
    });
  }

  stateOf({ node_id: id, node_type: type }: StoredNode): NodeState {
    const found = this.#projects.nodeOf(this.#id, id);
    const status = found?.status ?? (kindOfType(type).alwaysRuns ? 'started' : 'stopped');
    const kind = servedKind(type);
    const folder = (): string => join(this.#folder(), nodeFolder({ node_type: type, node_id: id }));
    if (type === 'cloud') return { status, commandLine: null, folder: folder() };
    if (kind === undefined || !isProgramKind(kind)) return { status, commandLine: null, folder: null };
    const commandLine = found instanceof ProgramNode ? found.commandLine : '';
    return { status, commandLine, folder: folder() };
  }

  nodeReport({ node_id: id, node_type: type }: StoredNode): RunReport {
    if (this.#projects.nodeOf(this.#id, id) !== undefined) return { state: 'running' };
    if (servedKind(type) === undefined)
      return { state: 'lost', reason: `Nodes of the type ${type} do not run here` };
    return this.#reportOfMissing();
  }

  linkReport({ link_id: id }: StoredLink): RunReport {
    return this.wires.get(id) === undefined ? this.#reportOfMissing() : { state: 'running' };
  }

  checkAble(type: string): Promise<void> {
    return this.#services.programs.check(type);
  }

  hostInterfaces(): Promise<readonly CloudInterface[]> {
    return cloudInterfaces(this.#services.files);
  }

  async act({ node_id: id, name }: StoredNode, action: NodeAction): Promise<void> {
    await this.settled();
    const node = this.#projects.nodeOf(this.#id, id);
    if (node === undefined)
      throw refusals.nodeNotStarted(name, 'it could not be made, as a warning has said');
    await node[action]();
  }

  async planHold(): Promise<HoldPlan> {
    await this.settled();
    return planHold(this.#programs);
  }

  hold(folder: string): Promise<HeldNodes> {
    return holdNodes(this.#programs, folder);
  }

  async holdFiles(): Promise<HeldFiles> {
    await this.settled();
    return holdFiles(this.#programs);
  }

  async halt(id: string): Promise<void> {
    await this.settled();
    const node = this.#projects.nodeOf(this.#id, id);
    if (node instanceof ProgramNode) await node.stop('removed');
  }

  async putAway(): Promise<void> {
    await this.settled();
    await Promise.all(
      this.#programs.map((node) =>
        node.stop('put away').catch((error: unknown) => {
          this.#ownerOf(this.#id)?.warn(`${node.name} could not be stopped in order: ${messageOf(error)}`);
        }),
      ),
    );
  }

  async startAgain(id: string, isSuspended: boolean, memory: KeptMemory | undefined): Promise<void> {
    await this.settled();
    const node = this.#projects.nodeOf(this.#id, id);
    if (!(node instanceof ProgramNode)) throw refusals.nodeUnknown(id);
    await node.startAgain(isSuspended, memory);
  }

  connect(run: RunLink): Promise<void> {
    return this.#inTurn(() => {
      if (this.#isEnded) throw refusals.projectClosed();
      return this.#carryOut(run);
    });
  }

  /** Reserves a UDP port for the end of a link that leads to another host. */
  reserveOutward(): Promise<number> {
    return this.#projects.find(this.#id).reserveUdpPort();
  }

  releaseOutward(port: number): void {
    if (!this.#isEnded) this.#projects.find(this.#id).releaseUdpPort(port);
  }

  /** Connects this end of a link that leads to another host. Refuses (409) a node that is not there. */
  async connectOutward(run: RunLink, end: OutwardEnd): Promise<void> {
    if (this.#isEnded) throw refusals.projectClosed();
    await this.wires.connectOutward(run, end);
    this.#linksChanged();
  }

  /** Changes this end of a link that leads to another host. */
  async followOutward(run: RunLink): Promise<void> {
    if (!this.#isEnded && this.wires.get(run.link.link_id) !== undefined) await this.wires.follow(run);
  }

  async disconnectOutward(linkId: string): Promise<void> {
    if (!this.#isEnded && (await this.wires.disconnect(linkId))) this.#linksChanged();
  }

  linkStored(run: RunLink): void {
    this.#follow(`Link ${run.link.link_id}`, () => this.#carryOut(run));
  }

  linkRemoved({ link_id: id }: StoredLink): void {
    this.#follow(`Link ${id}`, async () => {
      if (!(await this.wires.disconnect(id))) return;
      this.#services.log.debug({ project: this.#id, link: id }, 'a link was disconnected');
      this.#linksChanged();
    });
  }

  takeRoom(bytes: number): Promise<() => void> {
    return this.#projects.takeRoom(this.#id, bytes);
  }

  settled(): Promise<void> | undefined {
    return this.#waiting === 0 ? undefined : this.#last;
  }

  async checkFilters(
    node: StoredNode,
    place: LinkPlace,
    filters: AcceptedFilters,
    client: Client,
  ): Promise<void> {
    const kind = kindOfType(node.node_type);
    const port = isProgramKind(kind) ? portOf(kind, node, place) : undefined;
    const { linkType } = port === undefined ? kind.capture : captureOf(port);
    await this.#services.filterPlans.check(linkType, filters, { projectId: this.#id, client });
  }

  /** Returns the function that ends the listening. */
  listen(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async end(how: RunEnd): Promise<void> {
    for (const listener of this.#listeners) listener.ending?.();
    this.#isEnded = true;
    this.#follow('The project', async () => {
      await this.#projects.close(this.#id, how);
      this.wires.forgetAll();
    });
    await this.#last;
  }

  /** Does `work`; when it fails, warns the listeners of the project. */
  #follow(what: string, work: () => Promise<void>): void {
    this.#inTurn(work).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#ownerOf(this.#id)?.warn(`${what} does not run as it should: ${reason}`);
    });
  }

  /** Does one piece of work after the other, in the order of the calls, whether those before succeed or not. */
  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#waiting++;
    const done = this.#last.then(work).finally(() => {
      this.#waiting--;
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #carryOut(run: RunLink): Promise<void> {
    if ((await this.wires.follow(run)) === undefined) return;
    this.#services.log.debug({ project: this.#id, link: run.link.link_id }, 'a link was connected');
    this.#linksChanged();
  }

  #reportOfMissing(): RunReport {
    if (this.#waiting > 0) return { state: 'restoring' };
    return { state: 'lost', reason: 'It could not be made, as a warning has said' };
  }

  #folder(): string {
    return this.#ownerOf(this.#id)?.place.folder ?? '';
  }

  #linksChanged(): void {
    for (const listener of this.#listeners) listener.linksChanged?.();
  }

  async #create(node: StoredNode): Promise<void> {
    const kind = servedKind(node.node_type);
    if (kind === undefined) return;
    await this.#projects.find(this.#id).createNode(kind, {
      name: node.name,
      node_id: node.node_id,
      properties: byPosition(node.properties ?? {}),
      custom_adapters: node.custom_adapters ?? [],
      ...consoleOf(node),
    });
    this.#runAgain(node);
  }

  /** Starts a node that ran when the server ended, in the background. */
  #runAgain({ node_id: id, name }: StoredNode): void {
    const should = this.#services.running.shouldRun(this.#id, id);
    if (should === false) return;
    const node = this.#find(id);
    if (node?.status !== 'stopped') return;
    const warn = (reason: string): void => {
      this.#ownerOf(this.#id)?.warn(
        `Node ${name} ran when the server ended, and was not started again: ${reason}`,
      );
    };
    if (should === 'suspected') {
      warn('the server has died more than once while it ran');
      return;
    }
    node
      .start()
      .then(() => {
        const message = `${name} ran when the server ended, and was started again`;
        this.#services.remember(this.#id, { kind: 'node_resumed', message, subject: id });
      })
      .catch((error: unknown) => {
        warn(error instanceof Error ? error.message : String(error));
      });
  }

  async #update(node: StoredNode): Promise<void> {
    await this.#find(node.node_id)?.update({
      name: node.name,
      properties: byPosition(node.properties ?? {}),
      custom_adapters: node.custom_adapters ?? [],
      ...consoleOf(node),
    });
  }

  get #programs(): ProgramNode[] {
    const nodes = [...this.#nodes.keys()].map((id) => this.#projects.nodeOf(this.#id, id));
    return nodes.filter((node) => node instanceof ProgramNode);
  }

  #find(id: string): ComputeNode | undefined {
    return this.#projects.find(this.#id).findNode(id);
  }
}

/** Most changes only move a node about. */
function isSameForRun(before: StoredNode, node: StoredNode): boolean {
  return (['name', 'properties', 'custom_adapters', 'console', 'console_type'] as const).every(
    (key) => before[key] === node[key],
  );
}

function portOf(kind: ProgramKind, node: StoredNode, place: LinkPlace): NodePort | undefined {
  return kind
    .ports(portOwnerOf(node, kind))
    .find(
      ({ adapter_number: adapter, port_number: port }) =>
        adapter === place.adapter_number && port === place.port_number,
    );
}

function consoleOf({ console, console_type: type }: StoredNode) {
  return { heldConsole: console ?? null, console_type: type ?? undefined };
}

/** The controller counts the ports of Ethernet nodes by position, and so do its links. */
function byPosition(properties: Properties): Properties {
  if (!('ports_mapping' in properties)) return properties;
  const list = storedList(properties).map((entry, index) => ({ ...(entry as object), port_number: index }));
  return { ...properties, ports_mapping: list };
}
