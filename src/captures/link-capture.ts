/** A capture of a link of an open project: the capture of the port at its near end. */
import { basename } from 'node:path';
import { LOCAL_COMPUTE } from '../lab/gns3-file/topology-schema.js';
import type { ShownCapture } from '../lab/topology/views.js';
import type { Wire } from '../run/links/link-wires.js';
import type { Capture } from './capture.js';
import type { CaptureHistory, CaptureRecord } from './capture-record.js';
import { turned, type CaptureSettings } from './capture-settings.js';
import { statusOf, type CaptureStatus } from './capture-status.js';
import type { LogViewer } from './log/log-viewer.js';
import { captureFilePath, type PortCaptures } from './port-captures.js';

/** Filter expressions may be long. */
const LONGEST_DESCRIPTION = 1000;

export class LinkCapture implements ShownCapture {
  readonly computeId = LOCAL_COMPUTE;
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
    { near: { node, port }, farName, isReversed, run }: Wire,
    settings: CaptureSettings,
    onEnded: () => void,
    history?: CaptureHistory,
  ): Promise<LinkCapture> {
    const { link_id: id, filters = {} } = run.link;
    const inForce = Object.keys(filters).length > 0 ? `, filters: ${JSON.stringify(filters)}` : '';
    const description = `link ${id} to ${farName}${inForce}`;
    const capture = await ports.start(node, port, {
      settings: isReversed ? turned(settings) : settings,
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
    return statusOf(this.#capture);
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
