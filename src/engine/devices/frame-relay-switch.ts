/**
 * The Frame Relay switch. It looks up the DLCI of a frame at the port where it came in, writes the DLCI of the other end,
 * and keeps congestion and discard bits. At every port it is also the network that answers status enquiries, in the
 * dialect of the enquiry.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import { ADDRESS_LENGTH, readDlci, writeDlci } from '../wire/frame-relay.js';
import {
  answerLength,
  FULL_STATUS,
  isLmiDlci,
  parseEnquiry,
  writeAnswer,
  type StatusEnquiry,
} from '../wire/lmi.js';
import type { Batch, Port } from '../forwarding/port.js';
import type { Device, DeviceType, Fabric } from './device.js';
import { matcherOf } from '../wire/bpf.js';

/** One direction of a mapping. */
export interface FrameRelayConnection {
  readonly port: number;
  readonly dlci: number;
  readonly toPort: number;
  readonly toDlci: number;
  /** The index of the connection counter that counts its frames. */
  readonly counter: number;
}

export interface FrameRelaySettings {
  readonly connections: readonly FrameRelayConnection[];
}

/** The state of a port number, attached or not. */
interface Side {
  port: Port | undefined;
  /** By DLCI. */
  readonly routes: (Route | undefined)[];
  lmi: Lmi;
}

interface Route {
  readonly connection: FrameRelayConnection;
  readonly to: Side;
  /** The router has not been informed of this PVC yet, or has not acknowledged it. */
  isNew: boolean;
}

/** The state of the status procedure at a port. */
interface Lmi {
  readonly enquiries: number;
  readonly last: StatusEnquiry | undefined;
  /** The time of the last enquiry. */
  readonly seconds: number;
  readonly sendSequence: number;
  /** The PVCs in the last answer. Only the next enquiry can acknowledge them. */
  readonly reported: readonly Route[];
}

const LARGEST_SEQUENCE = 255;
const SILENT: Lmi = { enquiries: 0, last: undefined, seconds: 0, sendSequence: 0, reported: [] };

export class FrameRelaySwitch implements Device<FrameRelaySettings> {
  readonly #fabric: Fabric;
  readonly #sides = new Map<number, Side>();

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
  }

  configure({ connections }: FrameRelaySettings): void {
    const wanted = new Map(connections.map((connection) => [inputOf(connection), connection]));
    for (const side of this.#sides.values()) {
      for (const { connection } of present(side.routes)) {
        const input = inputOf(connection);
        if (isSame(connection, wanted.get(input))) wanted.delete(input);
        else side.routes[connection.dlci] = undefined;
      }
    }
    for (const connection of wanted.values()) {
      const to = this.#side(connection.toPort);
      this.#side(connection.port).routes[connection.dlci] = { connection, to, isNew: true };
    }
  }

  /** The router at the other end may be another one, so all PVCs are new to it. */
  attach(port: Port): void {
    const side = this.#side(port.number);
    side.port = port;
    side.lmi = SILENT;
    for (const route of present(side.routes)) route.isNew = true;
  }

  detach(port: Port): void {
    this.#side(port.number).port = undefined;
  }

  receive(port: Port, frames: Batch): void {
    const { memory, outbox, connectionCounters } = this.#fabric;
    const { bytes } = memory;
    const { offsets, lengths, count } = frames;
    const side = this.#side(port.number);
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      const length = lengths[index] ?? 0;
      const dlci = length < ADDRESS_LENGTH ? -1 : readDlci(bytes, offset);
      if (dlci === -1) {
        port.count(COUNTER.malformed);
        continue;
      }
      const isManagement = isLmiDlci(dlci);
      const enquiry = isManagement ? parseEnquiry(bytes, offset, length) : undefined;
      if (enquiry !== undefined) {
        this.#answer(port, side, enquiry);
        continue;
      }
      const route = side.routes[dlci];
      if (route === undefined) {
        port.count(isManagement ? COUNTER.malformed : COUNTER.no_connection);
        continue;
      }
      const output = route.to.port;
      if (output === undefined) {
        port.count(COUNTER.no_output);
        continue;
      }
      const { toDlci, counter } = route.connection;
      writeDlci(bytes, offset, toDlci);
      connectionCounters[counter] = (connectionCounters[counter] ?? 0) + 1;
      outbox.send(output, offset, length);
    }
  }

  /** The ports that are attached or where connections start, and the state of their status procedure. */
  inspect(): unknown {
    const known = [...this.#sides].filter(
      ([, side]) => side.port !== undefined || present(side.routes).length > 0,
    );
    const ports = known.map(([port, { lmi, routes }]) => ({
      port,
      lmi: {
        dialect: lmi.last?.dialect ?? null,
        enquiries: lmi.enquiries,
        last_enquiry_seconds_ago: lmi.last === undefined ? null : this.#fabric.seconds - lmi.seconds,
        send_sequence: lmi.sendSequence,
        receive_sequence: lmi.last?.sendSequence ?? 0,
      },
      dlcis: present(routes).map(({ connection: { dlci, toPort, toDlci }, to }) => {
        return { dlci, to_port: toPort, to_dlci: toDlci, active: to.port !== undefined };
      }),
    }));
    return { ports: ports.sort((a, b) => a.port - b.port) };
  }

  /** Answers an enquiry. Without memory for the answer, the enquiry is dropped as if it had not come. */
  #answer(port: Port, side: Side, enquiry: StatusEnquiry): void {
    const { memory, outbox, seconds } = this.#fabric;
    const { dialect, report, sendSequence: receiveSequence } = enquiry;
    const { lmi } = side;
    const reported = report === FULL_STATUS ? present(side.routes) : [];
    const length = answerLength(dialect, reported.length);
    const offset = memory.take(length);
    if (offset === -1) {
      port.count(COUNTER.no_memory);
      return;
    }
    if (enquiry.receiveSequence === lmi.sendSequence) for (const route of lmi.reported) route.isNew = false;
    const sendSequence = (lmi.sendSequence % LARGEST_SEQUENCE) + 1;
    const pvcs = reported.map(({ connection: { dlci }, isNew, to }) => {
      return { dlci, isNew, isActive: to.port !== undefined };
    });
    writeAnswer(memory.bytes, offset, { dialect, report, sendSequence, receiveSequence, pvcs });
    side.lmi = { enquiries: lmi.enquiries + 1, last: enquiry, seconds, sendSequence, reported };
    port.count(COUNTER.consumed);
    port.count(COUNTER.originated);
    outbox.send(port, offset, length);
  }

  #side(number: number): Side {
    const known = this.#sides.get(number);
    if (known !== undefined) return known;
    const side: Side = { port: undefined, routes: [], lmi: SILENT };
    this.#sides.set(number, side);
    return side;
  }
}

/** The routes in the order of their DLCIs. */
function present(routes: readonly (Route | undefined)[]): Route[] {
  return routes.filter((route) => route !== undefined);
}

function inputOf({ port, dlci }: FrameRelayConnection): string {
  return `${port}:${dlci}`;
}

function isSame(a: FrameRelayConnection, b: FrameRelayConnection | undefined): boolean {
  return a.toPort === b?.toPort && a.toDlci === b.toDlci && a.counter === b.counter;
}

export const FRAME_RELAY_SWITCH: DeviceType<FrameRelaySettings> = {
  make: (fabric) => new FrameRelaySwitch(fabric),
  medium: 'serial',
  matcherOf,
  takesOffloads: false,
};
