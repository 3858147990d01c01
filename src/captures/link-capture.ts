/** A capture of a link of an open project: the capture of the port at its near end. */
import { basename } from 'node:path';
import type { ShownCapture } from '../lab/topology/views.js';
import type { Wire } from '../run/links/link-wires.js';
import type { Capture, CaptureState } from './capture.js';
import { shownGap, type CaptureHistory, type CaptureRecord } from './capture-record.js';
import type { CaptureSettings } from './capture-settings.js';
import { isoTime } from './files/capture-library.js';
import type { LogViewer } from './log/log-viewer.js';
import { captureFilePath, type PortCaptures } from './port-captures.js';

interface CaptureStatus {
  /** AAL5 frames with a wrong checksum or length (recorded), and frames that could not be reassembled for lack of memory. */
  readonly aal5: { readonly faulty: number; readonly no_room: number };
  readonly state: CaptureState;
  /** Why it ended; null while it runs, and when a client has stopped it. */
  readonly reason: string | null;
  readonly file_name: string;
  readonly format: 'pcap' | 'pcapng';
  readonly link_type: number;
  readonly packets: number;
  /** The length of all packets before they were cut. */
  readonly octets: number;
  /** The length of the file, or of all files of a ring together. */
  readonly file_bytes: number;
  /** Packets that were lost because the disk was slow. */
  readonly dropped: number;
  /** Recorded, but not in the file yet. */
  readonly unwritten_bytes: number;
  /** The files that a ring has deleted. */
  readonly rotated_away: { readonly files: number; readonly bytes: number };
  readonly started_at: string;
  /** The gaps in which no server ran: packets between these moments may be missing. */
  readonly gaps: readonly { readonly from: string; readonly to: string }[];
  readonly first_packet_at: string | null;
  readonly last_packet_at: string | null;
  readonly viewers: readonly { readonly lag_bytes: number; readonly skipped_bytes: number }[];
}

/** Filter expressions may be long. */
const LONGEST_DESCRIPTION = 1000;

export class LinkCapture implements ShownCapture {
  readonly fileName: string;
  readonly filePath: string;
  readonly #capture: Capture;
  readonly #linkId: string;
  readonly #settings: CaptureSettings;

  private constructor(capture: Capture, linkId: string, settings: CaptureSettings) {
    this.#capture = capture;
    this.#linkId = linkId;
    this.#settings = settings;
    this.fileName = basename(capture.plan.path);
    this.filePath = captureFilePath(capture);
  }

  /**
   * Refuses what its port refuses. `onEnded` is called when the capture has ended, for whatever reason. With a history it
   * goes on.
   */
  static async start(
    ports: PortCaptures,
    { near: { node, port }, farName, run }: Wire,
    settings: CaptureSettings,
    onEnded: () => void,
    history?: CaptureHistory,
  ): Promise<LinkCapture> {
    const { link_id: id, filters = {} } = run.link;
    const inForce = Object.keys(filters).length > 0 ? `, filters: ${JSON.stringify(filters)}` : '';
    const description = `link ${id} to ${farName}${inForce}`;
    const capture = await ports.start(node, port, {
      settings,
      description: description.slice(0, LONGEST_DESCRIPTION),
      onEnded,
      history,
    });
    return new LinkCapture(capture, id, settings);
  }

  get isRunning(): boolean {
    return this.#capture.state === 'running';
  }

  /** The record that the store has of it while it runs. */
  get record(): CaptureRecord {
    const { startedAt, gaps } = this.#capture;
    return { link_id: this.#linkId, settings: this.#settings, startedAt, gaps: [...gaps] };
  }

  /** The end of the last packet in the file, or in the youngest file of a ring. */
  get wholeBytes(): number {
    return this.#capture.file.wholeBytes;
  }

  /** Times are in milliseconds since 1970; 0 before the first packet. */
  get packets(): { readonly count: number; readonly firstAt: number; readonly lastAt: number } {
    const { packets, firstAt, lastAt } = this.#capture.counters();
    return { count: packets, firstAt, lastAt };
  }

  status(): CaptureStatus {
    const { plan, log, file, gaps, reason, startedAt, state, viewers } = this.#capture;
    const counts = this.#capture.counters();
    const { packets, octets, dropped, firstAt, lastAt, aal5Faulty, aal5NoRoom } = counts;
    return {
      aal5: { faulty: aal5Faulty, no_room: aal5NoRoom },
      dropped,
      file_bytes: file.bytes,
      file_name: this.fileName,
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
      viewers: [...viewers].map(({ lag, skippedBytes }) => ({
        lag_bytes: lag,
        skipped_bytes: skippedBytes,
      })),
    };
  }

  /** A viewer of everything from the oldest kept record to the end of the capture. */
  view(): LogViewer {
    return this.#capture.view();
  }

  /** Resolves when the file has everything. */
  stop(): Promise<void> {
    return this.#capture.end();
  }
}

function shownTime(milliseconds: number): string | null {
  return isoTime(milliseconds === 0 ? null : milliseconds);
}
