/**
 * The patch: its ports are pairs, 2i and 2i + 1, and a frame that comes in at one of a pair leaves at the other, byte for
 * byte. It stands between a program that is a node and the links of the node. In front of the program of a NAT node it
 * lets only those frames in that may get there.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import { matcherOf, type BpfProgram, type Matcher } from '../wire/bpf.js';
import { cellMatcher } from '../wire/cell-matcher.js';
import type { Device, DeviceType, Fabric } from './device.js';
import { addressDhcpAnswer, passesNat, type NatNetwork } from './nat-gate.js';

/** The network of the NAT program at the even ports; null when something else is there. */
type PatchSettings = NatNetwork | null;

export class Patch implements Device<PatchSettings> {
  readonly #fabric: Fabric;
  readonly #attached = new Map<number, Port>();
  #nat: NatNetwork | null = null;

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
  }

  configure(settings: PatchSettings): void {
    this.#nat = settings;
  }

  attach(port: Port): void {
    this.#attached.set(port.number, port);
  }

  detach(port: Port): void {
    this.#attached.delete(port.number);
  }

  receive(port: Port, frames: Batch): void {
    const output = this.#attached.get(port.number ^ 1);
    if (output === undefined) {
      port.count(COUNTER.no_output, frames.count);
      return;
    }
    if (this.#nat === null) this.#send(frames, output);
    else if (port.number % 2 === 1) this.#sendGuarded(port, frames, output, this.#nat);
    else {
      this.#addressAnswers(frames);
      this.#send(frames, output);
    }
  }

  /** A patch learns nothing. */
  inspect(): null {
    return null;
  }

  #send({ offsets, lengths, count }: Batch, output: Port): void {
    for (let index = 0; index < count; index++) {
      this.#fabric.outbox.send(output, offsets[index] ?? 0, lengths[index] ?? 0);
    }
  }

  /** Nobody else has the frames: those of a program come from its own socket. */
  #addressAnswers({ offsets, lengths, count }: Batch): void {
    const { bytes } = this.#fabric.memory;
    for (let index = 0; index < count; index++) {
      addressDhcpAnswer(bytes, offsets[index] ?? 0, lengths[index] ?? 0);
    }
  }

  #sendGuarded(port: Port, { offsets, lengths, count }: Batch, output: Port, nat: NatNetwork): void {
    const { memory, outbox } = this.#fabric;
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      if (passesNat(memory.bytes, offset, length, nat)) outbox.send(output, offset, length);
      else port.count(COUNTER.nat_refused);
    }
  }
}

/** The ports of a program may be of any type, and those of routers may be ATM. */
function matcherAt(program: BpfProgram): Matcher {
  return program.seesCells === true ? cellMatcher(matcherOf(program)) : matcherOf(program);
}

export const PATCH: DeviceType<PatchSettings> = {
  make: (fabric) => new Patch(fabric),
  medium: 'ethernet',
  matcherOf: matcherAt,
  takesOffloads: true,
};
