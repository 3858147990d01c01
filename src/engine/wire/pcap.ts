/**
 * The classic pcap file: a header, then records. Little endian, times in nanoseconds, as its magic number says.
 */

/** The link types of packets, with their numbers in files (LINKTYPE_...). */
export const LINK_TYPE = {
  EN10MB: 1,
  PPP_SERIAL: 50,
  C_HDLC: 104,
  FRELAY: 107,
  SUNATM: 123,
  ERF: 197,
} as const;
export type PcapLinkType = (typeof LINK_TYPE)[keyof typeof LINK_TYPE];

const HEADER = { magic: 0, major: 4, minor: 6, zone: 8, accuracy: 12, snaplen: 16, linkType: 20 } as const;
export const PCAP_HEADER_LENGTH = 24;
const NANOSECOND_MAGIC = 0xa1b2_3c4d;

const RECORD = { seconds: 0, nanoseconds: 4, kept: 8, original: 12 } as const;
/** The length of the header in front of each packet. */
export const RECORD_HEADER_LENGTH = 16;

export function pcapHeader(linkType: PcapLinkType, snaplen: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(PCAP_HEADER_LENGTH));
  view.setUint32(HEADER.magic, NANOSECOND_MAGIC, true);
  view.setUint16(HEADER.major, 2, true);
  view.setUint16(HEADER.minor, 4, true);
  view.setUint32(HEADER.snaplen, snaplen, true);
  view.setUint32(HEADER.linkType, linkType, true);
  return new Uint8Array(view.buffer);
}

export function writeRecordHeader(
  view: DataView,
  offset: number,
  seconds: number,
  nanoseconds: number,
  kept: number,
  original: number,
): void {
  view.setUint32(offset + RECORD.seconds, seconds, true);
  view.setUint32(offset + RECORD.nanoseconds, nanoseconds, true);
  view.setUint32(offset + RECORD.kept, kept, true);
  view.setUint32(offset + RECORD.original, original, true);
}
