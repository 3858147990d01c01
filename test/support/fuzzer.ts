/**
 * Coverage-guided fuzzing. Each input is a mutant of an earlier one, and one that reaches a piece of the code that none
 * reached before is kept to be mutated further. So it gets behind comparisons that random octets never pass. All
 * choices come from a seed, and the work is bounded by a number of inputs.
 */
import { Session, type Profiler } from 'node:inspector';
import { Refusal } from '../../src/base/errors/errors.js';
import { patience } from './patience.js';
import { Random, testSeed } from './random.js';

export interface FuzzTarget {
  /** Inputs as they should be: the first ones to be mutated. */
  readonly samples: readonly (Uint8Array | string)[];
  /** Names, signatures and separators of the format. */
  readonly words?: readonly (Uint8Array | string)[];
  /** How many inputs are tried. */
  readonly inputs: number;
  /** Throws when it finds a defect. */
  readonly check: (input: Buffer) => unknown;
  readonly longest?: number;
  /** The code whose pieces count, by its URL. */
  readonly code?: RegExp;
  /** False for random changes of the samples alone. */
  readonly isGuided?: boolean;
}

/** One input was answered by something else than the declared answers. */
export class FuzzFailure extends Error {
  constructor(
    readonly input: Buffer,
    readonly tried: number,
    override readonly cause: unknown,
  ) {
    super(`input ${tried}, base64 '${input.toString('base64')}': ${String(cause)}`);
  }
}

const USUAL_SEED = 2026;
const LONGEST = 4096;
/** The folder of a build is named after its sources. */
const OUR_CODE = /\/\.dist-[^/]+\/src\//;
/** Asking for the coverage is dear: it is asked once for so many inputs, and of each when something was new. */
const BATCH = 64;
/** Such small inputs need no more work: more is not in proportion to their length. */
const MOST_CPU_MS = 200;
/** Nothing that is answered at all takes so long, on a loaded machine, too. */
const LONGEST_WAIT_MS = patience(60_000);
const MOST_CHANGES = 4;
/** How often one of the newest inputs is mutated. */
const NEWEST = { chance: 0.5, count: 4 } as const;
const NUMBERS = [0, 1, 2, 4, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/** How many inputs were kept. Throws a FuzzFailure. */
export async function fuzz(target: FuzzTarget): Promise<number> {
  const { inputs, check, isGuided = true } = target;
  const mutator = new Mutator(target);
  const samples = target.samples.map(octetsOf);
  const coverage = isGuided ? new Coverage(target.code ?? OUR_CODE) : undefined;
  try {
    for (const sample of samples) await tryInput(check, sample, 0);
    if (coverage !== undefined) coverage.add(coverage.take());
    for (let tried = 0; tried < inputs;) {
      const batch = Array.from({ length: Math.min(BATCH, Math.ceil(inputs - tried)) }, () => mutator.next());
      for (const input of batch) await tryInput(check, input, ++tried);
      if (coverage === undefined) continue;
      const ran = coverage.take();
      if (!coverage.hasNew(ran)) continue;
      for (const input of batch) {
        await tryInput(check, input, tried);
        const ranOfOne = coverage.take();
        if (!coverage.hasNew(ranOfOne)) continue;
        coverage.add(ranOfOne);
        mutator.keep(input);
      }
      // Code that ran once only, whatever the input, is not looked for again.
      coverage.add(ran);
    }
    return mutator.kept;
  } finally {
    coverage?.stop();
  }
}

/** Returns the result of `read`, or undefined when it refuses, as clients are told. Any other error is a defect. */
export function unlessRefused<Result>(read: () => Promise<Result>): Promise<Result | undefined>;
export function unlessRefused<Result>(read: () => Result): Result | undefined;
export function unlessRefused(read: () => unknown): unknown {
  try {
    const result = read();
    return result instanceof Promise ? result.catch(throwUnlessRefused) : result;
  } catch (error) {
    throwUnlessRefused(error);
    return undefined;
  }
}

function throwUnlessRefused(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}

async function tryInput(check: FuzzTarget['check'], input: Buffer, tried: number): Promise<void> {
  try {
    if ((await cpuMs(check, input)) <= MOST_CPU_MS) return;
    // The first time, something else may have been done in between: code compiled, rubbish collected.
    const again = await cpuMs(check, input);
    if (again > MOST_CPU_MS) throw new Error(`it takes ${Math.round(again)} ms of CPU time`);
  } catch (error) {
    throw new FuzzFailure(input, tried, error);
  }
}

async function cpuMs(check: FuzzTarget['check'], input: Buffer): Promise<number> {
  const before = process.cpuUsage();
  const result = check(input);
  if (result instanceof Promise) await answered(result);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Throws for what is never answered, which would end the test without a word of the input. */
async function answered(result: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const never = new Promise((_resolve, reject) => {
    timer = setTimeout(reject, LONGEST_WAIT_MS, new Error('it is never answered'));
  });
  await Promise.race([result, never]).finally(() => {
    clearTimeout(timer);
  });
}

class Mutator {
  readonly #random = new Random(testSeed(USUAL_SEED));
  /** Nothing of it is changed. */
  readonly #corpus: Buffer[];
  readonly #words: readonly Buffer[];
  readonly #longest: number;
  kept = 0;

  constructor({ samples, words = [], longest = LONGEST }: FuzzTarget) {
    this.#corpus = samples.map(octetsOf);
    this.#words = words.map(octetsOf);
    this.#longest = longest;
  }

  keep(input: Buffer): void {
    this.#corpus.push(input);
    this.kept++;
  }

  next(): Buffer {
    const newest = this.#random.chance(NEWEST.chance) ? this.#corpus.slice(-NEWEST.count) : this.#corpus;
    let input = this.#random.pick(newest);
    const changes = this.#random.chance(0.5) ? 1 : 1 + this.#random.below(MOST_CHANGES);
    for (let left = changes; left > 0; left--) input = this.#change(input);
    return Buffer.from(input.subarray(0, this.#longest));
  }

  #change(input: Buffer): Buffer {
    const random = this.#random;
    const at = random.below(input.length + 1);
    const length = Math.min(input.length - at, 1 + random.below(random.chance(0.1) ? input.length + 1 : 8));
    const piece = input.subarray(at, at + length);
    if (random.chance(0.4)) return overwritten(input, at, Buffer.from([random.below(256)]));
    switch (random.below(7)) {
      case 0:
        return overwritten(input, at, Buffer.from([(input[at] ?? 0) ^ (1 << random.below(8))]));
      case 1:
        return overwritten(input, at, Buffer.from([(input[at] ?? 0) + random.pick([-1, 1])]));
      case 2:
        return overwritten(input, at, this.#number());
      case 3:
        return spliced(input, at, length, Buffer.alloc(0));
      case 4:
        return spliced(input, random.below(input.length + 1), 0, piece);
      case 5:
        return spliced(input, at, random.chance(0.5) ? length : 0, this.#word());
      case 6:
        return overwritten(input, at, this.#word());
      default: {
        const other = random.pick(this.#corpus);
        const start = random.below(other.length + 1);
        return spliced(input, at, length, other.subarray(start, start + 1 + random.below(64)));
      }
    }
  }

  #word(): Buffer {
    return this.#words.length > 0 && this.#random.chance(0.8)
      ? this.#random.pick(this.#words)
      : this.#number();
  }

  /** Numbers have one, two, four or eight octets, in either order, or digits. */
  #number(): Buffer {
    const random = this.#random;
    const value = random.pick(NUMBERS) + random.pick([-1, 0, 0, 1]);
    if (random.chance(0.2)) return Buffer.from(String(value));
    const octets = Buffer.alloc(8);
    octets.writeBigInt64LE(BigInt(value));
    const number = octets.subarray(0, 2 ** random.below(4));
    return random.chance(0.5) ? number : number.reverse();
  }
}

function octetsOf(input: Uint8Array | string): Buffer {
  return typeof input === 'string' ? Buffer.from(input) : Buffer.from(input);
}

function overwritten(input: Buffer, at: number, octets: Buffer): Buffer {
  return spliced(input, at, octets.length, octets);
}

function spliced(input: Buffer, at: number, removed: number, octets: Buffer): Buffer {
  return Buffer.concat([input.subarray(0, at), octets, input.subarray(at + removed)]);
}

/** For each function, the characters of its text that have run. */
type Ran = ReadonlyMap<string, Uint8Array>;

/** Tells which pieces of some code have run, by the counters of the engine. */
class Coverage {
  readonly #session = new Session();
  readonly #code: RegExp;
  readonly #seen = new Map<string, Uint8Array>();

  constructor(code: RegExp) {
    this.#code = code;
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  stop(): void {
    this.#session.post('Profiler.stopPreciseCoverage');
    this.#session.disconnect();
  }

  /** The pieces that have run since the last call. */
  take(): Ran {
    const ran = new Map<string, Uint8Array>();
    for (const { scriptId, url, functions } of this.#counters()) {
      if (!this.#code.test(url)) continue;
      for (const { ranges } of functions) {
        const [whole] = ranges;
        if (whole === undefined || whole.count === 0) continue;
        const { startOffset, endOffset } = whole;
        ran.set(`${scriptId} ${startOffset} ${endOffset}`, charactersOf(ranges, startOffset, endOffset));
      }
    }
    return ran;
  }

  hasNew(ran: Ran): boolean {
    for (const [key, characters] of ran) {
      const seen = this.#seen.get(key);
      if (seen === undefined || characters.some((has, index) => has > (seen[index] ?? 0))) return true;
    }
    return false;
  }

  add(ran: Ran): void {
    for (const [key, characters] of ran) {
      const seen = this.#seen.get(key);
      this.#seen.set(key, seen?.map((had, index) => had | (characters[index] ?? 0)) ?? characters);
    }
  }

  /** The callback is called before the call returns. */
  #counters(): readonly Profiler.ScriptCoverage[] {
    let scripts: readonly Profiler.ScriptCoverage[] = [];
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error !== null) throw error;
      scripts = result;
    });
    return scripts;
  }
}

/** Inner ranges come behind the outer ones, and only where their counts differ. */
function charactersOf(ranges: readonly Profiler.CoverageRange[], start: number, end: number): Uint8Array {
  const characters = new Uint8Array(end - start);
  for (const { startOffset, endOffset, count } of ranges)
    characters.fill(Math.min(count, 1), startOffset - start, endOffset - start);
  return characters;
}
