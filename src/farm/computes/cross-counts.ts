/**
 * The counters of the links of a project that lead across hosts, asked of the Wirefarms that have their ends: every ten seconds,
 * and each second while somebody looks. The ends of both sides make the losses between them, and the counts of links that
 * have no end on this server.
 */
import { z } from 'zod';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { LinkWires } from '../../run/links/link-wires.js';
import { LossCount, type EndCounts } from './loss-count.js';

const TICK_MS = 1000;
const UNWATCHED_MS = 10_000;

const count = z.number().min(0);
const ends = z.object({
  ends: z.array(
    z.object({
      link_id: z.string(),
      node_id: z.string(),
      since: z.number(),
      counts: z.tuple([count, count, count, count, count, count]),
    }),
  ),
});

interface ReadEnd extends EndCounts {
  readonly counts: readonly number[];
}

/** A link that is made, by the nodes at its ends. */
export interface MadeEnds {
  readonly linkId: string;
  readonly ends: readonly [End, End];
}

interface End {
  readonly nodeId: string;
  readonly computeId: string;
}

interface CrossCountsOptions {
  readonly made: () => readonly MadeEnds[];
  /** The counters of the ends on a compute; undefined when it has none that can be asked. */
  readonly ask: (computeId: string) => Promise<unknown> | undefined;
  readonly wires: Pick<LinkWires, 'elsewhere' | 'get' | 'isWatched'>;
}

type Reading = ReadonlyMap<string, ReadEnd>;

export class CrossCounts {
  readonly #options: CrossCountsOptions;
  readonly #losses = new Map<string, LossCount>();
  #timer: NodeJS.Timeout | undefined;
  #isReading = false;
  #readAt = -Infinity;

  constructor(options: CrossCountsOptions) {
    this.#options = options;
  }

  /** Call for each link across hosts: most projects have none. */
  begin(): void {
    this.#timer ??= setInterval(() => void this.#tick(), TICK_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#options.wires.elsewhere.clear();
  }

  async #tick(): Promise<void> {
    const { made, wires } = this.#options;
    const now = performance.now();
    if (this.#isReading || (!wires.isWatched && now - this.#readAt < UNWATCHED_MS)) return;
    const links = made();
    this.#forget(new Set(links.map(({ linkId }) => linkId)));
    if (links.length === 0) return;
    this.#isReading = true;
    this.#readAt = now;
    try {
      const first = await this.#readAll(links);
      const again = await this.#readAll(links);
      for (const link of links) this.#count(link, first, again);
    } finally {
      this.#isReading = false;
    }
  }

  #forget(kept: ReadonlySet<string>): void {
    const { elsewhere } = this.#options.wires;
    for (const ids of [this.#losses.keys(), elsewhere.keys()])
      for (const id of [...ids])
        if (!kept.has(id)) {
          this.#losses.delete(id);
          elsewhere.delete(id);
        }
  }

  /** All ends, those of a compute that does not answer left out. */
  async #readAll(links: readonly MadeEnds[]): Promise<Reading> {
    const computes = new Set(links.flatMap((link) => link.ends.map(({ computeId }) => computeId)));
    const found = new Map<string, ReadEnd>();
    await Promise.all(
      [...computes].map(async (id) => {
        const answer = await this.#options.ask(id)?.catch(() => undefined);
        for (const { link_id: linkId, node_id: nodeId, since, counts } of ends.safeParse(answer).data?.ends ??
          [])
          found.set(keyOf(linkId, nodeId), { since, sent: counts[0], received: counts[2], counts });
      }),
    );
    for (const { linkId, ends: both } of links) {
      const own = both.find(({ computeId }) => computeId === LOCAL_COMPUTE);
      const wire = own && this.#options.wires.get(linkId);
      if (own === undefined || wire === undefined) continue;
      const { node, port } = wire.near;
      const counts = node.linkCounts(port);
      found.set(keyOf(linkId, own.nodeId), { ...counts, sent: counts.counts[0], received: counts.counts[2] });
    }
    return found;
  }

  #count({ linkId, ends: both }: MadeEnds, first: Reading, again: Reading): void {
    const [a, b] = both.map(({ nodeId }) => first.get(keyOf(linkId, nodeId)));
    const [c, d] = both.map(({ nodeId }) => again.get(keyOf(linkId, nodeId)));
    const isWithin = both[0].computeId === both[1].computeId;
    const losses = this.#losses.get(linkId) ?? new LossCount();
    this.#losses.set(linkId, losses);
    if (a !== undefined && b !== undefined && c !== undefined && d !== undefined && !isWithin)
      losses.read({ first: [a, b], again: [c, d] });
    const { wires } = this.#options;
    const wire = wires.get(linkId);
    if (wire !== undefined) {
      if (losses.total !== undefined) wire.lost = losses.total;
      return;
    }
    const [near, far] = [c, d];
    if (near === undefined && far === undefined) return;
    // An end that is not known has sent what the other one has received.
    const sums = [4, 5].map((column) => (near?.counts[column] ?? 0) + (far?.counts[column] ?? 0));
    const counts = [0, 1].map((column) => near?.counts[column] ?? far?.counts[column + 2] ?? 0);
    const back = [0, 1].map((column) => far?.counts[column] ?? near?.counts[column + 2] ?? 0);
    wires.elsewhere.set(linkId, { linkId, counts: [...counts, ...back, ...sums, losses.total ?? 0] });
  }
}

function keyOf(linkId: string, nodeId: string): string {
  return `${linkId} ${nodeId}`;
}
