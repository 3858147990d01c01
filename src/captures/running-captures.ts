/**
 * The captures that run on this host. Each project has a quota of the disk, and no two captures write the same file; a
 * watch ends captures that reach a limit.
 */
import { basename, dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { refusals } from '../base/errors/errors.js';
import { Capture, fileNames, type CapturedPort, type CaptureContext, type CapturePlan } from './capture.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { LogCounts } from './log/log-reader.js';
import { continuedPlan, type Continuation } from './continued-plan.js';
import type { MendedCaptures } from './files/mended-captures.js';

interface RunningCapturesOptions extends CaptureContext {
  readonly mended: Pick<MendedCaptures, 'countedIn'>;
  /** How many bytes the captures of one project may take. */
  readonly quotaBytes: () => number;
  readonly log: Logger;
}

const WATCH_MS = 250;
const QUOTA_REACHED = 'the captures of the project have reached their quota';

type CaptureCounts = Pick<LogCounts, 'packets' | 'octets' | 'dropped'>;

/** The captures of one folder, while any of them is being written. */
interface Budget {
  readonly folder: string;
  /** How many bytes the finished files took when they were last measured. */
  finished: number;
  readonly running: Set<Capture>;
  /** The names of the files that are being written, or are about to be. */
  readonly names: Set<string>;
  isMeasured: boolean;
}

export class RunningCaptures {
  readonly #options: RunningCapturesOptions;
  /** By folder. */
  readonly #budgets = new Map<string, Budget>();
  /** The counts of the captures that have ended. */
  #ended: CaptureCounts = { packets: 0, octets: 0, dropped: 0 };
  #watch: NodeJS.Timeout | undefined;

  constructor(options: RunningCapturesOptions) {
    this.#options = options;
  }

  /** For streams, which have no files. */
  get context(): CaptureContext {
    return this.#options;
  }

  /**
   * Refuses (409) a name that another capture writes, and (507) a project that has used up its quota. With a
   * continuation the capture goes on in the file that is there.
   */
  async begin(
    port: CapturedPort,
    wanted: CapturePlan,
    onEnded: (ended: Capture) => void,
    continuation?: Continuation,
  ): Promise<Capture> {
    const { log } = this.#options;
    const path = join(wanted.folder, wanted.path);
    const budget = this.#budgetOf(dirname(path));
    const names = fileNames(wanted);
    const busy = names.find((name) => budget.names.has(name));
    if (busy !== undefined) throw refusals.captureFileBusy(busy);
    for (const name of names) budget.names.add(name);
    try {
      const keepsRing = continuation !== undefined && names.length > 1;
      await this.#checkRoom(budget, keepsRing ? [] : names);
      const plan =
        continuation === undefined ? wanted : await continuedPlan(this.#options, wanted, continuation);
      const capture = await Capture.begin(this.#options, port, plan, (ended) => {
        budget.running.delete(ended);
        this.#ended = sumOfCounts(this.#ended, ended.log.counters());
        budget.finished += ended.file.bytes;
        const { state, reason, file } = ended;
        log.debug({ file: path, state, reason, bytes: file.bytes }, 'a capture ended');
        this.#forget(budget, names);
        onEnded(ended);
      });
      log.debug({ file: path }, 'a capture began');
      if (!capture.isOver) budget.running.add(capture);
      return capture;
    } catch (error) {
      this.#forget(budget, names);
      throw error;
    }
  }

  /** The end of the last packet in the file with this path; Infinity when no capture writes it. */
  wholeBytesOf(path: string): number {
    const name = basename(path);
    for (const { plan, file } of this.#budgets.get(dirname(path))?.running ?? [])
      if (basename(plan.path) === name && plan.files === 1) return file.wholeBytes;
    return Infinity;
  }

  /** How many run, and what all together have recorded since the start. */
  counts(): CaptureCounts & { readonly running: number } {
    const running = this.#running();
    const counts = running.map(({ log }) => log.counters()).reduce<CaptureCounts>(sumOfCounts, this.#ended);
    const { packets, octets, dropped } = counts;
    return { running: running.length, packets, octets, dropped };
  }

  readonly writeMetrics = (page: MetricPage): void => {
    const { running, packets, octets, dropped } = this.counts();
    page.gauge('captures', 'Captures to files that run');
    page.sample(running);
    const lags = this.#running().flatMap(({ viewers }) => [...viewers].map(({ lag }) => lag));
    page.gauge('capture_viewers', 'Clients that follow captures as they run');
    page.sample(lags.length);
    page.gauge('capture_viewer_lag_bytes', 'Bytes that the slowest of them has not been sent yet');
    page.sample(lags.reduce((most, lag) => Math.max(most, lag), 0));
    page.counter('capture_packets', 'Packets that captures have recorded');
    page.sample(packets);
    page.counter('capture_bytes', 'Bytes of the packets that captures have recorded');
    page.sample(octets);
    page.counter('capture_dropped', 'Packets that captures had no room for');
    page.sample(dropped);
  };

  /** Ends all running captures. */
  async close(): Promise<void> {
    await Promise.all(this.#running().map((capture) => capture.end('stopped', 'the server is stopping')));
  }

  #running(): Capture[] {
    return [...this.#budgets.values()].flatMap((budget) => [...budget.running]);
  }

  #budgetOf(folder: string): Budget {
    let budget = this.#budgets.get(folder);
    if (budget === undefined) {
      budget = { folder, finished: 0, running: new Set(), names: new Set(), isMeasured: false };
      this.#budgets.set(folder, budget);
      this.#watch ??= setInterval(() => {
        this.#look();
      }, WATCH_MS).unref();
    }
    return budget;
  }

  /** Refuses (507) when the quota is used up. Files that are about to be replaced, or to grow, do not count. */
  async #checkRoom(budget: Budget, names: readonly string[]): Promise<void> {
    const quotaBytes = this.#options.quotaBytes();
    if (budget.isMeasured && usedBy(budget) < quotaBytes) return;
    const used = await this.#measure(budget, names);
    if (used >= quotaBytes) throw refusals.captureQuota(quotaBytes);
  }

  async #measure(budget: Budget, except: readonly string[]): Promise<number> {
    const used = await this.#options.files.run('measureUsage', { folder: budget.folder, except });
    budget.finished = used - sumOf(budget.running);
    budget.isMeasured = true;
    return used;
  }

  #look(): void {
    const now = performance.now();
    for (const budget of this.#budgets.values()) {
      for (const capture of budget.running) capture.look(now);
      if (usedBy(budget) >= this.#options.quotaBytes() && budget.isMeasured) this.#review(budget);
    }
  }

  /** Measures again, as finished files may have been deleted, and ends the captures if the quota is still reached. */
  #review(budget: Budget): void {
    // So that the watch does not start a second measurement.
    budget.isMeasured = false;
    this.#measure(budget, [])
      .then((used) => {
        if (used < this.#options.quotaBytes()) return;
        for (const capture of budget.running) void capture.end('stopped', QUOTA_REACHED);
      })
      .catch(() => {
        budget.isMeasured = true;
      });
  }

  #forget(budget: Budget, names: readonly string[]): void {
    for (const name of names) budget.names.delete(name);
    if (budget.names.size > 0) return;
    this.#budgets.delete(budget.folder);
    if (this.#budgets.size > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
  }
}

function usedBy({ finished, running }: Budget): number {
  return finished + sumOf(running);
}

function sumOf(captures: Iterable<Capture>): number {
  let bytes = 0;
  for (const { file } of captures) bytes += file.bytes;
  return bytes;
}

function sumOfCounts(one: CaptureCounts, other: CaptureCounts): CaptureCounts {
  return {
    packets: one.packets + other.packets,
    octets: one.octets + other.octets,
    dropped: one.dropped + other.dropped,
  };
}
