/** Counts requests by their routes, and how long they took to be answered. A request that is counted makes no garbage. */
import { Histogram } from '../base/metrics/histogram.js';
import type { MetricPage } from '../base/metrics/metric-page.js';
import { isChanging } from './dispatcher.js';
import type { Exchange } from './exchange.js';

/** More sets of route, method and code are counted together. */
const MOST_SETS = 2048;
const OTHER = 'other';
/** Clients send any word as a method. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** The code of a request whose client went before the answer. */
const GONE = 499;

interface Count {
  readonly labels: { readonly route: string; readonly method: string; readonly code: number };
  requests: number;
}

/** The times of one group of routes: those that only read, and those that change something. */
type Times = readonly [reads: Histogram, changes: Histogram];

export class RequestMetrics {
  readonly #counts: Count[] = [];
  readonly #byRoute = new Map<string, Map<string, Map<number, Count>>>();
  readonly #times = new Map<string, Times>();

  readonly #octets = { in: 0, out: 0 };

  /** Call it when the exchange has ended. */
  ended(exchange: Exchange): void {
    this.#octets.in += exchange.received;
    this.#octets.out += exchange.sent;
    const method = METHODS.has(exchange.method) ? exchange.method : OTHER;
    const code = exchange.isGone ? GONE : exchange.status;
    this.#countOf(exchange.template ?? 'none', method, code).requests++;
    if (exchange.answeredAt === undefined) return;
    const [reads, changes] = this.#timesOf(exchange.group ?? 'none');
    const times = isChanging(exchange.method) ? changes : reads;
    times.observe((exchange.answeredAt - exchange.startedAt) / 1000);
  }

  *writeMetrics(page: MetricPage): Iterable<void> {
    page.counter(
      'http_requests',
      'Requests that have ended, by the template of their route; code 499 is a client that went',
    );
    for (const { labels, requests } of [...this.#counts]) {
      page.sample(requests, labels);
      yield;
    }
    page.counter('http_bytes', 'Bytes of the bodies of requests and answers that have ended');
    for (const [direction, octets] of Object.entries(this.#octets)) page.sample(octets, { direction });
    page.histogram('http_request_seconds', 'Time from a request to the head of its answer');
    for (const [group, [reads, changes]] of [...this.#times]) {
      page.buckets(reads, { group, change: 0 });
      page.buckets(changes, { group, change: 1 });
      yield;
    }
  }

  #countOf(route: string, method: string, code: number): Count {
    const known = this.#byRoute.get(route)?.get(method)?.get(code);
    if (known !== undefined) return known;
    return this.#counts.length < MOST_SETS || route === OTHER
      ? this.#newCount(route, method, code)
      : this.#countOf(OTHER, OTHER, 0);
  }

  #newCount(route: string, method: string, code: number): Count {
    const byMethod = this.#byRoute.get(route) ?? new Map<string, Map<number, Count>>();
    this.#byRoute.set(route, byMethod);
    const byCode = byMethod.get(method) ?? new Map<number, Count>();
    byMethod.set(method, byCode);
    const count: Count = { labels: { route, method, code }, requests: 0 };
    byCode.set(code, count);
    this.#counts.push(count);
    return count;
  }

  #timesOf(group: string): Times {
    const known = this.#times.get(group) ?? ([new Histogram(), new Histogram()] as const);
    this.#times.set(group, known);
    return known;
  }
}
