/**
 * A node whose ports lead out of the lab. It always runs. A patch on an engine stands between the way out and the links:
 * the inner port of a pair is open for as long as a link is attached at the outer port.
 */
import { refusals } from '../../base/errors/errors.js';
import type { NodeKind } from '../../lab/kinds/node-kind.js';
import { storedList } from '../../lab/kinds/ports-mapping.js';
import type { NodeStatus } from '../../lab/lab-run.js';
import type { ComputeServices } from '../compute-services.js';
import { Attachments } from './attachments.js';
import { ComputeNode, type NewComputeNode } from './compute-node.js';
import type { NodeProject } from './machine.js';

export abstract class OutletNode extends ComputeNode {
  readonly status: NodeStatus = 'started';
  readonly console = undefined;
  /** The inner ports of the patch that lead to sockets. */
  protected readonly inner: Attachments;

  constructor(home: NodeProject, kind: NodeKind, wanted: NewComputeNode, services: ComputeServices) {
    super(home, kind, wanted, services);
    const { sockets, udpPorts } = services;
    this.inner = new Attachments({ device: this.device, sockets, udpPorts, projectId: home.id });
  }

  /** As in the reference, the adapter does not matter. */
  portAt(_adapter: number, port: number): number {
    return 2 * port + 1;
  }

  override closeSockets(): void {
    super.closeSockets();
    this.inner.closeAll();
  }

  protected placeOf(port: number): { adapter_number: number; port_number: number } {
    return { adapter_number: 0, port_number: port >> 1 };
  }

  /** Links are attached at outer ports, which are odd. */
  protected checkAttachable(port: number): void {
    if (port % 2 === 0 || port >> 1 >= storedList(this.properties).length)
      throw refusals.portMissing(port >> 1);
  }

  protected end(): Promise<void> {
    return Promise.resolve();
  }
}
