/**
 * The devices, attachments and taps that an engine is wanted to run. It is kept outside of the engine's thread, and every
 * order changes it first, so that an engine that died can be rebuilt from it.
 */
import type { Attachment, DeviceSettings, NumberedTap, Order } from '../forwarding/orders.js';

interface Wanted {
  settings: DeviceSettings;
  readonly attachments: Map<number, WantedPort>;
}

interface WantedPort {
  attachment: Attachment;
  readonly taps: Map<number, NumberedTap>;
}

export class WantedGraph {
  readonly #devices = new Map<number, Wanted>();

  note(order: Order): void {
    switch (order.do) {
      case 'add':
        this.#devices.set(order.device, { settings: order.settings, attachments: new Map() });
        return;
      case 'configure': {
        const wanted = this.#devices.get(order.device);
        if (wanted !== undefined) wanted.settings = order.settings;
        return;
      }
      case 'remove':
        this.#devices.delete(order.device);
        return;
      case 'attach':
        this.#devices.get(order.device)?.attachments.set(order.attachment.port, {
          attachment: order.attachment,
          taps: new Map(),
        });
        return;
      case 'detach':
        this.#devices.get(order.device)?.attachments.delete(order.port);
        return;
      case 'setPolicy': {
        const port = this.#findPort(order.device, order.port);
        if (port !== undefined) port.attachment = { ...port.attachment, policy: order.policy };
        return;
      }
      case 'tap':
        this.#findPort(order.device, order.tap.port)?.taps.set(order.tap.tap, order.tap);
        return;
      case 'untap':
        this.#findPort(order.device, order.port)?.taps.delete(order.tap);
        return;
      case 'release':
      case 'inspect':
    }
  }

  /** The orders that rebuild the graph. */
  orders(): Order[] {
    const orders: Order[] = [];
    for (const [device, { settings, attachments }] of this.#devices) {
      orders.push({ do: 'add', device, settings });
      for (const { attachment, taps } of attachments.values()) {
        orders.push({ do: 'attach', device, attachment });
        for (const tap of taps.values()) orders.push({ do: 'tap', device, tap });
      }
    }
    return orders;
  }

  #findPort(device: number, port: number): WantedPort | undefined {
    return this.#devices.get(device)?.attachments.get(port);
  }
}
