/**
 * Ethernet frames as they travel in a datagram, without a check sequence: two addresses of 6 octets, any number of tags
 * of 4 octets (an ethertype that announces the tag, and the tag control information), the ethertype, the payload.
 * An address is read as two integers, the first 16 bits and the other 32.
 */

export const ADDRESS_LENGTH = 6;
const ADDRESSES_LENGTH = 2 * ADDRESS_LENGTH;
export const TAG_LENGTH = 4;
/** Two addresses and an ethertype. */
export const SMALLEST_FRAME = 14;

/** The tags of 802.1Q, of 802.1ad, and two that were used before 802.1ad. */
export const VLAN_ETHERTYPES = [0x8100, 0x88a8, 0x9100, 0x9200] as const;
export const DOT1Q_ETHERTYPE = VLAN_ETHERTYPES[0];

/** Tag control information: a priority of 3 bits, a drop-eligible bit, a VLAN of 12 bits. */
export const PRIORITY_BITS = 0xf000;
export const VLAN_BITS = 0x0fff;
/** The VLAN of a tag that carries only a priority. */
export const NO_VLAN = 0;
/** The VLAN that no frame may carry. */
export const RESERVED_VLAN = 0xfff;

/** The offset of a form that has not been written yet. */
export const NOT_WRITTEN = -1;

const GROUP_BIT = 0x0100;

/** The first 16 bits of the address at an offset. */
export function addressHigh(bytes: Uint8Array, at: number): number {
  return readPair(bytes, at);
}

/** The other 32 bits of the address at an offset, as a signed integer. */
export function addressLow(bytes: Uint8Array, at: number): number {
  return (readPair(bytes, at + 2) << 16) | readPair(bytes, at + 4);
}

/** Whether the address is multicast or broadcast, by its first 16 bits. */
export function isGroupAddress(high: number): boolean {
  return (high & GROUP_BIT) !== 0;
}

export function formatAddress(high: number, low: number): string {
  const digits = high.toString(16).padStart(4, '0') + (low >>> 0).toString(16).padStart(8, '0');
  return digits.replace(/..(?=.)/g, '$&:');
}

/** The ethertype behind the addresses: that of the payload, or of the first tag. */
export function ethertypeOf(bytes: Uint8Array, frame: number): number {
  return readPair(bytes, frame + ADDRESSES_LENGTH);
}

/** The control information of the first tag. The caller has checked that there is a complete tag. */
export function tagOf(bytes: Uint8Array, frame: number): number {
  return readPair(bytes, frame + ADDRESSES_LENGTH + 2);
}

export function isTagEthertype(ethertype: number): boolean {
  return ethertype === 0x8100 || ethertype === 0x88a8 || ethertype === 0x9100 || ethertype === 0x9200;
}

/**
 * One frame in the two forms that it may leave in: with an outer tag, and without. The form that it came in lies in
 * memory already; the other is written on demand, and never over the first. One object serves frame after frame.
 */
export class TwofoldFrame {
  #offset = 0;
  #length = 0;
  /** The offset in the frame of the part that both forms share behind the addresses. */
  #body = 0;
  #ethertype = 0;
  #tag = 0;
  #untagged = NOT_WRITTEN;
  #tagged = NOT_WRITTEN;

  /** Sets a frame in its untagged form (a tag that it has stays part of it), and the tag of its tagged form. */
  setUntagged(offset: number, length: number, ethertype: number, tag: number): void {
    this.#set(offset, length, ethertype, tag);
    this.#body = ADDRESSES_LENGTH;
    this.#untagged = offset;
    this.#tagged = NOT_WRITTEN;
  }

  /** Sets a frame with a tag. It already is the tagged form if the tag stays as it is. */
  setTagged(offset: number, length: number, ethertype: number, tag: number, keepsTag: boolean): void {
    this.#set(offset, length, ethertype, tag);
    this.#body = ADDRESSES_LENGTH + TAG_LENGTH;
    this.#untagged = NOT_WRITTEN;
    this.#tagged = keepsTag ? offset : NOT_WRITTEN;
  }

  /** The offset and the length of the form that it came in. */
  get offset(): number {
    return this.#offset;
  }

  get length(): number {
    return this.#length;
  }

  get vlan(): number {
    return this.#tag & VLAN_BITS;
  }

  /** The offset of this form, or NOT_WRITTEN. */
  offsetOf(isTagged: boolean): number {
    return isTagged ? this.#tagged : this.#untagged;
  }

  lengthOf(isTagged: boolean): number {
    return this.#length - this.#body + ADDRESSES_LENGTH + (isTagged ? TAG_LENGTH : 0);
  }

  write(bytes: Uint8Array, at: number, isTagged: boolean): void {
    const offset = this.#offset;
    const ownBody = at + ADDRESSES_LENGTH;
    bytes.copyWithin(at, offset, offset + ADDRESSES_LENGTH);
    bytes.copyWithin(isTagged ? ownBody + TAG_LENGTH : ownBody, offset + this.#body, offset + this.#length);
    if (!isTagged) {
      this.#untagged = at;
      return;
    }
    bytes[ownBody] = this.#ethertype >>> 8;
    bytes[ownBody + 1] = this.#ethertype;
    bytes[ownBody + 2] = this.#tag >>> 8;
    bytes[ownBody + 3] = this.#tag;
    this.#tagged = at;
  }

  #set(offset: number, length: number, ethertype: number, tag: number): void {
    this.#offset = offset;
    this.#length = length;
    this.#ethertype = ethertype;
    this.#tag = tag;
  }
}

function readPair(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
