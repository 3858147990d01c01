/**
 * The captures of an open project's links, at most one a link. They are not stored: what is shown of them in a link
 * is published like a change of the link, and ends with the project.
 */
import { refusals } from '../base/errors/errors.js';
import { defaultFileName, type CaptureSettings } from './capture-settings.js';
import { findLink } from '../lab/topology/link-changes.js';
import type { RunningCapture } from './files/capture-files.js';
import type { LinkCapture } from './link-capture.js';
import type { Project } from '../lab/projects/project.js';
import type { Topology } from '../lab/topology/topology.js';
import type { StoredLink } from '../lab/gns3-file/topology-schema.js';
import type { Transaction } from '../lab/projects/transaction.js';

/** What captures need of their project. */
export interface CaptureHome {
  /** Publishes what the transaction says, in order with the changes of the project. */
  publish(work: (topology: Topology, transaction: Transaction) => void): Promise<void>;
  /** Keeps the project from closing by itself; returns the release. */
  hold(): () => void;
}

export class LinkCaptures {
  readonly #topology: Topology;
  readonly #home: CaptureHome;
  readonly #byLink = new Map<string, LinkCapture>();
  readonly #starting = new Map<string, Promise<void>>();
  /** Links whose capture is being stopped by a request, which tells of it when it is done. */
  readonly #stopping = new Set<string>();
  /** The links of the captures that run or start, by the names of their files. */
  readonly #names = new Map<string, string>();

  constructor(topology: Topology, home: CaptureHome) {
    this.#topology = topology;
    this.#home = home;
  }

  /** The last one of the link, which may have ended. */
  get(linkId: string): LinkCapture | undefined {
    return this.#byLink.get(linkId);
  }

  /** Those that run, by link. */
  *running(): Generator<readonly [linkId: string, capture: LinkCapture]> {
    for (const entry of this.#byLink) if (entry[1].isRunning) yield entry;
  }

  /** What is written, or is about to be. */
  *files(): Generator<RunningCapture> {
    for (const [name, linkId] of this.#names) {
      const found = this.#byLink.get(linkId);
      const capture = found?.fileName === name ? found : undefined;
      const status = capture?.status();
      yield {
        name,
        linkId,
        packets: status?.packets ?? 0,
        // Of one that starts nothing is there yet, or an old file whole.
        wholeBytes: capture?.wholeBytes ?? Infinity,
        firstAt: timeOf(status?.first_packet_at),
        lastAt: timeOf(status?.last_packet_at),
      };
    }
  }

  /** Refuses (409) a link that is being captured, and does not disturb it. */
  async start(linkId: string, settings: CaptureSettings): Promise<void> {
    const link = findLink(this.#topology, linkId);
    if (this.#starting.has(linkId) || this.#byLink.get(linkId)?.isRunning === true)
      throw refusals.captureRunning(link.nodes[0]?.port_number ?? 0);
    const begun = this.#begin(link, settings).finally(() => this.#starting.delete(linkId));
    this.#starting.set(linkId, begun);
    await begun;
  }

  /** Resolves with false when the link is being captured already. */
  async ensure(linkId: string, settings: CaptureSettings): Promise<boolean> {
    const starting = this.#starting.get(linkId);
    if (starting !== undefined) await starting.catch(() => undefined);
    if (this.#byLink.get(linkId)?.isRunning === true) return false;
    await this.start(linkId, settings);
    return true;
  }

  /** To stop what does not run is no fault, and is announced, too. */
  async stop(linkId: string): Promise<void> {
    findLink(this.#topology, linkId);
    await this.#starting.get(linkId)?.catch(() => undefined);
    this.#stopping.add(linkId);
    try {
      await this.#byLink.get(linkId)?.stop();
    } finally {
      this.#stopping.delete(linkId);
    }
    await this.#show(linkId);
  }

  /** The link is no more; its capture ends with its port. */
  forget(linkId: string): void {
    this.#byLink.delete(linkId);
  }

  async #begin(link: StoredLink, settings: CaptureSettings): Promise<void> {
    const { link_id: linkId } = link;
    const wanted = settings.capture_file_name ?? '';
    const name = wanted === '' ? this.#freeName(link, settings.format) : wanted;
    this.#names.set(name, linkId);
    const letGo = this.#home.hold();
    const release = (): void => {
      this.#names.delete(name);
      letGo();
    };
    try {
      const capture = await this.#topology.run.startCapture(
        link,
        { ...settings, capture_file_name: name },
        () => {
          release();
          if (!this.#stopping.has(linkId)) this.#show(linkId).catch(() => undefined);
        },
      );
      if (this.#topology.links.get(linkId) === undefined) {
        await capture.stop();
        throw refusals.linkUnknown(linkId);
      }
      this.#byLink.set(linkId, capture);
    } catch (error) {
      release();
      throw error;
    }
    await this.#show(linkId);
  }

  #show(linkId: string): Promise<void> {
    return this.#home.publish((topology, transaction) => {
      topology.links.refresh(transaction, linkId, 'updated');
      transaction.onStored(() => {
        topology.run.reconsiderStreams();
      });
    });
  }

  /** Names of nodes may differ only in what a file name does not show. */
  #freeName(link: StoredLink, format: CaptureSettings['format']): string {
    const ends = link.nodes.map(({ node_id: id, adapter_number: adapter, port_number: port }) => {
      return `${this.#topology.nodes.get(id)?.name ?? ''}_${adapter}-${port}`;
    });
    const name = defaultFileName(ends, format);
    return this.#names.has(name) ? defaultFileName([...ends, link.link_id], format) : name;
  }
}

export function runningCaptures(project: Project): RunningCapture[] {
  return project.isOpen ? [...project.topology.captures.files()] : [];
}

function timeOf(shown: string | null | undefined): number | null {
  return shown == null ? null : Date.parse(shown);
}
