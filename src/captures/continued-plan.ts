/** The plan of a capture that goes on in its file after a gap in which no server ran. */
import { refusals } from '../base/errors/errors.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import { fileNames, type CapturePlan } from './capture.js';
import { shownGap, withGap, type CaptureGap, type CaptureHistory } from './capture-record.js';
import type { CaptureFileTasks } from './files/capture-file-tasks.js';
import type { MendedCaptures } from './files/mended-captures.js';

/** A capture that goes on. */
export interface Continuation extends CaptureHistory {
  /** The bytes that mark a gap in its file. */
  readonly markOf: (comment: string) => Uint8Array;
}

interface ContinuationFiles {
  readonly files: TaskRunner<Pick<CaptureFileTasks, 'findEarlierPart'>>;
  readonly mended: Pick<MendedCaptures, 'countedIn'>;
}

/** Refuses (409) a capture that has reached one of its limits. */
export async function continuedPlan(
  { files, mended }: ContinuationFiles,
  plan: CapturePlan,
  { startedAt, gaps, markOf }: Continuation,
): Promise<CapturePlan> {
  const { folder: root, header, maxPackets, maxOctets, maxSeconds } = plan;
  const names = fileNames(plan);
  const counted = mended.countedIn(root, names);
  const found = await files.run('findEarlierPart', { root, names, format: plan.format, header, counted });
  const now = Date.now();
  // The times in a file may be anything.
  const gap = { from: Math.min(Math.max(startedAt, found.lastAt ?? 0), now), to: now };
  const mark = markOf(commentOf(gap));
  // A ring goes on in its next file, and so does a capture whose file is gone or damaged.
  const length = (found.file?.end ?? header.length) + mark.length;
  const packetsLeft = maxPackets - found.packets;
  const octetsLeft = maxOctets + header.length - length;
  if (maxPackets > 0 && packetsLeft <= 0) throw refusals.captureComplete('max_packets');
  if (maxOctets > 0 && octetsLeft <= 0) throw refusals.captureComplete('max_bytes');
  if (maxSeconds > 0 && now - startedAt >= maxSeconds * 1000) throw refusals.captureComplete('max_seconds');
  return {
    ...plan,
    header: found.file?.header ?? header,
    history: { startedAt, gaps: withGap(gaps, gap) },
    maxPackets: maxPackets > 0 ? packetsLeft : 0,
    maxOctets: maxOctets > 0 ? octetsLeft : 0,
    earlier: { ...found, mark },
  };
}

function commentOf(gap: CaptureGap): string {
  const { from, to } = shownGap(gap);
  return `Packets between ${from} and ${to} may be missing: the server had ended`;
}
