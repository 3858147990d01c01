/** The figures of the server, for Prometheus and whatever else reads its formats. */
import { z } from 'zod';
import { metricText, type MetricFormat, type MetricSource } from '../base/metrics/metric-page.js';
import type { Answer } from '../http/answer.js';
import type { Exchange } from '../http/exchange.js';
import { route, type Route } from '../http/route.js';
import { SlicedText } from '../http/sliced-text.js';
import { nothing } from './schemas.js';

const MEDIA: Readonly<Record<MetricFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  text: 'text/plain; version=0.0.4; charset=utf-8',
};

/** A client that accepts both formats gets OpenMetrics. */
function formatFor(accept: string | undefined): MetricFormat {
  return /\bapplication\/openmetrics-text\b/i.test(accept ?? '') ? 'openmetrics' : 'text';
}

/** The sources of each page. */
export interface MetricPages {
  readonly server: readonly MetricSource[];
  readonly projects: readonly MetricSource[];
  /** Refuses (404) an unknown project. */
  linksOf(projectId: string): readonly MetricSource[];
}

export function metricRoutes(pages: MetricPages): Route[] {
  const page = (path: string, summary: string, which: 'server' | 'projects'): Route =>
    route({
      method: 'GET',
      path,
      summary,
      ...SHARED,
      handle: ({ exchange }) => stream(exchange, pages[which]),
    });
  return [
    page('/metrics', 'Show the figures of the server as OpenMetrics, or as Prometheus text', 'server'),
    page('/metrics/projects', 'Show figures of each open project in the same formats', 'projects'),
    route({
      method: 'GET',
      path: '/metrics/links',
      summary: 'Show figures of each link of an open project in the same formats',
      ...SHARED,
      query: z.object({ project: z.uuid() }),
      handle: ({ exchange, query: { project } }) => stream(exchange, pages.linksOf(project)),
    }),
  ];
}

const SHARED = {
  tag: 'Operations',
  access: { right: 'metrics' },
  params: nothing,
  headers: ['accept'],
  answers: { 200: { media: MEDIA.text } },
} as const;

function stream(exchange: Exchange, sources: readonly MetricSource[]): Answer {
  const format = formatFor(exchange.headers['accept']);
  return exchange.streamTail(MEDIA[format], new SlicedText(metricText(sources, format)));
}
