import t from 'tap';
import { HostLoadMeter } from '../../src/base/host-load.js';

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
  const meter = new HostLoadMeter();
  const first = meter.read(1000);
  t.equal(meter.read(1499), first);
  t.not(meter.read(1500), first);
  t.end();
});
