/** The newest packets of a stream: their blocks in a ring of octets, their numbers in columns. Old ones leave together. */
import { classify } from '../../dissection/dissection.js';
import { PacketNumbers } from '../../dissection/packet-numbers.js';
import type { CapturedInterface, CapturedPacket } from '../../dissection/pcapng-stream.js';
import { PacketColumns } from './packet-columns.js';

const WORD = 2 ** 32;
/** Distances in a packet block. */
const INTERFACE_AT = 8;
const DATA_AT = 28;
const MOST_INTERFACES = 0xffff;

export interface StoreSizes {
  readonly octets: number;
  /** A power of two. */
  readonly packets: number;
}

interface StoredInterface {
  readonly name: string;
  readonly description: string;
  readonly linkType: number;
  readonly block: Uint8Array;
}

export class PacketStore {
  readonly columns: PacketColumns;
  readonly ring: Uint8Array;
  readonly #view: DataView;
  readonly #numbers = new PacketNumbers();
  readonly interfaces: StoredInterface[] = [];
  /** The interface of number 0 of the present section. */
  #section = 0;
  /** The numbers of the oldest packet that is held, and of the next one that comes; the first packet is 1. */
  first = 1;
  next = 1;
  /** The octets that were put into the ring, with the gaps at its end. */
  #put = 0;
  #start: { readonly high: number; readonly low: number } | undefined;
  /** The last time that was stored, in nanoseconds since the first packet. */
  last = 0;

  constructor({ octets, packets }: StoreSizes) {
    this.columns = new PacketColumns(packets);
    this.ring = new Uint8Array(octets);
    this.#view = new DataView(this.ring.buffer);
  }

  /** Whether nothing has been put into it yet. */
  get isNew(): boolean {
    return this.next === 1 && this.interfaces.length === 0;
  }

  /** A new section begins: its interfaces are counted from 0 again. */
  beginSection(): void {
    this.#section = this.interfaces.length;
  }

  addInterface({ name, description, linkType }: CapturedInterface, block: Uint8Array): void {
    if (this.interfaces.length < MOST_INTERFACES)
      this.interfaces.push({ name, description, linkType, block });
  }

  /** Returns whether there was room: a packet that is larger than the ring has none. */
  add(packet: CapturedPacket): boolean {
    const { octets, blockAt, blockEnd, at, end, timeHigh, timeLow } = packet;
    const length = blockEnd - blockAt;
    const interfaceId = this.#section + packet.interfaceId;
    const known = this.interfaces[interfaceId];
    if (known === undefined || length > this.ring.length) return false;
    const place = this.#makeRoom(length);
    const inRing = place % this.ring.length;
    this.ring.set(octets.subarray(blockAt, blockEnd), inRing);
    this.#view.setUint32(inRing + INTERFACE_AT, interfaceId, true);
    this.#start ??= { high: timeHigh, low: timeLow };
    this.last = (timeHigh - this.#start.high) * WORD + timeLow - this.#start.low;

    const { columns } = this;
    const row = columns.rowOf(this.next++);
    columns.place[row] = place;
    columns.blockLength[row] = length;
    columns.time[row] = this.last;
    columns.interfaceId[row] = interfaceId;
    columns.direction[row] = packet.direction;
    columns.kept[row] = end - at;
    columns.original[row] = packet.original;
    classify(this.#numbers, octets, at, end, known.linkType);
    columns.put(row, this.#numbers);
    return true;
  }

  holds(number: number): boolean {
    return number >= this.first && number < this.next;
  }

  /** The octets of a packet that is held, in the ring: valid until the next packet comes. */
  octetsOf(number: number): Uint8Array {
    const row = this.columns.rowOf(number);
    const at = this.dataAt(row);
    return this.ring.subarray(at, at + (this.columns.kept[row] ?? 0));
  }

  blockOf(number: number): Uint8Array {
    const row = this.columns.rowOf(number);
    const at = (this.columns.place[row] ?? 0) % this.ring.length;
    return this.ring.subarray(at, at + (this.columns.blockLength[row] ?? 0));
  }

  /** The place in the ring where the packet of a row begins. */
  dataAt(row: number): number {
    return ((this.columns.place[row] ?? 0) % this.ring.length) + DATA_AT;
  }

  /** The octets from the oldest packet that is held to the newest. */
  get heldOctets(): number {
    if (this.first === this.next) return 0;
    return this.#put - (this.columns.place[this.columns.rowOf(this.first)] ?? 0);
  }

  /** Lets the oldest packets go until a block fits in one piece and a row is free; returns the place of the block. */
  #makeRoom(length: number): number {
    const size = this.ring.length;
    const left = size - (this.#put % size);
    if (left < length) this.#put += left;
    const place = this.#put;
    this.#put += length;
    const { columns } = this;
    if (this.next - this.first >= columns.capacity) this.first++;
    while (this.first < this.next && (columns.place[columns.rowOf(this.first)] ?? 0) < this.#put - size)
      this.first++;
    return place;
  }
}
