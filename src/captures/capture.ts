/**
 * One capture of one port: a log, the tap that writes the log, the file that the log is drained to, and viewers. It
 * ends when it is stopped, when its port goes, or by itself, with a reason.
 */
import { basename } from 'node:path';
import type { FileTasks } from '../base/disk/file-tasks.js';
import { refusals } from '../base/errors/errors.js';
import type { DeviceLog, RunningDevice } from '../engine/control/running-device.js';
import { LOG_END } from '../base/memory/capture-memory.js';
import type { TapPlan } from '../engine/taps/tap-plan.js';
import type { PcapLinkType } from '../engine/wire/pcap.js';
import { LogReader, type LogCounts } from './log/log-reader.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { CaptureGap, CaptureHistory } from './capture-record.js';
import { ringName } from './capture-settings.js';
import type { CaptureFileTasks, EarlierPart } from './files/capture-file-tasks.js';
import type { ViewerClock } from './log/viewer-clock.js';
import type { CaptureWriters } from './writing/capture-writers.js';
import type { LogFile } from './log/log-file.js';
import { LogViewer } from './log/log-viewer.js';

/** The collaborators of every capture. */
export interface CaptureContext {
  readonly writers: CaptureWriters;
  readonly clock: ViewerClock;
  readonly files: TaskRunner<FileTasks & Pick<CaptureFileTasks, 'findEarlierPart' | 'measureUsage'>>;
}

export interface CapturedPort {
  readonly device: RunningDevice;
  readonly port: number;
}

export interface CapturePlan extends Omit<TapPlan, 'log' | 'opening'> {
  readonly linkType: PcapLinkType;
  /** The folder of the project. */
  readonly folder: string;
  /** The path of the file, below the folder. */
  readonly path: string;
  /** The bytes that every file begins with. */
  readonly header: Uint8Array;
  readonly files: number;
  /** The length of each file of a ring. */
  readonly fileBytes: number;
  /** 0 is without a limit. */
  readonly maxSeconds: number;
  /** The time before, for a capture that goes on. */
  readonly history?: CaptureHistory | undefined;
  /** The packets of that time, and the bytes that mark the gap in the file. */
  readonly earlier?: (EarlierPart & { readonly mark: Uint8Array }) | undefined;
}

/** The names of the files, the youngest first. */
export function fileNames({ path, files }: Pick<CapturePlan, 'path' | 'files'>): string[] {
  return Array.from({ length: files }, (_, number) => ringName(basename(path), number));
}

type CaptureState = 'running' | 'draining' | 'stopped' | 'failed';

const LIMITS: Readonly<Record<number, string>> = {
  [LOG_END.maxOctets]: 'max_bytes was reached',
  [LOG_END.maxPackets]: 'max_packets was reached',
};

/** The parts of a running capture. */
interface Parts {
  readonly deviceLog: DeviceLog;
  readonly log: LogReader;
  readonly file: LogFile;
  readonly tap: number;
}

export class Capture {
  readonly plan: CapturePlan;
  readonly startedAt: number;
  readonly #begun: number;
  readonly #context: CaptureContext;
  readonly #port: CapturedPort;
  readonly #parts: Parts;
  readonly #viewers = new Set<LogViewer>();
  readonly #onEnded: (capture: Capture) => void;
  #state: CaptureState = 'running';
  #reason: string | null = null;
  #ending: Promise<void> | undefined;

  private constructor(
    context: CaptureContext,
    port: CapturedPort,
    plan: CapturePlan,
    parts: Parts,
    onEnded: (capture: Capture) => void,
  ) {
    this.#context = context;
    this.#port = port;
    this.plan = plan;
    const now = Date.now();
    this.startedAt = plan.history?.startedAt ?? now;
    this.#begun = performance.now() - Math.max(0, now - this.startedAt);
    this.#parts = parts;
    this.#onEnded = onEnded;
  }

  /** Resolves when the file exists with its header, and everything that passes the port is recorded. */
  static async begin(
    context: CaptureContext,
    port: CapturedPort,
    plan: CapturePlan,
    onEnded: (capture: Capture) => void,
  ): Promise<Capture> {
    const deviceLog = port.device.takeLog();
    if (deviceLog === undefined) throw refusals.tooManyLogs();
    const log = new LogReader(deviceLog);
    log.prepare();
    let capture: Capture | undefined;
    let trouble: string | undefined;
    let file: LogFile | undefined;
    try {
      const written = await context.writers.begin({
        log,
        folder: plan.folder,
        name: plan.path,
        format: plan.format,
        header: plan.header,
        files: plan.files,
        fileBytes: plan.fileBytes,
        earlier: plan.earlier && { end: plan.earlier.file?.end, mark: plan.earlier.mark },
        onTrouble: (reason) => {
          trouble = reason;
          void capture?.end('failed', reason);
        },
      });
      file = written;
      const tap = await port.device.tap(port.port, {
        ...tapPlanOf(plan),
        log: deviceLog.index,
        opening: undefined,
      });
      capture = new Capture(context, port, plan, { deviceLog, log, file: written, tap }, onEnded);
    } catch (error) {
      await file?.end().catch(() => undefined);
      file?.release();
      log.leaveMemory();
      await deviceLog.release();
      throw error;
    }
    if (trouble !== undefined) void capture.end('failed', trouble);
    return capture;
  }

  get state(): CaptureState {
    return this.#state;
  }

  /** Why it ended; null when a client has stopped it. */
  get reason(): string | null {
    return this.#reason;
  }

  /** The gaps in which no server recorded. */
  get gaps(): readonly CaptureGap[] {
    return this.plan.history?.gaps ?? [];
  }

  get log(): LogReader {
    return this.#parts.log;
  }

  get file(): LogFile {
    return this.#parts.file;
  }

  /** The counts of all that it has recorded, also before a gap. Losses before it are not known. */
  counters(): LogCounts {
    const { earlier } = this.plan;
    const counts = this.#parts.log.counters();
    if (earlier === undefined) return counts;
    return {
      ...counts,
      packets: counts.packets + earlier.packets,
      octets: counts.octets + earlier.octets,
      firstAt: earlier.firstAt ?? counts.firstAt,
      lastAt: counts.lastAt > 0 ? counts.lastAt : (earlier.lastAt ?? 0),
    };
  }

  get viewers(): Iterable<LogViewer> {
    return this.#viewers;
  }

  get isOver(): boolean {
    return this.#state === 'stopped' || this.#state === 'failed';
  }

  /** A viewer of everything from the oldest kept record to the end of the capture. */
  view(): LogViewer {
    const { log, file } = this.#parts;
    const viewer: LogViewer = new LogViewer({
      log,
      file,
      header: this.plan.header,
      files: this.#context.files,
      clock: this.#context.clock,
      isOver: () => this.isOver,
      onClosed: () => this.#viewers.delete(viewer),
    });
    this.#viewers.add(viewer);
    return viewer;
  }

  /** Ends it when a limit has been reached. */
  look(now: number): void {
    const { maxSeconds } = this.plan;
    const limit = LIMITS[this.#parts.log.ended];
    if (limit !== undefined) void this.end('stopped', limit);
    else if (maxSeconds > 0 && now - this.#begun >= maxSeconds * 1000)
      void this.end('stopped', 'max_seconds was reached');
  }

  /** Resolves when the file has everything. Never rejects: a failure becomes the reason. */
  end(state: 'stopped' | 'failed' = 'stopped', reason: string | null = null): Promise<void> {
    this.#ending ??= this.#finish(state, reason);
    return this.#ending;
  }

  async #finish(state: 'stopped' | 'failed', reason: string | null): Promise<void> {
    const { deviceLog, log, file, tap } = this.#parts;
    this.#state = 'draining';
    this.#reason = reason;
    // The taps of a port go with it, so there may be none to take off.
    await this.#port.device.untap(this.#port.port, tap).catch(() => undefined);
    const failure = await file.end().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    log.leaveMemory();
    this.#state = failure === undefined ? state : 'failed';
    this.#reason ??= failure ?? null;
    await deviceLog.release().catch(() => undefined);
    file.release();
    this.#onEnded(this);
  }
}

function tapPlanOf(plan: CapturePlan): Omit<TapPlan, 'log' | 'opening'> {
  const { format, packets, snaplen, direction, sample, bpf, maxPackets, maxOctets } = plan;
  return { format, packets, snaplen, direction, sample, bpf, maxPackets, maxOctets };
}
