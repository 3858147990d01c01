/**
 * An engine runs the devices of some labs, their attached ports, and the transport that brings frames. It carries out
 * orders between turns. Frames move within a turn and never wait for the next one, unless a filter holds them.
 */
import type { FilterWay } from '../../base/memory/port-counters.js';
import { FusedPaths } from './fused-paths.js';
import { AttachedPort, NO_FILTERS, type Filters, type PortContext } from './attached-port.js';
import { NOWHERE, type Batch } from './port.js';
import type { Device, Fabric, Medium } from '../devices/device.js';
import { DEVICE_KINDS } from '../devices/device-kinds.js';
import { udpEnds, type Link, type Transport } from './transport.js';
import { FilterChain } from '../filters/filter-chain.js';
import type { FilterPlan, FilterStage } from '../filters/filter-plan.js';
import { Schedule } from '../filters/schedule.js';
import type { Attachment, DeviceSettings, NumberedTap, Order, PortPolicy } from './orders.js';
import type { Logs } from '../taps/logs.js';

interface Installed {
  readonly device: Device<never>;
  readonly medium: Medium;
  readonly matcherOf: PortContext['matcherOf'];
  readonly takesOffloads: boolean;
  readonly ports: Map<number, AttachedPort>;
}

export class Engine {
  readonly #fabric: Fabric;
  readonly #counters: Float64Array;
  readonly #transport: Transport;
  readonly #logs: Logs;
  readonly #fused: FusedPaths;
  readonly #clock: () => number;
  readonly #schedule = new Schedule();
  readonly #installed = new Map<number, Installed>();
  /** The attached ports that may be one end of a fused link, by their local address. */
  readonly #byLocal = new Map<string, AttachedPort>();

  /** The clock is in milliseconds, and never goes back. */
  constructor(
    fabric: Fabric,
    portCounters: Float64Array,
    transport: Transport,
    logs: Logs,
    clock = (): number => performance.now(),
  ) {
    this.#fabric = fabric;
    this.#counters = portCounters;
    this.#transport = transport;
    this.#logs = logs;
    this.#fused = new FusedPaths(fabric.outbox, fabric.memory);
    this.#clock = clock;
  }

  /** Waits for frames once, moves them, and does what is due. */
  turn(): void | Promise<void> {
    const patience = Math.max(0, this.#schedule.next - this.#clock());
    const turned = this.#transport.turn(patience);
    if (turned !== undefined) {
      return turned.then(() => {
        this.#runDue();
      });
    }
    this.#runDue();
  }

  /** Carries out an order; returns the answer of an `inspect`. When it throws, nothing has changed. */
  perform(order: Order): unknown {
    switch (order.do) {
      case 'add':
        this.#add(order.device, order.settings);
        return undefined;
      case 'configure':
        configure(this.#find(order.device).device, order.settings);
        return undefined;
      case 'remove':
        this.#remove(order.device);
        return undefined;
      case 'attach':
        return this.#attach(order.device, order.attachment);
      case 'detach':
        this.#detach(this.#find(order.device), order.port);
        return undefined;
      case 'setPolicy':
        this.#setPolicy(this.#findPort(order.device, order.port), order.policy);
        return undefined;
      case 'tap':
        this.#tap(order.device, order.tap);
        return undefined;
      case 'untap':
        this.#findPort(order.device, order.port).untap(order.tap);
        return undefined;
      case 'release':
        this.#logs.release(order.log);
        return undefined;
      case 'inspect':
        this.#readClock();
        return this.#find(order.device).device.inspect();
    }
  }

  #find(id: number): Installed {
    const installed = this.#installed.get(id);
    if (installed === undefined) throw new Error(`there is no device ${id}`);
    return installed;
  }

  #findPort(id: number, number: number): AttachedPort {
    const port = this.#find(id).ports.get(number);
    if (port === undefined) throw new Error(`port ${number} is not attached`);
    return port;
  }

  #add(id: number, settings: DeviceSettings): void {
    const { make, medium, matcherOf, takesOffloads } = DEVICE_KINDS[settings.kind];
    const device: Device<never> = make(this.#fabric);
    configure(device, settings);
    this.#installed.set(id, { device, medium, matcherOf, takesOffloads, ports: new Map() });
  }

  #remove(id: number): void {
    const installed = this.#find(id);
    for (const number of [...installed.ports.keys()]) this.#detach(installed, number);
    this.#installed.delete(id);
  }

  #attach(id: number, attachment: Attachment): void | Promise<void> {
    const installed = this.#find(id);
    const { device, ports, ...kind } = installed;
    const { port: number, endpoint, row, policy } = attachment;
    if (ports.has(number)) throw new Error(`port ${number} is attached`);
    const context = { number, device, endpoint, ...kind };
    const port = new AttachedPort(context, this.#counters, row, policy.suspended);
    if (policy.filters !== undefined) this.#setPolicy(port, policy);
    const join = (link: Link): void => {
      if (this.#installed.get(id) !== installed) {
        // The device was removed while the endpoint was being opened.
        this.#transport.remove(link);
        throw new Error(`there is no device ${id}`);
      }
      port.link = link;
      ports.set(number, port);
      device.attach(port);
      this.#fuse(port);
    };
    const link = this.#transport.add(endpoint, port, (frames) => {
      this.#fromLink(port, frames);
    });
    if (link instanceof Promise) return link.then(join);
    join(link);
  }

  #detach({ device, ports }: Installed, number: number): void {
    const port = ports.get(number);
    if (port === undefined) throw new Error(`port ${number} is not attached`);
    port.close();
    this.#unfuse(port);
    device.detach(port);
    ports.delete(number);
    if (port.link !== undefined) this.#transport.remove(port.link);
  }

  #setPolicy(port: AttachedPort, { suspended, filters }: PortPolicy): void {
    port.setPolicy(suspended, filters === undefined ? NO_FILTERS : this.#filtersOf(port, filters));
    this.#deliverPending();
  }

  #filtersOf(port: AttachedPort, { seed, outward, inward }: FilterPlan): Filters {
    const { memory } = this.#fabric;
    const deliverPending = (): void => {
      this.#deliverPending();
    };
    const { matcherOf } = port.context;
    const common = { port, memory, schedule: this.#schedule, clock: this.#clock, deliverPending, matcherOf };
    const chain = (
      way: FilterWay,
      stages: readonly FilterStage[],
      ownSeed: number,
      deliver: (frames: Batch) => void,
    ): FilterChain | undefined =>
      stages.length === 0 ? undefined : new FilterChain(stages, { ...common, way, seed: ownSeed, deliver });
    return {
      outward: chain('outward', outward, seed, (frames) => {
        port.toLink(frames);
      }),
      inward: chain('inward', inward, seed + 1, (frames) => {
        port.toDevice(frames);
      }),
    };
  }

  #tap(device: number, { port, tap, plan }: NumberedTap): void {
    this.#findPort(device, port).tap(tap, this.#logs.newTap(plan));
  }

  /** Moves one batch from a socket, and all frames that devices send in response. */
  #fromLink(port: AttachedPort, frames: Batch): void {
    this.#readClock();
    this.#fused.bring(port, frames);
    this.#deliverPending();
  }

  /** Releases the frames that filters have held long enough. */
  #runDue(): void {
    const now = this.#clock();
    if (this.#schedule.next > now) return;
    this.#readClock();
    this.#schedule.run(now);
  }

  /** Delivers the frames that devices have sent, and empties the workspace of frame memory. */
  #deliverPending(): void {
    this.#fused.deliverPending();
    this.#fabric.memory.endTurn();
  }

  #readClock(): void {
    this.#fabric.seconds = this.#clock() / 1000;
  }

  /** Connects the port directly with the other end of its link, if this engine has it. */
  #fuse(port: AttachedPort): void {
    const { endpoint, medium } = port.context;
    const ends = udpEnds(endpoint);
    if (ends === undefined) return;
    this.#byLocal.set(ends.local, port);
    const peer = this.#byLocal.get(ends.remote);
    if (peer === undefined || peer === port || peer.context.medium !== medium) return;
    if (udpEnds(peer.context.endpoint)?.remote !== ends.local) return;
    // Frames that went through the kernel so far come first.
    for (const end of [port, peer]) if (end.link !== undefined) this.#transport.drain(end.link);
    port.peer = peer;
    peer.peer = port;
    port.linkBy(this.#fused.exitTo(peer));
    peer.linkBy(this.#fused.exitTo(port));
  }

  /** Undoes a fused link. Nothing waits on the fused path between turns, so no frame is overtaken. */
  #unfuse(port: AttachedPort): void {
    const local = udpEnds(port.context.endpoint)?.local;
    if (local !== undefined && this.#byLocal.get(local) === port) this.#byLocal.delete(local);
    const { peer } = port;
    if (peer === undefined) return;
    port.peer = undefined;
    peer.peer = undefined;
    peer.linkBy(peer.link ?? NOWHERE);
  }
}

function configure(device: Device<never>, { settings }: DeviceSettings): void {
  // The settings of a device are always those of its kind: the kind of a device never changes.
  (device as Device<unknown>).configure(settings);
}
