/** The numbers of the newest packets, a column each: a packet has the row of its number modulo the capacity. */
import type { PacketNumbers } from '../../dissection/packet-numbers.js';

export class PacketColumns {
  readonly capacity: number;
  /** Where the block of the packet lies: octets that came before it in all. */
  readonly place: Float64Array;
  readonly blockLength: Uint32Array;
  /** Nanoseconds since the first packet. */
  readonly time: Float64Array;
  readonly interfaceId: Uint16Array;
  readonly direction: Uint8Array;
  readonly kept: Uint32Array;
  readonly original: Uint32Array;
  readonly layersLow: Uint32Array;
  readonly layersHigh: Uint32Array;
  readonly etherAt: Uint16Array;
  readonly ipAt: Uint16Array;
  readonly ipVersion: Uint8Array;
  readonly sourcePort: Uint16Array;
  readonly destinationPort: Uint16Array;
  readonly tcpFlags: Uint8Array;
  readonly vlan: Uint16Array;
  readonly labelKind: Uint8Array;
  readonly label: Uint32Array;

  /** The capacity is a power of two. */
  constructor(capacity: number) {
    this.capacity = capacity;
    this.place = new Float64Array(capacity);
    this.blockLength = new Uint32Array(capacity);
    this.time = new Float64Array(capacity);
    this.interfaceId = new Uint16Array(capacity);
    this.direction = new Uint8Array(capacity);
    this.kept = new Uint32Array(capacity);
    this.original = new Uint32Array(capacity);
    this.layersLow = new Uint32Array(capacity);
    this.layersHigh = new Uint32Array(capacity);
    this.etherAt = new Uint16Array(capacity);
    this.ipAt = new Uint16Array(capacity);
    this.ipVersion = new Uint8Array(capacity);
    this.sourcePort = new Uint16Array(capacity);
    this.destinationPort = new Uint16Array(capacity);
    this.tcpFlags = new Uint8Array(capacity);
    this.vlan = new Uint16Array(capacity);
    this.labelKind = new Uint8Array(capacity);
    this.label = new Uint32Array(capacity);
  }

  rowOf(number: number): number {
    return number % this.capacity;
  }

  put(row: number, numbers: PacketNumbers): void {
    this.layersLow[row] = numbers.layersLow;
    this.layersHigh[row] = numbers.layersHigh;
    this.etherAt[row] = numbers.etherAt;
    this.ipAt[row] = numbers.ipAt;
    this.ipVersion[row] = numbers.ipVersion;
    this.sourcePort[row] = numbers.sourcePort;
    this.destinationPort[row] = numbers.destinationPort;
    this.tcpFlags[row] = numbers.tcpFlags;
    this.vlan[row] = numbers.vlan;
    this.labelKind[row] = numbers.labelKind;
    this.label[row] = numbers.label;
  }
}
