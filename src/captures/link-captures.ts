/**
 * The captures of the links of open projects, at most one per link, and the streams of several links. They end with the
 * project. The store knows which captures run, so that they go on after the end or the death of the server. A change of
 * a capture is published as a change of its link.
 */
import { refusals } from '../base/errors/errors.js';
import type { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import type { StoredLink } from '../lab/gns3-file/topology-schema.js';
import type { Project } from '../lab/projects/project.js';
import { findLink } from '../lab/topology/links.js';
import type { StoredCapture, Topology } from '../lab/topology/topology.js';
import type { ComputeRun } from '../run/compute-run.js';
import { captureRecord, type CaptureHistory } from './capture-record.js';
import { defaultFileName, type CaptureSettings, type Selection } from './capture-settings.js';
import type { RunningCaptures } from './running-captures.js';
import type { RunningCaptureFile } from './files/capture-library.js';
import { FarCapture } from './far-capture.js';
import { FarCaptureWatch } from './far-capture-watch.js';
import { LinkCapture } from './link-capture.js';
import { LinkStream } from './link-stream.js';
import type { PortCaptures } from './port-captures.js';

export interface LinkCapturesOptions {
  readonly captures: RunningCaptures;
  readonly ports: PortCaptures;
  readonly bpf: BpfCompiler;
  /** The running part of an open project. */
  readonly runOf: (projectId: string) => ComputeRun | undefined;
}

interface WantedCapture {
  readonly settings: CaptureSettings;
  /** The history of a capture that goes on, and the node of another compute at which it was. */
  readonly history?: CaptureHistory;
  readonly nodeId?: string | undefined;
}

/** The value of `links` that means every link that is being captured. */
const CAPTURING = 'capturing';

export class LinkCaptures {
  readonly #project: Project;
  readonly #topology: Topology;
  readonly #options: LinkCapturesOptions;
  readonly #starting = new Map<string, Promise<void>>();
  /** Links whose capture is being stopped by a request, which publishes the end itself. */
  readonly #stopping = new Set<string>();
  /** The links of the captures that run or start, by file name. */
  readonly #names = new Map<string, string>();
  /** The names of the files that other computes write. */
  readonly #farNames = new Set<string>();
  readonly #watch = new FarCaptureWatch();
  readonly #streams = new Set<LinkStream>();

  /** For an open project. Its run, if it has one, reports links that come and go. */
  constructor(project: Project, options: LinkCapturesOptions) {
    this.#project = project;
    this.#topology = project.topology;
    this.#options = options;
    options.runOf(project.id)?.listen({
      linksChanged: () => {
        this.#reconsiderStreams();
      },
      ending: () => {
        this.#watch.close();
        for (const stream of this.#streams) stream.end();
      },
    });
  }

  /** The last capture of the link, which may have ended. */
  get(linkId: string): LinkCapture | undefined {
    const capture = this.#topology.captures.get(linkId);
    return capture instanceof LinkCapture ? capture : undefined;
  }

  /** The last capture of a link without an end on this server. */
  far(linkId: string): FarCapture | undefined {
    const capture = this.#topology.captures.get(linkId);
    return capture instanceof FarCapture ? capture : undefined;
  }

  /** The files that are being written, or are about to be. */
  *files(): Generator<RunningCaptureFile> {
    for (const [name, linkId] of this.#names) {
      const found = this.get(linkId);
      const capture = found?.fileName === name ? found : undefined;
      const { count, firstAt, lastAt } = capture?.packets ?? { count: 0, firstAt: 0, lastAt: 0 };
      yield {
        name,
        linkId,
        packets: count,
        // While a capture starts, its name has no file yet, or an older file, which is complete.
        wholeBytes: capture?.wholeBytes ?? Infinity,
        firstAt: firstAt === 0 ? null : firstAt,
        lastAt: lastAt === 0 ? null : lastAt,
      };
    }
  }

  /** Refuses (409) a link that is being captured; that capture goes on. */
  async start(linkId: string, settings: CaptureSettings): Promise<void> {
    const link = findLink(this.#topology, linkId);
    if (this.#starting.has(linkId) || this.#runs(linkId))
      throw refusals.captureRunning(link.nodes[0]?.port_number ?? 0);
    await this.#start(link, { settings });
  }

  /** Goes on with the captures that ran when the server ended or died. Those that cannot go on end. */
  async goOn(): Promise<void> {
    const stored = [...this.#topology.storedCaptures.values()];
    const going = await Promise.all(stored.map((capture) => this.#goOnWith(capture)));
    const count = going.filter(Boolean).length;
    if (count === 0) return;
    this.#project.warn(
      `The server had ended. Captures go on (${count}), but packets of the time between may be missing in them`,
    );
  }

  /** Resolves with false when the link was being captured already. */
  async ensure(linkId: string, settings: CaptureSettings): Promise<boolean> {
    const starting = this.#starting.get(linkId);
    if (starting !== undefined) await starting.catch(() => undefined);
    if (this.#runs(linkId)) return false;
    await this.start(linkId, settings);
    return true;
  }

  /** Stopping a link without a capture is no error, and is published, too. */
  async stop(linkId: string): Promise<void> {
    findLink(this.#topology, linkId);
    await this.#starting.get(linkId)?.catch(() => undefined);
    this.#stopping.add(linkId);
    try {
      await this.#last(linkId)?.stop();
    } finally {
      this.#stopping.delete(linkId);
    }
    await this.#show(linkId);
  }

  /**
   * Streams what passes several links from now on to one reader. `links` is `capturing`, or ids separated by commas;
   * without it, all links are meant. Links join and leave while the stream is open. An open stream keeps the project
   * from closing by itself.
   */
  async openStream(links: string | undefined, selection: Selection): Promise<LinkStream> {
    const run = this.#run();
    const { bpf, captures } = this.#options;
    const includes = this.#chooser(links);
    const letGo = this.#project.hold();
    try {
      const stream = await LinkStream.open({
        run,
        bpf,
        context: captures.context,
        selection,
        includes,
        onClosed: () => {
          this.#streams.delete(stream);
          letGo();
        },
      });
      this.#streams.add(stream);
      // Links may have come and gone while it was being opened.
      stream.reconsider();
      return stream;
    } catch (error) {
      letGo();
      throw error;
    }
  }

  async #goOnWith(stored: StoredCapture): Promise<boolean> {
    const { link_id: linkId } = stored;
    try {
      const { settings, node_id: nodeId, ...history } = captureRecord.parse(stored);
      const link = findLink(this.#topology, linkId);
      await this.#start(link, { settings, history, nodeId });
      // A compute that has gone on meanwhile has missed nothing.
      return this.far(linkId) === undefined;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#project.warn(`The capture of link ${linkId} ended with the server: ${reason}`);
      await this.#show(linkId);
      return false;
    }
  }

  #start(link: StoredLink, wanted: WantedCapture): Promise<void> {
    const { link_id: linkId } = link;
    const isFar = this.#topology.run.farLink?.(link) !== undefined;
    const begins = isFar ? this.#beginFar(link, wanted) : this.#begin(link, wanted);
    const begun = begins.finally(() => this.#starting.delete(linkId));
    this.#starting.set(linkId, begun);
    return begun;
  }

  async #beginFar(link: StoredLink, { settings, history, nodeId }: WantedCapture): Promise<void> {
    const { link_id: linkId } = link;
    const { captures, links, run } = this.#topology;
    const name = settings.capture_file_name ?? '';
    const fileName = name === '' ? this.#freeName(link, settings.format) : name;
    if (this.#farNames.has(fileName)) throw refusals.captureFileBusy(fileName);
    const giveBack = this.#options.ports.claim(this.#project.id, history === undefined);
    const letGo = this.#project.hold();
    this.#farNames.add(fileName);
    const release = (): void => {
      this.#farNames.delete(fileName);
      letGo();
      giveBack();
    };
    const publish = (): void => {
      if (!this.#stopping.has(linkId)) this.#show(linkId).catch(() => undefined);
    };
    try {
      await this.far(linkId)?.stop();
      await run.settled();
      const capture: FarCapture = new FarCapture({
        ...{ linkId, settings: { ...settings, capture_file_name: fileName } },
        link: () => {
          const stored = links.get(linkId);
          return stored && run.farLink?.(stored);
        },
        isStarted: (node) => run.stateOf(node).status === 'started',
        changed: publish,
        ended: (reason) => {
          release();
          if (reason !== null)
            this.#project.warn(`The capture of link ${linkId} on another compute ended: ${reason}`);
          if (captures.get(linkId) === capture) publish();
        },
        earlier: history && nodeId !== undefined ? { history, nodeId } : undefined,
      });
      if (history === undefined) await capture.start();
      if (links.get(linkId) === undefined) throw refusals.linkUnknown(linkId);
      captures.set(linkId, capture);
      this.#watch.add(capture);
    } catch (error) {
      release();
      throw error;
    }
    await this.#shown(linkId);
  }

  async #begin(link: StoredLink, { settings, history }: WantedCapture): Promise<void> {
    const { link_id: linkId } = link;
    const wanted = settings.capture_file_name ?? '';
    const name = wanted === '' ? this.#freeName(link, settings.format) : wanted;
    this.#names.set(name, linkId);
    const letGo = this.#project.hold();
    const release = (): void => {
      this.#names.delete(name);
      letGo();
    };
    try {
      const run = this.#run();
      await run.settled();
      const wire = run.wires.get(linkId);
      if (wire === undefined) throw refusals.captureNowhere();
      const named = { ...settings, capture_file_name: name };
      const onEnded = (): void => {
        release();
        if (!this.#stopping.has(linkId)) this.#show(linkId).catch(() => undefined);
      };
      const capture = await LinkCapture.start(this.#options.ports, wire, named, onEnded, history);
      if (this.#topology.links.get(linkId) === undefined) {
        await capture.stop();
        throw refusals.linkUnknown(linkId);
      }
      this.#topology.captures.set(linkId, capture);
    } catch (error) {
      release();
      throw error;
    }
    await this.#shown(linkId);
  }

  /** A capture that would not go on must not be acknowledged. */
  #shown(linkId: string): Promise<void> {
    return this.#show(linkId).catch(async (error: unknown) => {
      await this.#last(linkId)?.stop();
      throw error;
    });
  }

  #last(linkId: string): LinkCapture | FarCapture | undefined {
    return this.get(linkId) ?? this.far(linkId);
  }

  #runs(linkId: string): boolean {
    return this.#last(linkId)?.isRunning === true;
  }

  #run(): ComputeRun {
    const run = this.#options.runOf(this.#project.id);
    if (run === undefined) throw refusals.captureNowhere();
    return run;
  }

  /** Stores whether the link is being captured, and publishes it. */
  #show(linkId: string): Promise<void> {
    const { links, storedCaptures } = this.#topology;
    return this.#project.publish(this.#topology, (transaction) => {
      const capture = this.#last(linkId);
      if (capture?.isRunning === true && links.get(linkId) !== undefined)
        storedCaptures.put(transaction, linkId, capture.record);
      else storedCaptures.withdraw(transaction, linkId);
      links.refresh(transaction, linkId, 'updated');
      transaction.onStored(() => {
        this.#reconsiderStreams();
      });
    });
  }

  #reconsiderStreams(): void {
    for (const stream of this.#streams) stream.reconsider();
  }

  /** Returns the test that decides which links belong to a stream. Refuses (404) unknown links. */
  #chooser(links: string | undefined): (linkId: string) => boolean {
    if (links === undefined) return () => true;
    if (links === CAPTURING) return (id) => this.#runs(id);
    const ids = new Set(links.split(',').filter((id) => id !== ''));
    for (const id of ids) findLink(this.#topology, id);
    return (id) => ids.has(id);
  }

  /** Adds the id of the link when the default name is taken: node names may differ only in characters that it leaves out. */
  #freeName(link: StoredLink, format: CaptureSettings['format']): string {
    const ends = link.nodes.map(({ node_id: id, adapter_number: adapter, port_number: port }) => {
      return `${this.#topology.nodes.get(id)?.name ?? ''}_${adapter}-${port}`;
    });
    const name = defaultFileName(ends, format);
    return this.#names.has(name) || this.#farNames.has(name)
      ? defaultFileName([...ends, link.link_id], format)
      : name;
  }
}

/** The link captures of every open project. */
export class ProjectCaptures {
  readonly #options: LinkCapturesOptions;
  /** An entry lives as long as its project is open. */
  readonly #byTopology = new WeakMap<Topology, LinkCaptures>();

  constructor(options: LinkCapturesOptions) {
    this.#options = options;
  }

  /** Refuses (403) a project that is closed. */
  of(project: Project): LinkCaptures {
    const { topology } = project;
    let captures = this.#byTopology.get(topology);
    if (captures === undefined) {
      captures = new LinkCaptures(project, this.#options);
      this.#byTopology.set(topology, captures);
    }
    return captures;
  }

  /** Called for a project whose content has been loaded: captures go on that ran when the server ended or died. */
  goOn(project: Project | undefined): void {
    if (project === undefined || project.topology.storedCaptures.size === 0) return;
    this.of(project)
      .goOn()
      .catch((error: unknown) => {
        project.warn(`Captures could not go on: ${error instanceof Error ? error.message : String(error)}`);
      });
  }

  /** The files of the project that are being written, or are about to be; none if it is closed. */
  running(project: Project): RunningCaptureFile[] {
    return project.isOpen ? [...this.of(project).files()] : [];
  }
}
