/**
 * Reads capture files: classic pcap in both byte orders and both time units, and pcapng. The file may come from
 * anywhere: reading ends at the first invalid or truncated record, and the records before it count.
 */

export interface CaptureHead {
  readonly format: 'pcap' | 'pcapng' | 'unknown';
  /** The link type of the first interface. */
  readonly linkType: number | null;
}

/** Set in the mode of a file that is being written: if the writer dies, the last record may be incomplete. */
export const UNFINISHED_BIT = 0o1000;

export interface PacketSpan {
  readonly packets: number;
  /** The length of all packets before they were cut. */
  readonly octets: number;
  /** The times of the first and of the last packet, in milliseconds since 1970. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
  /** The position where the last complete record ends. */
  readonly end: number;
}

export interface FileOctets {
  readonly size: number;
  /** A view of `length` octets, all of which lie before `size`; valid until the next call. */
  at(position: number, length: number): DataView;
}

const NO_PACKETS: Omit<PacketSpan, 'end'> = { packets: 0, octets: 0, firstAt: null, lastAt: null };

/** The magic numbers, read in little endian. */
const PCAP_MAGIC: Readonly<Record<number, { readonly isLittle: boolean; readonly unitsAMs: number }>> = {
  0xa1b2_c3d4: { isLittle: true, unitsAMs: 1e3 },
  0xa1b2_3c4d: { isLittle: true, unitsAMs: 1e6 },
  0xd4c3_b2a1: { isLittle: false, unitsAMs: 1e3 },
  0x4d3c_b2a1: { isLittle: false, unitsAMs: 1e6 },
};
const PCAP_HEADER = 24;
const PCAP_RECORD = 16;

const SECTION = 0x0a0d_0d0a;
const INTERFACE = 1;
const OLD_PACKET = 2;
const SIMPLE_PACKET = 3;
const PACKET = 6;
const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;
const LEAST_BLOCK = 12;
/** Only this much of an interface block is read. */
const LONGEST_INTERFACE = 64 * 1024;
/** The length of a packet block up to its packet. */
const PACKET_FIELDS = 28;
const TIME_RESOLUTION = 9;
const TIME_OFFSET = 14;

export function readCaptureHead(file: FileOctets): CaptureHead {
  if (isPcapng(file)) {
    for (const { type, view, isLittle } of blocks(file)) {
      if (type === INTERFACE) return { format: 'pcapng', linkType: view.getUint16(8, isLittle) };
    }
    return { format: 'pcapng', linkType: null };
  }
  const order = pcapOrder(file);
  if (order === undefined) return { format: 'unknown', linkType: null };
  // The upper bits describe the frame check sequence.
  return { format: 'pcap', linkType: file.at(20, 4).getUint32(0, order.isLittle) & 0xffff };
}

export function countPackets(file: FileOctets): PacketSpan {
  if (isPcapng(file)) return countBlocks(file);
  const order = pcapOrder(file);
  return order === undefined
    ? { ...NO_PACKETS, end: file.size }
    : countRecords(file, order.isLittle, order.unitsAMs);
}

function pcapOrder(file: FileOctets): (typeof PCAP_MAGIC)[number] | undefined {
  return file.size < PCAP_HEADER ? undefined : PCAP_MAGIC[file.at(0, 4).getUint32(0, true)];
}

function countRecords(file: FileOctets, isLittle: boolean, unitsAMs: number): PacketSpan {
  let packets = 0;
  let octets = 0;
  let firstAt: number | null = null;
  let lastAt: number | null = null;
  let end = PCAP_HEADER;
  while (end + PCAP_RECORD <= file.size) {
    const view = file.at(end, PCAP_RECORD);
    const next = end + PCAP_RECORD + view.getUint32(8, isLittle);
    if (next > file.size) break;
    end = next;
    packets++;
    octets += view.getUint32(12, isLittle);
    lastAt = view.getUint32(0, isLittle) * 1000 + view.getUint32(4, isLittle) / unitsAMs;
    firstAt ??= lastAt;
  }
  return { packets, octets, firstAt, lastAt, end };
}

function isPcapng(file: FileOctets): boolean {
  return file.size >= LEAST_BLOCK && file.at(0, 4).getUint32(0, true) === SECTION;
}

interface Block {
  readonly type: number;
  /** The block from its type on: of an interface with its options, of other blocks only the first words. */
  readonly view: DataView;
  readonly isLittle: boolean;
  /** The position where the next block begins. */
  readonly end: number;
}

/** The complete blocks of a pcapng file. */
function* blocks(file: FileOctets): Generator<Block> {
  let isLittle = true;
  let position = 0;
  while (position + LEAST_BLOCK <= file.size) {
    const head = file.at(position, LEAST_BLOCK);
    const type = head.getUint32(0, isLittle);
    if (type === SECTION) isLittle = head.getUint32(8, true) === BYTE_ORDER_MAGIC;
    if (type === SECTION && head.getUint32(8, isLittle) !== BYTE_ORDER_MAGIC) return;
    const length = head.getUint32(4, isLittle);
    if (length < LEAST_BLOCK || length % 4 !== 0 || position + length > file.size) return;
    const shown = Math.min(length, type === INTERFACE ? LONGEST_INTERFACE : PACKET_FIELDS);
    const view = file.at(position, shown);
    position += length;
    yield { type, view, isLittle, end: position };
  }
}

interface Clock {
  readonly unitsAMs: number;
  readonly offsetMs: number;
}

function countBlocks(file: FileOctets): PacketSpan {
  let packets = 0;
  let octets = 0;
  let firstAt: number | null = null;
  let lastAt: number | null = null;
  let clocks: Clock[] = [];
  let end = 0;
  for (const { type, view, isLittle, end: next } of blocks(file)) {
    end = next;
    if (type === SECTION) clocks = [];
    else if (type === INTERFACE) clocks.push(clockOf(view, isLittle));
    else if (type === SIMPLE_PACKET) {
      packets++;
      octets += view.getUint32(8, isLittle);
    } else if ((type === PACKET || type === OLD_PACKET) && view.byteLength >= PACKET_FIELDS) {
      packets++;
      octets += view.getUint32(24, isLittle);
      const interfaceId = type === PACKET ? view.getUint32(8, isLittle) : view.getUint16(8, isLittle);
      const clock = clocks[interfaceId];
      if (clock === undefined) continue;
      const units = view.getUint32(12, isLittle) * 2 ** 32 + view.getUint32(16, isLittle);
      // A double represents today's time to a quarter of a microsecond.
      lastAt = clock.offsetMs + Math.round((units / clock.unitsAMs) * 1000) / 1000;
      firstAt ??= lastAt;
    }
  }
  return { packets, octets, firstAt, lastAt, end };
}

/** The clock of an interface: microseconds since 1970, unless its options say otherwise. */
function clockOf(view: DataView, isLittle: boolean): Clock {
  let unitsAMs = 1e3;
  let offsetMs = 0;
  let position = 16;
  while (position + 4 <= view.byteLength - 4) {
    const code = view.getUint16(position, isLittle);
    const length = view.getUint16(position + 2, isLittle);
    const value = position + 4;
    if (code === 0 || value + length > view.byteLength - 4) break;
    if (code === TIME_RESOLUTION && length === 1) {
      const resolution = view.getUint8(value);
      const units = (resolution & 0x80) === 0 ? 10 ** resolution : 2 ** (resolution & 0x7f);
      unitsAMs = units / 1000;
    }
    if (code === TIME_OFFSET && length === 8) offsetMs = Number(view.getBigInt64(value, isLittle)) * 1000;
    position = value + ((length + 3) & ~3);
  }
  return { unitsAMs, offsetMs };
}
