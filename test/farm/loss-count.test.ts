/** Losses between hosts by the counters of both ends: late frames, ends that begin anew, frames on their way. */
import t from 'tap';
import { LossCount, type EndCounts, type TwoReadings } from '../../src/farm/computes/loss-count.js';

type Ends = TwoReadings['first'];

const end = (since: number, sent: number, received: number): EndCounts => ({ since, sent, received });

void t.test('frames that were sent and not received are lost, both ways', (t) => {
  const count = new LossCount();
  const read = (...ends: Ends): number | undefined => {
    count.read({ first: ends, again: ends });
    return count.total;
  };
  t.equal(count.total, undefined);
  t.equal(read(end(1, 5, 2), end(2, 3, 4)), 0, 'nobody knows what was lost before');
  t.equal(read(end(1, 15, 4), end(2, 6, 12)), 2 + 1);
  t.equal(read(end(1, 15, 5), end(2, 6, 14)), 3, 'late frames take nothing back');
  t.equal(read(end(1, 15, 5), end(3, 0, 0)), 3, 'an end begins anew');
  t.equal(read(end(1, 20, 5), end(3, 0, 3)), 5);
  t.end();
});

void t.test('an end that begins anew between two readings says nothing', (t) => {
  const count = new LossCount();
  const a = end(1, 100, 0);
  count.read({ first: [a, end(2, 0, 100)], again: [a, end(2, 0, 100)] });
  count.read({ first: [a, end(2, 0, 100)], again: [a, end(3, 0, 0)] });
  t.equal(count.total, 0);
  t.end();
});

void t.test('frames on their way are not lost', (t) => {
  const count = new LossCount();
  let [sent, received] = [0, 0];
  for (let round = 0; round < 100; round++) {
    const readings: Ends[] = [];
    for (let reading = 0; reading < 2; reading++) {
      sent += 1000;
      // The first end is read before the second, while frames come that were sent before.
      readings.push([end(1, sent, 0), end(2, 0, received)]);
      received = sent - (round === 0 ? 0 : 10);
    }
    const [first, again] = readings;
    if (first !== undefined && again !== undefined) count.read({ first, again });
  }
  t.equal(count.total, 0);
  t.end();
});
