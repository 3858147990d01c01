/**
 * The server at a glance, for pages that people look at: counters that only grow, and what is so now. All viewers share one
 * computation a second, which exists only as long as somebody looks.
 */
import { DROP_CAUSES, COUNTER } from '../base/memory/port-counters.js';
import type { HostLoad } from '../base/host-load.js';
import { PRODUCT } from '../base/product.js';
import type { Engines } from '../engine/control/engines.js';
import type { WatchedDisk } from './measure-tasks.js';

const PERIOD_MS = 1000;
const MILLISECONDS = 1000;
const MICROSECONDS = 1e6;

interface OverviewSources {
  readonly load: () => HostLoad;
  readonly engines: Pick<Engines, 'counted'>;
  readonly disks: () => readonly WatchedDisk[];
  readonly captures: { counts(): { running: number; packets: number; octets: number; dropped: number } };
  readonly uploads: { list(): readonly { readonly rate: number }[] };
  readonly jobs: { readonly size: number };
  readonly projects: { readonly all: ReadonlyMap<string, { readonly isOpen: boolean }> };
  readonly hasWebUi: boolean;
}

interface OverviewFigures {
  readonly version: string;
  /** Milliseconds of a clock that only goes forward: rates are differences by it. */
  readonly time: number;
  readonly uptime_seconds: number;
  readonly cpu_usage_percent: number;
  readonly memory_usage_percent: number;
  /** Processor time of the server, and the time in which the thread that answers requests had work, since the start. */
  readonly process_cpu_seconds: number;
  readonly loop_busy_seconds: number;
  readonly projects: { readonly opened: number; readonly closed: number };
  readonly engines: readonly EngineFigures[];
  /** Frames that were dropped since the start, by cause; causes without any are left out. */
  readonly drops: Readonly<Record<string, number>>;
  readonly disks: readonly { readonly part: string; readonly size: number; readonly free: number }[];
  readonly captures: {
    readonly running: number;
    readonly packets: number;
    readonly octets: number;
    readonly dropped: number;
  };
  readonly uploads: { readonly running: number; readonly rate: number };
  readonly jobs: number;
  readonly web_ui: boolean;
}

interface EngineFigures {
  readonly labs: number;
  readonly ports: number;
  readonly restarts: number;
  /** Frames and octets that came in at its ports since the start. */
  readonly frames: number;
  readonly octets: number;
}

type Send = (text: string) => void;

export class Overview {
  readonly #sources: OverviewSources;
  readonly #viewers = new Set<Send>();
  #timer: NodeJS.Timeout | undefined;

  constructor(sources: OverviewSources) {
    this.#sources = sources;
  }

  figures(): OverviewFigures {
    const { load, engines, disks, captures, uploads, jobs, projects, hasWebUi } = this.#sources;
    const counted = engines.counted();
    const opened = [...projects.all.values()].filter(({ isOpen }) => isOpen).length;
    const waiting = uploads.list();
    const { user, system } = process.cpuUsage();
    return {
      version: PRODUCT.version,
      time: performance.now(),
      uptime_seconds: Math.floor(process.uptime()),
      ...load(),
      process_cpu_seconds: (user + system) / MICROSECONDS,
      loop_busy_seconds: performance.eventLoopUtilization().active / MILLISECONDS,
      projects: { opened, closed: projects.all.size - opened },
      engines: counted.map(({ labs, ports, restarts, sums }) => ({
        ...{ labs, ports, restarts },
        frames: sums[COUNTER.frames_in] ?? 0,
        octets: sums[COUNTER.octets_in] ?? 0,
      })),
      drops: dropsOf(counted.map(({ sums }) => sums)),
      disks: disks().map(({ part, size, free }) => ({ part, size, free })),
      captures: captures.counts(),
      uploads: {
        running: waiting.length,
        rate: waiting.reduce((sum, { rate }) => sum + rate, 0),
      },
      jobs: jobs.size,
      web_ui: hasWebUi,
    };
  }

  /** Sends the figures at once, and each second. Returns the function that ends it. */
  view(send: Send): () => void {
    this.#viewers.add(send);
    this.#timer ??= setInterval(() => {
      this.#tell();
    }, PERIOD_MS);
    send(JSON.stringify(this.figures()));
    return () => {
      this.#viewers.delete(send);
      if (this.#viewers.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #tell(): void {
    const text = JSON.stringify(this.figures());
    for (const send of [...this.#viewers]) {
      try {
        send(text);
      } catch {
        // Its connection is gone, which its route will be told.
        this.#viewers.delete(send);
      }
    }
  }
}

function dropsOf(engines: readonly Float64Array[]): Record<string, number> {
  const counted = DROP_CAUSES.map(
    (cause) => [cause, engines.reduce((total, sums) => total + (sums[COUNTER[cause]] ?? 0), 0)] as const,
  );
  return Object.fromEntries(counted.filter(([, count]) => count > 0));
}
