/** Numbers as people read them. */
import t from 'tap';
import { amount, duration, rate } from '../../src/cli/quantities.js';

void t.test('amounts have three digits and a unit', (t) => {
  const texts: [octets: number, text: string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.00 kB'],
    [999_499, '999 kB'],
    [999_500, '1.00 MB'],
    [12_345_678, '12.3 MB'],
    [5_368_709_120, '5.37 GB'],
    [2e15, '2.00e+3 TB'],
  ];
  for (const [octets, text] of texts) t.equal(amount(octets), text);
  t.equal(rate(1_500_000), '1.50 MB/s');
  t.end();
});

void t.test('durations are those of a clock', (t) => {
  const texts: [seconds: number, text: string][] = [
    [0.4, '0:00'],
    [59.6, '1:00'],
    [754, '12:34'],
    [3599.5, '1:00:00'],
    [10_812, '3:00:12'],
  ];
  for (const [seconds, text] of texts) t.equal(duration(seconds), text);
  t.end();
});
