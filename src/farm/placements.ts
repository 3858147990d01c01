/**
 * Finds computes for nodes in a farm. The room that is given out on a host is that which all open projects have stored, and that of
 * nodes which are being stored. Only the server that holds the claim of a host's room gives it out (`held-rooms.ts`), so no two
 * servers give out the same megabyte.
 */
import { refusals, shortList } from '../base/errors/errors.js';
import { isEmulator, type Emulator } from '../files/images/image-name.js';
import { LOCAL_COMPUTE } from '../lab/gns3-file/topology-schema.js';
import type { NodeKind, NodeLoad, Properties } from '../lab/kinds/node-kind.js';
import { servedKind } from '../lab/kinds/node-kinds.js';
import type { NodePlacing } from '../lab/node-placing.js';
import type { ComputeHost, ComputeReach } from '../lab/other-computes.js';
import { loadOf, NO_LOAD, sumOf, type GivenLoads } from '../lab/projects/given-room.js';
import type { Project } from '../lab/projects/project.js';
import type { NewNode } from '../lab/topology/nodes.js';
import type { Topology } from '../lab/topology/topology.js';
import type { Transaction } from '../lab/projects/transaction.js';
import type { ComputeImages } from './compute-images.js';
import { choosePlacement, lackOf, type PlacementCandidate, type PlacementNeeds } from './placement.js';

/** The room that an open project of another server has given out. */
export interface FollowedGiven {
  readonly project: string;
  /** The server that has the files of the project. */
  readonly home: string | undefined;
  readonly given: GivenLoads;
}

interface PlacementsOptions {
  /** The name of this server. */
  readonly own: string;
  readonly rooms: { enter(host: string, late: () => void): Promise<() => void> };
  readonly followed: () => Iterable<FollowedGiven>;
  readonly projects: ReadonlyMap<string, Pick<Project, 'given'>>;
  readonly computes: {
    readonly ids: readonly string[];
    nameOf(id: string): string;
    isDrained(id: string): boolean;
  };
  readonly images: ComputeImages;
  readonly reachOf: (id: string) => ComputeReach;
  /** This server as a compute. */
  readonly here: {
    nodeTypes(): Promise<readonly string[]>;
    host(): Promise<ComputeHost>;
    imageNames(emulator: Emulator): Promise<readonly string[]>;
  };
}

type Candidate = PlacementCandidate & { readonly host: string };

/** Others may take the room of a choice before its turn comes. */
const MOST_CHOICES = 10;

export class Placements implements NodePlacing {
  readonly #options: PlacementsOptions;
  /** By host: the room of nodes that no project counts yet. */
  readonly #reserved = new Map<string, NodeLoad>();

  constructor(options: PlacementsOptions) {
    this.#options = options;
  }

  async place<Result>(
    project: Project,
    wanted: NewNode,
    make: (placed: NewNode) => Promise<Result>,
    staysHere = false,
    except?: string,
  ): Promise<Result> {
    const kind = servedKind(wanted.node_type);
    if (kind === undefined || wanted.compute_id !== LOCAL_COMPUTE) return make(wanted);
    const topology = await project.change((open) => open);
    const isKnown = wanted.node_id !== undefined && topology.nodes.get(wanted.node_id) !== undefined;
    if (isKnown) return make(wanted);
    const needs = needsOf(kind, wanted, topology);
    const isHereOnly = staysHere || kind.usesHostInterfaces === true;
    const ids = isHereOnly ? [LOCAL_COMPUTE] : this.#options.computes.ids;
    const isOwnExcepted =
      except === LOCAL_COMPUTE || (except !== undefined && this.#options.reachOf(except).isSelf);
    for (let choices = 0; choices < MOST_CHOICES; choices++) {
      const all = await this.#candidates(needs, ids, topology);
      const candidates = all.filter(({ id, isHere }) => (isHere ? !isOwnExcepted : id !== except));
      // No host has the program: whoever makes the node tells which one is missing.
      if (!candidates.some(({ nodeTypes }) => nodeTypes.includes(needs.type))) return make(wanted);
      const choice = choosePlacement(needs, candidates);
      if ('lacks' in choice) throw refusals.noComputeHasRoom(shortList(choice.lacks));
      const placed = { ...wanted, compute_id: choice.chosen.id };
      if (needs.load.memoryMib === 0) return await make(placed);
      const result = await this.#makeInRoom(needs, choice.chosen, (room) => make({ ...placed, room }));
      if (result !== undefined) return result.made;
    }
    throw refusals.roomHeld();
  }

  async grow<Result>(
    project: Project,
    nodeId: string,
    properties: Properties | undefined,
    change: (room: Reservation | undefined) => Promise<Result>,
  ): Promise<Result> {
    const node = project.isOpen ? project.topology.nodes.get(nodeId) : undefined;
    const kind = node && servedKind(node.node_type);
    if (node === undefined || kind === undefined || properties === undefined) return change(undefined);
    const after = loadOf({ ...node, properties: { ...node.properties, ...properties } });
    const memoryMib = after.memoryMib - loadOf(node).memoryMib;
    const { computes, here, reachOf } = this.#options;
    const host = this.#hostOf(node.compute_id);
    const abilities = host === this.#options.own ? await here.host() : reachOf(node.compute_id).host;
    if (memoryMib <= 0 || abilities === undefined) return change(undefined);
    const { type } = kind;
    const load = { memoryMib, processors: after.processors };
    const needs: PlacementNeeds = { type, load, images: [], kvm: undefined, nodesOfLab: 0 };
    const candidate: Candidate = {
      ...{ id: node.compute_id, name: computes.nameOf(node.compute_id), host, abilities, nodeTypes: [type] },
      ...{ isHere: false, isConnected: true, isDrained: false, images: undefined, nodesOfLab: 0 },
      bringsImages: false,
      given: this.#given().get(host) ?? NO_LOAD,
    };
    const result = await this.#makeInRoom(needs, candidate, change);
    if (result !== undefined) return result.made;
    const lack = lackOf(needs, { ...candidate, given: this.#given().get(host) ?? NO_LOAD }, []);
    throw lack === undefined ? refusals.roomHeld() : refusals.noComputeHasRoom(`${candidate.name} ${lack}`);
  }

  /** Undefined when the room is gone by the time this server may give it out. */
  async #makeInRoom<Result>(
    { load, ...needs }: PlacementNeeds,
    chosen: Candidate,
    make: (room: Reservation) => Promise<Result>,
  ): Promise<{ readonly made: Result } | undefined> {
    const { host } = chosen;
    let room: Reservation | undefined;
    const leave = await this.#options.rooms.enter(host, () => room?.end());
    const now = { ...chosen, given: this.#given().get(host) ?? NO_LOAD };
    if (lackOf({ ...needs, load }, now, []) !== undefined) {
      leave();
      return undefined;
    }
    this.#reserve(host, load, 1);
    const reserved = new Reservation(() => {
      this.#reserve(host, load, -1);
    }, leave);
    try {
      room = reserved;
      return { made: await make(reserved) };
    } finally {
      reserved.end();
    }
  }

  #reserve(host: string, { memoryMib, processors }: NodeLoad, sign: 1 | -1): void {
    const more = { memoryMib: sign * memoryMib, processors: sign * processors };
    const reserved = sumOf(this.#reserved.get(host) ?? NO_LOAD, more);
    if (reserved.memoryMib === 0) this.#reserved.delete(host);
    else this.#reserved.set(host, reserved);
  }

  async #candidates(
    { type, images }: PlacementNeeds,
    ids: readonly string[],
    topology: Topology,
  ): Promise<Candidate[]> {
    const { own, computes, here, reachOf } = this.#options;
    const others = ids.filter((id) => id !== LOCAL_COMPUTE && !reachOf(id).isSelf);
    const asks = images.length > 0 && others.length > 0 && isEmulator(type) ? type : undefined;
    const labs = new Map<string, number>();
    for (const { compute_id: id } of topology.nodes.values()) labs.set(id, (labs.get(id) ?? 0) + 1);
    const [nodeTypes, abilities, names] = await Promise.all([
      here.nodeTypes(),
      here.host(),
      asks === undefined ? undefined : here.imageNames(asks),
    ]);
    const given = this.#given();
    const givenOn = (host: string): NodeLoad => given.get(host) ?? NO_LOAD;
    const away = others.map(async (id): Promise<Candidate> => {
      const reach = reachOf(id);
      const isAsked = asks !== undefined && reach.isConnected && !computes.isDrained(id);
      const host = this.#hostOf(id);
      const found = isAsked ? await this.#options.images.on(id, host, asks) : undefined;
      return {
        ...{ id, name: computes.nameOf(id), isHere: false, isConnected: reach.isConnected, host },
        ...{ nodeTypes: reach.nodeTypes, abilities: reach.host, images: found?.names },
        bringsImages: found?.brings === true,
        ...{ isDrained: computes.isDrained(id), given: givenOn(host), nodesOfLab: labs.get(id) ?? 0 },
      };
    });
    return [
      {
        ...{ id: LOCAL_COMPUTE, name: computes.nameOf(LOCAL_COMPUTE), isHere: true, isConnected: true },
        ...{ host: own, nodeTypes, abilities, images: names && new Set(names), bringsImages: true },
        // This server may be on record as a compute for the others, and drained so.
        isDrained: computes.ids.some((id) => reachOf(id).isSelf && computes.isDrained(id)),
        ...{ given: givenOn(own), nodesOfLab: labs.get(LOCAL_COMPUTE) ?? 0 },
      },
      ...(await Promise.all(away)),
    ];
  }

  /** The name of the host of a compute: that of its server in the farm, where it is one. */
  #hostOf(id: string): string {
    const { own, reachOf } = this.#options;
    if (id === LOCAL_COMPUTE) return own;
    const { isSelf, host } = reachOf(id);
    return isSelf ? own : (host?.server ?? `compute ${id}`);
  }

  /** The room that is given out, or about to be, by host. */
  #given(): ReadonlyMap<string, NodeLoad> {
    const { own, projects, followed } = this.#options;
    const sums = new Map(this.#reserved);
    const add = (given: GivenLoads, home: string | undefined): void => {
      for (const [id, load] of Object.entries(given)) {
        const host = id === LOCAL_COMPUTE ? home : this.#hostOf(id);
        if (host !== undefined) sums.set(host, sumOf(sums.get(host) ?? NO_LOAD, load));
      }
    };
    for (const { given } of projects.values()) if (given !== undefined) add(given, own);
    for (const { project, home, given } of followed())
      if (projects.get(project)?.given === undefined) add(given, home);
    return sums;
  }
}

/** Room for one node. It is counted here until the project counts it, and held until the node is stored or is not. */
class Reservation {
  readonly #uncount: () => void;
  readonly #leave: () => void;
  #isTaken = false;
  #isCounted = true;
  #isHeld = true;

  constructor(uncount: () => void, leave: () => void) {
    this.#uncount = uncount;
    this.#leave = leave;
  }

  /** Refuses (503) room that was given back, because the project let it wait for long. */
  taken(transaction: Transaction): void {
    if (!this.#isHeld) throw refusals.roomHeld();
    this.#isTaken = true;
    this.#stopCounting();
    transaction.onStored(() => {
      this.#letGo();
    });
    transaction.onUndo(() => {
      this.#letGo();
    });
  }

  /** The request is over. A commit that is still under way keeps what it holds. */
  end(): void {
    if (this.#isTaken) return;
    this.#stopCounting();
    this.#letGo();
  }

  #stopCounting(): void {
    if (this.#isCounted) this.#uncount();
    this.#isCounted = false;
  }

  #letGo(): void {
    if (this.#isHeld) this.#leave();
    this.#isHeld = false;
  }
}

const WANTS_KVM = /(?:^|\s)-?-enable-kvm\b|(?:accel=|-accel[ =]+)kvm\b/;
const WANTS_TCG = /(?:accel=|-accel[ =]+)tcg\b/;

function needsOf(
  kind: NodeKind,
  { node_type: type, properties: given = {} }: NewNode,
  topology: Topology,
): PlacementNeeds {
  const properties = completed(kind, given);
  const images = kind.imageProperties.flatMap((name) => {
    const image = properties[name];
    return typeof image === 'string' && image !== '' ? [image] : [];
  });
  const { platform, options } = properties;
  const isMachine = typeof platform === 'string' && typeof options === 'string' && !WANTS_TCG.test(options);
  return {
    ...{ type, images, load: loadOf({ node_type: type, properties }), nodesOfLab: topology.nodes.size },
    kvm: isMachine && kind.type === 'qemu' ? { platform, isNeeded: WANTS_KVM.test(options) } : undefined,
  };
}

/** The properties with those that a new node gets by itself. What cannot work is refused when the node is made. */
function completed(kind: NodeKind, given: Properties): Properties {
  try {
    return kind.create(given, '00000000-0000-0000-0000-000000000000', []);
  } catch {
    return given;
  }
}
