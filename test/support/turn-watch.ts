/**
 * No request may hold the HTTP thread: a server that a test starts is watched, and a turn of its event loop that took
 * too much CPU time of that thread fails the test.
 */
import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import type { Readable } from 'node:stream';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';

/** The most CPU time that a turn may take. */
export const LONGEST_TURN_MS = 50;

/** A share of stolen time below this is noise. */
const LEAST_STOLEN = 0.01;
/** The work of `slowness` takes so long where `LONGEST_TURN_MS` holds as it stands. */
const USUAL_WORK_MS = 15;
const PAGE_OCTETS = 4096;
const FRESH_OCTETS = 32 * 1024 * 1024;

export interface TurnWatchStart {
  /** Where reports are written. */
  readonly descriptor: number;
  /** Its first number is 1 when turns count: to ask a thread for its calls costs it much. The second stays 0. */
  readonly counts: Int32Array<SharedArrayBuffer>;
  readonly longestTurnMs: number;
}

/** Describes a turn that is or was too long. */
export interface TurnReport {
  readonly beganAt: number;
  /** So far; the last report of a turn has nearly all of it. */
  readonly cpuMs: number;
  /** The pages of memory that the thread was given in the turn so far. */
  readonly faults: number;
  /** The calls that it was in, the innermost first. */
  readonly calls?: readonly string[];
}

export interface TurnWatch {
  readonly worker: Worker;
  /** From now on turns count. */
  count(): void;
}

/** Starts to watch the main thread of this process. Nothing is kept awake by it, and no event loop turns for it. */
export function watchTurns(descriptor: number): TurnWatch {
  const counts = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const start: TurnWatchStart = { descriptor, counts, longestTurnMs: LONGEST_TURN_MS };
  const worker = new Worker(new URL('./turn-watch-worker.js', import.meta.url), {
    workerData: start,
    execArgv: [],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  worker.unref();
  return {
    worker,
    count() {
      Atomics.store(counts, 0, 1);
    },
  };
}

/** The reports of one server, on the side of the test. */
export class TurnReports {
  readonly #reports: TurnReport[] = [];
  /** Turns that began earlier are the server's start. */
  #countsFrom = Infinity;
  #ticks = processorTicks();
  readonly ended: Promise<void>;

  constructor(source: Readable) {
    const lines = createInterface({ input: source });
    lines.on('line', (line) => this.#reports.push(JSON.parse(line) as TurnReport));
    this.ended = new Promise((resolve) => lines.once('close', resolve));
  }

  countFromNow(): void {
    this.#countsFrom = Date.now();
    this.#ticks = processorTicks();
  }

  /** Says in words which turns were too long; undefined when none was. Tells nothing a second time. */
  complaint(allowedMs: number): string | undefined {
    const counted = this.#reports.filter(({ beganAt }) => beganAt >= this.#countsFrom);
    this.#reports.length = 0;
    const [worst] = counted.toSorted((a, b) => b.cpuMs - a.cpuMs);
    if (worst === undefined || worst.cpuMs <= allowedMs) return undefined;
    const { cpuMs } = worst;
    const calls = counted.find(
      ({ beganAt, calls }) => beganAt === worst.beganAt && calls !== undefined,
    )?.calls;
    // Without calls it was over before it could be asked, or garbage was collected, which is no request's doing.
    const tolerance = this.#toleranceOfHost() * (calls === undefined ? 2 : 1);
    if (cpuMs <= allowedMs * tolerance) return undefined;
    const faultsMs = worst.faults * pageFaultMs();
    if (cpuMs - faultsMs <= allowedMs * tolerance * slowness()) return undefined;
    const doing = calls === undefined ? '' : ` in ${calls.join(' < ')}`;
    return `a turn of the HTTP thread took ${Math.round(cpuMs)} ms of its CPU time, of which ${Math.round(faultsMs)} ms for ${worst.faults} page faults, ${allowedMs} ms are allowed${doing}`;
  }

  /**
   * The same work takes up to twice the CPU time while others use the caches and the other halves of the cores. Where
   * the host of a virtual machine takes its cores away, it counts that time as ours: only much is told then.
   */
  #toleranceOfHost(): number {
    const { stolen, all } = processorTicks();
    const share = (stolen - this.#ticks.stolen) / Math.max(1, all - this.#ticks.all);
    if (share > LEAST_STOLEN) return 20;
    return (loadavg()[0] ?? 0) > availableParallelism() ? 2 : 1;
  }
}

/** How often longer than usual this machine takes for the same work just now; 1 when it is as fast, or faster. */
function slowness(): number {
  const value = Array.from({ length: 2000 }, (_, at) => ({ at, text: `text ${at}`, both: [at, at + 1] }));
  const rounds = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage();
    for (let time = 0; time < 10; time++) JSON.parse(JSON.stringify(value));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  });
  return Math.max(1, Math.max(...rounds.slice(1)) / USUAL_WORK_MS);
}

/**
 * A new page of memory takes so long just now. It takes below a microsecond, or 16 where the host of a virtual machine
 * takes back the memory that nobody uses, which is no request's doing.
 */
function pageFaultMs(): number {
  const { minorPageFault } = process.resourceUsage();
  const { user, system } = process.cpuUsage();
  const memory = Buffer.allocUnsafeSlow(FRESH_OCTETS);
  for (let at = 0; at < memory.length; at += PAGE_OCTETS) memory[at] = 1;
  const spent = process.cpuUsage({ user, system });
  const faults = process.resourceUsage().minorPageFault - minorPageFault;
  return (spent.user + spent.system) / 1000 / Math.max(1, faults);
}

/** The ticks of all cores since the start of the system, and those that its host took for others. */
function processorTicks(): { readonly stolen: number; readonly all: number } {
  if (process.platform !== 'linux') return { stolen: 0, all: 0 };
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, softIrq = 0, stolen = 0] = line
    .trim()
    .split(/ +/)
    .slice(1)
    .map(Number);
  return { stolen, all: user + nice + system + idle + waiting + irq + softIrq + stolen };
}
