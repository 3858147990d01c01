/**
 * The links of a project that have an end on another compute. Both ends get a UDP port and the address of the other. A link
 * whose compute is out of reach waits for it, and is made anew when the compute has lost it.
 */
import { messageOf, refusals } from '../../base/errors/errors.js';
import type { RunLink, RunReport } from '../../lab/lab-run.js';
import type { MadeEnds } from './cross-counts.js';
import type { LinkSide } from './link-sides.js';

type Sides = readonly [LinkSide, LinkSide];

interface MadeLink {
  readonly sides: Sides;
  readonly ports: readonly [number, number];
  readonly hosts: readonly [string, string];
  run: RunLink;
}

interface CrossLink {
  wanted: RunLink | undefined;
  made: MadeLink | undefined;
  /** Pieces of work that have not ended. */
  waiting: number;
  /** The end of the last piece of work, when it failed. */
  fault: string | undefined;
  last: Promise<void>;
}

interface CrossLinksOptions {
  /** The ends of a link; undefined when one of them is out of reach. */
  readonly sidesOf: (run: RunLink) => Promise<Sides | undefined>;
  /** The addresses of the hosts of both, each as the other reaches it. */
  readonly addressesOf: (sides: Sides) => Promise<readonly [string, string]>;
  readonly warn: (message: string) => void;
}

export class CrossLinks {
  readonly #options: CrossLinksOptions;
  readonly #links = new Map<string, CrossLink>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: CrossLinksOptions) {
    this.#options = options;
  }

  settled(): Promise<unknown> | undefined {
    return this.#running.size === 0 ? undefined : Promise.all(this.#running);
  }

  has(linkId: string): boolean {
    return this.#links.has(linkId);
  }

  /** How a link runs whose computes are both there. */
  report(linkId: string): RunReport {
    const link = this.#links.get(linkId);
    if (link !== undefined && link.waiting > 0) return { state: 'restoring' };
    if (link?.made !== undefined && link.fault === undefined) return { state: 'running' };
    return { state: 'lost', reason: link?.fault ?? 'It has no ends' };
  }

  /** Connects both ends of a new link, or refuses and connects none. */
  connect(run: RunLink): Promise<void> {
    return this.#inTurn(run.link.link_id, async (link) => {
      link.wanted = run;
      try {
        if (!(await this.#bring(link))) throw refusals.linkOutOfReach();
      } catch (error) {
        link.wanted = undefined;
        throw error;
      }
    });
  }

  stored(run: RunLink): void {
    this.#follow(run.link.link_id, async (link) => {
      link.wanted = run;
      await this.#bring(link);
    });
  }

  /** A node of the link is on another compute by now. */
  moved(run: RunLink): void {
    this.#follow(run.link.link_id, async (link) => {
      link.wanted = run;
      await this.#undo(link).catch((error: unknown) => {
        this.#options.warn(`Link ${run.link.link_id} has left an end behind: ${messageOf(error)}`);
      });
      await this.#bring(link);
    });
  }

  /** Resolves when its ends are gone, or cannot be taken back. */
  async removed(linkId: string): Promise<void> {
    if (!this.#links.has(linkId)) return;
    this.#follow(linkId, async (link) => {
      link.wanted = undefined;
      await this.#undo(link);
      this.#links.delete(linkId);
    });
    await this.#links.get(linkId)?.last;
  }

  /** Makes what is wanted and not made. Links for which `isLost` holds, and those of a host with another address, are made anew. */
  restore(isLost: (linkId: string, nodeIds: readonly string[]) => boolean): void {
    for (const [id, { wanted }] of this.#links) {
      if (wanted === undefined) continue;
      this.#follow(id, async (link) => {
        const { made } = link;
        const nodeIds = made?.sides.map(({ node }) => node.node_id) ?? [];
        if (made !== undefined && (isLost(id, nodeIds) || (await this.#hasMoved(made))))
          await this.#undo(link);
        await this.#bring(link);
      });
    }
  }

  /** Another object each time that the link is made; undefined while it is not. */
  madeOf(linkId: string): object | undefined {
    return this.#links.get(linkId)?.made;
  }

  /** The links that are made. */
  made(): MadeEnds[] {
    return [...this.#links].flatMap(([linkId, { made }]) => {
      if (made === undefined) return [];
      const [a, b] = made.sides.map(({ node }) => ({ nodeId: node.node_id, computeId: node.compute_id }));
      return a === undefined || b === undefined ? [] : [{ linkId, ends: [a, b] }];
    });
  }

  /** For a project that has ended. */
  forgetAll(): void {
    this.#links.clear();
  }

  /** Resolves with false when an end is out of reach. */
  async #bring(link: CrossLink): Promise<boolean> {
    const { wanted, made } = link;
    if (wanted === undefined) return true;
    if (made !== undefined) {
      if (isSamePolicy(made.run, wanted)) return true;
      if (await change(made, wanted)) {
        made.run = wanted;
        return true;
      }
      await this.#undo(link);
    }
    const sides = await this.#options.sidesOf(wanted);
    if (sides === undefined) return false;
    link.made = await make(sides, await this.#options.addressesOf(sides), wanted);
    return true;
  }

  /** Whether a host has another address for its tunnels by now. */
  async #hasMoved({ sides, hosts }: MadeLink): Promise<boolean> {
    const now = await this.#options.addressesOf(sides);
    return now.some((address, index) => address !== hosts[index]);
  }

  async #undo(link: CrossLink): Promise<void> {
    const { made } = link;
    link.made = undefined;
    if (made === undefined) return;
    const ends = await Promise.allSettled(made.sides.map((side) => side.detach(made.run.link.link_id)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  #follow(linkId: string, work: (link: CrossLink) => Promise<void>): void {
    this.#inTurn(linkId, work).catch((error: unknown) => {
      this.#options.warn(`Link ${linkId} does not run as it should: ${messageOf(error)}`);
    });
  }

  #inTurn(linkId: string, work: (link: CrossLink) => Promise<void>): Promise<void> {
    const link: CrossLink = this.#links.get(linkId) ?? {
      ...{ wanted: undefined, made: undefined, waiting: 0, fault: undefined },
      last: Promise.resolve(),
    };
    this.#links.set(linkId, link);
    link.waiting++;
    const done = link.last.then(() => work(link));
    link.last = done.then(
      () => {
        link.waiting--;
        link.fault = undefined;
      },
      (error: unknown) => {
        link.waiting--;
        link.fault = messageOf(error);
      },
    );
    const { last } = link;
    this.#running.add(last);
    void last.then(() => this.#running.delete(last));
    return done;
  }
}

/** The end at which the filters are. */
function filterEnd([first, second]: Sides): LinkSide {
  return second.filtering > first.filtering ? second : first;
}

/** Undoes the first end when the second fails. Ports that were not used are kept. */
async function make(sides: Sides, hosts: MadeLink['hosts'], run: RunLink): Promise<MadeLink> {
  const [near, far] = sides;
  const first = await near.takePort();
  let second: number;
  try {
    second = await far.takePort();
  } catch (error) {
    near.keepPort(first);
    throw error;
  }
  const end = filterEnd(sides);
  try {
    await near.attach(run, first, { host: hosts[1], port: second }, near === end);
  } catch (error) {
    near.keepPort(first);
    far.keepPort(second);
    throw error;
  }
  try {
    await far.attach(run, second, { host: hosts[0], port: first }, far === end);
  } catch (error) {
    far.keepPort(second);
    await near.detach(run.link.link_id);
    throw error;
  }
  return { sides, ports: [first, second], hosts, run };
}

/** Resolves with false when the link must be made anew. */
async function change({ sides, ports, hosts }: MadeLink, run: RunLink): Promise<boolean> {
  const [near, far] = sides;
  const end = filterEnd(sides);
  const isNearDone = await near.change(run, ports[0], { host: hosts[1], port: ports[1] }, near === end);
  const isFarDone = await far.change(run, ports[1], { host: hosts[0], port: ports[0] }, far === end);
  return isNearDone && isFarDone;
}

function isSamePolicy(a: RunLink, b: RunLink): boolean {
  const fate = ({ link, directed }: RunLink): string =>
    JSON.stringify([link.suspend ?? false, link.filters ?? {}, directed]);
  return fate(a) === fate(b);
}
