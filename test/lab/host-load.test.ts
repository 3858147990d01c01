import { mock } from 'node:test';
import t from 'tap';
import { HostLoadMeter } from '../../src/lab/host-load.js';

void t.test('shares are percentages with one decimal', (t) => {
  const load = new HostLoadMeter().read();
  for (const share of Object.values(load) as number[]) {
    t.ok(share >= 0 && share <= 100);
    t.equal(share, Math.round(share * 10) / 10);
  }
  t.ok(load.memory_usage_percent > 0, 'this process uses some');
  t.end();
});

void t.test('readings that follow each other at once share one value', (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  t.teardown(() => {
    mock.timers.reset();
  });
  const meter = new HostLoadMeter();
  const first = meter.read();
  mock.timers.tick(499);
  t.equal(meter.read(), first);
  mock.timers.tick(1);
  t.not(meter.read(), first);
  t.end();
});
