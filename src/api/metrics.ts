/** The figures of the server, for Prometheus and whatever else reads its formats. */
import { metricText, type MetricFormat, type MetricSource } from '../base/metrics/metric-page.js';
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

export function metricRoutes(sources: readonly MetricSource[]): Route[] {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      tag: 'Operations',
      summary: 'Show the figures of the server as OpenMetrics, or as Prometheus text',
      params: nothing,
      access: { right: 'metrics' },
      headers: ['accept'],
      answers: { 200: { media: MEDIA.text } },
      handle: ({ exchange }) => {
        const format = formatFor(exchange.headers['accept']);
        return exchange.streamTail(MEDIA[format], new SlicedText(metricText(sources, format)));
      },
    }),
  ];
}
