/** A stream of links of an open project: links join and leave while it runs. */
import { refusals } from '../base/errors/errors.js';
import { LogStream } from './log/log-stream.js';
import { LARGEST_SNAPLEN } from './capture-settings.js';
import type { CaptureTail, StreamSettings } from './link-capture.js';
import type { ComputeServices } from '../run/compute-services.js';
import type { LinkWires, Wire } from '../run/links/link-wires.js';
import { packetDesign } from '../run/switches/packet-design.js';
import { pcapngHeader } from './port-captures.js';

type Services = Pick<ComputeServices, 'bpf' | 'captures'>;

export class RunStream implements CaptureTail {
  readonly #stream: LogStream;
  readonly #services: Services;
  readonly #wires: LinkWires;
  readonly #settings: StreamSettings;
  readonly #onClosed: () => void;
  #changes: Promise<void> = Promise.resolve();

  private constructor(
    stream: LogStream,
    services: Services,
    wires: LinkWires,
    settings: StreamSettings,
    onClosed: () => void,
  ) {
    this.#stream = stream;
    this.#services = services;
    this.#wires = wires;
    this.#settings = settings;
    this.#onClosed = onClosed;
  }

  /**
   * Refuses (409) a project in which nothing runs, and (400) an expression that does not fit one of the links. When
   * it resolves, all links of the moment are recorded.
   */
  static async open(
    services: Services,
    wires: LinkWires,
    settings: StreamSettings,
    onClosed: () => void,
  ): Promise<RunStream> {
    const [first] = wires.values();
    if (first === undefined) throw refusals.captureNowhere();
    if (settings.bpf !== undefined && settings.cells === true) throw refusals.captureFilterRefused();
    const log = new LogStream(first.near.node.device, pcapngHeader(), services.captures.services);
    const stream = new RunStream(log, services, wires, settings, onClosed);
    try {
      for (const wire of [...wires.values()]) {
        if (settings.includes(wire.linkId)) await stream.#join(wire);
      }
    } catch (error) {
      await log.close();
      throw error;
    }
    return stream;
  }

  next(use: (bytes: Uint8Array) => void): ReturnType<CaptureTail['next']> {
    return this.#stream.next(use);
  }

  onReady(callback: () => void): void {
    this.#stream.onReady(callback);
  }

  close(): void {
    this.#onClosed();
    this.#stream.close().catch(() => undefined);
  }

  end(): void {
    void this.#stream.end();
  }

  /** Lets join what is to be of it now, and leave what is not. A link that cannot join is left out. */
  reconsider(): void {
    this.#changes = this.#changes.then(async () => {
      for (const id of this.#stream.keys()) {
        if (this.#wires.get(id) === undefined || !this.#settings.includes(id)) await this.#stream.remove(id);
      }
      for (const wire of [...this.#wires.values()]) {
        if (!this.#stream.has(wire.linkId) && this.#settings.includes(wire.linkId))
          await this.#join(wire).catch(() => undefined);
      }
    });
  }

  /** A wire that has gone meanwhile is left out. */
  async #join(wire: Wire): Promise<void> {
    const { linkId, near, far } = wire;
    const { node, port } = near;
    const { bpf, cells = false, sample = 1, snaplen = LARGEST_SNAPLEN } = this.#settings;
    const { linkType, packets } = packetDesign(node.kind.type, undefined, cells);
    const program =
      bpf === undefined
        ? undefined
        : await this.#services.bpf.compile(bpf, linkType, { projectId: node.home.id });
    if (this.#wires.get(linkId) !== wire) return;
    await this.#stream.add(linkId, {
      device: node.device,
      port,
      name: `${node.home.name} ${node.name} port ${port}`,
      description: `link ${linkId} to ${far.node.name} port ${far.port}`,
      filter: bpf,
      linkType,
      plan: { packets, sample, snaplen, bpf: program },
    });
  }
}
