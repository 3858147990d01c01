/** The watch of the HTTP thread sees long turns: without these tests nobody would notice when it stops to. */
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { scratchFolder } from './support/scratch.js';
import { LONGEST_TURN_MS, TurnReports, watchTurns, type TurnReport } from './support/turn-watch.js';

const HELD_MS = 300;
const MOST_TURNS = 200;
const nextTurn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

function holdTheThread(): void {
  const before = process.cpuUsage();
  const end = (): boolean => process.cpuUsage(before).user > HELD_MS * 1000;
  while (!end()) JSON.parse('[1,2,3]');
}

void t.test(
  'a turn that computes for long is told with its calls',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const file = join(scratchFolder(t), 'reports');
    const watch = watchTurns(openSync(file, 'w'));
    t.teardown(() => watch.worker.terminate());
    watch.count();
    const reports = (): TurnReport[] =>
      readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as TurnReport);
    const isTold = (): boolean => reports().some(({ calls = [] }) => calls.join().includes('holdTheThread'));
    for (let turn = 0; turn < MOST_TURNS && !isTold(); turn++) {
      holdTheThread();
      await nextTurn();
    }
    t.ok(isTold());
    t.ok(reports().every(({ cpuMs }) => cpuMs > LONGEST_TURN_MS));
    await nextTurn();
    // The report of an earlier turn may still come.
    const begun = Date.now();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_MS);
    await nextTurn();
    t.same(
      reports().filter(({ beganAt }) => beganAt >= begun),
      [],
      'waiting is no work',
    );
  },
);

void t.test('the worst turn since the server was ready is complained of, once', async (t) => {
  const now = Date.now() + 1000;
  const lines = [
    { beganAt: 1, cpuMs: 900, faults: 0 },
    { beganAt: now, cpuMs: 51, faults: 0 },
    { beganAt: now + 1, cpuMs: 2160, faults: 0 },
    { beganAt: now + 1, cpuMs: 2160, faults: 0, calls: ['slow (here)', 'handle (there)'] },
    { beganAt: now + 1, cpuMs: 2180.4, faults: 0 },
  ];
  const reports = new TurnReports(Readable.from(lines.map((line) => `${JSON.stringify(line)}\n`)));
  reports.countFromNow();
  await reports.ended;
  t.equal(
    reports.complaint(LONGEST_TURN_MS),
    'a turn of the HTTP thread took 2180 ms of its CPU time, of which 0 ms for 0 page faults, 50 ms are allowed in slow (here) < handle (there)',
  );
  t.equal(reports.complaint(LONGEST_TURN_MS), undefined);
});

void t.test('a turn is not blamed for the pages of memory that it was given', async (t) => {
  const turn: TurnReport = { beganAt: Date.now() + 1000, cpuMs: 2000, faults: 1e8 };
  const reports = new TurnReports(Readable.from([`${JSON.stringify(turn)}\n`]));
  reports.countFromNow();
  await reports.ended;
  t.equal(reports.complaint(LONGEST_TURN_MS), undefined);
});
