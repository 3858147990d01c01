/** Plans the links of a lab file. A link is known by its two ends: the names of its nodes, and the numbers of its ports. */
import { isDeepStrictEqual } from 'node:util';
import { shortList } from '../../base/errors/errors.js';
import type { StoredLink } from '../gns3-file/topology-schema.js';
import type { NodePort } from '../kinds/port.js';
import { acceptFilters, storedFilters } from '../topology/link-filters.js';
import { endOf, type LabFile, type LabLink } from './lab-file-form.js';
import type { LabChange, PlannedEnd, PlannedLink } from './lab-plan.js';
import type { NodePlanning, PlanningState } from './node-planning.js';

interface ActualLink {
  readonly link: StoredLink;
  readonly ends: PlannedLink['ends'];
}

interface ResolvedEnd extends PlannedEnd {
  readonly medium: NodePort['link_type'];
}

const placeOf = ({ node, adapter, port }: PlannedEnd): string => `${node}:${adapter}/${port}`;

/** The same for both orders of the ends. */
function keyOf(ends: PlannedLink['ends']): string {
  return ends.map(placeOf).sort().join(' ');
}

export class LinkPlanning {
  readonly #state: PlanningState;
  readonly #nodes: NodePlanning;
  readonly #actual = new Map<string, ActualLink>();
  /** The link that a port has now, by the place of the port. */
  readonly #used = new Map<string, string>();
  /** The links that were applied before, by their keys. */
  readonly #before = new Map<string, LabLink>();
  readonly #wanted = new Map<
    string,
    { readonly link: LabLink; readonly index: number; readonly ends: PlannedLink['ends'] }
  >();
  /** The place in the file where a port is used. */
  readonly #claimed = new Map<string, number>();
  readonly #removed = new Set<string>();

  constructor(state: PlanningState, nodes: NodePlanning) {
    this.#state = state;
    this.#nodes = nodes;
    const { topology } = state.request;
    for (const link of topology.links.values()) {
      const ends = this.#endsOf(link);
      if (ends === undefined) continue;
      const key = keyOf(ends);
      this.#actual.set(key, { link, ends });
      for (const end of ends) this.#used.set(placeOf(end), key);
    }
  }

  /** Reads a link of the file that was applied last, by the ports that its nodes have now. */
  noteBefore(link: LabLink): void {
    const { topology } = this.#state.request;
    const ends = link.ends.map((end) => {
      const { node: name, port } = endOf(end);
      const node = this.#nodes.actual(name);
      return node === undefined ? undefined : foundEnd(name, port, topology.portsOf(node));
    });
    const [one, other] = ends;
    if (one !== undefined && other !== undefined) this.#before.set(keyOf([one, other]), link);
  }

  /** Reads a link of the wanted file. */
  noteWanted(link: LabLink, index: number): void {
    const [first, second] = link.ends.map((end, side) => this.#resolve(end, ['links', index, 'ends', side]));
    if (first === undefined || second === undefined) return;
    const { faults } = this.#state;
    const path = ['links', index];
    if (first.node === second.node) {
      faults.add(path, 'a link has its ends at two nodes');
    } else if (first.medium !== second.medium) {
      faults.add(path, `a port of type ${first.medium} cannot be linked with one of type ${second.medium}`);
    } else {
      const ends = [first, second] as const;
      const taken = ends.find((end) => this.#claimed.has(placeOf(end)));
      if (taken !== undefined) {
        const other = this.#claimed.get(placeOf(taken)) ?? 0;
        faults.add(path, `the port ${placeOf(taken)} is in the link before (links.${other}), too`);
        return;
      }
      for (const end of ends) this.#claimed.set(placeOf(end), index);
      this.#wanted.set(keyOf(ends), { link, index, ends });
    }
  }

  /** Removes links that are wanted no more, and those of nodes that go. Call it when all links are noted. */
  planRemovals(): void {
    const { prunes } = this.#state.request;
    for (const [key, { link, ends }] of this.#actual) {
      const isRemade = ends.some(({ node }) => this.#nodes.isLeaving(node));
      const isUnwanted = !this.#wanted.has(key) && (prunes || this.#before.has(key));
      if (!isRemade && !isUnwanted) continue;
      this.#removed.add(key);
      this.#state.work.removedLinks.push(link.link_id);
      this.#tell('remove', 'link', ends, 'linked', null, this.#wanted.has(key) ? 'recreate' : 'live');
    }
  }

  planLinks(): void {
    for (const [key, { link, index, ends }] of this.#wanted) {
      this.#state.faults.attempt(['links', index], () => {
        const actual = this.#removed.has(key) ? undefined : this.#actual.get(key);
        if (actual === undefined) this.#make(link, index, ends, this.#removed.has(key));
        else this.#change(actual.link, link, ends, this.#before.get(key));
      });
    }
  }

  #make(link: LabLink, index: number, ends: PlannedLink['ends'], isRemade: boolean): void {
    for (const end of ends) {
      const key = this.#used.get(placeOf(end));
      if (key === undefined || this.#removed.has(key)) continue;
      const reason = `the port ${placeOf(end)} has a link that no lab file names: remove it, or apply with prune`;
      this.#state.faults.add(['links', index], reason);
      return;
    }
    const filters = acceptFilters(link.filters ?? {});
    this.#state.work.newLinks.push({ ends, filters, suspend: link.suspend ?? false });
    this.#tell('create', 'link', ends, null, 'linked', isRemade ? 'recreate' : 'live');
    if (link.capture !== undefined) this.#capture(ends, link.capture);
  }

  #change(actual: StoredLink, link: LabLink, ends: PlannedLink['ends'], before: LabLink | undefined): void {
    const wanted = {
      // A setting that the file has no more is set back; one that it never had is left alone.
      ...settingOf(
        'filters',
        link.filters === undefined ? undefined : acceptFilters(link.filters),
        before,
        {},
      ),
      ...settingOf('suspend', link.suspend, before, false),
    };
    const now = { filters: storedFilters(actual), suspend: actual.suspend ?? false };
    const keys = (['filters', 'suspend'] as const).filter(
      (key) => key in wanted && !isDeepStrictEqual(now[key], wanted[key]),
    );
    if (keys.length > 0) {
      const settings = Object.fromEntries(keys.map((key) => [key, wanted[key]]));
      this.#state.work.changedLinks.push({ id: actual.link_id, settings });
      const from = Object.fromEntries(keys.map((key) => [key, now[key]]));
      this.#tell('change', 'link', ends, from, settings, 'live');
    }
    this.#planCapture(actual, link, ends, before);
  }

  #planCapture(
    actual: StoredLink,
    link: LabLink,
    ends: PlannedLink['ends'],
    before: LabLink | undefined,
  ): void {
    const runs = this.#state.request.topology.captures.get(actual.link_id)?.isRunning === true;
    const isSame = isDeepStrictEqual(link.capture, before?.capture);
    if (runs && before?.capture !== undefined && !isSame) {
      this.#state.work.endedCaptures.push(actual.link_id);
      this.#tell('stop', 'capture', ends, before.capture, null, 'live');
    }
    if (link.capture !== undefined && (!runs || (before?.capture !== undefined && !isSame)))
      this.#capture(ends, link.capture);
  }

  #capture(ends: PlannedLink['ends'], settings: NonNullable<LabLink['capture']>): void {
    this.#state.work.captures.push({ ends, settings });
    this.#tell('start', 'capture', ends, null, settings, 'live');
  }

  #resolve(end: string, path: (string | number)[]): ResolvedEnd | undefined {
    const { node, port } = endOf(end);
    const ports = this.#nodes.portsOf(node);
    // A node with a fault is told of already.
    if (ports === undefined) return undefined;
    const found = foundEnd(node, port, ports);
    if (found === undefined) {
      const names = shortList(ports.map(({ short_name: name }) => name));
      this.#state.faults.add(path, `${node} has no port ${port}: it has ${names === '' ? 'none' : names}`);
    }
    return found;
  }

  #endsOf(link: StoredLink): PlannedLink['ends'] | undefined {
    const { topology } = this.#state.request;
    const [one, other] = link.nodes.map(({ node_id: id, adapter_number: adapter, port_number: port }) => {
      const node = topology.nodes.get(id);
      return node === undefined ? undefined : { node: node.name, adapter, port };
    });
    return one === undefined || other === undefined ? undefined : [one, other];
  }

  #tell(
    action: LabChange['action'],
    what: 'link' | 'capture',
    ends: PlannedLink['ends'],
    from: unknown,
    to: unknown,
    cost: LabChange['cost'],
  ): void {
    const name = ends.map((end) => this.#nameOf(end)).join(' ');
    this.#state.changes.push({ action, what, name, from, to, cost });
  }

  #nameOf({ node: name, adapter, port }: PlannedEnd): string {
    const { topology } = this.#state.request;
    const node = this.#nodes.actual(name);
    const ports = this.#nodes.portsOf(name) ?? (node === undefined ? [] : topology.portsOf(node));
    const found = ports.find((one) => one.adapter_number === adapter && one.port_number === port);
    return `${name}:${found?.short_name ?? `${adapter}/${port}`}`;
  }
}

function settingOf(
  key: 'filters' | 'suspend',
  wanted: unknown,
  before: LabLink | undefined,
  unset: unknown,
): Readonly<Record<string, unknown>> {
  if (wanted !== undefined) return { [key]: wanted };
  return before?.[key] === undefined ? {} : { [key]: unset };
}

/** The port by its short name, its long name, or `adapter/port`. */
function foundEnd(node: string, name: string, ports: readonly NodePort[]): ResolvedEnd | undefined {
  const found =
    ports.find((port) => port.short_name === name || port.name === name) ??
    ports.find((port) => `${port.adapter_number}/${port.port_number}` === name);
  if (found === undefined) return undefined;
  return { node, adapter: found.adapter_number, port: found.port_number, medium: found.link_type };
}

/** The links of both files of a record; those of the file that was applied to its end come last and count. */
export function linksBefore(begun: LabFile | null, applied: LabFile | null): LabLink[] {
  return [...(begun?.links ?? []), ...(applied?.links ?? [])];
}
