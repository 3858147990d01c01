/**
 * The patch: its ports are pairs, 2i and 2i + 1, and a frame that comes in at one of a pair leaves at the other, byte for
 * byte. It stands between a program that is a node and the links of the node.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import { matcherOf } from '../wire/bpf.js';
import type { Device, DeviceType, Fabric } from './device.js';

export class Patch implements Device<null> {
  readonly #fabric: Fabric;
  readonly #attached = new Map<number, Port>();

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
  }

  configure(): void {
    // A patch has nothing to set.
  }

  attach(port: Port): void {
    this.#attached.set(port.number, port);
  }

  detach(port: Port): void {
    this.#attached.delete(port.number);
  }

  receive(port: Port, { offsets, lengths, count }: Batch): void {
    const output = this.#attached.get(port.number ^ 1);
    if (output === undefined) {
      port.count(COUNTER.no_output, count);
      return;
    }
    for (let index = 0; index < count; index++) {
      this.#fabric.outbox.send(output, offsets[index] ?? 0, lengths[index] ?? 0);
    }
  }

  /** A patch learns nothing. */
  inspect(): null {
    return null;
  }
}

export const PATCH: DeviceType<null> = { make: (fabric) => new Patch(fabric), medium: 'ethernet', matcherOf };
