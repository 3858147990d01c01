/** A device on the bench: frames in as bytes, frames out as bytes, and the books kept. */
import {
  COUNTER,
  COUNTER_NAMES,
  DROP_CAUSES,
  ROW_LENGTH,
  type CounterName,
} from '../../src/base/memory/port-counters.js';
import { Batch, BATCH_FRAMES, Outbox, Port } from '../../src/engine/forwarding/port.js';
import type { Device, Fabric } from '../../src/engine/devices/device.js';
import { FrameMemory } from '../../src/engine/forwarding/frame-memory.js';

const SLAB = 4 * 1024 * 1024;
const WORKSPACE = 8 * 1024 * 1024;
const MOST_PORTS = 256;
const MOST_CONNECTIONS = 65_536;

export interface Sent {
  readonly port: number;
  readonly bytes: Buffer;
}

export class DeviceRig<Settings> {
  readonly fabric: Fabric;
  readonly device: Device<Settings>;
  readonly #counters = new Float64Array(MOST_PORTS * ROW_LENGTH);
  readonly #rows = new Map<number, number>();
  readonly #attached = new Map<number, Port>();

  constructor(make: (fabric: Fabric) => Device<Settings>, workspace = WORKSPACE) {
    this.fabric = {
      memory: new FrameMemory(new Uint8Array(SLAB + workspace), SLAB),
      outbox: new Outbox(),
      connectionCounters: new Float64Array(MOST_CONNECTIONS),
      seconds: 1000,
    };
    this.device = make(this.fabric);
  }

  attach(...numbers: readonly number[]): void {
    for (const number of numbers) {
      const port = new Port(number, this.#counters, this.#rowOf(number));
      this.#attached.set(number, port);
      this.device.attach(port);
    }
  }

  detach(number: number): void {
    const port = this.#attached.get(number);
    if (port === undefined) throw new Error(`port ${number} is not attached`);
    this.device.detach(port);
    this.#attached.delete(number);
  }

  /** One turn: the frames come in at the port, and what leaves is returned in order, port by port. */
  receive(number: number, frames: readonly Uint8Array[]): Sent[] {
    const port = this.#attached.get(number);
    if (port === undefined) throw new Error(`port ${number} is not attached`);
    const { memory, outbox } = this.fabric;
    const sent: Sent[] = [];
    for (let first = 0; first < frames.length; first += BATCH_FRAMES) {
      const batch = new Batch();
      let offset = 0;
      for (const frame of frames.slice(first, first + BATCH_FRAMES)) {
        memory.bytes.set(frame, offset);
        batch.add(offset, frame.length);
        offset += frame.length;
        port.count(COUNTER.frames_in);
        port.count(COUNTER.octets_in, frame.length);
      }
      this.device.receive(port, batch);
      outbox.empty((to, leaving) => {
        for (let index = 0; index < leaving.count; index++) {
          const at = leaving.offsets[index] ?? 0;
          const bytes = Buffer.from(memory.bytes.slice(at, at + (leaving.lengths[index] ?? 0)));
          sent.push({ port: to.number, bytes });
          to.count(COUNTER.frames_out);
          to.count(COUNTER.octets_out, bytes.length);
        }
      });
      memory.endTurn();
    }
    return sent;
  }

  /** Counters outlive the attachment. */
  counter(number: number, name: CounterName): number {
    return this.#counters[this.#rowOf(number) + COUNTER[name]] ?? 0;
  }

  /** Everything that is not zero at a port. */
  counters(number: number): Partial<Record<CounterName, number>> {
    return Object.fromEntries(
      COUNTER_NAMES.map((name) => [name, this.counter(number, name)]).filter(([, value]) => value !== 0),
    ) as Partial<Record<CounterName, number>>;
  }

  /** Frames that came in without having gone anywhere: 0, or frames were lost or invented. */
  get unaccounted(): number {
    const total = (name: CounterName): number =>
      [...this.#rows.keys()].reduce((sum, number) => sum + this.counter(number, name), 0);
    const dropped = DROP_CAUSES.reduce((sum, cause) => sum + total(cause), 0);
    const entered = total('frames_in') + total('copies') + total('originated');
    return entered - total('frames_out') - total('consumed') - dropped;
  }

  #rowOf(number: number): number {
    let row = this.#rows.get(number);
    if (row === undefined) {
      row = this.#rows.size * ROW_LENGTH;
      this.#rows.set(number, row);
    }
    return row;
  }
}
