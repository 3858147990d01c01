/** The numbers of one packet, as its layers tell them. One object serves all packets, one after the other. */
import { NOTHING } from './protocol-keys.js';

/** The value of what a packet does not have. */
export const ABSENT = 0xffff;

/** The kinds of labels that a packet may have. */
export const LABEL = { none: 0, dlci: 1, cell: 2 } as const;

export class PacketNumbers {
  octets: Uint8Array = new Uint8Array(0);
  start = 0;
  at = 0;
  end = 0;
  next = NOTHING;
  other = NOTHING;

  /** The number of the innermost protocol that was read. */
  protocol = 0;
  /** The protocols that were read, as bits: number n is bit n % 32 of the first or the second word. */
  layersLow = 0;
  layersHigh = 0;
  /** Distances from the start of the packet. */
  etherAt = ABSENT;
  ipAt = ABSENT;
  ipVersion = 0;
  sourcePort = ABSENT;
  destinationPort = ABSENT;
  tcpFlags = 0;
  /** The outermost VLAN. */
  vlan = ABSENT;
  labelKind: number = LABEL.none;
  /** A DLCI, or a VPI in the upper and a VCI in the lower half. */
  label = 0;

  begin(octets: Uint8Array, at: number, end: number, next: number): void {
    this.octets = octets;
    this.start = at;
    this.at = at;
    this.end = Math.min(end, octets.length);
    this.next = next;
    this.other = NOTHING;
    this.protocol = 0;
    this.layersLow = 0;
    this.layersHigh = 0;
    this.etherAt = ABSENT;
    this.ipAt = ABSENT;
    this.ipVersion = 0;
    this.sourcePort = ABSENT;
    this.destinationPort = ABSENT;
    this.tcpFlags = 0;
    this.vlan = ABSENT;
    this.labelKind = LABEL.none;
    this.label = 0;
  }

  /** Whether so many octets are left. */
  has(length: number): boolean {
    return this.end - this.at >= length;
  }

  /** The octet at a distance from here; 0 beyond the end. */
  octet(distance: number): number {
    const at = this.at + distance;
    return at < this.end ? (this.octets[at] ?? 0) : 0;
  }

  pair(distance: number): number {
    return (this.octet(distance) << 8) | this.octet(distance + 1);
  }

  /** Leaves a header of this length behind, and says what follows. */
  go(length: number, next: number, other: number = NOTHING): void {
    this.at = Math.min(this.at + length, this.end);
    this.next = next;
    this.other = other;
  }
}
