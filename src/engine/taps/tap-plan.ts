/** How what passes a port is recorded, as it is ordered. Everything survives a structured clone. */
import type { BpfProgram } from '../wire/bpf.js';

export interface TapPlan {
  /** Which log of the engine is written. Several taps may write one log. */
  readonly log: number;
  readonly format: 'pcap' | 'pcapng';
  /** What of a port's frames is a packet: each frame, AAL5 frames put together from cells, or each cell as ERF. */
  readonly packets: 'frames' | 'aal5' | 'cells';
  /**
   * Of pcapng: describes the interface, when the header does not. It is put into the log before the first packet,
   * and by an engine that was started again once more: the log then has one interface more, and counts it.
   */
  readonly opening: Uint8Array | undefined;
  /** The most that is kept of a packet: what an AAL5 frame or a cell cannot be read without is kept in any case. */
  readonly snaplen: number;
  /** As seen from the device. */
  readonly direction: 'both' | 'in' | 'out';
  /** One packet in so many is kept. */
  readonly sample: number;
  /** Only packets that it matches are kept: it sees them as they are recorded, uncut. Not of cells. */
  readonly bpf: BpfProgram | undefined;
  /** 0 is without end. */
  readonly maxPackets: number;
  /** Of the log, a whole number of records; 0 is without end. */
  readonly maxOctets: number;
}
