/**
 * The bridge to an IOU image, which sends and receives the frames of all its ports at one Unix socket, with a header of
 * eight octets before each. Port 0 is that socket; port 2i + 1 is the link of the port with the index i, four ports to
 * a bay. So links lie at odd ports, as on a patch.
 */
import { COUNTER } from '../../base/memory/port-counters.js';
import type { Batch, Port } from '../forwarding/port.js';
import { matcherOf } from '../wire/bpf.js';
import type { Device, DeviceType, Fabric } from './device.js';

/** The numbers by which an image and its bridge know each other. */
export interface NetioSettings {
  readonly image: number;
  readonly bridge: number;
}

/** Destination (2), source (2), port of the destination, port of the source, type, channel. */
const NETIO_HEADER = 8;
const [AT_DESTINATION, AT_SOURCE, AT_PORT, AT_SOURCE_PORT, AT_TYPE] = [0, 2, 4, 5, 6];
const DATA = 1;
const SOCKET = 0;
const PORTS_OF_BAY = 4;

/** A port has its bay in the lower and its unit in the upper four bits. */
function netioPort(index: number): number {
  return Math.floor(index / PORTS_OF_BAY) | ((index % PORTS_OF_BAY) << 4);
}

/** The index of the port; units from the fifth on are no port of any image. */
function indexOf(netio: number): number {
  const unit = netio >> 4;
  return unit < PORTS_OF_BAY ? (netio & 0xf) * PORTS_OF_BAY + unit : -1;
}

export class NetioBridge implements Device<NetioSettings> {
  readonly #fabric: Fabric;
  readonly #attached = new Map<number, Port>();
  readonly #header = new Uint8Array(NETIO_HEADER);

  constructor(fabric: Fabric) {
    this.#fabric = fabric;
    this.#header[AT_TYPE] = DATA;
  }

  configure({ image, bridge }: NetioSettings): void {
    const view = new DataView(this.#header.buffer);
    view.setUint16(AT_DESTINATION, image);
    view.setUint16(AT_SOURCE, bridge);
  }

  attach(port: Port): void {
    this.#attached.set(port.number, port);
  }

  detach(port: Port): void {
    this.#attached.delete(port.number);
  }

  receive(port: Port, frames: Batch): void {
    if (port.number === SOCKET) this.#fromImage(port, frames);
    else this.#toImage(port, frames);
  }

  /** A bridge learns nothing. */
  inspect(): null {
    return null;
  }

  #fromImage(socket: Port, { offsets, lengths, count }: Batch): void {
    const { memory, outbox } = this.#fabric;
    for (let frame = 0; frame < count; frame++) {
      const offset = offsets[frame] ?? 0;
      const length = lengths[frame] ?? 0;
      if (length <= NETIO_HEADER || memory.bytes[offset + AT_TYPE] !== DATA) {
        socket.count(COUNTER.malformed);
        continue;
      }
      const index = indexOf(memory.bytes[offset + AT_PORT] ?? 0);
      const output = index < 0 ? undefined : this.#attached.get(2 * index + 1);
      if (output === undefined) socket.count(COUNTER.no_output);
      else outbox.send(output, offset + NETIO_HEADER, length - NETIO_HEADER);
    }
  }

  #toImage(port: Port, { offsets, lengths, count }: Batch): void {
    const { memory, outbox } = this.#fabric;
    const socket = this.#attached.get(SOCKET);
    if (socket === undefined) {
      port.count(COUNTER.no_output, count);
      return;
    }
    const header = this.#header;
    header[AT_PORT] = header[AT_SOURCE_PORT] = netioPort(port.number >> 1);
    for (let frame = 0; frame < count; frame++) {
      const offset = offsets[frame] ?? 0;
      const length = lengths[frame] ?? 0;
      const copy = memory.take(NETIO_HEADER + length);
      if (copy < 0) {
        port.count(COUNTER.no_memory);
        continue;
      }
      memory.bytes.set(header, copy);
      memory.bytes.copyWithin(copy + NETIO_HEADER, offset, offset + length);
      outbox.send(socket, copy, NETIO_HEADER + length);
    }
  }
}

export const NETIO_BRIDGE: DeviceType<NetioSettings> = {
  make: (fabric) => new NetioBridge(fabric),
  medium: 'ethernet',
  matcherOf,
  takesOffloads: false,
};
