/** The run of a project whose nodes may be on several computes: each has its part, and the lab does not notice. */
import { z } from 'zod';
import { refusals, shortList } from '../../base/errors/errors.js';
import type { FarLink, FarNode } from '../../lab/far-node.js';
import { LOCAL_COMPUTE, type StoredLink, type StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { CloudInterface } from '../../lab/kinds/host-interface.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import type {
  BeginRun,
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
  RunRight,
} from '../../lab/lab-run.js';
import type { AcceptedFilters } from '../../lab/topology/link-filters.js';
import type { Projects } from '../../lab/projects/projects.js';
import type { ComputeRun } from '../../run/compute-run.js';
import type { LocalCompute } from '../../run/local-compute.js';
import { SINCE } from '../../run/wanted-shapes.js';
import { CrossCounts } from './cross-counts.js';
import { CrossLinks } from './cross-links.js';
import { LocalSide, RemoteSide, type LinkSide } from './link-sides.js';
import { NodesBeside } from './nodes-beside.js';
import type { RemoteComputes } from './remote-computes.js';
import { PartNode } from './part-node.js';
import { RemotePart, type PartOwner } from './remote-part.js';

const interfaces = z.array(
  z.object({ name: z.string(), special: z.boolean(), type: z.enum(['ethernet', 'tap']) }),
);

/** Makes projects run here and on other computes. */
export function farmRuns(
  computes: RemoteComputes,
  here: Pick<LocalCompute, 'beginRun'>,
  { all }: Pick<Projects, 'all'>,
): BeginRun {
  return (projectId, right) =>
    new FarmRun({
      ...{ projectId, right, computes },
      local: here.beginRun(projectId, right.isShared),
      ownerOf: () => all.get(projectId),
    });
}

interface FarmRunOptions {
  readonly projectId: string;
  readonly right: RunRight;
  /** The part on this server. */
  readonly local: ComputeRun;
  readonly computes: RemoteComputes;
  readonly ownerOf: () => PartOwner | undefined;
}

class FarmRun implements LabRun {
  readonly #options: FarmRunOptions;
  readonly #local: ComputeRun;
  readonly #parts = new Map<string, RemotePart>();
  readonly #nodes = new Map<string, StoredNode>();
  readonly #inputs = new Map<string, Properties>();
  readonly #beside: NodesBeside;
  /** Links that are about to lead from this server to itself, when their ends on other computes are gone. */
  readonly #returning = new Map<string, RunLink>();
  readonly #links: CrossLinks;
  readonly #counts: CrossCounts;
  #isLoaded = false;

  constructor(options: FarmRunOptions) {
    this.#options = options;
    this.#local = options.local;
    this.#beside = new NodesBeside(options.local, (computeId) => this.#part(computeId));
    this.#links = new CrossLinks({
      sidesOf: (run) => this.#sidesOf(run),
      addressesOf: ([{ node: near }, { node: far }]) =>
        options.computes.addresses.between(near.compute_id, far.compute_id),
      warn: (message) => options.ownerOf()?.warn(message),
    });
    this.#counts = new CrossCounts({
      made: () => this.#links.made(),
      ask: (computeId) => {
        if (this.#parts.get(computeId)?.isReady !== true) return undefined;
        if (options.computes.reachOf(computeId).dialect === 0) return undefined;
        const path = `/projects/${options.projectId}/wanted/counts`;
        return options.computes.ask(computeId, { method: 'GET', path });
      },
      wires: options.local.wires,
    });
  }

  loaded(): void {
    this.#isLoaded = true;
    for (const part of this.#parts.values()) part.begin();
  }

  nodeStored(node: StoredNode): void {
    const { node_id: id } = node;
    const computeId = this.#computeOf(node);
    this.#nodes.set(id, { ...node, compute_id: computeId });
    if (computeId === LOCAL_COMPUTE) {
      this.#local.nodeStored(node);
      return;
    }
    const part = this.#part(computeId);
    const inputs = this.#inputs.get(id);
    if (inputs !== undefined) part.giveInputs(id, inputs);
    this.#inputs.delete(id);
    part.nodeStored(node);
  }

  nodeRemoved(node: StoredNode): void {
    const computeId = this.#computeOf(node);
    this.#nodes.delete(node.node_id);
    if (computeId === LOCAL_COMPUTE) this.#local.nodeRemoved(node);
    else this.#parts.get(computeId)?.nodeRemoved(node);
  }

  visited(computeId: string): void {
    if (!this.#isHere(computeId)) this.#part(computeId);
  }

  makeBeside(node: StoredNode): Promise<void> {
    return this.#beside.make(node, this.#isHere(node.compute_id) ? LOCAL_COMPUTE : node.compute_id);
  }

  dropBeside(node: StoredNode): void {
    this.#beside.drop(node);
  }

  moved(node: StoredNode, links: readonly RunLink[]): void {
    const { node_id: id } = node;
    const before = this.#nodes.get(id);
    const computeId = this.#beside.take(id);
    if (before === undefined || computeId === undefined) return;
    const wereCross = links.map(({ link }) => this.#isCross(link));
    for (const [index, { link }] of links.entries()) if (!wereCross[index]) this.#local.linkRemoved(link);
    this.nodeRemoved(before);
    this.#nodes.set(id, { ...node, compute_id: computeId });
    this.nodeStored(node);
    for (const [index, run] of links.entries()) this.#leadAnew(run, wereCross[index] === true);
  }

  #leadAnew(run: RunLink, wasCross: boolean): void {
    const { link_id: id } = run.link;
    if (this.#isCross(run.link)) {
      this.#returning.delete(id);
      this.#counts.begin();
      if (wasCross) this.#links.moved(run);
      else this.#links.stored(run);
      return;
    }
    this.#returning.set(id, run);
    void this.#links.removed(id).then(() => {
      const latest = this.#returning.get(id);
      this.#returning.delete(id);
      if (latest !== undefined) this.#local.linkStored(latest);
    });
  }

  stateOf(node: StoredNode): NodeState {
    const computeId = this.#computeOf(node);
    return computeId === LOCAL_COMPUTE ? this.#local.stateOf(node) : this.#part(computeId).stateOf(node);
  }

  nodeReport(node: StoredNode): RunReport {
    const computeId = this.#computeOf(node);
    if (computeId === LOCAL_COMPUTE) return this.#local.nodeReport(node);
    return this.#part(computeId).nodeReport(node.node_id);
  }

  linkReport(link: StoredLink): RunReport {
    if (!this.#isCross(link)) return this.#local.linkReport(link);
    const reports = link.nodes.flatMap(({ node_id: id }) => {
      const computeId = this.#nodes.get(id)?.compute_id ?? LOCAL_COMPUTE;
      return computeId === LOCAL_COMPUTE ? [] : [this.#part(computeId).report];
    });
    const state = (['unreachable', 'restoring'] as const).find((each) =>
      reports.some((report) => report.state === each),
    );
    return reports.find((report) => report.state === state) ?? this.#links.report(link.link_id);
  }

  checkAble(type: string, computeId: string): Promise<void> {
    if (this.#isHere(computeId)) return this.#local.checkAble(type);
    const { computes } = this.#options;
    const { isConnected, nodeTypes } = computes.reachOf(computeId);
    const name = computes.recordOf(computeId)?.name ?? computeId;
    // A compute that is out of reach is refused when the node is to be stored.
    if (isConnected && !nodeTypes.some((known) => known === type))
      return Promise.reject(refusals.computeLacksKind(name, type));
    return Promise.resolve();
  }

  giveInputs(nodeId: string, inputs: Properties): void {
    this.#inputs.set(nodeId, inputs);
  }

  checkMade(nodeId: string): void {
    const computeId = this.#nodes.get(nodeId)?.compute_id;
    if (computeId !== undefined) this.#parts.get(computeId)?.checkMade(nodeId);
  }

  async hostInterfaces(computeId: string): Promise<readonly CloudInterface[]> {
    if (this.#isHere(computeId)) return this.#local.hostInterfaces();
    const found = await this.#options.computes.ask(computeId, { method: 'GET', path: '/network/interfaces' });
    return interfaces.parse(found);
  }

  act(node: StoredNode, action: NodeAction): Promise<void> {
    const computeId = this.#computeOf(node);
    return computeId === LOCAL_COMPUTE
      ? this.#local.act(node, action)
      : this.#part(computeId).act(node, action);
  }

  planHold(): Promise<HoldPlan> {
    this.#refuseElsewhere('A snapshot of running nodes');
    return this.#local.planHold();
  }

  hold(folder: string): Promise<HeldNodes> {
    return this.#local.hold(folder);
  }

  holdFiles(): Promise<HeldFiles> {
    return this.#local.holdFiles();
  }

  async halt(nodeId: string): Promise<void> {
    const node = this.#nodes.get(nodeId);
    if (node === undefined || node.compute_id === LOCAL_COMPUTE) await this.#local.halt(nodeId);
    else await this.act(node, 'stop');
  }

  async putAway(): Promise<void> {
    const { ownerOf } = this.#options;
    const away = [...this.#nodes.values()].filter(({ compute_id: id }) => id !== LOCAL_COMPUTE);
    const stops = away.map((node) =>
      this.act(node, 'stop').catch((error: unknown) => ownerOf()?.warn(`${node.name}: ${String(error)}`)),
    );
    await Promise.all([this.#local.putAway(), ...stops]);
  }

  async startAgain(nodeId: string, isSuspended: boolean, memory: KeptMemory | undefined): Promise<void> {
    const node = this.#nodes.get(nodeId);
    if (node !== undefined && node.compute_id !== LOCAL_COMPUTE) await this.act(node, 'start');
    else await this.#local.startAgain(nodeId, isSuspended, memory);
  }

  connect(run: RunLink): Promise<void> {
    if (!this.#isCross(run.link)) return this.#local.connect(run);
    this.#counts.begin();
    return this.#links.connect(run);
  }

  linkStored(run: RunLink): void {
    const { link_id: id } = run.link;
    if (!this.#isCross(run.link)) {
      if (this.#returning.has(id)) this.#returning.set(id, run);
      else this.#local.linkStored(run);
      return;
    }
    this.#counts.begin();
    this.#warnOfOneWay(run);
    this.#links.stored(run);
  }

  farNode(nodeId: string): FarNode | undefined {
    const node = this.#nodes.get(nodeId);
    const part = node && this.#parts.get(node.compute_id);
    return node === undefined || part === undefined ? undefined : new PartNode(node, part, this.#options);
  }

  farLink({ link_id: id, nodes }: StoredLink): FarLink | undefined {
    const ends = nodes.flatMap((place) => {
      const node = this.farNode(place.node_id);
      return node === undefined ? [] : [{ node, place }];
    });
    return ends.length === 2 ? { ends, made: this.#links.madeOf(id) } : undefined;
  }

  linkRemoved(link: StoredLink): void {
    this.#returning.delete(link.link_id);
    if (!this.#links.has(link.link_id)) {
      this.#local.linkRemoved(link);
      return;
    }
    void this.#links.removed(link.link_id);
    // A link that was not made in the life of this server may have an end there.
    for (const part of this.#parts.values()) part.keepLinks((linkId) => linkId !== link.link_id);
  }

  takeRoom(bytes: number): Promise<() => void> {
    return this.#local.takeRoom(bytes);
  }

  settled(): Promise<void> | undefined {
    const waits = [
      this.#local.settled(),
      ...[...this.#parts.values()].map((part) => part.settled()),
      this.#links.settled(),
    ].filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
  }

  checkFilters(node: StoredNode, place: LinkPlace, filters: AcceptedFilters, client: Client): Promise<void> {
    return this.#local.checkFilters(node, place, filters, client);
  }

  async end(how: RunEnd): Promise<void> {
    this.#counts.close();
    this.#links.forgetAll();
    await Promise.all([this.#local.end(how), ...[...this.#parts.values()].map((part) => part.end(how))]);
  }

  #refuseElsewhere(what: string): void {
    const names = [...this.#parts.values()].flatMap((part) => part.runningNames);
    if (names.length > 0) throw refusals.notOnOtherComputes(what, shortList(names));
  }

  #warnOfOneWay({ link, directed: { forward, backward } }: RunLink): void {
    const isOneWay = [forward, backward].some((filters) => Object.keys(filters).length > 0);
    const ends = this.farLink(link)?.ends;
    if (!isOneWay || ends === undefined) return;
    if (ends.some(({ node }) => !node.isReady || node.dialect >= SINCE.captures)) return;
    const why = 'neither of the computes at its ends can have them';
    this.#options.ownerOf()?.warn(`Filters of one way do nothing on link ${link.link_id}: ${why}`);
  }

  #part(computeId: string): RemotePart {
    const known = this.#parts.get(computeId);
    if (known !== undefined) return known;
    const { projectId, right, computes, ownerOf } = this.#options;
    const part = new RemotePart({
      ...{ projectId, right, computeId, computes, ownerOf },
      isLoaded: () => this.#isLoaded,
      ready: (hasLost) => {
        this.#links.restore(
          (linkId, nodeIds) => hasLost(linkId) && nodeIds.some((id) => this.#isOn(id, computeId)),
        );
        part.keepLinks((linkId) => this.#links.has(linkId));
      },
    });
    this.#parts.set(computeId, part);
    return part;
  }

  /** The compute of a node, by the id that this server has for itself. A node stays where it was taken in. */
  #computeOf({ node_id: id, compute_id: computeId }: StoredNode): string {
    const known = this.#nodes.get(id)?.compute_id;
    return known ?? (this.#isHere(computeId) ? LOCAL_COMPUTE : computeId);
  }

  /** Whether the compute is this server. In a farm it may be on record for the others, and have nodes from their times. */
  #isHere(computeId: string): boolean {
    if (computeId === LOCAL_COMPUTE) return true;
    return this.#options.right.isShared && this.#options.computes.reachOf(computeId).isSelf;
  }

  #isOn(nodeId: string, computeId: string): boolean {
    return this.#nodes.get(nodeId)?.compute_id === computeId;
  }

  #isCross({ nodes }: StoredLink): boolean {
    return nodes.some(({ node_id: id }) => {
      const node = this.#nodes.get(id);
      return node !== undefined && node.compute_id !== LOCAL_COMPUTE;
    });
  }

  /** Waits until the nodes are there. A link that leads to a node which runs nowhere stays unconnected. */
  async #sidesOf({ link }: RunLink): Promise<readonly [LinkSide, LinkSide] | undefined> {
    const nodes = link.nodes.map(({ node_id: id }) => this.#nodes.get(id));
    const parts = nodes.map((node) => this.#parts.get(node?.compute_id ?? ''));
    await Promise.all([this.#local.settled(), ...parts.map((part) => part?.settled())]);
    const sides = link.nodes.flatMap((place, index): LinkSide[] => {
      const node = nodes[index];
      const part = parts[index];
      if (node === undefined) return [];
      if (part === undefined)
        return [new LocalSide(this.#local, node, nodes[1 - index]?.name ?? link.link_id)];
      const isOnRecord = this.#options.computes.recordOf(node.compute_id) !== undefined;
      return part.isReady && isOnRecord ? [new RemoteSide(part, { node, place, linkId: link.link_id })] : [];
    });
    const [first, second] = sides;
    return first === undefined || second === undefined ? undefined : [first, second];
  }
}
