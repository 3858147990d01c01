/** How late the event loop of the HTTP thread comes round, as a timer shows that should run every 20 ms. */
import { Histogram } from '../base/metrics/histogram.js';
import type { MetricPage } from '../base/metrics/metric-page.js';

const INTERVAL_MS = 20;
const BOUNDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1];

export class LoopMetrics {
  readonly #delay = new Histogram(BOUNDS);
  #dueAt = 0;
  #timer: NodeJS.Timeout | undefined;

  start(): void {
    this.#expect();
    this.#timer = setInterval(() => {
      this.#delay.observe(Math.max(0, performance.now() - this.#dueAt) / 1000);
      this.#expect();
    }, INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  readonly writeMetrics = (page: MetricPage): void => {
    page.histogram('event_loop_delay_seconds', 'Lateness of the event loop');
    page.buckets(this.#delay);
    page.counter('event_loop_busy_seconds', 'Time in which the event loop did not wait');
    page.sample(performance.eventLoopUtilization().active / 1000);
  };

  #expect(): void {
    this.#dueAt = performance.now() + INTERVAL_MS;
  }
}
