/**
 * The memory and the processors that an open project has given to its nodes, by compute. It is stored with the commits that change
 * it, so that all servers of a farm know what of each host is given out. A stopped node keeps what it has.
 */
import type { Change } from '../../base/store/store.js';
import type { StoredNode } from '../gns3-file/topology-schema.js';
import { isProgramKind, servedKind } from '../kinds/node-kinds.js';
import type { NodeLoad } from '../kinds/node-kind.js';
import { givenKey, type EntityRecord } from './records.js';
import type { Transaction } from './transaction.js';

/** By the ids of computes, as the nodes name them. */
export type GivenLoads = Readonly<Record<string, NodeLoad>>;

interface PlacedLoad {
  readonly computeId: string;
  readonly load: NodeLoad;
}

export const NO_LOAD: NodeLoad = { memoryMib: 0, processors: 0 };

/** The load of a node, as its settings say. */
export function loadOf({
  node_type: type,
  properties,
}: Pick<StoredNode, 'node_type' | 'properties'>): NodeLoad {
  const kind = servedKind(type);
  return (kind !== undefined && isProgramKind(kind) ? kind.load?.(properties ?? {}) : undefined) ?? NO_LOAD;
}

export function sumOf(a: NodeLoad, b: NodeLoad): NodeLoad {
  return { memoryMib: a.memoryMib + b.memoryMib, processors: a.processors + b.processors };
}

export class GivenRoom {
  readonly #projectId: string;
  /** The nodes that take something. */
  readonly #nodes = new Map<string, PlacedLoad>();
  #stored: GivenLoads = {};

  constructor(projectId: string, nodes: Iterable<StoredNode>) {
    this.#projectId = projectId;
    for (const node of nodes) this.#keep(node.node_id, node);
    this.#stored = this.#total();
  }

  /** The change that stores what is given now. */
  get change(): Change {
    return this.#changeTo(this.#total());
  }

  /** The room that is given, and that which a commit that is under way gives back: it is not free before that is stored. */
  get most(): GivenLoads {
    const most: Record<string, NodeLoad> = { ...this.#stored };
    for (const [id, now] of Object.entries(this.#total())) {
      const { memoryMib, processors } = most[id] ?? NO_LOAD;
      most[id] = {
        memoryMib: Math.max(memoryMib, now.memoryMib),
        processors: Math.max(processors, now.processors),
      };
    }
    return most;
  }

  /** Adds to a transaction what its changes of nodes give and give back. Call it last. */
  follow(transaction: Transaction): void {
    let hasChanged = false;
    for (const change of transaction.changes) {
      const key = 'put' in change ? change.put : 'remove' in change ? change.remove : [];
      if (key[0] !== 'lab' || key[2] !== 'node') continue;
      const id = key[3] ?? '';
      const before = this.#nodes.get(id);
      this.#keep(id, 'put' in change ? (change.value as EntityRecord<StoredNode>).object : undefined);
      const now = this.#nodes.get(id);
      if (isSame(before, now)) continue;
      hasChanged = true;
      transaction.onUndo(() => {
        if (before === undefined) this.#nodes.delete(id);
        else this.#nodes.set(id, before);
      });
    }
    if (!hasChanged) return;
    const total = this.#total();
    transaction.store(this.#changeTo(total));
    transaction.onStored(() => {
      this.#stored = total;
    });
  }

  #keep(id: string, node: StoredNode | undefined): void {
    const load = node === undefined ? NO_LOAD : loadOf(node);
    if (node === undefined || (load.memoryMib === 0 && load.processors === 0)) this.#nodes.delete(id);
    else this.#nodes.set(id, { computeId: node.compute_id, load });
  }

  #total(): GivenLoads {
    const total: Record<string, NodeLoad> = {};
    for (const { computeId, load } of this.#nodes.values())
      total[computeId] = sumOf(total[computeId] ?? NO_LOAD, load);
    return total;
  }

  #changeTo(total: GivenLoads): Change {
    const key = givenKey(this.#projectId);
    return Object.keys(total).length === 0 ? { remove: key } : { put: key, value: total };
  }
}

function isSame(a: PlacedLoad | undefined, b: PlacedLoad | undefined): boolean {
  return (
    a?.computeId === b?.computeId &&
    a?.load.memoryMib === b?.load.memoryMib &&
    a?.load.processors === b?.load.processors
  );
}
