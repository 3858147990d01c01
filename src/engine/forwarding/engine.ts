/**
 * An engine: the devices of some labs, their attached ports, and the transport that brings frames. It does what
 * orders say between turns; frames move within a turn and never wait for the next.
 */
import { FusedPaths } from './fused-paths.js';
import { AtmSwitch } from '../devices/atm-switch.js';
import { matcherOf, type BpfProgram, type Matcher } from '../wire/bpf.js';
import { cellMatcher } from '../wire/cell-matcher.js';
import { AttachedPort, type Filters, type Medium, type Place } from './attached-port.js';
import type { Batch } from './batch.js';
import type { Device, Fabric } from '../devices/device.js';
import { udpEnds } from './endpoint.js';
import { EthernetHub } from '../devices/ethernet-hub.js';
import { EthernetSwitch } from '../devices/ethernet-switch.js';
import { FilterChain } from '../filters/filter-chain.js';
import type { FilterPlan, FilterStage } from '../filters/filter-plan.js';
import { Schedule } from '../filters/schedule.js';
import { FrameRelaySwitch } from '../devices/frame-relay-switch.js';
import { NOWHERE } from './port.js';
import type {
  Attachment,
  PortPolicy,
  DeviceDesign,
  DeviceKind,
  NumberedTap,
  Order,
  SettingsOf,
} from './orders.js';
import type { Logs } from '../taps/logs.js';
import type { Link, Transport } from './transport.js';

const MAKERS: { readonly [Kind in DeviceKind]: (fabric: Fabric) => Device<SettingsOf[Kind]> } = {
  atm_switch: (fabric) => new AtmSwitch(fabric),
  frame_relay_switch: (fabric) => new FrameRelaySwitch(fabric),
  ethernet_switch: (fabric) => new EthernetSwitch(fabric),
  ethernet_hub: (fabric) => new EthernetHub(fabric),
};

const MEDIA: Readonly<Record<DeviceKind, Medium>> = {
  atm_switch: 'serial',
  frame_relay_switch: 'serial',
  ethernet_switch: 'ethernet',
  ethernet_hub: 'ethernet',
};

const matcherOfCells = (program: BpfProgram): Matcher => cellMatcher(matcherOf(program));

const NO_FILTERS: Filters = { outward: undefined, inward: undefined };

interface Installed {
  readonly device: Device<never>;
  readonly medium: Medium;
  readonly matcherOf: Place['matcherOf'];
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
  /** Attached ports that may be one end of a fused link, by their near end. */
  readonly #byLocal = new Map<string, AttachedPort>();

  /** The clock tells milliseconds, and never goes back. */
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
    this.#fused = new FusedPaths(fabric.outbox);
    this.#clock = clock;
  }

  /** One wait for frames, and everything that follows from it and from the time. */
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

  /** Returns what was asked for, when something was. Throws when it cannot be done, and has then done nothing. */
  perform(order: Order): unknown {
    switch (order.do) {
      case 'add':
        this.#add(order.device, order.design);
        return undefined;
      case 'configure':
        configure(this.#find(order.device).device, order.design);
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

  #add(id: number, design: DeviceDesign): void {
    const device: Device<never> = MAKERS[design.kind](this.#fabric);
    configure(device, design);
    this.#installed.set(id, {
      device,
      medium: MEDIA[design.kind],
      matcherOf: design.kind === 'atm_switch' ? matcherOfCells : matcherOf,
      ports: new Map(),
    });
  }

  #remove(id: number): void {
    const installed = this.#find(id);
    for (const number of [...installed.ports.keys()]) this.#detach(installed, number);
    this.#installed.delete(id);
  }

  #attach(id: number, attachment: Attachment): void | Promise<void> {
    const installed = this.#find(id);
    const { device, medium, ports } = installed;
    const { port: number, endpoint, row, policy } = attachment;
    if (ports.has(number)) throw new Error(`port ${number} is attached`);
    const place = { number, device, medium, endpoint, matcherOf: installed.matcherOf };
    const port = new AttachedPort(place, this.#counters, row, policy.suspended);
    if (policy.filters !== undefined) this.#setPolicy(port, policy);
    const join = (link: Link): void => {
      if (this.#installed.get(id) !== installed) {
        // It took its time to open, and nobody waits for it any more.
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
    this.#part(port);
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
    const { matcherOf } = port.place;
    const common = { port, memory, schedule: this.#schedule, clock: this.#clock, deliverPending, matcherOf };
    const chain = (
      stages: readonly FilterStage[],
      ownSeed: number,
      deliver: (frames: Batch) => void,
    ): FilterChain | undefined =>
      stages.length === 0 ? undefined : new FilterChain(stages, { ...common, seed: ownSeed, deliver });
    return {
      outward: chain(outward, seed, (frames) => {
        port.toLink(frames);
      }),
      inward: chain(inward, seed + 1, (frames) => {
        port.toDevice(frames);
      }),
    };
  }

  #tap(device: number, { port, tap, plan }: NumberedTap): void {
    this.#findPort(device, port).tap(tap, this.#logs.newTap(plan));
  }

  /** One batch from a socket, and everything that follows from it. */
  #fromLink(port: AttachedPort, frames: Batch): void {
    this.#readClock();
    port.fromLink(frames);
    this.#deliverPending();
  }

  /** What filters have held long enough. */
  #runDue(): void {
    const now = this.#clock();
    if (this.#schedule.next > now) return;
    this.#readClock();
    this.#schedule.run(now);
  }

  #deliverPending(): void {
    this.#fused.deliverPending();
    this.#fabric.memory.endTurn();
  }

  #readClock(): void {
    this.#fabric.seconds = this.#clock() / 1000;
  }

  /** Joins the port with the other half of its link, if this engine has it. */
  #fuse(port: AttachedPort): void {
    const { endpoint, medium } = port.place;
    const ends = udpEnds(endpoint);
    if (ends === undefined) return;
    this.#byLocal.set(ends.local, port);
    const peer = this.#byLocal.get(ends.remote);
    if (peer === undefined || peer === port || peer.place.medium !== medium) return;
    if (udpEnds(peer.place.endpoint)?.remote !== ends.local) return;
    // What went through the kernel so far comes first.
    for (const end of [port, peer]) if (end.link !== undefined) this.#transport.drain(end.link);
    port.peer = peer;
    peer.peer = port;
    port.linkBy(this.#fused.exitTo(peer));
    peer.linkBy(this.#fused.exitTo(port));
  }

  /** Nothing waits on the fused path between turns, so nothing is overtaken. */
  #part(port: AttachedPort): void {
    const local = udpEnds(port.place.endpoint)?.local;
    if (local !== undefined && this.#byLocal.get(local) === port) this.#byLocal.delete(local);
    const { peer } = port;
    if (peer === undefined) return;
    port.peer = undefined;
    peer.peer = undefined;
    peer.linkBy(peer.link ?? NOWHERE);
  }
}

function configure(device: Device<never>, { settings }: DeviceDesign): void {
  // A design has settings of its own kind, and a device is only ever configured with designs of its kind.
  (device as Device<unknown>).configure(settings);
}
