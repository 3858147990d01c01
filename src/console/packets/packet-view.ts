/** One packet of a store, as a filter sees it. One object serves all packets, one after the other. */
import { describe } from '../../dissection/dissection.js';
import type { Description } from '../../dissection/description.js';
import type { PacketField } from '../../dissection/packet-field.js';
import { ABSENT } from '../../dissection/packet-numbers.js';
import type { PacketColumns } from './packet-columns.js';
import type { PacketStore } from './packet-store.js';

const ETHER = -1;
const NONE = -2;

export class PacketView {
  readonly #store: PacketStore;
  readonly #links: (interfaceId: number) => string;
  readonly columns: PacketColumns;
  readonly ring: Uint8Array;
  row = 0;
  #number = 0;
  #described: Description | undefined;

  constructor(store: PacketStore, links: (interfaceId: number) => string) {
    this.#store = store;
    this.#links = links;
    this.columns = store.columns;
    this.ring = store.ring;
  }

  lookAt(number: number): void {
    this.#number = number;
    this.row = this.columns.rowOf(number);
    this.#described = undefined;
  }

  description(): Description {
    this.#described ??= describe(this.#store.octetsOf(this.#number), this.#linkType());
    return this.#described;
  }

  fields(): PacketField[] {
    return this.description().layers.flatMap(({ fields }) => fields);
  }

  /** All words of the packet, in small letters. */
  text(): string {
    const { layers, source, destination, info } = this.description();
    const words = layers.flatMap(({ protocol, title, summary, fields }) => [
      ...[protocol, title, summary],
      ...fields.map(({ text }) => text),
    ]);
    return [source, destination, info, ...words].join('\n').toLowerCase();
  }

  link(): string {
    return this.#links(this.columns.interfaceId[this.row] ?? 0);
  }

  /** The version of the addresses of a packet: 0 for those of Ethernet, less when it has none. */
  addressVersion(isEther: boolean): number {
    const { columns, row } = this;
    if (isEther) return columns.etherAt[row] === ABSENT ? NONE : 0;
    if (columns.ipAt[row] === ABSENT) return ETHER;
    return columns.ipVersion[row] === 6 ? 6 : 4;
  }

  /** The place in the ring of an address that the packet has. */
  addressAt(isEther: boolean, isSource: boolean): number {
    const { columns, row } = this;
    const data = this.#store.dataAt(row);
    if (isEther) return data + (columns.etherAt[row] ?? 0) + (isSource ? 6 : 0);
    const ip = data + (columns.ipAt[row] ?? 0);
    const version = columns.ipVersion[row];
    if (version === 6) return ip + (isSource ? 8 : 24);
    // With ARP the place is that of the sender's address.
    if (version === 4) return ip + (isSource ? 12 : 16);
    return ip + (isSource ? 0 : 10);
  }

  #linkType(): number {
    return this.#store.interfaces[this.columns.interfaceId[this.row] ?? 0]?.linkType ?? 0;
  }
}
