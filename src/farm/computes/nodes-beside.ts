/** Nodes that are about to be moved: each is made on its new compute while the old one still has it. */
import { refusals } from '../../base/errors/errors.js';
import { LOCAL_COMPUTE, type StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { ComputeRun } from '../../run/compute-run.js';
import type { RemotePart } from './remote-part.js';

export class NodesBeside {
  readonly #local: ComputeRun;
  readonly #part: (computeId: string) => RemotePart;
  /** The new computes, by node. */
  readonly #computes = new Map<string, string>();

  constructor(local: ComputeRun, part: (computeId: string) => RemotePart) {
    this.#local = local;
    this.#part = part;
  }

  /** Refuses what the compute refuses, and a node that is being moved already. */
  async make(node: StoredNode, computeId: string): Promise<void> {
    const { node_id: id, name } = node;
    if (this.#computes.has(id)) throw refusals.nodeMoving(name);
    this.#computes.set(id, computeId);
    try {
      if (computeId === LOCAL_COMPUTE) await this.#makeHere(node);
      else await this.#makeElsewhere(node, this.#part(computeId));
    } catch (error) {
      this.drop(node);
      throw error;
    }
  }

  /** Removes a node that was made and is not moved. */
  drop(node: StoredNode): void {
    const computeId = this.take(node.node_id);
    if (computeId === undefined) return;
    if (computeId === LOCAL_COMPUTE) this.#local.nodeRemoved(node);
    else this.#part(computeId).nodeRemoved(node);
  }

  /** The compute of a node that was made, which is the node's own from now on. */
  take(id: string): string | undefined {
    const computeId = this.#computes.get(id);
    this.#computes.delete(id);
    return computeId;
  }

  async #makeHere(node: StoredNode): Promise<void> {
    this.#local.nodeStored(node);
    await this.#local.settled();
    const report = this.#local.nodeReport(node);
    if (report.state === 'lost')
      throw refusals.nodeNotMoved(node.name, report.reason ?? 'it could not be made');
  }

  async #makeElsewhere(node: StoredNode, part: RemotePart): Promise<void> {
    part.nodeStored(node);
    await part.settled();
    part.checkMade(node.node_id);
  }
}
