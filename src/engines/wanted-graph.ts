/**
 * What an engine is wanted to run. Kept outside of the engine, so that one that died is rebuilt from it: every
 * order changes this first.
 */
import type { Attachment, DeviceDesign, Order } from '../switching/orders.js';

interface Wanted {
  design: DeviceDesign;
  readonly attachments: Map<number, Attachment>;
}

export class WantedGraph {
  readonly #devices = new Map<number, Wanted>();

  note(order: Order): void {
    switch (order.do) {
      case 'add':
        this.#devices.set(order.device, { design: order.design, attachments: new Map() });
        return;
      case 'configure': {
        const wanted = this.#devices.get(order.device);
        if (wanted !== undefined) wanted.design = order.design;
        return;
      }
      case 'remove':
        this.#devices.delete(order.device);
        return;
      case 'attach':
        this.#devices.get(order.device)?.attachments.set(order.attachment.port, order.attachment);
        return;
      case 'detach':
        this.#devices.get(order.device)?.attachments.delete(order.port);
        return;
      case 'inspect':
    }
  }

  /** The orders that make all of it. */
  orders(): Order[] {
    const orders: Order[] = [];
    for (const [device, { design, attachments }] of this.#devices) {
      orders.push({ do: 'add', device, design });
      for (const attachment of attachments.values()) orders.push({ do: 'attach', device, attachment });
    }
    return orders;
  }
}
