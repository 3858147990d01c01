/**
 * Thread entry: watches the turns of the main thread's event loop from beside it, so that the main thread does nothing
 * for it. A turn that takes more CPU time of that thread than is usual is written to a descriptor, a JSON object a
 * line: once when it is too long, with the calls it is in, and once when it has ended. Time in which the thread waits,
 * or others have its core, does not count; nor does time that the host of a virtual machine gave to others meanwhile,
 * which the clock of the thread has as its own.
 */
import { Session, type Debugger } from 'node:inspector';
import { workerData } from 'node:worker_threads';
import koffi from 'koffi';
import type { TurnReport, TurnWatchStart } from './turn-watch.js';

/** A turn that is new may have taken so much before its first look, which is not counted. */
const SAMPLE_MS = 5;
/** While the thread rests, it is looked at so often: what it does first is counted from the rest on. */
const REST_MS = 15;
const MOST_CALLS = 8;
/** The stolen time is looked at so often: a look costs as much as a short request. */
const STOLEN_MS = 100;
const MS_PER_TICK = 10;
/** The kernel's number of the clock of a thread's CPU time is made of its id; a main thread has that of the process. */
const MAIN_THREAD_CLOCK = (~process.pid << 3) | 6;
/** `uv_metrics_t`: the count of turns, and 15 numbers more, in halves. */
const METRICS_HALVES = 32;

const { descriptor, counts, longestTurnMs } = workerData as TurnWatchStart;
const self = koffi.load(null);
const readClock = self.func('clock_gettime', 'int', ['int', 'int32_t *']) as (
  clock: number,
  time: Int32Array,
) => number;
const readMetrics = self.func('uv_metrics_info', 'int', ['void *', 'uint32_t *']) as (
  loop: unknown,
  metrics: Uint32Array,
) => number;
// Not through node:fs, which tests make fail.
const write = self.func('write', 'intptr_t', ['int', 'const char *', 'size_t']) as (
  ...given: [descriptor: number, text: string, length: number]
) => number;
const open = self.func('open', 'int', ['const char *', 'int']) as (path: string, flags: number) => number;
const readAt = self.func('pread', 'intptr_t', ['int', 'void *', 'size_t', 'int64_t']) as (
  ...given: [descriptor: number, bytes: Buffer, length: number, offset: number]
) => number;
const mainLoop: unknown = (self.func('uv_default_loop', 'void *', []) as () => unknown)();
const metrics = new Uint32Array(METRICS_HALVES);
/** `struct timespec`: seconds and nanoseconds, in halves, of which the upper ones are 0. */
const time = new Int32Array(4);

function spentMs(): number {
  if (readClock(MAIN_THREAD_CLOCK, time) !== 0)
    throw new Error('the clock of the main thread cannot be read');
  const [seconds = 0, , nanoseconds = 0] = time;
  return seconds * 1e3 + nanoseconds / 1e6;
}

const statistics = open('/proc/stat', 0);
const firstLine = Buffer.alloc(256);

/** The time of all cores that the host took since the start of the system. */
function stolenMs(): number {
  const length = readAt(statistics, firstLine, firstLine.length, 0);
  const [, , , , , , , , stolen = '0'] = firstLine.toString('latin1', 0, length).split(/ +/);
  return Number(stolen) * MS_PER_TICK;
}

const threadStatistics = open(`/proc/self/task/${process.pid}/stat`, 0);
const threadLine = Buffer.alloc(512);
/** The index of the page faults without a read of the disk, counted behind the name, which may contain blanks. */
const FAULTS = 8;

/** The pages of memory that the main thread was given since its start. */
function countFaults(): number {
  const length = readAt(threadStatistics, threadLine, threadLine.length, 0);
  const line = threadLine.toString('latin1', 0, length);
  return Number(line.slice(line.lastIndexOf(')')).split(' ')[FAULTS]);
}

/** The lower half of the count. */
function countTurns(): number {
  readMetrics(mainLoop, metrics);
  return metrics[0] ?? 0;
}

function report(turn: TurnReport): void {
  const line = `${JSON.stringify(turn)}\n`;
  write(descriptor, line, Buffer.byteLength(line));
}

/** Stops the main thread for a moment to see which calls it is in; a turn that has ended by then has none. */
function findCalls(isStillRunning: () => boolean, found: (calls: readonly string[]) => void): void {
  const session = new Session();
  asked++;
  session.connectToMainThread();
  session.on('Debugger.paused', ({ params }: { params: Debugger.PausedEventDataType }) => {
    if (isStillRunning()) {
      found(
        params.callFrames
          .slice(0, MOST_CALLS)
          .map(
            ({ functionName, url, location }) =>
              `${functionName} (${url.split('/dist/').at(-1) ?? url}:${location.lineNumber + 1})`,
          ),
      );
    }
    session.post('Debugger.resume', () => {
      session.disconnect();
      asked--;
    });
  });
  session.post('Debugger.enable', () => {
    session.post('Debugger.pause');
  });
}

/** The sessions that have no answer yet. */
let asked = 0;
let turn = {
  number: countTurns(),
  beganAt: Date.now(),
  spentBefore: spentMs(),
  faultsBefore: countFaults(),
  longMs: 0,
};
let stolenBefore = { at: turn.beganAt, ms: stolenMs() };

/** Reports the turn when it is too long. */
function look(spent: number): void {
  const number = countTurns();
  if (number !== turn.number) {
    const faultsBefore = countFaults();
    if (turn.longMs > 0)
      report({ beganAt: turn.beganAt, cpuMs: turn.longMs, faults: faultsBefore - turn.faultsBefore });
    turn = { number, beganAt: Date.now(), spentBefore: spent, faultsBefore, longMs: 0 };
    if (turn.beganAt - stolenBefore.at > STOLEN_MS) stolenBefore = { at: turn.beganAt, ms: stolenMs() };
    return;
  }
  if (spent - turn.spentBefore <= longestTurnMs || Atomics.load(counts, 0) === 0) return;
  const cpuMs = spent - turn.spentBefore - (stolenMs() - stolenBefore.ms);
  if (cpuMs <= longestTurnMs) return;
  const isNew = turn.longMs === 0;
  turn.longMs = cpuMs;
  if (!isNew) return;
  const { beganAt } = turn;
  const faults = countFaults() - turn.faultsBefore;
  report({ beganAt, cpuMs, faults });
  findCalls(
    () => countTurns() === number,
    (calls) => {
      report({ beganAt, cpuMs, faults, calls });
    },
  );
}

/** To wait in one step costs a fraction of a timer, but hears no answer: while calls are asked for, a timer looks. */
function watch(): void {
  let before = NaN;
  let spent = spentMs();
  look(spent);
  while (asked === 0) {
    Atomics.wait(counts, 1, 0, spent === before ? REST_MS : SAMPLE_MS);
    before = spent;
    spent = spentMs();
    look(spent);
  }
  setTimeout(watch, SAMPLE_MS);
}

watch();
