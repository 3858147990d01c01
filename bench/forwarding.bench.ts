/**
 * Forwarding between UDP sockets, against a plain forwarder that takes one datagram a call through the same
 * foreign function layer: paired, in turn, several rounds. CPU seconds a million frames are the steady figure.
 */
import { figure, median, type Bench, type Figure } from './measurement.js';
import { ATM, ethernet, sample, setUp, type Sample, type Setting, type Traffic } from './traffic/setting.js';

const ROUNDS = 5;
const QUIET_ROUNDS = 9;
const SEARCH_STEPS = 8;
const SEARCH_ROUNDS = 3;
const MOST_SEARCHED = 600_000;
const TOLERATED_LOSS = 0.001;
export const forwarding: Bench = {
  name: 'forwarding',
  async run() {
    const figures: Figure[] = [];
    for (const traffic of [ATM, ethernet(64), ethernet(1500)]) {
      figures.push(...(await measure(traffic)));
    }
    return figures;
  },
};

async function measure(traffic: Traffic): Promise<Figure[]> {
  const engine = await setUp('engine-forwarder', traffic);
  const plain = await setUp('plain-forwarder', traffic);
  try {
    const sides = [engine, plain] as const;
    for (const side of sides) await sample(side, 100_000, 1, 1);
    const overload = await inTurn(ROUNDS, sides, (side) => sample(side, 0, 1, 16));
    const singles = await inTurn(ROUNDS, sides, (side) => sample(side, 300_000, 1, 1));
    const quiet = await inTurn(QUIET_ROUNDS, sides, (side) => sample(side, 20_000, 1, 1));
    const lossless = await inTurn(SEARCH_ROUNDS, sides, losslessRate);
    const isAtm = traffic === ATM;
    const { name } = traffic;
    return [
      ...costs(`${name}, overload by runs of 16`, overload, isAtm ? 'at most 1.15' : undefined),
      ...rates(`${name}, overload by runs of 16`, overload),
      ...costs(`${name}, 300,000/s one by one`, singles, isAtm ? 'at most 1.3' : undefined),
      ...losses(`${name}, 300,000/s one by one`, singles, 'at most 0.1'),
      ...costs(`${name}, 20,000/s`, quiet, 'at most 11'),
      ...latencies(`${name}, 20,000/s`, quiet),
      figure(`${name}, highest rate with less than 0.1 % lost, engine`, 'frames/s', lossless[0]),
      figure(`${name}, highest rate with less than 0.1 % lost, plain`, 'frames/s', lossless[1]),
    ];
  } finally {
    await engine.forwarder.stop();
    await plain.forwarder.stop();
  }
}

/** Every round measures all sides, one after the other. */
async function inTurn<Value>(
  rounds: number,
  sides: readonly [Setting, Setting],
  take: (side: Setting) => Promise<Value>,
): Promise<[Value[], Value[]]> {
  const taken: [Value[], Value[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    for (const [index, side] of sides.entries()) taken[index === 0 ? 0 : 1].push(await take(side));
  }
  return taken;
}

/** By bisection; a rate passes when two of up to three probes pass. */
async function losslessRate(side: Setting): Promise<number> {
  let passed = 0;
  let failed = MOST_SEARCHED;
  for (let step = 0; step < SEARCH_STEPS; step++) {
    const rate = (passed + failed) / 2;
    let passes = 0;
    for (let probe = 0; probe < 3 && passes < 2 && probe - passes < 2; probe++) {
      const { result } = await sample(side, rate, 0.3, 1);
      // Nobody has carried frames that the generator could not offer.
      if (result.loss < TOLERATED_LOSS && result.sent >= rate * 0.3 * 0.98) passes++;
    }
    if (passes === 2) passed = rate;
    else failed = rate;
  }
  return passed;
}

type Samples = readonly [readonly Sample[], readonly Sample[]];

function costs(name: string, [engine, plain]: Samples, aim?: string): Figure[] {
  const cost = (samples: readonly Sample[]): number[] => samples.map(({ cpuPerMillion }) => cpuPerMillion);
  const [ours, theirs] = [cost(engine), cost(plain)];
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return [
    figure(`${name}, engine`, 's/million', ours, aim),
    figure(`${name}, plain`, 's/million', theirs),
    figure(`${name}, ratio of the costs`, '', ratios),
  ];
}

function rates(name: string, samples: Samples): Figure[] {
  return samples.map((side, index) =>
    figure(
      `${name}, carried by ${index === 0 ? 'engine' : 'plain'}`,
      'frames/s',
      side.map(({ result }) => result.receivedPerSecond),
    ),
  );
}

function losses(name: string, [engine, plain]: Samples, aim: string): Figure[] {
  const loss = (samples: readonly Sample[]): number[] => samples.map(({ result }) => result.loss * 100);
  return [
    figure(`${name}, engine lost`, '%', loss(engine), aim),
    figure(`${name}, plain lost`, '%', loss(plain)),
  ];
}

/** The ratio is that of the medians: rounds of one second are too unsteady to be divided one by one. */
function latencies(name: string, [engine, plain]: Samples): Figure[] {
  return (
    [
      ['p50', 'latency50', 'at most 1.1'],
      ['p99', 'latency99', 'at most 1.25'],
    ] as const
  ).flatMap(([label, key, aim]) => {
    const [ours, theirs] = [engine, plain].map((side) => side.map(({ result }) => result[key]));
    if (ours === undefined || theirs === undefined) return [];
    return [
      figure(`${name}, ${label}, engine`, 'µs', ours),
      figure(`${name}, ${label}, plain`, 'µs', theirs),
      figure(`${name}, ${label}, ratio`, '', [median(ours) / median(theirs)], aim),
    ];
  });
}
