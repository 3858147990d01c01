/** An engine on the bench, over a network in memory: orders in words, and the books of all its ports. */
import { newCaptureMemory, type CaptureMemory } from '../../src/base/memory/capture-memory.js';
import type { UdpEndpoint } from '../../src/engine/forwarding/transport.js';
import { Engine } from '../../src/engine/forwarding/engine.js';
import { FrameMemory } from '../../src/engine/forwarding/frame-memory.js';
import type { DeviceSettings } from '../../src/engine/forwarding/orders.js';
import { Outbox } from '../../src/engine/forwarding/port.js';
import { Logs } from '../../src/engine/taps/logs.js';
import { MemoryTransport } from './memory-transport.js';
import { PortBooks } from './port-books.js';

const RECEIVED = 4 * 1024 * 1024;
const WORKSPACE = 4 * 1024 * 1024;
const CAPTURES = 16 * 1024 * 1024;
const MOST_ROWS = 4096;
const MOST_CONNECTIONS = 4096;

export const HUB: DeviceSettings = { kind: 'ethernet_hub', settings: null };
export const SWITCH: DeviceSettings = { kind: 'ethernet_switch', settings: { ports: [] } };

export class EngineRig {
  readonly connections = new Float64Array(MOST_CONNECTIONS);
  readonly books = new PortBooks(MOST_ROWS);
  readonly network: MemoryTransport;
  readonly captures: CaptureMemory;
  readonly engine: Engine;
  #rows = 0;

  constructor(clock?: () => number) {
    const bytes = new SharedArrayBuffer(RECEIVED + WORKSPACE + CAPTURES);
    const memory = new FrameMemory(new Uint8Array(bytes), RECEIVED, RECEIVED + WORKSPACE);
    this.captures = newCaptureMemory(bytes, RECEIVED + WORKSPACE);
    const { connections: connectionCounters } = this;
    this.network = new MemoryTransport(memory);
    const fabric = { memory, outbox: new Outbox(), connectionCounters, seconds: 0 };
    const logs = new Logs(this.captures, memory);
    this.engine = new Engine(fabric, this.books.values, this.network, logs, clock);
  }

  add(device: number, settings: DeviceSettings): void {
    this.engine.perform({ do: 'add', device, settings });
  }

  configure(device: number, settings: DeviceSettings): void {
    this.engine.perform({ do: 'configure', device, settings });
  }

  remove(device: number): void {
    this.engine.perform({ do: 'remove', device });
  }

  /** Returns the row of its counters, which is one that no port had before. */
  attach(device: number, port: number, endpoint: UdpEndpoint | { type: 'null' }, suspended = false): number {
    const row = this.#rows++;
    const done = this.engine.perform({
      do: 'attach',
      device,
      attachment: { port, row, endpoint, policy: { suspended, filters: undefined } },
    });
    if (done instanceof Promise) throw new TypeError('await the order itself');
    return row;
  }

  detach(device: number, port: number): void {
    this.engine.perform({ do: 'detach', device, port });
  }

  /** A port whose far end is outside of the engine. */
  outside(device: number, port: number, suspended = false): { end: UdpEndpoint; row: number } {
    const end = this.network.open(`near-${device}:${port}`, `far-${device}:${port}`);
    return { end, row: this.attach(device, port, end, suspended) };
  }

  /** The two ends of a link, opened and not attached. */
  cable(name: string): [UdpEndpoint, UdpEndpoint] {
    const [one, two] = [`${name}-one:1`, `${name}-two:2`];
    return [this.network.open(one, two), this.network.open(two, one)];
  }
}
