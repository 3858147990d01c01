/** All nodes of the compute interface by id: ids are unique across projects. */
import type { SwitchNode } from './switches/switch-node.js';

export class NodeTable {
  readonly #nodes = new Map<string, SwitchNode>();

  get(id: string): SwitchNode | undefined {
    return this.#nodes.get(id);
  }

  add(node: SwitchNode): void {
    this.#nodes.set(node.id, node);
  }

  delete(node: SwitchNode): void {
    if (this.#nodes.get(node.id) === node) this.#nodes.delete(node.id);
  }
}
