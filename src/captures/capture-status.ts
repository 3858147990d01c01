/** The state of a capture, as clients and other servers are told it. */
import { basename } from 'node:path';
import { z } from 'zod';
import type { Capture } from './capture.js';
import { shownGap } from './capture-record.js';
import { isoTime } from './files/capture-library.js';

const time = z.string().nullable();
const count = z.number().min(0);

export const captureStatus = z.strictObject({
  /** AAL5 frames with a wrong checksum or length (recorded), and frames that could not be reassembled for lack of memory. */
  aal5: z.strictObject({ faulty: count, no_room: count }),
  /** Packets that were lost because the disk was slow. */
  dropped: count,
  /** The length of the file, or of all files of a ring together. */
  file_bytes: count,
  file_name: z.string(),
  first_packet_at: time,
  /** The gaps in which no server ran: packets between these moments may be missing. */
  gaps: z.array(z.strictObject({ from: z.string(), to: z.string() })),
  format: z.enum(['pcap', 'pcapng']),
  last_packet_at: time,
  link_type: z.int(),
  /** The length of all packets before they were cut. */
  octets: count,
  packets: count,
  /** Why it ended; null while it runs, and when a client has stopped it. */
  reason: z.string().nullable(),
  /** The files that a ring has deleted. */
  rotated_away: z.strictObject({ bytes: count, files: count }),
  started_at: z.string(),
  state: z.enum(['running', 'draining', 'stopped', 'failed']),
  /** Recorded, but not in the file yet. */
  unwritten_bytes: count,
  viewers: z.array(z.strictObject({ lag_bytes: count, skipped_bytes: count })),
});
export type CaptureStatus = z.output<typeof captureStatus>;

export function statusOf(capture: Capture): CaptureStatus {
  const { plan, log, file, gaps, reason, startedAt, state, viewers } = capture;
  const { packets, octets, dropped, firstAt, lastAt, aal5Faulty, aal5NoRoom } = capture.counters();
  return {
    aal5: { faulty: aal5Faulty, no_room: aal5NoRoom },
    dropped,
    file_bytes: file.bytes,
    file_name: basename(plan.path),
    first_packet_at: shownTime(firstAt),
    format: plan.format,
    last_packet_at: shownTime(lastAt),
    link_type: plan.linkType,
    octets,
    packets,
    reason,
    rotated_away: { bytes: file.rotatedAway.bytes, files: file.rotatedAway.files },
    gaps: gaps.map(shownGap),
    started_at: new Date(startedAt).toISOString(),
    state,
    unwritten_bytes: log.head - log.drained,
    viewers: [...viewers].map(({ lag, skippedBytes }) => ({ lag_bytes: lag, skipped_bytes: skippedBytes })),
  };
}

function shownTime(milliseconds: number): string | null {
  return isoTime(milliseconds === 0 ? null : milliseconds);
}
