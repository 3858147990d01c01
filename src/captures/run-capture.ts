/** A capture of a link of an open project: that of the port at its near end. */
import { basename } from 'node:path';
import type { Capture } from './capture.js';
import type { CaptureSettings } from './capture-settings.js';
import type { CaptureStatus, CaptureTail, LinkCapture } from './link-capture.js';
import type { Wire } from '../run/links/link-wires.js';
import { captureFilePath } from './port-captures.js';

/** Expressions of filters may be long. */
const LONGEST_DESCRIPTION = 1000;

export async function startLinkCapture(
  { near: { node, port }, far, run }: Wire,
  settings: CaptureSettings,
  onEnded: () => void,
): Promise<LinkCapture> {
  const { link_id: id, filters = {} } = run.link;
  const inForce = Object.keys(filters).length > 0 ? `, filters: ${JSON.stringify(filters)}` : '';
  const description = `link ${id} to ${far.node.name} port ${far.port}${inForce}`.slice(
    0,
    LONGEST_DESCRIPTION,
  );
  return new RunCapture(await node.startCapture(port, settings, onEnded, description));
}

class RunCapture implements LinkCapture {
  readonly fileName: string;
  readonly filePath: string;
  readonly #capture: Capture;

  constructor(capture: Capture) {
    this.#capture = capture;
    this.fileName = basename(capture.plan.path);
    this.filePath = captureFilePath(capture);
  }

  get isRunning(): boolean {
    return this.#capture.state === 'running';
  }

  get wholeBytes(): number {
    return this.#capture.file.wholeOctets;
  }

  status(): CaptureStatus {
    return captureStatus(this.#capture);
  }

  view(): CaptureTail {
    return this.#capture.view();
  }

  stop(): Promise<void> {
    return this.#capture.end();
  }
}

export function captureStatus(capture: Capture): CaptureStatus {
  const { plan, log, file } = capture;
  const { packets, octets, dropped, firstAt, lastAt, aal5Faulty, aal5NoRoom } = log.counters();
  return {
    aal5: { faulty: aal5Faulty, no_room: aal5NoRoom },
    dropped,
    file_bytes: file.octets,
    file_name: basename(plan.path),
    first_packet_at: shownTime(firstAt),
    format: plan.format,
    last_packet_at: shownTime(lastAt),
    link_type: plan.linkType,
    octets,
    packets,
    reason: capture.reason,
    rotated_away: { bytes: file.rotatedAway.octets, files: file.rotatedAway.files },
    started_at: new Date(capture.startedAt).toISOString(),
    state: capture.state,
    unwritten_bytes: log.head - log.drained,
    viewers: [...capture.viewers].map(({ lag, skippedOctets }) => ({
      lag_bytes: lag,
      skipped_bytes: skippedOctets,
    })),
  };
}

function shownTime(milliseconds: number): string | null {
  return milliseconds === 0 ? null : new Date(milliseconds).toISOString();
}
