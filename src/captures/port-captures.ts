/** The captures at the ports of one node, at most one a port. */
import { join } from 'node:path';
import type { BpfCompiler } from '../engine/bpf/bpf-compiler.js';
import type { Capture, CapturePlan } from './capture.js';
import type { Captures } from './captures.js';
import type { RunningDevice } from '../engine/control/running-device.js';
import { refusals } from '../base/errors/errors.js';
import {
  captureFileName,
  checkRing,
  LARGEST_SNAPLEN,
  type CaptureSettings,
} from './capture-settings.js';
import { CAPTURES } from '../lab/projects/folder-layout.js';
import type { DeviceKind } from '../engine/forwarding/orders.js';
import { PRODUCT } from '../base/product.js';
import { pcapHeader, type LinkType } from '../engine/wire/pcap.js';
import { interfaceBlock, sectionHeader } from '../engine/wire/pcapng.js';
import { packetDesign } from '../run/switches/packet-design.js';

/** Of a link, which is captured at its first end, and of a port. */
const DIRECTIONS = { both: 'both', forward: 'out', backward: 'in', in: 'in', out: 'out' } as const;

export interface PortCapturesOptions {
  readonly kind: DeviceKind;
  readonly device: RunningDevice;
  readonly captures: Captures;
  readonly bpf: BpfCompiler;
  /** The project that the port is of. */
  readonly projectId: string;
}

/** What a capture says of where it was made. */
export interface CapturePlace {
  /** The folder of the project. */
  readonly folder: string;
  readonly name: string;
  readonly description: string;
}

export class PortCaptures {
  readonly #options: PortCapturesOptions;
  readonly #byPort = new Map<number, Capture>();

  constructor(options: PortCapturesOptions) {
    this.#options = options;
  }

  /** Refuses a port that is being captured, and waits for one that is coming to its end. The port must be attached. */
  async start(
    port: number,
    settings: CaptureSettings,
    place: CapturePlace,
    onEnded: () => void,
  ): Promise<Capture> {
    if (this.running(port) !== undefined) throw refusals.captureRunning(port);
    await this.#byPort.get(port)?.end();
    const { device, captures } = this.#options;
    const plan = await this.#planOf(port, settings, place);
    const capture = await captures.begin({ device, port }, plan, onEnded);
    this.#byPort.set(port, capture);
    return capture;
  }

  running(port: number): Capture | undefined {
    const capture = this.#byPort.get(port);
    return capture?.state === 'running' ? capture : undefined;
  }

  async end(port: number, reason: string | null): Promise<void> {
    await this.#byPort.get(port)?.end('stopped', reason);
    this.#byPort.delete(port);
  }

  async endAll(reason: string): Promise<void> {
    await Promise.all([...this.#byPort.values()].map((capture) => capture.end('stopped', reason)));
  }

  async #planOf(port: number, settings: CaptureSettings, place: CapturePlace): Promise<CapturePlan> {
    const { kind, bpf, projectId } = this.#options;
    checkRing(settings);
    const { snaplen = LARGEST_SNAPLEN, files = 1, format = 'pcap', cells = false } = settings;
    const { linkType, packets } = packetDesign(kind, settings.data_link_type, cells);
    if (packets === 'cells' && settings.bpf !== undefined) throw refusals.captureFilterRefused();
    const maxBytes = settings.max_bytes ?? 0;
    const header = headerOf(format, linkType, snaplen, settings.bpf, place);
    return {
      folder: place.folder,
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
      fileOctets: files > 1 ? Math.floor(maxBytes / files) : 0,
      maxOctets: files > 1 || maxBytes === 0 ? 0 : maxBytes - header.length,
      maxPackets: settings.max_packets ?? 0,
      maxSeconds: settings.max_seconds ?? 0,
    };
  }
}

/** Where the file of a capture lies. */
export function captureFilePath({ plan: { folder, path } }: Capture): string {
  return join(folder, path);
}

/** What every pcapng file and stream begins with. */
export function pcapngHeader(): Uint8Array {
  return sectionHeader({ application: `${PRODUCT.name} ${PRODUCT.version}` });
}

function headerOf(
  format: 'pcap' | 'pcapng',
  linkType: LinkType,
  snaplen: number,
  filter: string | undefined,
  { name, description }: CapturePlace,
): Uint8Array {
  if (format === 'pcap') return pcapHeader(linkType, snaplen);
  return Buffer.concat([pcapngHeader(), interfaceBlock({ linkType, snaplen, name, description, filter })]);
}
