/**
 * A capture of a link without an end on this server: it is written by the compute of one of its ends, and read from there. A
 * Wirefarm that comes back goes on with it in the same file; a compute of GNS3 has lost it then.
 */
import { z } from 'zod';
import { isRefusal, messageOf, refusals } from '../base/errors/errors.js';
import type { FarAnswer, FarEnd, FarLink, FarNode } from '../lab/far-node.js';
import type { StoredNode } from '../lab/gns3-file/topology-schema.js';
import { kindOfType } from '../lab/kinds/node-kinds.js';
import { CAPTURES } from '../lab/projects/folder-layout.js';
import type { ShownCapture } from '../lab/topology/views.js';
import { SINCE } from '../run/wanted-shapes.js';
import type { CaptureGap, CaptureHistory, CaptureRecord } from './capture-record.js';
import { captureFileName, turned, type CaptureSettings } from './capture-settings.js';
import type { CaptureStatus } from './capture-status.js';

const LOST = 'its compute has lost it';
/** A compute that refuses to go on may be asked while the link is being made. */
const MOST_REFUSED = 3;

const started = z.object({ pcap_file_path: z.string().max(4096) });

interface FarCaptureOptions {
  readonly linkId: string;
  /** With the name of the file. */
  readonly settings: CaptureSettings;
  /** The link as it is now; undefined when it has gone. */
  readonly link: () => FarLink | undefined;
  readonly isStarted: (node: StoredNode) => boolean;
  /** Its record is another. */
  readonly changed: () => void;
  /** Called once, when it has ended or is not wanted any more. Without a reason somebody has stopped it. */
  readonly ended: (reason: string | null) => void;
  /** For a capture that goes on: the node at which it was, and its history. */
  readonly earlier?: { readonly nodeId: string; readonly history: CaptureHistory } | undefined;
}

/** The last captures at the ends of links on a compute, by `statusKey`. */
export type StatusesOf = (node: FarNode) => Promise<ReadonlyMap<string, CaptureStatus>>;

export function statusKey(linkId: string, nodeId: string): string {
  return `${linkId} ${nodeId}`;
}

export class FarCapture implements ShownCapture {
  readonly fileName: string;
  readonly #options: FarCaptureOptions;
  readonly #startedAt: number;
  #nodeId: string;
  #computeId = '';
  #filePath = '';
  #gaps: readonly CaptureGap[];
  #status: CaptureStatus | undefined;
  /** The link as it was made when the compute was last known to capture it. */
  #made: object | undefined;
  #refused = 0;
  #isRunning = true;
  #isTold = false;
  /** It was stopped while its compute was out of reach. */
  #isOwed = false;

  constructor(options: FarCaptureOptions) {
    const { settings, earlier } = options;
    this.#options = options;
    this.fileName = captureFileName(settings.capture_file_name, 'capture.pcap');
    this.#startedAt = earlier?.history.startedAt ?? Date.now();
    this.#gaps = earlier?.history.gaps ?? [];
    this.#nodeId = earlier?.nodeId ?? '';
    this.#computeId = this.#end?.node.computeId ?? '';
  }

  get computeId(): string {
    return this.#computeId;
  }

  /** On the compute. */
  get filePath(): string {
    return this.#filePath;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  get isOwed(): boolean {
    return this.#isOwed;
  }

  /** Whether the compute sends the head of a stream at once. One of GNS3 waits for the first packet. */
  get answersAtOnce(): boolean {
    return (this.#end?.node.dialect ?? 0) >= SINCE.wanted;
  }

  get format(): 'pcap' | 'pcapng' {
    return this.#options.settings.format ?? 'pcap';
  }

  get record(): CaptureRecord {
    const { linkId, settings } = this.#options;
    return {
      ...{ link_id: linkId, settings, node_id: this.#nodeId },
      ...{ startedAt: this.#startedAt, gaps: [...this.#gaps] },
    };
  }

  /** Refuses (409) a link at which nothing can be captured, and what the compute refuses. */
  async start(): Promise<void> {
    const { isStarted, link, settings } = this.#options;
    const found = link();
    if (found?.made === undefined) throw refusals.linkOutOfReach();
    const end = captureEnd(found, isStarted);
    if (end === undefined) throw refusals.captureNowhere();
    const { computeId, computeName, dialect, stored } = end.node;
    const beyond = Object.keys(settings).filter((key) => !ofGns3.includes(key));
    if (dialect < SINCE.wanted && beyond.length > 0)
      throw refusals.captureBeyondCompute(computeName, beyond.join(', '));
    this.#nodeId = stored.node_id;
    this.#computeId = computeId;
    await this.#ask(end, undefined);
    this.#made = found.made;
  }

  /** Finds out how it is, and goes on with it where its compute has lost it. */
  async look(statusesOf: StatusesOf): Promise<void> {
    const { isStarted, link, linkId } = this.#options;
    const made = link()?.made;
    const end = this.#end;
    if (end === undefined) this.forget();
    if (made === undefined || end?.node.isReady !== true) return;
    if (this.#isOwed) await this.#tellStop(end);
    if (!this.#isRunning) return;
    if (end.node.dialect < SINCE.captures) {
      if (made !== this.#made) this.#over(LOST);
      else if (!isStarted(end.node.stored)) await this.stop();
      return;
    }
    const status = (await statusesOf(end.node)).get(statusKey(linkId, this.#nodeId));
    if (status?.file_name === this.fileName) {
      this.#made = made;
      this.#note(status);
    } else await this.#goOn(end, made);
  }

  /** Refuses (409) a compute that tells no state of captures. */
  async status(statusesOf: StatusesOf): Promise<CaptureStatus> {
    const node = this.#end?.node;
    if (node?.isReady === true && node.dialect >= SINCE.captures) {
      const status = (await statusesOf(node)).get(statusKey(this.#options.linkId, this.#nodeId));
      if (status?.file_name === this.fileName) this.#note(status);
    }
    if (this.#status === undefined) throw refusals.captureUntold(node?.computeName ?? this.#computeId);
    return this.#status;
  }

  /** Everything from the first packet to the end of the capture. */
  pcap(signal: AbortSignal): Promise<FarAnswer> {
    const end = this.#found();
    return end.node.open({ method: 'GET', path: `${portPath(end)}/pcap`, isLive: true, signal });
  }

  /** The file, or the part of it that the headers ask for. */
  file(headers: Readonly<Record<string, string>>): Promise<FarAnswer> {
    const path = `/files/${CAPTURES}/${encodeURIComponent(this.fileName)}`;
    return this.#found().node.open({ method: 'GET', path, headers });
  }

  /** A compute that is out of reach is told when it is back. */
  async stop(): Promise<void> {
    this.#isOwed = this.#isOwed || this.#isRunning;
    this.#isRunning = false;
    const end = this.#end;
    if (end?.node.isReady === true && this.#isOwed) await this.#tellStop(end);
    this.#over(null);
  }

  /** The link has gone, or the project is closed: it ends on its compute by itself. */
  forget(): void {
    this.#isOwed = this.#isRunning = false;
    this.#over(null);
  }

  get #end(): FarEnd | undefined {
    return this.#options.link()?.ends.find(({ node }) => node.stored.node_id === this.#nodeId);
  }

  #found(): FarEnd {
    const end = this.#end;
    if (end === undefined) throw refusals.captureInactive();
    return end;
  }

  async #ask(end: FarEnd, history: CaptureHistory | undefined): Promise<void> {
    const { link, settings } = this.#options;
    const { node } = end;
    const isSecond = link()?.ends[0]?.node.stored.node_id !== node.stored.node_id;
    const named = { ...settings, capture_file_name: this.fileName };
    const { data_link_type: type = 'DLT_EN10MB' } = settings;
    const body =
      node.dialect < SINCE.wanted
        ? { capture_file_name: this.fileName, data_link_type: type }
        : { ...(isSecond ? turned(named) : named), ...(history === undefined ? {} : { goes_on: history }) };
    const answer = started.safeParse(await node.ask('POST', `${portPath(end)}/start_capture`, body));
    if (!answer.success) throw refusals.notACompute(node.computeName);
    this.#filePath = answer.data.pcap_file_path;
  }

  async #goOn(end: FarEnd, made: object): Promise<void> {
    try {
      await this.#ask(end, { startedAt: this.#startedAt, gaps: [...this.#gaps] });
      this.#refused = 0;
      this.#made = made;
      this.#computeId = end.node.computeId;
      this.#options.changed();
    } catch (error) {
      if (isRefusal(error, 'compute_refused') && ++this.#refused >= MOST_REFUSED)
        this.#over(messageOf(error));
    }
  }

  async #tellStop(end: FarEnd): Promise<void> {
    try {
      await end.node.ask('POST', `${portPath(end)}/stop_capture`);
      this.#isOwed = false;
    } catch (error) {
      // A capture that it refuses to stop is not there any more.
      if (isRefusal(error, 'compute_refused')) this.#isOwed = false;
    }
  }

  #note(status: CaptureStatus): void {
    const gaps = status.gaps.map(({ from, to }) => ({ from: Date.parse(from), to: Date.parse(to) }));
    const isNews = gaps.length !== this.#gaps.length;
    this.#status = status;
    this.#gaps = gaps;
    this.#refused = 0;
    if (!this.#isRunning) return;
    if (status.state === 'stopped' || status.state === 'failed') this.#over(status.reason);
    else if (isNews) this.#options.changed();
  }

  #over(reason: string | null): void {
    this.#isRunning = false;
    if (this.#isTold) return;
    this.#isTold = true;
    this.#options.ended(reason);
  }
}

const ofGns3: readonly string[] = ['capture_file_name', 'data_link_type'];

/**
 * The end at which a link is captured: at the first one on a Wirefarm, where its filters are, too; else at a node that runs,
 * a switch before others.
 */
function captureEnd({ ends }: FarLink, isStarted: (node: StoredNode) => boolean): FarEnd | undefined {
  const able = ends.filter(
    ({ node }) => node.isReady && (node.dialect >= SINCE.wanted || isStarted(node.stored)),
  );
  const rank = ({ node: { dialect, stored } }: FarEnd): number =>
    dialect > 0 ? 2 + dialect : Number(kindOfType(stored.node_type).alwaysRuns);
  return able.toSorted((a, b) => rank(b) - rank(a))[0];
}

function portPath({ node, place: { adapter_number: adapter, port_number: port } }: FarEnd): string {
  return `${node.path}/adapters/${adapter}/ports/${port}`;
}
