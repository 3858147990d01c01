/**
 * The packets of several ports of one engine as one pcapng stream for one reader. Each port is an interface, and all
 * taps write one log, so the packets are in order. There is no file: when the reader is too slow, packets are lost, and
 * the stream ends with the count of them.
 */
import type { DeviceLog, RunningDevice } from '../../engine/control/running-device.js';
import { refusals } from '../../base/errors/errors.js';
import type { TapPlan } from '../../engine/taps/tap-plan.js';
import type { PcapLinkType } from '../../engine/wire/pcap.js';
import { interfaceBlock } from '../../engine/wire/pcapng.js';
import { LogReader } from './log-reader.js';
import type { CaptureContext } from '../capture.js';
import { LogViewer } from './log-viewer.js';

interface StreamedPort {
  readonly device: RunningDevice;
  readonly port: number;
  readonly linkType: PcapLinkType;
  readonly name: string;
  readonly description: string;
  readonly plan: Pick<TapPlan, 'packets' | 'bpf' | 'snaplen' | 'sample'>;
  /** The text of `bpf`. */
  readonly filter: string | undefined;
}

interface Tapped {
  readonly device: RunningDevice;
  readonly port: number;
  readonly tap: Promise<number>;
}

export class LogStream {
  readonly #deviceLog: DeviceLog;
  readonly #log: LogReader;
  readonly #viewer: LogViewer;
  readonly #tapped = new Map<string, Tapped>();
  #ending: Promise<void> | undefined;
  #isComplete = false;

  /** All ports that are added must be on the engine of this device. */
  constructor(
    device: RunningDevice,
    header: Uint8Array,
    { clock, files }: Pick<CaptureContext, 'clock' | 'files'>,
  ) {
    const deviceLog = device.takeLog();
    if (deviceLog === undefined) throw refusals.tooManyLogs();
    this.#deviceLog = deviceLog;
    this.#log = new LogReader(deviceLog);
    this.#log.prepare();
    this.#viewer = new LogViewer({
      log: this.#log,
      file: undefined,
      header,
      files,
      clock,
      isOver: () => this.#isComplete,
      onClosed: () => undefined,
    });
  }

  has(key: string): boolean {
    return this.#tapped.has(key);
  }

  keys(): string[] {
    return [...this.#tapped.keys()];
  }

  /** Leaves out a port that has just gone. */
  async add(
    key: string,
    { device, port, linkType, name, description, plan, filter }: StreamedPort,
  ): Promise<void> {
    if (this.#ending !== undefined) return;
    const tap = device.tap(port, {
      ...plan,
      log: this.#deviceLog.index,
      format: 'pcapng',
      opening: interfaceBlock({ linkType, snaplen: plan.snaplen, name, description, filter }),
      direction: 'both',
      maxPackets: 0,
      maxOctets: 0,
    });
    const tapped = { device, port, tap };
    this.#tapped.set(key, tapped);
    await tap.catch(() => {
      if (this.#tapped.get(key) === tapped) this.#tapped.delete(key);
    });
  }

  /** The tap of a port that has gone went with it. */
  async remove(key: string): Promise<void> {
    const tapped = this.#tapped.get(key);
    this.#tapped.delete(key);
    if (tapped === undefined) return;
    const { device, port, tap } = tapped;
    await tap.then((number) => device.untap(port, number)).catch(() => undefined);
  }

  next(use: (bytes: Uint8Array) => void): ReturnType<LogViewer['next']> {
    if (this.#log.counters().dropped > 0) void this.end();
    return this.#viewer.next(use);
  }

  onReady(callback: () => void): void {
    this.#viewer.onReady(callback);
  }

  /** Takes the taps off; what they have recorded can still be read. */
  end(): Promise<void> {
    this.#ending ??= Promise.all(this.keys().map((key) => this.remove(key))).then(() => {
      this.#isComplete = true;
    });
    return this.#ending;
  }

  /** Called when the reader has gone, or has read everything. */
  async close(): Promise<void> {
    this.#viewer.close();
    await this.end();
    this.#log.leaveMemory();
    await this.#deviceLog.release();
  }
}
