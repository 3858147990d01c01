import t from 'tap';
import { Schedule, TOGETHER_MS, type Due } from '../../../src/engine/filters/schedule.js';
import { Random } from '../../support/random.js';

class Alarm implements Due {
  runs = 0;
  constructor(
    public dueAt: number,
    readonly onRun: (alarm: Alarm, until: number) => void = () => undefined,
  ) {}

  run(until: number): void {
    this.runs++;
    this.onRun(this, until);
  }
}

void t.test('nothing is due when there is nothing', (t) => {
  const schedule = new Schedule();
  t.equal(schedule.next, Infinity);
  schedule.run(1e12);
  schedule.remove(new Alarm(1));
  t.equal(schedule.next, Infinity);
  t.end();
});

void t.test('the earliest is known, whatever was added and removed, and all run in order', (t) => {
  const random = new Random(11);
  const schedule = new Schedule();
  const there = new Set<Alarm>();
  const ran: number[] = [];
  const earliest = (): number => Math.min(Infinity, ...[...there].map(({ dueAt }) => dueAt));
  for (let round = 0; round < 3000; round++) {
    if (random.chance(0.6) || there.size === 0) {
      const alarm = new Alarm(random.below(1000), ({ dueAt }) => ran.push(dueAt));
      there.add(alarm);
      schedule.add(alarm);
    } else {
      const alarm = random.pick([...there]);
      there.delete(alarm);
      schedule.remove(alarm);
    }
    if (schedule.next !== earliest()) t.fail(`round ${round}: ${schedule.next} is not ${earliest()}`);
  }
  const expected = [...there].map(({ dueAt }) => dueAt).sort((a, b) => a - b);
  t.ok(expected.length > 300);
  schedule.run(1000);
  t.same(ran, expected);
  t.equal(schedule.next, Infinity);
  t.end();
});

void t.test('entries that are due in a moment are run with those that are due, up to a common time', (t) => {
  const schedule = new Schedule();
  const ends: number[] = [];
  const alarms = [5, 5 + TOGETHER_MS, 5.1 + TOGETHER_MS].map(
    (dueAt) => new Alarm(dueAt, (_, until) => ends.push(until)),
  );
  for (const alarm of alarms) schedule.add(alarm);
  schedule.run(5);
  t.same(ends, [5 + TOGETHER_MS, 5 + TOGETHER_MS]);
  t.equal(schedule.next, 5.1 + TOGETHER_MS);
  t.end();
});

void t.test('each is run once, even if it stays due, and others that are added meanwhile later', (t) => {
  const schedule = new Schedule();
  const other = new Alarm(0);
  const busy = new Alarm(1, (alarm) => {
    schedule.add(alarm);
    if (alarm.runs === 1) schedule.add(other);
  });
  schedule.add(busy);
  schedule.run(2);
  t.same([busy.runs, other.runs], [1, 0]);
  t.equal(schedule.next, 0);
  schedule.run(2);
  t.same([busy.runs, other.runs], [2, 1]);
  t.end();
});
