/**
 * The ends of links at nodes of this host, by UDP address. The two ends of a link lead to each other, whoever has made it: the
 * controller of this server, or one elsewhere. So a node finds out what runs at the far end. Of a far end on another
 * host nothing is known.
 */
import { udpEnds, type PortEndpoint } from '../../engine/forwarding/transport.js';
import type { NodeStatus } from '../../lab/lab-run.js';

export interface EndNode {
  readonly status: NodeStatus;
  /** Called when the status of the node at the far end of a port may be another. Must not fail. */
  farNodeChanged(port: number): void;
}

interface LinkEnd {
  readonly node: EndNode;
  /** The port of the node's device. */
  readonly port: number;
  readonly remote: string;
}

export class LinkEnds {
  readonly #byAddress = new Map<string, LinkEnd>();

  add(endpoint: PortEndpoint, node: EndNode, port: number): void {
    const ends = udpEnds(endpoint);
    if (ends === undefined) return;
    this.#byAddress.set(ends.local, { node, port, remote: ends.remote });
    this.tellFar(endpoint);
  }

  remove(endpoint: PortEndpoint): void {
    const ends = udpEnds(endpoint);
    if (ends === undefined || !this.#byAddress.delete(ends.local)) return;
    this.tellFar(endpoint);
  }

  /** Undefined when the far end is not at a node of this host. */
  farNode(endpoint: PortEndpoint): EndNode | undefined {
    return this.#farOf(endpoint)?.node;
  }

  /** Tells the node at the far end that the one at this end runs, or does not any more. */
  tellFar(endpoint: PortEndpoint): void {
    const far = this.#farOf(endpoint);
    far?.node.farNodeChanged(far.port);
  }

  #farOf(endpoint: PortEndpoint): LinkEnd | undefined {
    const ends = udpEnds(endpoint);
    if (ends === undefined) return undefined;
    const end = this.#byAddress.get(ends.remote);
    return end?.remote === ends.local ? end : undefined;
  }
}
