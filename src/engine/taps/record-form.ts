/** The two forms of a record. One is chosen when a tap is made, and writes in place. */
import { RECORD_HEADER_LENGTH, writeRecordHeader } from '../wire/pcap.js';
import { packetBlockLength, writePacketBlock } from '../wire/pcapng.js';
import type { TapClock } from './tap-clock.js';

export interface RecordForm {
  /** Of the whole record. A `vpi` that is not 0 is one that the packet itself cannot tell. */
  lengthOf(kept: number, vpi: number): number;
  /** Writes all but the packet; returns where that belongs. `flags` are those of pcapng. */
  write(
    view: DataView,
    offset: number,
    clock: TapClock,
    kept: number,
    original: number,
    flags: number,
    vpi: number,
  ): number;
}

export const PCAP_RECORDS: RecordForm = {
  lengthOf: (kept) => RECORD_HEADER_LENGTH + kept,
  write: (view, offset, clock, kept, original) => {
    writeRecordHeader(view, offset, clock.seconds, clock.nanoseconds, kept, original);
    return offset + RECORD_HEADER_LENGTH;
  },
};

export class PcapngRecords implements RecordForm {
  /** The one that the header of the log describes, unless the log has given another. */
  interfaceId = 0;

  lengthOf(kept: number, vpi: number): number {
    return packetBlockLength(kept, vpi);
  }

  write(
    view: DataView,
    offset: number,
    clock: TapClock,
    kept: number,
    original: number,
    flags: number,
    vpi: number,
  ): number {
    const { interfaceId } = this;
    return writePacketBlock(view, offset, interfaceId, clock.high, clock.low, kept, original, flags, vpi);
  }
}

/** Eight bits are all that readers see of a VPI; 0 when those tell it. */
export function untoldVpi(vpi: number): number {
  return vpi > 0xff ? vpi : 0;
}
