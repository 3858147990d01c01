/** Reads a classic pcap file with nanoseconds; throws when it does not end with a whole record. */
export interface PcapFile {
  readonly linkType: number;
  readonly snaplen: number;
  readonly packets: readonly Buffer[];
  /** The lengths of the packets as they were on the link. */
  readonly lengths: readonly number[];
}

const HEADER_LENGTH = 24;
const RECORD_HEADER_LENGTH = 16;
const NANOSECOND_MAGIC = 0xa1b2_3c4d;

export function pcapFile(bytes: Buffer): PcapFile {
  if (bytes.readUInt32LE(0) !== NANOSECOND_MAGIC) throw new Error('no pcap file with nanoseconds');
  const packets: Buffer[] = [];
  const lengths: number[] = [];
  let at = HEADER_LENGTH;
  while (at < bytes.length) {
    const kept = bytes.readUInt32LE(at + 8);
    const packet = bytes.subarray(at + RECORD_HEADER_LENGTH, at + RECORD_HEADER_LENGTH + kept);
    if (packet.length < kept) throw new Error(`a record is cut off at ${at}`);
    packets.push(packet);
    lengths.push(bytes.readUInt32LE(at + 12));
    at += RECORD_HEADER_LENGTH + kept;
  }
  return { linkType: bytes.readUInt32LE(20), snaplen: bytes.readUInt32LE(16), packets, lengths };
}
