import t from 'tap';
import { pcapRecords, planOf, TapRig } from '../../support/tap-rig.js';

const FRAME = Buffer.from('a frame that is of some length');

void t.test('a log that is not prepared is not written', (t) => {
  const rig = new TapRig();
  t.throws(() => rig.logs.newTap(planOf({ log: 5 })), { message: 'log 5 is not in use' });
  rig.prepare(5);
  t.doesNotThrow(() => rig.logs.newTap(planOf({ log: 5 })));
  t.end();
});

void t.test('an engine goes on where the one before has stopped', (t) => {
  const rig = new TapRig();
  rig.prepare(0);
  rig.prepare(9);
  for (let life = 0; life < 3; life++) {
    const [one, nine] = [0, 9].map((log) => rig.logs.newTap(planOf({ log, maxPackets: 100 })));
    for (let round = 0; round < 30; round++) {
      rig.time += 1;
      one?.record('in', rig.batch(FRAME, FRAME));
      nine?.record('out', rig.batch(Buffer.alloc(2000, life)));
    }
    // The wall clock of the next life is behind.
    rig.time -= 15;
    rig.restart();
  }
  const records = pcapRecords(rig.drain(0));
  t.equal(records.length, 100);
  t.ok(records.every(({ data }) => data.equals(FRAME)));
  const times = records.map(({ seconds, nanoseconds }) => seconds * 1000 + nanoseconds / 1e6);
  t.ok(times.every((time, index) => index === 0 || time >= (times[index - 1] ?? 0)));
  t.equal(rig.counter(0, 'packets'), 100);
  t.equal(rig.word(0, 'ended'), 1);
  t.same(
    pcapRecords(rig.drain(9)).map(({ data }) => data[0]),
    [0, 1, 2].flatMap((life) => Array<number>(30).fill(life)),
  );
  t.end();
});

void t.test('released chunks are free for others, also after a restart', (t) => {
  const rig = new TapRig(4);
  const fill = (log: number): number => {
    rig.prepare(log);
    const tap = rig.logs.newTap(planOf({ log }));
    for (let round = 0; round < 10; round++) tap.record('in', rig.batch(Buffer.alloc(60_000)));
    tap.close();
    return rig.counter(log, 'packets');
  };
  t.equal(fill(0), 4);
  t.equal(fill(1), 0, 'there are no chunks left');
  rig.logs.release(1);
  rig.restart();
  t.equal(fill(1), 0);
  rig.set(0, 'interfaces', 3);
  rig.logs.release(0);
  t.equal(rig.word(0, 'active'), 0);
  t.equal(rig.word(0, 'interfaces'), 0);
  rig.logs.release(1);
  t.equal(fill(0), 4, 'the same log once more');
  rig.logs.release(0);
  t.equal(fill(2), 4);
  rig.logs.release(2);
  rig.logs.release(2);
  t.equal(fill(3), 4, 'released twice is released once');
  t.end();
});

void t.test('a log that was released takes no part when its number is given again', (t) => {
  const rig = new TapRig(6);
  for (let round = 0; round < 20; round++) {
    for (const log of [0, 1]) rig.prepare(log);
    const taps = [0, 1].map((log) => rig.logs.newTap(planOf({ log })));
    for (let batch = 0; batch < 12; batch++) {
      const log = Math.floor(batch / 3) % 2;
      taps[log]?.record('in', rig.batch(Buffer.alloc(60_000, round * 12 + batch)));
      // Records that are drained later than they are written tell whether somebody else has written there.
      if (batch % 3 !== 2) continue;
      const filled = pcapRecords(rig.drain(log)).map(({ data }) => [data[0], data[59_999]]);
      t.same(
        filled,
        [2, 1, 0].map((back) => Array<number>(2).fill((round * 12 + batch - back) & 0xff)),
      );
    }
    for (const log of [0, 1]) rig.logs.release(log);
  }
  t.end();
});

void t.test('a thousand logs leave nothing behind', (t) => {
  const rig = new TapRig(8);
  for (let round = 0; round < 1000; round++) {
    const log = round % 7;
    rig.prepare(log);
    const tap = rig.logs.newTap(planOf({ log }));
    for (let batch = 0; batch < 8; batch++) tap.record('out', rig.batch(Buffer.alloc(60_000)));
    tap.close();
    if (rig.counter(log, 'dropped') > 0) t.fail(`round ${round}`);
    rig.logs.release(log);
  }
  t.end();
});
