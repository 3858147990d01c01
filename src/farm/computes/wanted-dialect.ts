/**
 * A part of a project as another Wirefarm takes it: what is wanted, with an epoch and a number. Changes that come while a
 * request is on its way gather into the next one. A compute that has what it was told is sent what it lacks, one that has
 * lost it all of it; and one that has it from an earlier life of this server goes on with what runs there.
 */
import { setImmediate as rest } from 'node:timers/promises';
import { z } from 'zod';
import { Refusal, refusals } from '../../base/errors/errors.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import type { RunEnd } from '../../lab/lab-run.js';
import { placeKey, SINCE, type PortPlace } from '../../run/wanted-shapes.js';
import { DEADLINE_MS } from './deadlines.js';
import type { Dialect, DialectOptions, NodeWish, PortAt, TunnelEnd } from './dialect.js';
import { nodeBody } from './node-body.js';

const count = z.int().min(0);
const fault = z.object({ status: count, message: z.string().max(4096) }).nullable();
const place = { node_id: z.string(), adapter_number: count, port_number: count };
const actual = z.object({
  life: z.string().max(64).optional(),
  epoch: count,
  number: count,
  nodes: z.array(z.looseObject({ node_id: z.string(), status: z.string().nullable(), fault })),
  attachments: z.array(
    z.object({ ...place, link_id: z.string(), lport: z.int().min(1).max(65_535).nullable(), fault }),
  ),
});

type Actual = z.output<typeof actual>;
type ActualNode = Actual['nodes'][number];
type ActualEnd = Actual['attachments'][number];
type Fault = z.output<typeof fault>;

interface WantedNode {
  readonly type: string;
  readonly settings: object;
  /** Both are told once. */
  inputs: Properties | undefined;
  status: 'started' | undefined;
  /** The number of the request that tells it. */
  readonly at: number;
  actual: ActualNode | undefined;
}

interface WantedEnd {
  readonly place: PortPlace;
  readonly linkId: string;
  /** The tunnel at the port; undefined leaves there what it has. */
  readonly end: TunnelEnd | undefined;
  readonly at: number;
  lport: number | undefined;
  fault: Fault;
}

export class WantedDialect implements Dialect {
  readonly nodesAtOnce = Infinity;
  readonly changesSwitches = true;
  readonly #options: DialectOptions;
  readonly #path: string;
  readonly #nodes = new Map<string, WantedNode>();
  readonly #ends = new Map<string, WantedEnd>();
  /** The numbers of the requests that tell what has gone. */
  readonly #goneNodes = new Map<string, number>();
  readonly #goneEnds = new Map<string, { readonly place: PortPlace; readonly at: number }>();
  readonly #lostLinks = new Set<string>();
  /** The life of the program of the compute that was told. */
  #life: string | undefined;
  /** 0 until the compute was asked. */
  #epoch = 0;
  #number = 0;
  /** The number that the compute has reached; undefined when it is to be told everything. */
  #reached: number | undefined;
  #sent: Promise<void> = Promise.resolve();
  #gathering: Promise<void> | undefined;
  /** Whether the last beginning has found what an earlier life has told. */
  #hasOlder = false;

  constructor(options: DialectOptions) {
    this.#options = options;
    this.#path = `/projects/${options.projectId}/wanted`;
  }

  get filtersOneWay(): boolean {
    return this.#options.spoken() >= SINCE.captures;
  }

  async begin(life: string | undefined): Promise<boolean> {
    // A compute that has started since has nothing of it: it need not be asked.
    const hasStarted = life !== undefined && this.#life !== undefined && life !== this.#life;
    const found = hasStarted ? undefined : await this.#look();
    this.#life = life;
    this.#lostLinks.clear();
    if (this.#epoch === 0) await this.#adopt(found);
    if (found !== undefined && found.epoch > this.#epoch) throw this.#takenOver(found.epoch);
    const isSame = found?.epoch === this.#epoch;
    this.#hasOlder = found !== undefined && !isSame;
    this.#reached = isSame ? found.number : undefined;
    if (!isSame) return true;
    for (const node of this.#nodes.values()) node.actual = undefined;
    this.#note(found);
    if (this.#goneNodes.size + this.#goneEnds.size > 0) await this.#flush();
    return false;
  }

  async clear(): Promise<void> {
    if (this.#hasOlder) await this.#flush();
  }

  async bring({ stored, console, inputs, shouldRun, made }: NodeWish): Promise<unknown> {
    const { node_id: id, node_type: type } = stored;
    const node: WantedNode = {
      ...{ type, settings: nodeBody(stored, console), inputs, actual: undefined },
      status: made === undefined && shouldRun ? 'started' : undefined,
      at: this.#number + 1,
    };
    this.#goneNodes.delete(id);
    this.#nodes.set(id, node);
    await this.#flush();
    this.#check(node.actual?.fault ?? null);
    return node.actual;
  }

  look({ node_id: id }: StoredNode): Promise<unknown> {
    const node = this.#nodes.get(id)?.actual;
    return Promise.resolve(node?.status === null ? undefined : node);
  }

  async remove({ node_id: id }: StoredNode): Promise<void> {
    if (!this.#nodes.delete(id)) return;
    this.#goneNodes.set(id, this.#number + 1);
    await this.#flush();
  }

  /** A port that it has for this link is that port. */
  async takePort(at: PortAt): Promise<number> {
    const known = this.#ends.get(keyOf(at));
    if (known?.linkId === at.linkId && known.lport !== undefined && known.fault === null) return known.lport;
    return this.#want(at, undefined);
  }

  keepPort(at: PortAt): void {
    void this.detach(at).catch(() => undefined);
  }

  async attach(at: PortAt, end: TunnelEnd): Promise<void> {
    await this.#want(at, end);
  }

  async change(at: PortAt, end: TunnelEnd): Promise<void> {
    await this.#want(at, end);
  }

  async detach(at: PortAt): Promise<void> {
    const key = keyOf(at);
    if (this.#ends.get(key)?.linkId !== at.linkId) return;
    this.#dropEnd(key);
    await this.#flush();
  }

  hasLost(linkId: string): boolean {
    return this.#lostLinks.has(linkId);
  }

  keepLinks(isWanted: (linkId: string) => boolean): void {
    const gone = [...this.#ends].filter(([, { linkId }]) => !isWanted(linkId));
    for (const [key] of gone) this.#dropEnd(key);
    if (gone.length > 0) void this.#flush().catch(() => undefined);
  }

  async end(how: RunEnd): Promise<void> {
    if (this.#epoch > 0) await this.#options.endThere(this.#epoch, how);
  }

  /**
   * Takes the epoch of this life, and goes on with the ends of links that are there; which of them are wanted is not known yet. Where no
   * other server has the project, the compute may be ahead of what is stored: of records that came from a backup.
   */
  async #adopt(found: Actual | undefined): Promise<void> {
    const { right } = this.#options;
    const epoch = await right.epoch();
    this.#epoch = right.isShared ? epoch : Math.max(epoch, (found?.epoch ?? 0) + 1);
    if (this.#epoch < (found?.epoch ?? 0)) return;
    for (const { link_id: linkId, lport, node_id, adapter_number, port_number } of found?.attachments ?? []) {
      const at = { node_id, adapter_number, port_number };
      const end = { place: at, linkId, end: undefined, at: 0, lport: lport ?? undefined, fault: null };
      this.#ends.set(placeKey(at), end);
    }
  }

  async #want(at: PortAt, end: TunnelEnd | undefined): Promise<number> {
    const known = this.#ends.get(keyOf(at));
    const lport = known?.linkId === at.linkId ? known.lport : undefined;
    const wanted: WantedEnd = {
      ...{ place: placeOf(at), linkId: at.linkId, end, lport, fault: null },
      at: this.#number + 1,
    };
    this.#goneEnds.delete(keyOf(at));
    this.#ends.set(keyOf(at), wanted);
    await this.#flush();
    this.#check(wanted.fault);
    if (wanted.lport === undefined) throw refusals.notACompute(this.#options.computeName());
    return wanted.lport;
  }

  #dropEnd(key: string): void {
    const end = this.#ends.get(key);
    if (end === undefined) return;
    this.#ends.delete(key);
    this.#goneEnds.set(key, { place: end.place, at: this.#number + 1 });
  }

  #check(found: Fault): void {
    if (found !== null)
      throw refusals.computeRefused(this.#options.computeName(), found.status, found.message);
  }

  /** Resolves when the compute has all changes so far. One request is on its way, and one gathers. */
  #flush(): Promise<void> {
    if (this.#gathering !== undefined) return this.#gathering;
    const gathering = this.#sent
      .then(() => rest())
      .then(() => {
        this.#gathering = undefined;
        return this.#send();
      });
    this.#gathering = gathering;
    this.#sent = gathering.catch(() => undefined);
    return gathering;
  }

  async #send(): Promise<void> {
    const number = ++this.#number;
    try {
      this.#followed(await this.#put(number), number);
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'compute_refused') throw error;
      const found = await this.#look();
      if (found !== undefined && found.epoch > this.#epoch) throw this.#takenOver(found.epoch);
      if (this.#reached === undefined) throw error;
      // The compute has forgotten the project, or what it was told of it.
      this.#reached = undefined;
      this.#followed(await this.#put(number), number);
    }
  }

  async #put(number: number): Promise<Actual> {
    const since = this.#reached ?? -1;
    const isDue = ({ at }: { readonly at: number }): boolean => at > since;
    const body = {
      ...{ name: this.#options.name(), epoch: this.#epoch, number, since: this.#reached },
      nodes: [...this.#nodes].filter(([, node]) => isDue(node)).map(([id, node]) => nodeOf(id, node)),
      attachments: [...this.#ends.values()].filter(isDue).map((end) => endOf(end, this.filtersOneWay)),
      ...(this.#reached === undefined
        ? {}
        : {
            removed_nodes: [...this.#goneNodes.keys()],
            removed_attachments: [...this.#goneEnds.values()].map((gone) => gone.place),
          }),
    };
    return actual.parse(await this.#options.ask('PUT', this.#path, body, DEADLINE_MS.node));
  }

  #followed(answer: Actual, number: number): void {
    this.#reached = number;
    for (const [id, at] of this.#goneNodes) if (at <= number) this.#goneNodes.delete(id);
    for (const [key, { at }] of this.#goneEnds) if (at <= number) this.#goneEnds.delete(key);
    this.#note(answer);
  }

  #note({ life, nodes, attachments }: Actual): void {
    this.#life = life;
    for (const node of nodes) {
      const known = this.#nodes.get(node.node_id);
      if (known === undefined) continue;
      known.actual = node;
      if (node.fault === null && node.status !== null) known.inputs = known.status = undefined;
    }
    for (const end of attachments) this.#noteEnd(end);
  }

  #noteEnd({ link_id: linkId, lport, fault: found, ...at }: ActualEnd): void {
    const known = this.#ends.get(placeKey(at));
    if (known?.linkId !== linkId) return;
    const before = known.lport;
    known.lport = lport ?? undefined;
    known.fault = found;
    if (before !== undefined && before !== lport) this.#lostLinks.add(linkId);
  }

  /** Undefined when the compute does not have the project. */
  async #look(): Promise<Actual | undefined> {
    try {
      return actual.parse(await this.#options.ask('GET', this.#path));
    } catch (error) {
      if (error instanceof Refusal && error.code === 'compute_refused' && error.status === 404)
        return undefined;
      throw error;
    }
  }

  #takenOver(epoch: number): Error {
    return refusals.computeOfOther(this.#options.computeName(), epoch);
  }
}

function nodeOf(id: string, { type, settings, inputs, status }: WantedNode): object {
  return { node_type: type, node_id: id, settings: { ...settings, ...inputs }, status };
}

function endOf({ place: at, linkId, lport, end }: WantedEnd, filtersOneWay: boolean): object {
  if (end === undefined) return { ...at, link_id: linkId, lport };
  const { rhost, rport, suspend, filters } = end;
  const directed = filtersOneWay ? end.directed : undefined;
  return { ...at, link_id: linkId, lport, peer: { host: rhost, port: rport }, suspend, filters, directed };
}

/** Ends of stored links have labels, too. */
function placeOf({ node, place: { adapter_number, port_number } }: PortAt): PortPlace {
  return { node_id: node.node_id, adapter_number, port_number };
}

function keyOf(at: PortAt): string {
  return placeKey(placeOf(at));
}
