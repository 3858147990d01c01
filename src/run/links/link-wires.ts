/**
 * The links of an open project that are connected: two UDP attachments each. Filters and captures are at the first
 * end, where both ways pass.
 */
import { Refusal, refusals } from '../../base/errors/errors.js';
import type { RunLink } from '../../lab/lab-run.js';
import { acceptFilters, storedFilters } from '../../lab/topology/link-filters.js';
import type { StoredLink } from '../../lab/gns3-file/topology-schema.js';
import type { FilterPlan } from '../../engine/filters/filter-plan.js';
import type { ComputeProject } from '../compute-project.js';
import type { FilterPlans } from '../nodes/filter-plans.js';
import type { NioUdp } from './nio.js';
import type { ComputeNode } from '../nodes/compute-node.js';

const LOOPBACK = '127.0.0.1';

interface WireEnd {
  readonly node: ComputeNode;
  /** The port of the node's device. */
  readonly port: number;
}

/** The end of a link that is not at a node of this host. */
export interface OutwardEnd {
  readonly name: string;
  /** The UDP port of this host, which is reserved for the project. */
  readonly lport: number;
  /** The address and the port of the end. */
  readonly rhost: string;
  readonly rport: number;
}

export interface Wire {
  readonly linkId: string;
  readonly near: WireEnd;
  /** Undefined when it is on another host. */
  readonly far: WireEnd | undefined;
  readonly farName: string;
  /** Whether the near end is the second one of the link, because the first is on another host. */
  readonly isReversed: boolean;
  /** The link as it was last carried out. */
  run: RunLink;
  /** Frames that were lost on the way to the other host and back; undefined for a link within this one. */
  lost?: number;
}

/** A link that has no end on this host, with its traffic as it was last asked for. */
export interface LinkElsewhere {
  readonly linkId: string;
  /** By the columns of the traffic. */
  readonly counts: readonly number[];
}

/** Somebody who looks at traffic looks again within this. */
const WATCHED_MS = 3000;

export class LinkWires {
  readonly #project: () => ComputeProject;
  readonly #plans: FilterPlans;
  readonly #warn: (message: string) => void;
  readonly #wires = new Map<string, Wire>();
  /** Links between other hosts: their owner puts them there. */
  readonly elsewhere = new Map<string, LinkElsewhere>();
  #lookedAt = -Infinity;

  /** The project must be there whenever something is done. */
  constructor(project: () => ComputeProject, plans: FilterPlans, warn: (message: string) => void) {
    this.#project = project;
    this.#plans = plans;
    this.#warn = warn;
  }

  get(linkId: string): Wire | undefined {
    return this.#wires.get(linkId);
  }

  /** The links whose traffic is known, for somebody who looks at it. */
  counted(): (Wire | LinkElsewhere)[] {
    this.#lookedAt = performance.now();
    return [...this.#wires.values(), ...this.elsewhere.values()];
  }

  get isWatched(): boolean {
    return performance.now() - this.#lookedAt < WATCHED_MS;
  }

  values(): Iterable<Wire> {
    return this.#wires.values();
  }

  /** Connects both ends or none, or changes what is connected. Returns a wire that is new. */
  async follow(run: RunLink): Promise<Wire | undefined> {
    const wire = this.#wires.get(run.link.link_id);
    if (wire === undefined) return this.#connect(run);
    if (isSamePolicy(wire.run, run)) return undefined;
    await this.#setPolicy(wire, run);
    wire.run = run;
    return undefined;
  }

  /** Resolves with false when the link is not connected. */
  async disconnect(linkId: string): Promise<boolean> {
    const wire = this.#wires.get(linkId);
    if (wire === undefined) return false;
    this.#wires.delete(linkId);
    const results = await Promise.allSettled(
      [wire.near, wire.far].map(async (end) => end?.node.detach(end.port)),
    );
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return true;
  }

  /** Disconnects every link that ends at the node; resolves with false when there was none. */
  async disconnectNode(nodeId: string): Promise<boolean> {
    const wires = [...this.#wires.values()].filter(
      ({ near, far }) => near.node.id === nodeId || far?.node.id === nodeId,
    );
    for (const { linkId } of wires) await this.disconnect(linkId);
    return wires.length > 0;
  }

  /** For a project that has ended: all ports of its nodes are detached already. */
  forgetAll(): void {
    this.#wires.clear();
  }

  /** A link that leads to a node that does not run here stays unconnected. */
  async #connect(run: RunLink): Promise<Wire | undefined> {
    const { link } = run;
    const [near, far] = this.#endsOf(link);
    if (near === undefined || far === undefined) return undefined;
    const project = this.#project();
    const suspend = link.suspend ?? false;
    const nio = (lport: number, rport: number): NioUdp => {
      return { type: 'nio_udp', lport, rhost: LOOPBACK, rport, suspend };
    };
    this.#warnOfIgnored(link);
    const filters = await this.#filtersOf(near, run, false);
    const first = await project.reserveUdpPort();
    let second: number | undefined;
    try {
      second = await project.reserveUdpPort();
      await near.node.attach(near.port, nio(first, second), { suspended: suspend, filters });
    } catch (error) {
      project.releaseUdpPort(first);
      if (second !== undefined) project.releaseUdpPort(second);
      throw error;
    }
    try {
      await far.node.attach(far.port, nio(second, first));
    } catch (error) {
      project.releaseUdpPort(second);
      await near.node.detach(near.port);
      throw error;
    }
    const farName = `${far.node.name} port ${far.port}`;
    const wire = { linkId: link.link_id, near, far, farName, isReversed: false, run };
    this.#wires.set(link.link_id, wire);
    return wire;
  }

  /** Connects the end of a link that is at a node of this host; the other is made by somebody else. */
  async connectOutward(run: RunLink, end: OutwardEnd): Promise<void> {
    const { link } = run;
    const [near] = this.#endsOf(link);
    if (near === undefined) throw refusals.captureNowhere();
    const { lport, rhost, rport, name: farName } = end;
    const suspended = link.suspend ?? false;
    this.#warnOfIgnored(link);
    const isReversed = link.nodes[0]?.node_id !== near.node.id;
    const filters = await this.#filtersOf(near, run, isReversed);
    const nio: NioUdp = { type: 'nio_udp', lport, rhost, rport, suspend: suspended, isTunnel: true };
    await near.node.attach(near.port, nio, { suspended, filters });
    this.#wires.set(link.link_id, { linkId: link.link_id, near, far: undefined, farName, isReversed, run });
  }

  async #setPolicy({ near, far, isReversed }: Wire, run: RunLink): Promise<void> {
    const suspended = run.link.suspend ?? false;
    const filters = await this.#filtersOf(near, run, isReversed);
    await near.node.setPolicy(near.port, { suspended, filters });
    await far?.node.setPolicy(far.port, { suspended, filters: undefined });
  }

  #filtersOf(
    { node, port }: WireEnd,
    { link, directed }: RunLink,
    isReversed: boolean,
  ): Promise<FilterPlan | undefined> {
    const { forward, backward, seed } = directed;
    const [outward, inward] = isReversed ? [backward, forward] : [forward, backward];
    const wanted = { both: storedFilters(link), outward, inward, seed: seed ?? undefined };
    return this.#plans.planOf(
      node.captureAt(port).linkType,
      wanted,
      { projectId: node.home.id },
      (message) => {
        this.#warn(`Link ${link.link_id}: ${message}`);
      },
    );
  }

  /** A file that another program wrote may hold filters that do not exist here. */
  #warnOfIgnored({ link_id: id, filters = {} }: StoredLink): void {
    for (const [type, values] of Object.entries(filters)) {
      try {
        acceptFilters({ [type]: values });
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.#warn(`ignoring a packet filter of link ${id}: ${error.message}`);
      }
    }
  }

  #endsOf(link: StoredLink): WireEnd[] {
    return link.nodes.flatMap(({ node_id: id, adapter_number: adapter, port_number: port }) => {
      const node = this.#project().findNode(id);
      return node === undefined ? [] : [{ node, port: node.portAt(adapter, port) }];
    });
  }
}

/** Whether both treat the frames of the link alike. */
function isSamePolicy(a: RunLink, b: RunLink): boolean {
  const fate = ({ link, directed }: RunLink): string =>
    JSON.stringify([link.suspend ?? false, link.filters ?? {}, directed]);
  return fate(a) === fate(b);
}
