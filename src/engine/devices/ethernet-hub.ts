/** The Ethernet hub: a frame that comes in at one port leaves at all others, byte for byte. */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import { matcherOf } from '../wire/bpf.js';
import type { Device, DeviceType, Fabric } from './device.js';

export class EthernetHub implements Device<null> {
  readonly #fabric: Fabric;
  readonly #attached = new Map<number, Port>();

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
  }

  configure(): void {
    // A hub has nothing to set.
  }

  attach(port: Port): void {
    this.#attached.set(port.number, port);
  }

  detach(port: Port): void {
    this.#attached.delete(port.number);
  }

  receive(port: Port, frames: Batch): void {
    const { offsets, lengths, count } = frames;
    let outputs = 0;
    for (const output of this.#attached.values()) {
      if (output.number === port.number) continue;
      outputs++;
      for (let index = 0; index < count; index++) {
        this.#fabric.outbox.send(output, offsets[index] ?? 0, lengths[index] ?? 0);
      }
    }
    if (outputs === 0) port.count(COUNTER.no_output, count);
    else port.count(COUNTER.copies, count * (outputs - 1));
  }

  /** A hub learns nothing. */
  inspect(): null {
    return null;
  }
}

export const ETHERNET_HUB: DeviceType<null> = {
  make: (fabric) => new EthernetHub(fabric),
  medium: 'ethernet',
  matcherOf,
  takesOffloads: true,
};
