/** All nodes of the compute interface by id: ids are unique across projects. */
import type { ComputeNode } from './compute-node.js';

export class NodeTable {
  readonly #nodes = new Map<string, ComputeNode>();

  get(id: string): ComputeNode | undefined {
    return this.#nodes.get(id);
  }

  add(node: ComputeNode): void {
    this.#nodes.set(node.id, node);
  }

  delete(node: ComputeNode): void {
    if (this.#nodes.get(node.id) === node) this.#nodes.delete(node.id);
  }
}
