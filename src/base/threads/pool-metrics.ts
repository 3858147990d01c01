import type { Histogram } from '../metrics/histogram.js';
import type { MetricPage } from '../metrics/metric-page.js';

/** A pool of threads, as far as it is counted. */
export interface CountedPool {
  readonly busy: number;
  readonly waiting: number;
  /** The time of each task from its request to its outcome. */
  readonly seconds: Histogram;
}

export function writePools(page: MetricPage, pools: Readonly<Record<string, CountedPool>>): void {
  page.gauge('pool_busy', 'Tasks that the threads of a pool work on');
  for (const [pool, { busy }] of Object.entries(pools)) page.sample(busy, { pool });
  page.gauge('pool_waiting', 'Tasks that wait for a thread of a pool');
  for (const [pool, { waiting }] of Object.entries(pools)) page.sample(waiting, { pool });
  page.histogram('task_seconds', 'Time from the request of a task to its outcome');
  for (const [pool, { seconds }] of Object.entries(pools)) page.buckets(seconds, { pool });
}
