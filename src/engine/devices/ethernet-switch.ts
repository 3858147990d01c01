/**
 * The Ethernet switch. A frame belongs to one VLAN from where it comes in to where it leaves:
 *
 * - An access port takes any frame into its VLAN. It does not read tags: they are part of the payload.
 * - A dot1q port, the trunk, reads the first tag and removes it. A frame without a tag, or whose tag carries only a
 *   priority, belongs to the native VLAN. Frames leave tagged, except those of the native VLAN.
 * - A qinq port is the customer's side of a tunnel. It takes frames that the customer has tagged, with any VLAN, into
 *   its outer VLAN. On trunks they always have the outer tag in front, in the native VLAN, too: without it the
 *   customer's tag would be taken for one of ours. Frames that a trunk brings with the outer tag leave without it.
 *   Between qinq ports of one VLAN frames pass unchanged. Frames of access ports, and those that a trunk brings without a
 *   tag, are no customer's: they do not leave at qinq ports. Nor do frames of qinq ports at access ports.
 *
 * An added tag carries the priority of the tag that the frame came with. All outputs share the bytes of a frame: a form
 * that looks different is written separately, once for all ports that need it.
 */
import { COUNTER, type Counter } from '../../base/memory/port-counters.js';
import {
  ADDRESS_LENGTH,
  addressHigh,
  addressLow,
  DOT1Q_ETHERTYPE,
  ethertypeOf,
  isTagEthertype,
  NO_VLAN,
  NOT_WRITTEN,
  PRIORITY_BITS,
  RESERVED_VLAN,
  SMALLEST_FRAME,
  TAG_LENGTH,
  tagOf,
  TwofoldFrame,
  VLAN_BITS,
} from '../wire/ethernet.js';
import type { Batch, Port } from '../forwarding/port.js';
import type { Device, DeviceType, Fabric } from './device.js';
import { MacTable, type MacEntry } from './mac-table.js';
import { matcherOf } from '../wire/bpf.js';

export interface EthernetPort {
  readonly port: number;
  readonly type: 'access' | 'dot1q' | 'qinq';
  /** The VLAN of an access port, the native VLAN of a trunk, the outer VLAN of a qinq port. */
  readonly vlan: number;
  /** The ethertype of the outer tag that frames of a qinq port get. */
  readonly ethertype: number;
}

export interface EthernetSwitchSettings {
  readonly ports: readonly EthernetPort[];
}

/** Not a VLAN: the next frame begins a run. */
const NO_RUN = -1;

/** The addresses of the previous frame, and its output: frames come in runs, for which one lookup is enough. */
interface Run {
  sourceHigh: number;
  sourceLow: number;
  targetHigh: number;
  targetLow: number;
  vlan: number;
  /** Where the target is; undefined when it is unknown. */
  to: Side | undefined;
}

/** The state of a port number, attached or not. */
interface Side {
  port: Port | undefined;
  settings: EthernetPort;
}

export class EthernetSwitch implements Device<EthernetSwitchSettings> {
  readonly #fabric: Fabric;
  readonly #sides = new Map<number, Side>();
  /** The same sides as a list, for floods. */
  readonly #everySide: Side[] = [];
  readonly #stations = new MacTable();
  /** The current frame; one object serves all frames. */
  readonly #frame = new TwofoldFrame();
  /** How it came in: a trunk takes a frame without a tag as an access port of its native VLAN would. */
  #cameAs: EthernetPort['type'] = 'access';
  readonly #run: Run = {
    sourceHigh: 0,
    sourceLow: 0,
    targetHigh: 0,
    targetLow: 0,
    vlan: NO_RUN,
    to: undefined,
  };

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
  }

  configure({ ports }: EthernetSwitchSettings): void {
    const wanted = new Map(ports.map((settings) => [settings.port, settings]));
    for (const number of wanted.keys()) this.#side(number);
    for (const [number, side] of this.#sides) {
      const settings = wanted.get(number) ?? usualSettings(number);
      if (!isSame(side.settings, settings)) this.#stations.forgetPort(number);
      side.settings = settings;
    }
  }

  attach(port: Port): void {
    this.#side(port.number).port = port;
  }

  detach(port: Port): void {
    this.#side(port.number).port = undefined;
    this.#stations.forgetPort(port.number);
  }

  receive(port: Port, frames: Batch): void {
    const from = this.#side(port.number);
    const { offsets, lengths, count } = frames;
    this.#run.vlan = NO_RUN;
    const seconds = this.#wholeSeconds();
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const fault = this.#enter(from.settings, offset, lengths[index] ?? 0);
      if (fault === undefined) this.#forward(port, from, offset, seconds);
      else port.count(fault);
    }
  }

  inspect(): { readonly mac_table: readonly MacEntry[] } {
    return { mac_table: this.#stations.list(this.#wholeSeconds()) };
  }

  #wholeSeconds(): number {
    return Math.trunc(this.#fabric.seconds);
  }

  #side(number: number): Side {
    let side = this.#sides.get(number);
    if (side === undefined) {
      side = { port: undefined, settings: usualSettings(number) };
      this.#sides.set(number, side);
      this.#everySide.push(side);
    }
    return side;
  }

  /** Makes a frame the current one; returns the cause when it may not come in. */
  #enter({ type, vlan, ethertype }: EthernetPort, offset: number, length: number): Counter | undefined {
    if (length < SMALLEST_FRAME) return COUNTER.malformed;
    const { bytes } = this.#fabric.memory;
    const first = ethertypeOf(bytes, offset);
    const hasTag = isTagEthertype(first);
    const isCut = hasTag && length < SMALLEST_FRAME + TAG_LENGTH;
    if (isCut && type !== 'access') return COUNTER.malformed;
    if (type === 'qinq' && !hasTag) return COUNTER.vlan_mismatch;
    const tag = hasTag && !isCut ? tagOf(bytes, offset) : 0;
    const priority = tag & PRIORITY_BITS;
    if (type !== 'dot1q' || !hasTag) {
      const ownTag = type === 'qinq' ? ethertype : DOT1Q_ETHERTYPE;
      this.#cameAs = type === 'dot1q' ? 'access' : type;
      this.#frame.setUntagged(offset, length, ownTag, priority | vlan);
      return undefined;
    }
    const named = tag & VLAN_BITS;
    if (named === RESERVED_VLAN) return COUNTER.malformed;
    const isNamed = named !== NO_VLAN;
    this.#cameAs = isNamed ? 'dot1q' : 'access';
    this.#frame.setTagged(offset, length, first, priority | (isNamed ? named : vlan), isNamed);
    return undefined;
  }

  /** Learns the source of the current frame, and sends it to its target. */
  #forward(port: Port, from: Side, offset: number, seconds: number): void {
    const { bytes } = this.#fabric.memory;
    const { vlan } = this.#frame;
    const run = this.#run;
    const source = offset + ADDRESS_LENGTH;
    const sourceHigh = addressHigh(bytes, source);
    const sourceLow = addressLow(bytes, source);
    const targetHigh = addressHigh(bytes, offset);
    const targetLow = addressLow(bytes, offset);
    if (
      run.vlan !== vlan ||
      run.sourceLow !== sourceLow ||
      run.targetLow !== targetLow ||
      run.sourceHigh !== sourceHigh ||
      run.targetHigh !== targetHigh
    ) {
      this.#stations.learn(sourceHigh, sourceLow, vlan, port.number, seconds);
      run.to = this.#sides.get(this.#stations.find(targetHigh, targetLow, vlan, seconds));
      run.sourceHigh = sourceHigh;
      run.sourceLow = sourceLow;
      run.targetHigh = targetHigh;
      run.targetLow = targetLow;
      run.vlan = vlan;
    }
    const { to } = run;
    if (to?.port === undefined) this.#flood(port);
    else if (to === from) port.count(COUNTER.same_port);
    else this.#leave(port, to.port, to.settings);
  }

  #flood(port: Port): void {
    const { vlan } = this.#frame;
    let outputs = 0;
    for (const { port: output, settings } of this.#everySide) {
      if (output === undefined || output.number === port.number) continue;
      if (settings.type !== 'dot1q' && settings.vlan !== vlan) continue;
      outputs++;
      this.#leave(port, output, settings);
    }
    if (outputs === 0) port.count(COUNTER.no_output);
    else if (outputs > 1) port.count(COUNTER.copies, outputs - 1);
  }

  /** Sends the current frame to one output, in the form that the port needs, or counts it as dropped. */
  #leave(port: Port, output: Port, { type, vlan }: EthernetPort): void {
    const frame = this.#frame;
    const cameAs = this.#cameAs;
    if (type !== 'dot1q' && cameAs !== 'dot1q' && type !== cameAs) {
      port.count(COUNTER.vlan_mismatch);
      return;
    }
    const isTagged = type === 'dot1q' && (vlan !== frame.vlan || cameAs === 'qinq');
    const { memory, outbox } = this.#fabric;
    const length = frame.lengthOf(isTagged);
    let offset = frame.offsetOf(isTagged);
    if (offset === NOT_WRITTEN) {
      offset = memory.take(length);
      if (offset === -1) {
        port.count(COUNTER.no_memory);
        return;
      }
      frame.write(memory.bytes, offset, isTagged);
      if (!memory.offloads.isEmpty) memory.offloads.follow(frame.offset, offset, length - frame.length);
    }
    outbox.send(output, offset, length);
  }
}

function usualSettings(port: number): EthernetPort {
  return { port, type: 'access', vlan: 1, ethertype: DOT1Q_ETHERTYPE };
}

function isSame(a: EthernetPort, b: EthernetPort): boolean {
  return a.type === b.type && a.vlan === b.vlan && a.ethertype === b.ethertype;
}

export const ETHERNET_SWITCH: DeviceType<EthernetSwitchSettings> = {
  make: (fabric) => new EthernetSwitch(fabric),
  medium: 'ethernet',
  matcherOf,
  takesOffloads: true,
};
