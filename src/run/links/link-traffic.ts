/**
 * The traffic of the links of a project, read from the counters in shared memory. All viewers of a project share one
 * reading a second, which exists only as long as somebody looks.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import { otherDropsAt } from './end-counts.js';
import type { LinkElsewhere, Wire } from './link-wires.js';

/** The counts of a link, in this order. Forward is from its first end to its second, seen at the first. */
export const TRAFFIC_COLUMNS = [
  'forward_frames',
  'forward_octets',
  'backward_frames',
  'backward_octets',
  'filtered',
  'dropped',
  'lost_between_hosts',
] as const;

const COLUMNS = TRAFFIC_COLUMNS.length;
const PERIOD_MS = 1000;

/** The links of one project that are connected now. */
type WiresOf = () => Iterable<Wire | LinkElsewhere>;
type Send = (frame: string | Uint8Array) => void;

interface CountedLink {
  readonly number: number;
  readonly counts: Float64Array;
}

/** Counts of filters are those of both ways: they lie at the first end. The other drops are those of both ports. */
function readCounts(link: Wire | LinkElsewhere, counts: Float64Array): void {
  if ('counts' in link) {
    counts.set(link.counts);
    return;
  }
  const { near, far, isReversed } = link;
  const { device } = near.node;
  const [outward, inward] = isReversed ? [2, 0] : [0, 2];
  counts[outward] = device.count(near.port, COUNTER.frames_out);
  counts[outward + 1] = device.count(near.port, COUNTER.octets_out);
  counts[inward] = device.count(near.port, COUNTER.frames_in);
  counts[inward + 1] = device.count(near.port, COUNTER.octets_in);
  counts[4] = device.count(near.port, COUNTER.filter_bpf, COUNTER.held_back);
  let drops = 0;
  for (const { node, port } of far === undefined ? [near] : [near, far]) {
    drops += otherDropsAt(node.device, port);
  }
  counts[5] = drops;
  counts[6] = link.lost ?? 0;
}

/** The hits of the filters of a link each way; none while it is not connected. Filters lie at the first end. */
export function hitsOf(wire: Wire | undefined): {
  readonly forward: Readonly<Record<string, number>>;
  readonly backward: Readonly<Record<string, number>>;
} {
  if (wire === undefined) return { forward: {}, backward: {} };
  const { node, port } = wire.near;
  return { forward: node.device.hits(port, 'outward'), backward: node.device.hits(port, 'inward') };
}

/** The counts of each link, by its id. */
export function trafficOf(wires: Iterable<Wire | LinkElsewhere>): Record<string, number[]> {
  const counts = new Float64Array(COLUMNS);
  const traffic: Record<string, number[]> = {};
  for (const wire of wires) {
    readCounts(wire, counts);
    traffic[wire.linkId] = [...counts];
  }
  return traffic;
}

/** The viewers of one project. A link has one number for all of them as long as it is connected. */
class ProjectViewers {
  readonly #wires: WiresOf;
  readonly #viewers = new Set<Send>();
  readonly #links = new Map<string, CountedLink>();
  readonly #timer: NodeJS.Timeout;
  #nextNumber = 0;

  constructor(wires: WiresOf) {
    this.#wires = wires;
    this.#timer = setInterval(() => {
      this.#tell();
    }, PERIOD_MS);
    this.#tell();
  }

  get size(): number {
    return this.#viewers.size;
  }

  add(send: Send): void {
    this.#viewers.add(send);
    const numbers = Object.fromEntries([...this.#links].map(([id, { number }]) => [id, number]));
    send(JSON.stringify({ columns: TRAFFIC_COLUMNS, links: numbers, removed: [] }));
    send(frameOf([...this.#links.values()]));
  }

  remove(send: Send): void {
    this.#viewers.delete(send);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Reads all counts, and sends those that have changed. */
  #tell(): void {
    const changed: CountedLink[] = [];
    const links: Record<string, number> = {};
    const gone = new Set(this.#links.keys());
    const fresh = new Float64Array(COLUMNS);
    for (const wire of this.#wires()) {
      gone.delete(wire.linkId);
      let link = this.#links.get(wire.linkId);
      if (link === undefined) {
        link = { number: this.#nextNumber++, counts: new Float64Array(COLUMNS).fill(-1) };
        this.#links.set(wire.linkId, link);
        links[wire.linkId] = link.number;
      }
      readCounts(wire, fresh);
      if (isSame(fresh, link.counts)) continue;
      link.counts.set(fresh);
      changed.push(link);
    }
    for (const id of gone) this.#links.delete(id);
    if (gone.size > 0 || Object.keys(links).length > 0)
      this.#send(JSON.stringify({ columns: TRAFFIC_COLUMNS, links, removed: [...gone] }));
    this.#send(frameOf(changed));
  }

  #send(frame: string | Uint8Array): void {
    for (const send of [...this.#viewers]) {
      try {
        send(frame);
      } catch {
        // Its connection is gone, which its route will be told.
        this.#viewers.delete(send);
      }
    }
  }
}

/** The milliseconds of the clock of this process, then for each link its number and its counts. */
function frameOf(links: readonly CountedLink[]): Uint8Array {
  const values = new Float64Array(1 + links.length * (COLUMNS + 1));
  values[0] = performance.now();
  links.forEach(({ number, counts }, index) => {
    const start = 1 + index * (COLUMNS + 1);
    values[start] = number;
    values.set(counts, start + 1);
  });
  return new Uint8Array(values.buffer);
}

function isSame(a: Float64Array, b: Float64Array): boolean {
  return a.every((value, index) => value === b[index]);
}

/** The viewers of all projects. */
export class TrafficViewers {
  readonly #wiresOf: (projectId: string) => Iterable<Wire | LinkElsewhere>;
  readonly #byProject = new Map<string, ProjectViewers>();

  /** A project that is closed has no wires; its viewers see them again when it opens. */
  constructor(wiresOf: (projectId: string) => Iterable<Wire | LinkElsewhere>) {
    this.#wiresOf = wiresOf;
  }

  /** Begins to send: text frames with the numbers of links, binary ones with counts. Returns the end. */
  view(projectId: string, send: Send): () => void {
    let viewers = this.#byProject.get(projectId);
    if (viewers === undefined) {
      viewers = new ProjectViewers(() => this.#wiresOf(projectId));
      this.#byProject.set(projectId, viewers);
    }
    viewers.add(send);
    const known = viewers;
    return () => {
      known.remove(send);
      if (known.size > 0 || this.#byProject.get(projectId) !== known) return;
      known.close();
      this.#byProject.delete(projectId);
    };
  }
}
