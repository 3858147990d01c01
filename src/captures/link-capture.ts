/** A capture of a link, and a stream of several, as the lab sees them. */
import type { z } from 'zod';
import type { selection } from './capture-settings.js';

/** Octets for one viewer, at its pace. Structurally what HTTP streams pull from. */
export interface CaptureTail {
  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' | Promise<Uint8Array>;
  onReady(callback: () => void): void;
  close(): void;
}

export interface CaptureStatus {
  /** AAL5 frames with a wrong checksum or length, which are kept, and those that there was no room to put together. */
  readonly aal5: { readonly faulty: number; readonly no_room: number };
  readonly state: 'running' | 'draining' | 'stopped' | 'failed';
  /** Why it is not running, when nobody has stopped it. */
  readonly reason: string | null;
  readonly file_name: string;
  readonly format: 'pcap' | 'pcapng';
  readonly link_type: number;
  readonly packets: number;
  /** Of the packets as they were. */
  readonly octets: number;
  /** Of the file, all files of a ring together. */
  readonly file_bytes: number;
  /** Packets that found no room because the disk was slow. */
  readonly dropped: number;
  /** What is recorded and not in the file yet. */
  readonly unwritten_bytes: number;
  /** What a ring of files has given up. */
  readonly rotated_away: { readonly files: number; readonly bytes: number };
  readonly started_at: string;
  readonly first_packet_at: string | null;
  readonly last_packet_at: string | null;
  readonly viewers: readonly { readonly lag_bytes: number; readonly skipped_bytes: number }[];
}

export interface LinkCapture {
  readonly fileName: string;
  readonly filePath: string;
  readonly isRunning: boolean;
  /** Where the last packet ends that is in the file; of a ring, in its youngest file. */
  readonly wholeBytes: number;
  status(): CaptureStatus;
  /** Everything from the oldest record that is held, and what follows until the capture ends. */
  view(): CaptureTail;
  /** When it resolves, the file has everything. */
  stop(): Promise<void>;
}

export type Selection = z.infer<z.ZodObject<typeof selection>>;

export interface StreamSettings extends Selection {
  /** Whether a link is of the stream; links that come later are asked about, too. */
  readonly includes: (linkId: string) => boolean;
}
