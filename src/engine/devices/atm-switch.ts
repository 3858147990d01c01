/**
 * The ATM switch. It looks up the label of a cell at the port where it came in, paths before channels; it writes the
 * label of the other end and a correct header error control, and keeps the payload type and the loss priority. Cells of
 * operation and maintenance have labels like all others and follow their connection.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import {
  CELL_LENGTH,
  HEC_OFFSET,
  headerOf,
  hecOf,
  PAYLOAD_BITS,
  payloadHec,
  vpiOf,
} from '../wire/atm-cell.js';
import type { Batch, Port } from '../forwarding/port.js';
import type { Device, DeviceType, Fabric } from './device.js';
import { IntTable } from './int-table.js';
import { matcherOf } from '../wire/bpf.js';
import { cellMatcher } from '../wire/cell-matcher.js';

/** One direction of a mapping. Without VCIs it is a path, which keeps the VCIs of its cells. */
export interface AtmConnection {
  readonly port: number;
  readonly vpi: number;
  readonly vci: number | undefined;
  readonly toPort: number;
  readonly toVpi: number;
  readonly toVci: number | undefined;
  /** The index of the connection counter that counts its cells. */
  readonly counter: number;
}

export interface AtmSettings {
  readonly connections: readonly AtmConnection[];
  /** Drops cells whose header error control is wrong, instead of correcting it. */
  readonly refusesBadHec: boolean;
}

/** The state of a port number, attached or not. */
interface Side {
  port: Port | undefined;
  /** The index of a route, by label. */
  readonly channels: IntTable;
  readonly paths: IntTable;
}

interface Route {
  readonly connection: AtmConnection;
  readonly to: Side;
  readonly label: number;
}

/** Differs from every label, because it has payload bits. */
const NO_LABEL = -1;
const CHANNEL_BITS = 0x000f_fff0;

export class AtmSwitch implements Device<AtmSettings> {
  readonly #fabric: Fabric;
  readonly #sides = new Map<number, Side>();
  readonly #routes: (Route | undefined)[] = [];
  readonly #freeRoutes: number[] = [];
  #refusesBadHec = false;

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
  }

  configure({ connections, refusesBadHec }: AtmSettings): void {
    this.#refusesBadHec = refusesBadHec;
    const wanted = new Map(connections.map((connection) => [inputOf(connection), connection]));
    this.#routes.forEach((route, index) => {
      if (route === undefined) return;
      const input = inputOf(route.connection);
      if (isSame(route.connection, wanted.get(input))) wanted.delete(input);
      else this.#remove(route.connection, index);
    });
    for (const connection of wanted.values()) this.#add(connection);
  }

  attach(port: Port): void {
    this.#side(port.number).port = port;
  }

  detach(port: Port): void {
    this.#side(port.number).port = undefined;
  }

  receive(port: Port, frames: Batch): void {
    const { memory, outbox, connectionCounters } = this.#fabric;
    const { bytes } = memory;
    const { offsets, lengths, count } = frames;
    const side = this.#side(port.number);
    // Cells of one connection come in runs, so the results for the last label are kept.
    let label = NO_LABEL;
    let route: Route | undefined;
    let newLabel = 0;
    let hecIn = 0;
    let hecOut = 0;
    for (let index = 0; index < count; index++) {
      const offset = offsets[index] ?? 0;
      if (lengths[index] !== CELL_LENGTH) {
        port.count(COUNTER.malformed);
        continue;
      }
      const header = readHeader(bytes, offset);
      const payload = header & PAYLOAD_BITS;
      if ((header ^ payload) !== label) {
        label = header ^ payload;
        route = this.#routeOf(side, label);
        newLabel = route === undefined ? 0 : labelOut(route, label);
        hecIn = hecOf(label);
        hecOut = hecOf(newLabel);
      }
      if (bytes[offset + HEC_OFFSET] !== (hecIn ^ payloadHec(payload))) {
        port.count(COUNTER.bad_hec);
        if (this.#refusesBadHec) {
          port.count(COUNTER.bad_hec_refused);
          continue;
        }
      }
      if (route === undefined) {
        port.count(COUNTER.no_connection);
        continue;
      }
      const output = route.to.port;
      if (output === undefined) {
        port.count(COUNTER.no_output);
        continue;
      }
      writeHeader(bytes, offset, newLabel | payload, hecOut ^ payloadHec(payload));
      const { counter } = route.connection;
      connectionCounters[counter] = (connectionCounters[counter] ?? 0) + 1;
      outbox.send(output, offset, CELL_LENGTH);
    }
  }

  /** An ATM switch learns nothing. */
  inspect(): null {
    return null;
  }

  #routeOf(side: Side, label: number): Route | undefined {
    const path = side.paths.size === 0 ? -1 : side.paths.get(vpiOf(label));
    const index = path === -1 ? side.channels.get(label >>> 4) : path;
    return index === -1 ? undefined : this.#routes[index];
  }

  #side(number: number): Side {
    let side = this.#sides.get(number);
    if (side === undefined) {
      side = { port: undefined, channels: new IntTable(), paths: new IntTable() };
      this.#sides.set(number, side);
    }
    return side;
  }

  #add(connection: AtmConnection): void {
    const index = this.#freeRoutes.pop() ?? this.#routes.length;
    this.#routes[index] = {
      connection,
      to: this.#side(connection.toPort),
      label: headerOf(connection.toVpi, connection.toVci ?? 0),
    };
    const side = this.#side(connection.port);
    if (connection.vci === undefined) side.paths.set(connection.vpi, index);
    else side.channels.set(channelKey(connection.vpi, connection.vci), index);
  }

  #remove(connection: AtmConnection, index: number): void {
    this.#routes[index] = undefined;
    this.#freeRoutes.push(index);
    const side = this.#side(connection.port);
    if (connection.vci === undefined) side.paths.delete(connection.vpi);
    else side.channels.delete(channelKey(connection.vpi, connection.vci));
  }
}

function channelKey(vpi: number, vci: number): number {
  return headerOf(vpi, vci) >>> 4;
}

function labelOut(route: Route, label: number): number {
  return route.connection.vci === undefined ? route.label | (label & CHANNEL_BITS) : route.label;
}

function inputOf({ port, vpi, vci }: AtmConnection): string {
  return `${port}:${vpi}:${vci ?? ''}`;
}

function isSame(a: AtmConnection, b: AtmConnection | undefined): boolean {
  return a.toPort === b?.toPort && a.toVpi === b.toVpi && a.toVci === b.toVci && a.counter === b.counter;
}

function readHeader(bytes: Uint8Array, offset: number): number {
  return (
    ((bytes[offset] ?? 0) << 24) |
    ((bytes[offset + 1] ?? 0) << 16) |
    ((bytes[offset + 2] ?? 0) << 8) |
    (bytes[offset + 3] ?? 0)
  );
}

function writeHeader(bytes: Uint8Array, offset: number, header: number, hec: number): void {
  bytes[offset] = header >>> 24;
  bytes[offset + 1] = header >>> 16;
  bytes[offset + 2] = header >>> 8;
  bytes[offset + 3] = header;
  bytes[offset + HEC_OFFSET] = hec;
}

export const ATM_SWITCH: DeviceType<AtmSettings> = {
  make: (fabric) => new AtmSwitch(fabric),
  medium: 'serial',
  matcherOf: (program) => cellMatcher(matcherOf(program)),
  takesOffloads: false,
};
