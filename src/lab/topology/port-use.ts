/**
 * The ports that links hold, by number, so that changes of nodes do not matter. A link that is being made holds its
 * ports before it is stored.
 */
import type { LinkEnd, StoredLink } from '../gns3-file/topology-schema.js';
import type { Transaction } from '../projects/transaction.js';

type PortKey = `${number}/${number}`;
const keyOf = (end: LinkEnd): PortKey => `${end.adapter_number}/${end.port_number}`;

interface UsedPort {
  readonly adapter: number;
  readonly port: number;
  readonly linkId: string;
}

export class PortUse {
  readonly #byNode = new Map<string, Map<PortKey, UsedPort>>();

  /** Whether a link holds the port, other than `ownLinkId`. */
  isUsed(end: LinkEnd, ownLinkId?: string): boolean {
    const used = this.#byNode.get(end.node_id)?.get(keyOf(end));
    return used !== undefined && used.linkId !== ownLinkId;
  }

  isConnected(nodeId: string): boolean {
    return this.#byNode.has(nodeId);
  }

  usedPorts(nodeId: string): UsedPort[] {
    return [...(this.#byNode.get(nodeId)?.values() ?? [])];
  }

  linksOf(nodeId: string): Set<string> {
    return new Set(this.usedPorts(nodeId).map(({ linkId }) => linkId));
  }

  connect(link: StoredLink): void {
    for (const end of link.nodes) {
      const ports = this.#byNode.get(end.node_id) ?? new Map<PortKey, UsedPort>();
      ports.set(keyOf(end), { adapter: end.adapter_number, port: end.port_number, linkId: link.link_id });
      this.#byNode.set(end.node_id, ports);
    }
  }

  disconnect(link: StoredLink): void {
    for (const end of link.nodes) {
      const ports = this.#byNode.get(end.node_id);
      // A file may hold two links on one port: the port belongs to the one that came last.
      if (ports?.get(keyOf(end))?.linkId !== link.link_id) continue;
      ports.delete(keyOf(end));
      if (ports.size === 0) this.#byNode.delete(end.node_id);
    }
  }

  connectIn(transaction: Transaction, link: StoredLink): void {
    this.connect(link);
    transaction.onUndo(() => {
      this.disconnect(link);
    });
  }

  disconnectIn(transaction: Transaction, link: StoredLink): void {
    this.disconnect(link);
    transaction.onUndo(() => {
      this.connect(link);
    });
  }
}
