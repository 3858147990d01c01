/** The order for a tap: what to record of a port, and how. Everything survives a structured clone. */
import type { BpfProgram } from '../wire/bpf.js';

export interface TapPlan {
  /** The index of the log to record into. Several taps may share one log. */
  readonly log: number;
  readonly format: 'pcap' | 'pcapng';
  /** A packet is each frame, an AAL5 frame reassembled from cells, or each cell as ERF. */
  readonly packets: 'frames' | 'aal5' | 'cells';
  /**
   * pcapng only: the description of the interface, if the header of the log does not have it. It is written before the
   * first packet. A restarted engine writes it once more: the log then has, and counts, one more interface.
   */
  readonly opening: Uint8Array | undefined;
  /** The most bytes kept of a packet. The headers of AAL5 frames and cells are always kept. */
  readonly snaplen: number;
  /** As seen from the device. */
  readonly direction: 'both' | 'in' | 'out';
  /** Every Nth packet is kept. */
  readonly sample: number;
  /** Only packets that this program matches are kept. It sees them as recorded, but uncut. Not for cells. */
  readonly bpf: BpfProgram | undefined;
  /** 0 is no limit. */
  readonly maxPackets: number;
  /** A limit on the bytes of the log, which always ends with a whole record; 0 is no limit. */
  readonly maxOctets: number;
}
