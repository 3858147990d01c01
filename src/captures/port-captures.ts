/** The captures at the ports of switches, at most one per port. They end before their port does. */
import { basename, join } from 'node:path';
import type { Remember } from '../lab/history-event.js';
import type { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import type { Capture, CapturePlan } from './capture.js';
import type { CaptureHistory } from './capture-record.js';
import type { Continuation } from './continued-plan.js';
import type { RunningCaptures } from './running-captures.js';
import { refusals } from '../base/errors/errors.js';
import { captureFileName, checkRing, LARGEST_SNAPLEN, type CaptureSettings } from './capture-settings.js';
import { CAPTURES } from '../lab/projects/folder-layout.js';
import { PRODUCT } from '../base/product.js';
import { pcapHeader } from '../engine/wire/pcap.js';
import { interfaceBlock, sectionHeader } from '../engine/wire/pcapng.js';
import type { Claims } from '../lab/quotas/quotas.js';
import type { ComputeNode } from '../run/nodes/compute-node.js';
import { captureType } from './capture-type.js';

/** The directions of a link, which is captured at its first end, and those of a port. */
const DIRECTIONS = { both: 'both', forward: 'out', backward: 'in', in: 'in', out: 'out' } as const;

interface PortCapturesOptions {
  readonly captures: RunningCaptures;
  readonly bpf: BpfCompiler;
  readonly quotas: Claims;
  readonly remember: Remember;
}

/** A request for a capture. */
interface PortCaptureRequest {
  readonly settings: CaptureSettings;
  /** A description for the file, beside the name of the port. */
  readonly description?: string;
  /** Called when the capture has ended, for whatever reason. */
  readonly onEnded?: () => void;
  /** The history of a capture that goes on. */
  readonly history?: CaptureHistory | undefined;
}

export class PortCaptures {
  readonly #options: PortCapturesOptions;
  readonly #byNode = new WeakMap<ComputeNode, Map<number, Capture>>();

  constructor(options: PortCapturesOptions) {
    this.#options = options;
  }

  /** Refuses (409) a port that is not attached or is being captured. Waits for a capture that is ending. */
  start(node: ComputeNode, port: number, request: PortCaptureRequest): Promise<Capture> {
    return node.onPort(port, async () => {
      if (this.running(node, port) !== undefined) throw refusals.captureRunning(port);
      const byPort = this.#capturesOf(node);
      await byPort.get(port)?.end();
      const capture = await this.#begin(node, port, request);
      byPort.set(port, capture);
      return capture;
    });
  }

  /** The running capture of the port; refuses (409) a port that is not attached. */
  running(node: ComputeNode, port: number): Capture | undefined {
    node.checkPort(port);
    const capture = this.#byNode.get(node)?.get(port);
    return capture?.state === 'running' ? capture : undefined;
  }

  /** The last capture of the port since it was attached, which may have ended. */
  last(node: ComputeNode, port: number): Capture | undefined {
    return this.#byNode.get(node)?.get(port);
  }

  stop(node: ComputeNode, port: number): Promise<void> {
    return node.onPort(port, async () => {
      await this.#capturesOf(node).get(port)?.end('stopped', null);
    });
  }

  /** How much of the file with this path can be read; all of a file that nothing writes. */
  wholeBytesOf(path: string): number {
    return this.#options.captures.wholeBytesOf(path);
  }

  /** Counts a capture on another compute for the quotas, until the function that is returned is called. */
  claim(projectId: string, isNew: boolean): () => void {
    return this.#options.quotas[isNew ? 'claim' : 'take'](projectId, { captures: 1 });
  }

  /** A capture counts for the quotas until it has ended. */
  async #begin(node: ComputeNode, port: number, request: PortCaptureRequest): Promise<Capture> {
    const { captures, quotas } = this.#options;
    const { history, onEnded } = request;
    const giveBack = quotas[history === undefined ? 'claim' : 'take'](node.home.id, { captures: 1 });
    try {
      const { plan, markOf } = await this.#planOf(node, port, request);
      const ended = (capture: Capture): void => {
        giveBack();
        this.#remember(node, capture);
        onEnded?.();
      };
      return await captures.begin(
        { device: node.device, port },
        plan,
        ended,
        history && { ...history, markOf },
      );
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  /** A capture that was told to end has no reason. */
  #remember({ id: subject, home }: ComputeNode, { reason, plan }: Capture): void {
    if (reason === null) return;
    const message = `The capture to ${basename(plan.path)} ended: ${reason}`;
    this.#options.remember(home.id, { kind: 'capture_ended', message, subject });
  }

  #capturesOf(node: ComputeNode): Map<number, Capture> {
    const known = this.#byNode.get(node);
    if (known !== undefined) return known;
    const byPort = new Map<number, Capture>();
    this.#byNode.set(node, byPort);
    node.beforeDetach(async (port) => {
      if (port !== 'all') await end(byPort, port, 'its port was detached');
      else await Promise.all([...byPort.keys()].map((each) => end(byPort, each, 'its node was closed')));
    });
    return byPort;
  }

  async #planOf(
    node: ComputeNode,
    port: number,
    { settings, description = '' }: PortCaptureRequest,
  ): Promise<Pick<Continuation, 'markOf'> & { readonly plan: CapturePlan }> {
    const { bpf } = this.#options;
    const { id: projectId, folder, name: projectName } = node.home;
    checkRing(settings);
    const { snaplen = LARGEST_SNAPLEN, files = 1, format = 'pcap', cells = false } = settings;
    const { linkType, packets } = captureType(
      { capture: node.captureAt(port) },
      settings.data_link_type,
      cells,
    );
    if (packets === 'cells' && settings.bpf !== undefined) throw refusals.captureFilterRefused();
    const maxBytes = settings.max_bytes ?? 0;
    const name = `${projectName} ${node.name} port ${port}`;
    const recorded = { linkType, snaplen, name, description, filter: settings.bpf };
    const header = format === 'pcap' ? pcapHeader(linkType, snaplen) : sectionOf(recorded);
    const plan: CapturePlan = {
      folder,
      path: `${CAPTURES}/${captureFileName(settings.capture_file_name, `port${port}.pcap`)}`,
      header,
      format,
      linkType,
      packets,
      snaplen,
      direction: DIRECTIONS[settings.direction ?? 'both'],
      sample: settings.sample ?? 1,
      bpf: settings.bpf === undefined ? undefined : await bpf.compile(settings.bpf, linkType, { projectId }),
      files,
      fileBytes: files > 1 ? Math.floor(maxBytes / files) : 0,
      maxOctets: files > 1 || maxBytes === 0 ? 0 : maxBytes - header.length,
      maxPackets: settings.max_packets ?? 0,
      maxSeconds: settings.max_seconds ?? 0,
    };
    // A pcap file has no place for words.
    const markOf = (comment: string): Uint8Array =>
      format === 'pcap' ? new Uint8Array(0) : sectionOf(recorded, comment);
    return { plan, markOf };
  }
}

async function end(byPort: Map<number, Capture>, port: number, reason: string): Promise<void> {
  await byPort.get(port)?.end('stopped', reason);
  byPort.delete(port);
}

/** The path of the file of a capture. */
export function captureFilePath({ plan: { folder, path } }: Capture): string {
  return join(folder, path);
}

/** The bytes that every pcapng file and stream begins with. */
export function pcapngHeader(comment?: string): Uint8Array {
  return sectionHeader({ application: `${PRODUCT.name} ${PRODUCT.version}`, comment });
}

/** The beginning of a pcapng section for one interface. */
function sectionOf(recorded: Parameters<typeof interfaceBlock>[0], comment?: string): Uint8Array {
  return Buffer.concat([pcapngHeader(comment), interfaceBlock(recorded)]);
}
