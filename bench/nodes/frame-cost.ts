/**
 * The cost of a frame between two program nodes that are linked, with one receive and one send by the engine, beside two
 * C forwarders one behind the other, as two nodes have them with uBridge. In turn, several rounds.
 */
import { figure, type Figure } from '../measurement.js';
import { freePorts, offer, type Forwarder } from '../traffic/forwarder.js';
import type { PlainRelays } from '../traffic/plain-relay.js';
import type { Load } from '../traffic/load.js';
import { ethernet } from '../traffic/setting.js';
import { nodePair } from './round-trip.js';

export interface FrameCostSize {
  readonly rounds: number;
  readonly seconds: number;
}

const SIZES = [64, 1500];
const RATES = [20_000, 100_000];

interface Side {
  readonly name: string;
  readonly forwarders: readonly Forwarder[];
  /** Where the generator sends from and to, and where it receives. */
  readonly ports: Pick<Load, 'localPort' | 'toPort' | 'receivePort'>;
}

export async function measureFrameCost(size: FrameCostSize, relays: PlainRelays): Promise<Figure[]> {
  const sides = [await linkedNodes(), await chainedRelays(relays)] as const;
  try {
    const figures: Figure[] = [];
    for (const octets of SIZES) {
      for (const rate of RATES) figures.push(...(await compare(sides, octets, rate, size)));
    }
    return figures;
  } finally {
    for (const { forwarders } of sides) for (const forwarder of forwarders) await forwarder.stop();
  }
}

async function compare(
  sides: readonly [Side, Side],
  octets: number,
  rate: number,
  { rounds, seconds }: FrameCostSize,
): Promise<Figure[]> {
  const costs: [number[], number[]] = [[], []];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const [index, side] of sides.entries()) {
      const cost = await costOf(side, octets, rate, seconds);
      if (round > 0) costs[index === 0 ? 0 : 1].push(cost);
    }
  }
  const name = `${octets} octets, ${rate.toLocaleString('en')}/s`;
  const ratios = costs[0].map((cost, round) => cost / (costs[1][round] ?? Number.NaN));
  return [
    ...sides.map((side, index) => figure(`${name}, ${side.name}`, 's/million', costs[index === 0 ? 0 : 1])),
    figure(`${name}, ratio of the costs`, '', ratios, 'at most 0.5'),
  ];
}

async function costOf(
  { forwarders, ports }: Side,
  octets: number,
  rate: number,
  seconds: number,
): Promise<number> {
  const used = (): number => forwarders.reduce((sum, forwarder) => sum + forwarder.cpuSeconds(), 0);
  const before = used();
  const load = { ...ethernet(octets).frame, ...ports, rate, seconds, segments: 1, gathers: false };
  const { received } = await offer(load);
  return ((used() - before) / received) * 1e6;
}

async function linkedNodes(): Promise<Side> {
  const [start = 0, near = 0, far = 0, end = 0] = await freePorts(4);
  const ends = { in: { local: near, remote: start }, out: { local: far, remote: end } };
  return {
    name: 'two linked nodes',
    forwarders: [await nodePair(ends, 'link')],
    ports: { localPort: start, toPort: near, receivePort: end },
  };
}

async function chainedRelays(relays: PlainRelays): Promise<Side> {
  const [start = 0, near = 0, between = 0, across = 0, far = 0, end = 0] = await freePorts(6);
  const first = { in: { local: near, remote: start }, out: { local: between, remote: across } };
  const second = { in: { local: across, remote: between }, out: { local: far, remote: end } };
  return {
    name: 'two chained C forwarders',
    forwarders: [await relays.start(first), await relays.start(second)],
    ports: { localPort: start, toPort: near, receivePort: end },
  };
}
