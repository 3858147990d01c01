/** Plans the nodes of a lab file: which are made, changed, made anew and removed, and which start and stop. */
import { Refusal } from '../../base/errors/errors.js';
import type { StoredNode } from '../gns3-file/topology-schema.js';
import { isProgramKind } from '../kinds/node-kinds.js';
import type { NodePort } from '../kinds/port.js';
import { portOwnerOf } from '../topology/port-owner.js';
import type { LabFileFaults } from './lab-file-faults.js';
import type { LabNode } from './lab-file-form.js';
import { digestOf } from './lab-file-record.js';
import { namedBefore, type LabChange, type PlannedWork, type PlanRequest } from './lab-plan.js';
import { differences, gridPlace, portsOfNew, wantedNode, type WantedNode } from './wanted-node.js';

export interface PlanningState {
  readonly request: PlanRequest;
  readonly changes: LabChange[];
  readonly work: PlannedWork;
  readonly faults: LabFileFaults;
}

type Fate = 'new' | 'anew' | 'kept';
type Cost = LabChange['cost'];
interface NodeDifferences {
  readonly from: Record<string, unknown>;
  readonly to: Record<string, unknown>;
}

/** Properties cannot be changed to these: the node has to be made anew. */
class Unchangeable extends Error {}

export class NodePlanning {
  readonly #state: PlanningState;
  readonly #byName = new Map<string, StoredNode>();
  /** The names of nodes that are removed, for good or to be made anew. */
  readonly #leaving = new Set<string>();
  /** The ports that nodes have afterwards, by the names of the nodes. */
  readonly #ports = new Map<string, readonly NodePort[]>();
  #placed = 0;

  constructor(state: PlanningState) {
    this.#state = state;
    for (const node of state.request.topology.nodes.values()) this.#byName.set(node.name, node);
  }

  /** The node of this name, as it is now. */
  actual(name: string): StoredNode | undefined {
    return this.#byName.get(name);
  }

  /** Whether the links of the node go with it. */
  isLeaving(name: string): boolean {
    return this.#leaving.has(name);
  }

  /** The ports that a node will have; undefined for a node with faults. */
  portsOf(name: string): readonly NodePort[] | undefined {
    return this.#ports.get(name);
  }

  /** Removes nodes that the file names no more; with `prunes`, those that no file ever named, too. */
  planRemovals(): void {
    const { file, record, prunes } = this.#state.request;
    const named = namedBefore(record);
    for (const [name, node] of this.#byName) {
      if (file.nodes[name] !== undefined || !(prunes || named.has(name))) continue;
      this.#leaving.add(name);
      this.#state.work.removedNodes.push(node.node_id);
      this.#tell('remove', 'node', name, node.node_type, null, 'live');
    }
  }

  plan(name: string, spec: LabNode): void {
    const { request, faults } = this.#state;
    const path = ['nodes', name];
    const wanted = faults.attempt(path, () => wantedNode(request.file, name, spec, request.templates));
    if (wanted === undefined) return;
    const actual = this.#byName.get(name);
    faults.attempt(path, () => {
      if (actual === undefined) this.#make(wanted, 'new');
      else if (isOther(actual, wanted)) this.#remake(actual, wanted);
      else this.#change(actual, wanted);
    });
  }

  #make(wanted: WantedNode, fate: 'new' | 'anew'): void {
    const { request, work } = this.#state;
    const ports = portsOfNew(wanted, request.interfaces);
    this.#ports.set(wanted.name, ports);
    const place =
      'x' in wanted.settings ? {} : gridPlace(this.#placed++, Object.keys(request.file.nodes).length);
    const interfaces = wanted.kind.usesHostInterfaces === true ? request.interfaces : undefined;
    work.newNodes.push({ ...wanted.request, ...place, interfaces });
    const cost = fate === 'new' ? 'live' : 'recreate';
    this.#tell('create', 'node', wanted.name, null, wanted.kind.type, cost);
    this.#planFiles(wanted, fate, false);
    if (wanted.start === true) this.#start(wanted.name, cost);
  }

  #remake(actual: StoredNode, wanted: WantedNode): void {
    const { work } = this.#state;
    this.#leaving.add(wanted.name);
    work.removedNodes.push(actual.node_id);
    this.#tell('remove', 'node', wanted.name, actual.node_type, null, 'recreate');
    this.#make(wanted, 'anew');
  }

  #change(actual: StoredNode, wanted: WantedNode): void {
    let found: NodeDifferences;
    try {
      found = this.#differences(actual, wanted);
    } catch (error) {
      if (!(error instanceof Unchangeable)) throw error;
      this.#remake(actual, wanted);
      return;
    }
    const { topology } = this.#state.request;
    const status = topology.statusOf(actual);
    const runs = isProgramKind(wanted.kind) && status !== 'stopped';
    const readsAtStart = 'properties' in found.to || 'console_type' in found.to;
    const files = this.#planFiles(wanted, 'kept', runs);
    const restarts = runs && (readsAtStart || files > 0);
    if (Object.keys(found.to).length > 0) {
      this.#state.work.changedNodes.push({ id: actual.node_id, name: wanted.name, settings: found.to });
      const cost = runs && readsAtStart ? 'restart' : 'live';
      this.#tell('change', 'node', wanted.name, shown(found.from), shown(found.to), cost);
    }
    this.#planStatus(actual, wanted, status, restarts);
  }

  #planStatus(actual: StoredNode, wanted: WantedNode, status: string, restarts: boolean): void {
    const { work } = this.#state;
    const stops = wanted.start === false && status !== 'stopped';
    if (stops || restarts) work.stopped.push(actual.node_id);
    if (stops) this.#tell('stop', 'node', wanted.name, status, 'stopped', 'live');
    else if (restarts) work.started.push(wanted.name);
    else if (wanted.start === true && status !== 'started') this.#start(wanted.name, 'live');
  }

  #start(name: string, cost: Cost): void {
    this.#state.work.started.push(name);
    this.#tell('start', 'node', name, 'stopped', 'started', cost);
  }

  /** Also notes the ports that the node will have. */
  #differences(actual: StoredNode, wanted: WantedNode): NodeDifferences {
    const { kind } = wanted;
    const before = actual.properties ?? {};
    const after = this.#changedProperties(actual, wanted);
    const properties = differences(before, after);
    const { from, to } = differences(actual, wanted.settings);
    this.#ports.set(wanted.name, kind.ports(portOwnerOf({ ...actual, ...to, properties: after }, kind)));
    if (Object.keys(properties.to).length === 0) return { from, to };
    return {
      from: { ...from, properties: properties.from },
      to: { ...to, properties: wantedOf(properties.to, wanted) },
    };
  }

  #changedProperties(
    actual: StoredNode,
    { kind, properties }: WantedNode,
  ): Readonly<Record<string, unknown>> {
    const { topology } = this.#state.request;
    const before = actual.properties ?? {};
    try {
      return kind.update(before, properties, topology.portUse.isConnected(actual.node_id));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new Unchangeable(error.message, { cause: error });
    }
  }

  /** Plans the files whose content is other than that which was applied. Returns how many. */
  #planFiles(wanted: WantedNode, fate: Fate, runs: boolean): number {
    const { request, work, faults } = this.#state;
    const applied = fate === 'kept' ? request.record.applied?.nodes[wanted.name]?.files : undefined;
    let count = 0;
    for (const [path, content] of Object.entries(wanted.files)) {
      const before = applied?.[path];
      const from = before === undefined ? null : digestOf(before);
      const to = digestOf(content);
      if (from === to) continue;
      count++;
      if ('sha256' in content) {
        faults.add(['nodes', wanted.name, 'files', path], 'the server has no content with this digest');
        continue;
      }
      work.files.push({ node: wanted.name, path, content });
      const cost = runs ? 'restart' : 'live';
      this.#tell(from === null ? 'create' : 'change', 'file', `${wanted.name}/${path}`, from, to, cost);
    }
    return count;
  }

  #tell(
    action: LabChange['action'],
    what: LabChange['what'],
    name: string,
    from: unknown,
    to: unknown,
    cost: Cost,
  ): void {
    this.#state.changes.push({ action, what, name, from, to, cost });
  }
}

/** Whether the node is of another kind or another template than is wanted. */
function isOther(actual: StoredNode, { kind, templateId }: WantedNode): boolean {
  return (
    actual.node_type !== kind.type ||
    (templateId !== undefined && (actual.template_id ?? undefined) !== templateId)
  );
}

/** The properties as the file gives them, but only those that change. */
function wantedOf(
  changed: Readonly<Record<string, unknown>>,
  { properties }: WantedNode,
): Record<string, unknown> {
  const given = Object.entries(properties).filter(([key]) => key in changed);
  return Object.fromEntries(given.length > 0 ? given : Object.entries(properties));
}

/** Lists of ports are long: a change tells how many there are. */
function shown(settings: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { properties, ...others } = settings;
  if (typeof properties !== 'object' || properties === null) return others;
  const entries = Object.entries(properties as Record<string, unknown>).map(([key, value]) =>
    key === 'ports_mapping' && Array.isArray(value) ? ['ports', value.length] : [key, value],
  );
  return { ...others, ...(Object.fromEntries(entries) as Record<string, unknown>) };
}
