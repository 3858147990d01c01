import t from 'tap';
import { TapClock } from '../../../src/engine/taps/tap-clock.js';
import { Random, testSeed } from '../../support/random.js';

const NOON = Date.UTC(2026, 10, 21, 12);

/** A clock whose two sources are set. */
function clockAt(
  monotonic: number,
  wall: number,
): { clock: TapClock; readonly set: (at: number, wall: number) => number } {
  const now = { monotonic, wall };
  const clock = new TapClock(
    () => now.monotonic,
    () => now.wall,
  );
  return {
    clock,
    set: (at, wallAt) => {
      Object.assign(now, { monotonic: at, wall: wallAt });
      clock.read();
      return clock.milliseconds;
    },
  };
}

const nanosecondsOf = ({ seconds, nanoseconds }: TapClock): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(nanoseconds);

void t.test('the time is told in every form that records have', (t) => {
  const { clock, set } = clockAt(1000, NOON);
  set(1234.567_25, NOON + 234);
  t.equal(clock.seconds, NOON / 1000);
  t.equal(clock.nanoseconds, 234_567_250);
  t.equal((BigInt(clock.high) << 32n) + BigInt(clock.low), nanosecondsOf(clock));
  t.equal(clock.milliseconds, NOON + 234.567_25);
  t.end();
});

void t.test('two words hold every time', (t) => {
  const random = new Random(testSeed(41_301));
  for (let round = 0; round < 2000; round++) {
    const { clock, set } = clockAt(0, random.below(2 ** 32) * 1000);
    set(random.below(1e9) / 1e6, 0);
    t.ok((BigInt(clock.high) << 32n) + BigInt(clock.low) === nanosecondsOf(clock));
  }
  t.end();
});

void t.test('small differences between the clocks are left alone', (t) => {
  const { set } = clockAt(0, NOON);
  t.equal(set(200, NOON + 205), NOON + 200);
  t.equal(set(400, NOON + 395), NOON + 400);
  t.end();
});

void t.test('a clock that is set forward is followed at once', (t) => {
  const { set } = clockAt(0, NOON);
  t.equal(set(200, NOON + 60_200), NOON + 60_200);
  t.end();
});

void t.test('a clock that is set back is followed slowly, and times never go back', (t) => {
  const { clock, set } = clockAt(0, NOON);
  clock.read();
  let last = nanosecondsOf(clock);
  for (let at = 10; at <= 4000; at += 10) {
    set(at, NOON + at - 1000);
    if (nanosecondsOf(clock) < last) t.fail(`${at} ms: it goes back`);
    last = nanosecondsOf(clock);
    if (at === 1000) t.ok(clock.milliseconds > NOON + 400, 'it does not stand still all the time');
  }
  t.ok(Math.abs(clock.milliseconds - (NOON + 3000)) <= 6, 'right again');
  t.end();
});

void t.test('times are after those of an engine before', (t) => {
  const { clock, set } = clockAt(0, NOON);
  clock.notBefore(NOON - 50);
  t.equal(set(1, NOON), NOON + 1, 'they are already');
  clock.notBefore(NOON + 500.25);
  const time = set(1, NOON);
  t.ok(time > NOON + 500.25 && time < NOON + 502);
  t.end();
});
