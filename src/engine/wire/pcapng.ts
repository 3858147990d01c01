/**
 * Blocks of a pcapng file, little endian, times in nanoseconds since 1970. A block begins with its type and its length,
 * ends with its length, and its content is padded to whole words. Packet blocks are written in place; all other blocks
 * are returned as octets.
 */
import type { PcapLinkType } from './pcap.js';

const BLOCK = { section: 0x0a0d_0d0a, interface: 1, statistics: 5, packet: 6 } as const;
const BYTE_ORDER_MAGIC = 0x1a2b_3c4d;
const OPTION = {
  end: 0,
  comment: 1,
  sectionApplication: 4,
  interfaceName: 2,
  interfaceDescription: 3,
  interfaceResolution: 9,
  interfaceFilter: 11,
  packetFlags: 2,
  statisticsReceived: 4,
  statisticsDropped: 5,
} as const;
const LONGEST_OPTION = 0xffff;
const TEXT_FILTER = 0;
const NANOSECONDS = 9;

const PACKET = {
  type: 0,
  length: 4,
  interfaceId: 8,
  timeHigh: 12,
  timeLow: 16,
  kept: 20,
  original: 24,
  data: 28,
} as const;
const OPTION_HEADER_LENGTH = 4;
const FLAGS_LENGTH = OPTION_HEADER_LENGTH + 4;
/** `VPI 256` to `VPI 4095`, padded. */
const VPI_COMMENT_LENGTH = OPTION_HEADER_LENGTH + 8;
const CLOSING_LENGTH = 4;

/** The flags of a packet: its direction, and its faults. */
export const PACKET_FLAG = {
  inbound: 1,
  outbound: 2,
  crcError: 1 << 24,
  tooLong: 1 << 25,
  tooShort: 1 << 26,
} as const;

interface InterfaceDescription {
  readonly linkType: PcapLinkType;
  readonly snaplen: number;
  readonly name: string;
  readonly description: string | undefined;
  /** The expression that decides which packets are kept. */
  readonly filter: string | undefined;
}

interface InterfaceStatistics {
  readonly interfaceId: number;
  readonly received: number;
  readonly dropped: number;
  /** The time in nanoseconds since 1970, as two words of one 64-bit number. */
  readonly at: { readonly high: number; readonly low: number };
}

interface SectionDescription {
  readonly application: string;
  /** Words about the section, which readers show. */
  readonly comment?: string | undefined;
}

/** A file may have several sections. The interfaces of each are numbered from 0 on. */
export function sectionHeader({ application, comment }: SectionDescription): Uint8Array {
  const fixed = new DataView(new ArrayBuffer(16));
  fixed.setUint32(0, BYTE_ORDER_MAGIC, true);
  fixed.setUint16(4, 1, true);
  // The length of the section is unknown.
  fixed.setUint32(8, 0xffff_ffff, true);
  fixed.setUint32(12, 0xffff_ffff, true);
  const options = [option(OPTION.sectionApplication, textOf(application))];
  if (comment !== undefined) options.push(option(OPTION.comment, textOf(comment)));
  return block(BLOCK.section, fixed, options);
}

export function interfaceBlock(described: InterfaceDescription): Uint8Array {
  const { linkType, snaplen, name, description, filter } = described;
  const fixed = new DataView(new ArrayBuffer(8));
  fixed.setUint16(0, linkType, true);
  fixed.setUint32(4, snaplen, true);
  const options = [
    option(OPTION.interfaceName, textOf(name)),
    option(OPTION.interfaceResolution, Uint8Array.of(NANOSECONDS)),
  ];
  if (description !== undefined) options.push(option(OPTION.interfaceDescription, textOf(description)));
  if (filter !== undefined) {
    const text = textOf(filter, LONGEST_OPTION - 1);
    options.push(option(OPTION.interfaceFilter, Uint8Array.of(TEXT_FILTER, ...text)));
  }
  return block(BLOCK.interface, fixed, options);
}

export function statisticsBlock({ interfaceId, received, dropped, at }: InterfaceStatistics): Uint8Array {
  const fixed = new DataView(new ArrayBuffer(12));
  fixed.setUint32(0, interfaceId, true);
  fixed.setUint32(4, at.high, true);
  fixed.setUint32(8, at.low, true);
  return block(BLOCK.statistics, fixed, [
    option(OPTION.statisticsReceived, countOf(received)),
    option(OPTION.statisticsDropped, countOf(dropped)),
  ]);
}

/** The length of a whole packet block. A `vpi` that is not 0 is written as a comment. */
export function packetBlockLength(kept: number, vpi: number): number {
  const comment = vpi === 0 ? 0 : VPI_COMMENT_LENGTH;
  return PACKET.data + padded(kept) + FLAGS_LENGTH + comment + OPTION_HEADER_LENGTH + CLOSING_LENGTH;
}

/** Writes a packet block except the packet itself; returns the offset where the packet belongs. */
export function writePacketBlock(
  view: DataView,
  offset: number,
  interfaceId: number,
  timeHigh: number,
  timeLow: number,
  kept: number,
  original: number,
  flags: number,
  vpi: number,
): number {
  const length = packetBlockLength(kept, vpi);
  const data = offset + PACKET.data;
  let end = data + padded(kept);
  // Clears the padding; the packet overwrites the rest of this word.
  if (kept > 0) view.setInt32(end - 4, 0, true);
  view.setUint32(offset + PACKET.type, BLOCK.packet, true);
  view.setUint32(offset + PACKET.length, length, true);
  view.setUint32(offset + PACKET.interfaceId, interfaceId, true);
  view.setUint32(offset + PACKET.timeHigh, timeHigh, true);
  view.setUint32(offset + PACKET.timeLow, timeLow, true);
  view.setUint32(offset + PACKET.kept, kept, true);
  view.setUint32(offset + PACKET.original, original, true);
  end = writeOptionHeader(view, end, OPTION.packetFlags, 4);
  view.setInt32(end, flags, true);
  end += 4;
  if (vpi !== 0) end = writeVpiComment(view, end, vpi);
  end = writeOptionHeader(view, end, OPTION.end, 0);
  view.setUint32(end, length, true);
  return data;
}

function writeVpiComment(view: DataView, offset: number, vpi: number): number {
  const digits = vpi > 999 ? 4 : 3;
  const text = writeOptionHeader(view, offset, OPTION.comment, 4 + digits);
  view.setUint32(text, 0x5650_4920);
  let rest = vpi;
  view.setUint32(text + 4, 0);
  for (let place = digits - 1; place >= 0; place--) {
    view.setUint8(text + 4 + place, 0x30 + (rest % 10));
    rest = Math.floor(rest / 10);
  }
  return text + 8;
}

function writeOptionHeader(view: DataView, offset: number, code: number, length: number): number {
  view.setInt32(offset, code | (length << 16), true);
  return offset + OPTION_HEADER_LENGTH;
}

function block(type: number, fixed: DataView, options: readonly Uint8Array[]): Uint8Array {
  const parts = [new Uint8Array(fixed.buffer), ...options, option(OPTION.end, new Uint8Array(0))];
  const length = parts.reduce((sum, part) => sum + part.length, 0) + 12;
  const octets = new Uint8Array(length);
  const view = new DataView(octets.buffer);
  view.setUint32(0, type, true);
  view.setUint32(4, length, true);
  view.setUint32(length - 4, length, true);
  let end = 8;
  for (const part of parts) {
    octets.set(part, end);
    end += part.length;
  }
  return octets;
}

function option(code: number, value: Uint8Array): Uint8Array {
  const octets = new Uint8Array(OPTION_HEADER_LENGTH + padded(value.length));
  writeOptionHeader(new DataView(octets.buffer), 0, code, value.length);
  octets.set(value, OPTION_HEADER_LENGTH);
  return octets;
}

/** Encodes a text; one that is too long loses whole characters at its end. */
function textOf(text: string, most = LONGEST_OPTION): Uint8Array {
  const octets = new Uint8Array(Math.min(most, text.length * 3));
  return octets.subarray(0, new TextEncoder().encodeInto(text, octets).written);
}

function countOf(count: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(count), true);
  return new Uint8Array(view.buffer);
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
