/** The server at a glance, with ten minutes of what it was like. */
import { signal } from '@preact/signals';
import type { OverviewShape } from '../../api/shapes/overview.js';
import { listenToOverview } from '../api/overview.js';

/** Figures a second, by name. */
interface Rates {
  readonly cpu: number;
  readonly memory: number;
  readonly frames: number;
  readonly drops: number;
}

interface Glance {
  readonly figures: OverviewShape;
  /** Frames a second of each engine. */
  readonly engines: readonly number[];
  /** Drops a second, by cause. */
  readonly drops: Readonly<Record<string, number>>;
  /** The share of the time in which the thread that answers requests has work. */
  readonly loopBusy: number;
  /** The oldest first. */
  readonly series: readonly Rates[];
}

const KEPT = 600;
const MILLISECONDS = 1000;

export const glance = signal<Glance | undefined>(undefined);

/** Returns the function that ends it. */
export function watchOverview(): () => void {
  let before: OverviewShape | undefined;
  return listenToOverview((figures) => {
    glance.value = glanceAt(figures, before ?? figures, glance.value?.series ?? []);
    before = figures;
  });
}

/** Counters begin anew when the server does: then nothing has passed since. */
function glanceAt(now: OverviewShape, before: OverviewShape, series: readonly Rates[]): Glance {
  const seconds = (now.time - before.time) / MILLISECONDS;
  const rate = (count: number, earlier = 0): number =>
    seconds > 0 ? Math.max(0, count - earlier) / seconds : 0;
  const engines = now.engines.map(({ frames }, index) => rate(frames, before.engines[index]?.frames));
  const drops = Object.fromEntries(
    Object.entries(now.drops).map(([cause, count]) => [cause, rate(count, before.drops[cause])]),
  );
  const rates = {
    cpu: now.cpu_usage_percent,
    memory: now.memory_usage_percent,
    frames: sumOf(engines),
    drops: sumOf(Object.values(drops)),
  };
  return {
    figures: now,
    engines,
    drops,
    loopBusy: rate(now.loop_busy_seconds, before.loop_busy_seconds),
    series: [...series.slice(1 - KEPT), rates],
  };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
