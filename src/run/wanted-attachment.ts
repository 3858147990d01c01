/** The end of a link that a controller wants at a port here. It is compared with what is attached, and only what differs is changed. */
import { isRefusal, refusals } from '../base/errors/errors.js';
import type { ComputeProject } from './compute-project.js';
import type { NioUdp } from './links/nio.js';
import type { ComputeNode } from './nodes/compute-node.js';
import { faultOf } from './wanted-faults.js';
import type { ActualAttachment, AttachmentCounts, WantedAttachment, WantedFault } from './wanted-shapes.js';

/** The attachment as it was made. */
interface Made {
  readonly node: ComputeNode;
  readonly port: number;
  readonly nio: NioUdp;
}

export class HeldAttachment {
  readonly #project: ComputeProject;
  #wanted: WantedAttachment;
  #made: Made | undefined;
  /** The port that is reserved for it, attached or not. */
  #lport: number | undefined;
  #fault: WantedFault | null = null;

  constructor(project: ComputeProject, wanted: WantedAttachment) {
    this.#project = project;
    this.#wanted = wanted;
  }

  get actual(): ActualAttachment {
    const { node_id, adapter_number, port_number, link_id } = this.#wanted;
    return { node_id, adapter_number, port_number, link_id, lport: this.#lport ?? null, fault: this.#fault };
  }

  /** Undefined while nothing is attached. */
  get counts(): AttachmentCounts | undefined {
    const { node_id, link_id } = this.#wanted;
    const made = this.#made;
    return made && { node_id, link_id, ...made.node.linkCounts(made.port) };
  }

  /** The port at which it is attached. */
  get place(): { readonly linkId: string; readonly node: ComputeNode; readonly port: number } | undefined {
    const made = this.#made;
    return made && { linkId: this.#wanted.link_id, node: made.node, port: made.port };
  }

  /** Never rejects: what cannot be is told as a fault. */
  async follow(wanted: WantedAttachment): Promise<void> {
    try {
      if (wanted.link_id !== this.#wanted.link_id) await this.remove();
      this.#wanted = wanted;
      await this.#bring();
      this.#fault = null;
    } catch (error) {
      this.#fault = faultOf(error);
    }
  }

  /** Detaches it and gives its port back. */
  async remove(): Promise<void> {
    await this.#detach();
    if (this.#lport !== undefined) this.#project.releaseUdpPort(this.#lport);
    this.#lport = undefined;
  }

  async #bring(): Promise<void> {
    const {
      node_id: id,
      adapter_number: adapter,
      port_number,
      peer,
      suspend,
      filters,
      directed,
    } = this.#wanted;
    const node = this.#project.findNode(id);
    if (node === undefined) throw refusals.nodeUnknown(id);
    if (this.#made !== undefined && this.#made.node !== node) this.#gone();
    const port = node.portAt(adapter, port_number);
    this.#lport ??= await this.#reserve(this.#wanted.lport);
    if (peer === undefined) return;
    const far = { rhost: peer.host, rport: peer.port };
    const made = this.#made;
    if (made?.nio.rhost === far.rhost && made.nio.rport === far.rport) {
      const nio: NioUdp = { ...made.nio, suspend, filters, directed };
      if (JSON.stringify(nio) === JSON.stringify(made.nio)) return;
      await node.changeNio(port, nio);
      this.#made = { ...made, nio };
      return;
    }
    const before = this.#lport;
    if (await this.#detach()) this.#lport = await this.#reserve(before);
    const policy = { suspend, filters, directed, isTunnel: true } as const;
    await this.#attach(node, port, { type: 'nio_udp', lport: this.#lport, ...far, ...policy });
  }

  /** An attachment that a controller has made by GNS3's calls is not known here, and gives way. */
  async #attach(node: ComputeNode, port: number, nio: NioUdp): Promise<void> {
    try {
      await node.attach(port, nio);
    } catch (error) {
      if (!isRefusal(error, 'port_occupied')) throw error;
      await node.detach(port);
      await node.attach(port, nio);
    }
    this.#made = { node, port, nio };
  }

  /** Resolves with false when nothing was attached. The port goes back with the socket. */
  async #detach(): Promise<boolean> {
    const made = this.#made;
    if (made === undefined) return false;
    this.#gone();
    const { node, port } = made;
    if (this.#project.findNode(node.id) !== node) return true;
    await node.detach(port).catch((error: unknown) => {
      if (!isRefusal(error, 'port_unattached', 'node_unknown')) throw error;
    });
    return true;
  }

  /** The node has let go of it, and of its port. */
  #gone(): void {
    this.#made = undefined;
    this.#lport = undefined;
  }

  async #reserve(before: number | undefined): Promise<number> {
    if (before !== undefined && (await this.#project.takeUdpPort(before))) return before;
    return this.#project.reserveUdpPort();
  }
}
