/** Reads pcapng as it comes, little endian, in pieces of any size: whole blocks are handed on, in place. */

const BLOCK = { section: 0x0a0d_0d0a, interface: 1, statistics: 5, packet: 6 } as const;
const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;
const LEAST_BLOCK = 12;
const LONGEST_BLOCK = 1 << 24;
const PACKET = { interfaceId: 8, timeHigh: 12, timeLow: 16, kept: 20, original: 24, data: 28 } as const;
const LEAST_PACKET = 32;
const OPTION = { name: 2, description: 3, flags: 2, dropped: 5 } as const;

export interface CapturedInterface {
  readonly id: number;
  readonly linkType: number;
  readonly name: string;
  readonly description: string;
}

/** A packet block. One object serves all packets of a stream; octets are valid during the call only. */
export interface CapturedPacket {
  octets: Uint8Array;
  /** The whole block. */
  blockAt: number;
  blockEnd: number;
  /** The packet in it. */
  at: number;
  end: number;
  interfaceId: number;
  original: number;
  /** The time in nanoseconds since 1970, as two words. */
  timeHigh: number;
  timeLow: number;
  /** 1 for what came in at the port that is the interface, 2 for what left there, 0 when it is not told. */
  direction: number;
}

interface BlockListener {
  onInterface(described: CapturedInterface, block: Uint8Array): void;
  onPacket(packet: CapturedPacket): void;
  /** Packets that an interface has lost. */
  onLost(interfaceId: number, count: number): void;
}

export class PcapngStream {
  readonly #listener: BlockListener;
  #left: Uint8Array = new Uint8Array(0);
  #interfaces = 0;
  readonly #packet: CapturedPacket = {
    octets: this.#left,
    ...{ blockAt: 0, blockEnd: 0, at: 0, end: 0, interfaceId: 0, original: 0 },
    ...{ timeHigh: 0, timeLow: 0, direction: 0 },
  };
  isBroken = false;

  constructor(listener: BlockListener) {
    this.#listener = listener;
  }

  /** Takes the next piece. What cannot be a block makes the stream broken, and nothing more is read. */
  take(piece: Uint8Array): void {
    if (this.isBroken) return;
    const octets = this.#left.length === 0 ? piece : joined(this.#left, piece);
    const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
    let at = 0;
    while (at + LEAST_BLOCK <= octets.length) {
      const length = view.getUint32(at + 4, true);
      if (length < LEAST_BLOCK || length % 4 !== 0 || length > LONGEST_BLOCK) {
        this.isBroken = true;
        return;
      }
      if (at + length > octets.length) break;
      this.#block(octets, view, at, at + length);
      at += length;
    }
    // A copy: the piece belongs to the caller.
    this.#left = octets.slice(at);
  }

  #block(octets: Uint8Array, view: DataView, at: number, end: number): void {
    const type = view.getUint32(at, true);
    if (type === BLOCK.packet) this.#readPacket(octets, view, at, end);
    else if (type === BLOCK.interface && end - at >= 20) this.#readInterface(octets, view, at, end);
    else if (type === BLOCK.statistics && end - at >= 24) {
      const dropped = optionAt(view, at + 20, end - 4, OPTION.dropped);
      if (dropped?.length !== 8) return;
      const count = view.getUint32(dropped.at, true) + view.getUint32(dropped.at + 4, true) * 2 ** 32;
      this.#listener.onLost(view.getUint32(at + 8, true), count);
    } else if (type === BLOCK.section) {
      this.isBroken = view.getUint32(at + 8, true) !== BYTE_ORDER_MAGIC;
      this.#interfaces = 0;
    }
  }

  #readPacket(octets: Uint8Array, view: DataView, at: number, end: number): void {
    if (end - at < LEAST_PACKET) return;
    const kept = view.getUint32(at + PACKET.kept, true);
    const data = at + PACKET.data;
    if (data + kept > end - 4) return;
    const packet = this.#packet;
    packet.octets = octets;
    packet.blockAt = at;
    packet.blockEnd = end;
    packet.at = data;
    packet.end = data + kept;
    packet.interfaceId = view.getUint32(at + PACKET.interfaceId, true);
    packet.original = view.getUint32(at + PACKET.original, true);
    packet.timeHigh = view.getUint32(at + PACKET.timeHigh, true);
    packet.timeLow = view.getUint32(at + PACKET.timeLow, true);
    const flags = optionAt(view, data + ((kept + 3) & ~3), end - 4, OPTION.flags);
    packet.direction = flags?.length === 4 ? view.getUint32(flags.at, true) & 3 : 0;
    this.#listener.onPacket(packet);
  }

  #readInterface(octets: Uint8Array, view: DataView, at: number, end: number): void {
    const text = (code: number): string => {
      const found = optionAt(view, at + 16, end - 4, code);
      return found === undefined
        ? ''
        : new TextDecoder().decode(octets.subarray(found.at, found.at + found.length));
    };
    const id = this.#interfaces++;
    const linkType = view.getUint16(at + 8, true);
    const described = { id, linkType, name: text(OPTION.name), description: text(OPTION.description) };
    this.#listener.onInterface(described, octets.slice(at, end));
  }
}

/** The value of the first option with this code. */
function optionAt(
  view: DataView,
  from: number,
  end: number,
  wanted: number,
): { readonly at: number; readonly length: number } | undefined {
  let at = from;
  while (at + 4 <= end) {
    const code = view.getUint16(at, true);
    const length = view.getUint16(at + 2, true);
    if (code === 0 || at + 4 + length > end) return undefined;
    if (code === wanted) return { at: at + 4, length };
    at += 4 + ((length + 3) & ~3);
  }
  return undefined;
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
