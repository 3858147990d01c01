/** The text of metrics in both formats. */
import t from 'tap';
import { Histogram } from '../../../src/base/metrics/histogram.js';
import { metricText, type MetricSource } from '../../../src/base/metrics/metric-page.js';

const histogram = new Histogram([0.5, 1]);
for (const value of [0.25, 0.5, 0.75, 2]) histogram.observe(value);

const source: MetricSource = function* (page) {
  page.info('build', 'The build');
  page.sample(1, { version: '1"\\\n' });
  yield;
  page.counter('things', 'All things');
  page.sample(3, { kind: 'a' });
  page.gauge('process_open_fds', 'Open');
  page.sample(4);
  page.histogram('seconds', 'Times');
  page.buckets(histogram, { kind: 'b' });
};

void t.test('the older format has the names of samples in its heads', (t) => {
  t.strictSame([...metricText([source], 'text')].join('').split('\n'), [
    '# HELP wirefarm_build_info The build',
    '# TYPE wirefarm_build_info gauge',
    'wirefarm_build_info{version="1\\"\\\\\\n"} 1',
    '# HELP wirefarm_things_total All things',
    '# TYPE wirefarm_things_total counter',
    'wirefarm_things_total{kind="a"} 3',
    '# HELP process_open_fds Open',
    '# TYPE process_open_fds gauge',
    'process_open_fds 4',
    '# HELP wirefarm_seconds Times',
    '# TYPE wirefarm_seconds histogram',
    'wirefarm_seconds_bucket{kind="b",le="0.5"} 2',
    'wirefarm_seconds_bucket{kind="b",le="1.0"} 3',
    'wirefarm_seconds_bucket{kind="b",le="+Inf"} 4',
    'wirefarm_seconds_sum{kind="b"} 3.5',
    'wirefarm_seconds_count{kind="b"} 4',
    '',
  ]);
  t.end();
});

void t.test('OpenMetrics has the names of families in its heads, and an end', (t) => {
  const text = [...metricText([source], 'openmetrics')].join('');
  t.match(text, '# TYPE wirefarm_build info\nwirefarm_build_info{');
  t.match(text, '# TYPE wirefarm_things counter\nwirefarm_things_total{kind="a"} 3\n');
  t.ok(text.endsWith('\n# EOF\n'));
  t.end();
});
