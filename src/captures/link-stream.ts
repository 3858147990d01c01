/** A stream of the packets of several links of an open project. Links join and leave while it runs. */
import { refusals } from '../base/errors/errors.js';
import type { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import type { ComputeRun } from '../run/compute-run.js';
import type { Wire } from '../run/links/link-wires.js';
import type { CaptureContext } from './capture.js';
import { LARGEST_SNAPLEN, type Selection } from './capture-settings.js';
import { LogStream } from './log/log-stream.js';
import type { LogViewer } from './log/log-viewer.js';
import { captureType } from './capture-type.js';
import { pcapngHeader } from './port-captures.js';

interface LinkStreamOptions {
  readonly run: ComputeRun;
  readonly bpf: BpfCompiler;
  readonly context: Pick<CaptureContext, 'clock' | 'files'>;
  readonly selection: Selection;
  /** Whether a link belongs to the stream; also asked about links that are made later. */
  readonly includes: (linkId: string) => boolean;
  readonly onClosed: () => void;
}

export class LinkStream {
  readonly #log: LogStream;
  readonly #options: LinkStreamOptions;
  #changes: Promise<void> = Promise.resolve();

  private constructor(log: LogStream, options: LinkStreamOptions) {
    this.#log = log;
    this.#options = options;
  }

  /**
   * Resolves when all present links are recorded. Refuses (409) a project in which nothing runs, and (400) an
   * expression that does not fit one of the links.
   */
  static async open(options: LinkStreamOptions): Promise<LinkStream> {
    const { run, context, selection, includes } = options;
    await run.settled();
    const [first] = run.wires.values();
    if (first === undefined) throw refusals.captureNowhere();
    if (selection.bpf !== undefined && selection.cells === true) throw refusals.captureFilterRefused();
    const log = new LogStream(first.near.node.device, pcapngHeader(), context);
    const stream = new LinkStream(log, options);
    try {
      for (const wire of [...run.wires.values()]) {
        if (includes(wire.linkId)) await stream.#join(wire);
      }
    } catch (error) {
      await log.close();
      throw error;
    }
    return stream;
  }

  next(use: (bytes: Uint8Array) => void): ReturnType<LogViewer['next']> {
    return this.#log.next(use);
  }

  onReady(callback: () => void): void {
    this.#log.onReady(callback);
  }

  close(): void {
    this.#options.onClosed();
    this.#log.close().catch(() => undefined);
  }

  /** Ends the recording; what has been recorded can still be read. */
  end(): void {
    void this.#log.end();
  }

  /** Adds the links that belong to the stream now, and removes the others. A link that cannot join is left out. */
  reconsider(): void {
    const { run, includes } = this.#options;
    this.#changes = this.#changes.then(async () => {
      for (const id of this.#log.keys()) {
        if (run.wires.get(id) === undefined || !includes(id)) await this.#log.remove(id);
      }
      for (const wire of [...run.wires.values()]) {
        if (!this.#log.has(wire.linkId) && includes(wire.linkId))
          await this.#join(wire).catch(() => undefined);
      }
    });
  }

  /** Leaves out a wire that has gone meanwhile. */
  async #join(wire: Wire): Promise<void> {
    const { linkId, near, farName } = wire;
    const { node, port } = near;
    const { run, bpf: compiler, selection } = this.#options;
    const { bpf, cells = false, sample = 1, snaplen = LARGEST_SNAPLEN } = selection;
    const { linkType, packets } = captureType({ capture: node.captureAt(port) }, undefined, cells);
    const program =
      bpf === undefined ? undefined : await compiler.compile(bpf, linkType, { projectId: node.home.id });
    if (run.wires.get(linkId) !== wire) return;
    await this.#log.add(linkId, {
      device: node.device,
      port,
      name: `${node.home.name} ${node.name} port ${port}`,
      description: `link ${linkId} to ${farName}`,
      filter: bpf,
      linkType,
      plan: { packets, sample, snaplen, bpf: program },
    });
  }
}
