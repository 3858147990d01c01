/** The sums over the ports of engines, which are made a slice at a time. */
import t from 'tap';
import { MetricPage } from '../../../src/base/metrics/metric-page.js';
import { COUNTER, ROW_LENGTH } from '../../../src/base/memory/port-counters.js';
import { writeEngines, type CountedEngine } from '../../../src/engine/control/engine-metrics.js';

const ROWS = 60_000;
const MOST_ROWS_A_SLICE = 4096;

function engineWith(usedRows: number): CountedEngine {
  const counters = new Float64Array(ROWS * ROW_LENGTH);
  for (let row = 0; row < ROWS; row++) counters[row * ROW_LENGTH + COUNTER.frames_in] = 2;
  return { counters, usedRows, ports: 7, labs: 3, restarts: 1 };
}

void t.test('the rows of many ports are added in slices, and only those that were ever used', (t) => {
  const page = new MetricPage('text');
  const slices = [...writeEngines(page, [engineWith(ROWS), engineWith(5)])].length;
  t.ok(slices >= ROWS / MOST_ROWS_A_SLICE, `${slices} slices`);
  const text = page.take();
  t.match(text, `wirefarm_engine_frames_total{engine="0",direction="in"} ${2 * ROWS}\n`);
  t.match(text, 'wirefarm_engine_frames_total{engine="1",direction="in"} 10\n');
  t.match(text, 'wirefarm_drops_total{engine="1",cause="queue_full"} 0\n');
  t.match(text, 'wirefarm_engine_ports{engine="0"} 7\n');
  t.end();
});
