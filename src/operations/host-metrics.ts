/**
 * The threads, descriptors and disks of this process and the programs of nodes, as a reader thread measures them: every ten
 * seconds, and after a scrape for the next one.
 */
import { totalmem } from 'node:os';
import type { Labels, MetricPage } from '../base/metrics/metric-page.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import { NodeMetrics } from './node-metrics.js';
import type { WatchedDisk, MeasureTasks, ProgramTimes, ThreadTimes } from './measure-tasks.js';

const INTERVAL_MS = 10_000;
/** Scrapes that follow sooner have the same figures. */
const SHORTEST_INTERVAL_MS = 1000;

/** The threads that have had one number among those of their role, one after the other. */
interface Slot {
  readonly labels: Labels;
  thread: number;
  /** The times of the earlier threads, so that the sum never falls. */
  cpuBefore: number;
  waitBefore: number;
  cpu: number;
  wait: number;
}

interface HostMetricsOptions {
  readonly readers: TaskRunner<MeasureTasks>;
  /** The folders whose disks are watched, by their names in the metrics. */
  readonly parts: Readonly<Record<string, string>>;
  readonly mostDescriptors: number;
  /** The programs of nodes that run now. */
  readonly programs: () => readonly Pick<ProgramTimes, 'pid' | 'kind'>[];
  /** Called with the disks after each measurement. */
  readonly onDisks: (disks: readonly WatchedDisk[]) => void;
}

export class HostMetrics {
  readonly #options: HostMetricsOptions;
  readonly #slots: Slot[] = [];
  readonly #nodes = new NodeMetrics();
  readonly #startedAt = performance.timeOrigin / 1000;
  #disks: readonly WatchedDisk[] = [];
  #openFiles = 0;
  #timer: NodeJS.Timeout | undefined;
  #isMeasuring = false;
  #measuredAt = -Infinity;

  constructor(options: HostMetricsOptions) {
    this.#options = options;
  }

  /** Measures every ten seconds from now on, and not now: a start needs no reader thread. */
  start(): void {
    this.#timer = setInterval(() => {
      void this.#measure();
    }, INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** As they were measured last. */
  get disks(): readonly WatchedDisk[] {
    return this.#disks;
  }

  readonly writeMetrics = (page: MetricPage): void => {
    if (performance.now() - this.#measuredAt > SHORTEST_INTERVAL_MS) void this.#measure();
    const { user, system } = process.cpuUsage();
    page.counter('process_cpu_seconds', 'Processor time of the whole server');
    page.sample((user + system) / 1e6);
    page.gauge('process_resident_memory_bytes', 'Memory of the whole server');
    page.sample(process.memoryUsage.rss());
    page.gauge('process_start_time_seconds', 'Time of the start, since 1970');
    page.sample(this.#startedAt);
    page.gauge('process_open_fds', 'Open descriptors');
    page.sample(this.#openFiles);
    page.gauge('process_max_fds', 'Descriptors that the server may have');
    page.sample(this.#options.mostDescriptors);
    page.counter('thread_cpu_seconds', 'Processor time of a thread');
    for (const { labels, cpuBefore, cpu } of this.#slots) page.sample(cpuBefore + cpu, labels);
    page.counter('thread_wait_seconds', 'Time that a thread waited for a processor');
    for (const { labels, waitBefore, wait } of this.#slots) page.sample(waitBefore + wait, labels);
    page.gauge('host_memory_bytes', 'Memory that this host has, or lets the server have');
    page.sample(Math.min(totalmem(), process.constrainedMemory() || Infinity));
    page.gauge('disk_size_bytes', 'Size of the disk of a folder');
    for (const { part, size } of this.#disks) page.sample(size, { part });
    page.gauge('disk_free_bytes', 'Free room of the disk of a folder');
    for (const { part, free } of this.#disks) page.sample(free, { part });
    page.gauge('disk_inodes_free', 'Further files that the disk of a folder can have');
    for (const { part, inodesFree } of this.#disks) page.sample(inodesFree, { part });
    this.#nodes.writeMetrics(page);
  };

  /** A disk that does not answer leaves the figures as they were, and no second look waits for it. */
  async #measure(): Promise<void> {
    if (this.#isMeasuring) return;
    this.#isMeasuring = true;
    this.#measuredAt = performance.now();
    try {
      const { parts, readers, onDisks } = this.#options;
      const running = this.#options.programs();
      const { threads, openFiles, disks, programs } = await readers.run('measure', {
        parts,
        programs: running,
      });
      this.#nodes.note(programs);
      this.#openFiles = openFiles;
      this.#disks = disks;
      onDisks(disks);
      this.#note(threads);
    } catch {
      // The pool is full or closed: the next look tells.
    } finally {
      this.#isMeasuring = false;
    }
  }

  #note(threads: readonly ThreadTimes[]): void {
    const living = new Set(threads.map(({ thread }) => thread));
    for (const { thread, role, cpuSeconds, waitSeconds } of threads) {
      const slot = this.#slots.find((known) => known.thread === thread) ?? this.#take(role, living);
      slot.thread = thread;
      slot.cpu = cpuSeconds;
      slot.wait = waitSeconds;
    }
  }

  /** The slot of a thread that has gone, or a new one. */
  #take(role: string, living: ReadonlySet<number>): Slot {
    const own = this.#slots.filter(({ labels }) => labels['thread'] === role);
    const left = own.find(({ thread }) => !living.has(thread));
    if (left === undefined) {
      const labels = { thread: role, index: own.length };
      const slot = { labels, thread: 0, cpuBefore: 0, waitBefore: 0, cpu: 0, wait: 0 };
      this.#slots.push(slot);
      return slot;
    }
    left.cpuBefore += left.cpu;
    left.waitBefore += left.wait;
    return left;
  }
}
