/** Two engines in two processes, one behind the other: runs that come in as runs travel on as runs. */
import { figure, type Bench, type Figure } from './measurement.js';
import { Forwarder, freePorts, offer } from './traffic/forwarder.js';
import type { Load } from './traffic/load.js';
import { ethernet } from './traffic/setting.js';

const ROUNDS = 5;
const SECONDS = 1;
const RUNS = [
  { segments: 16, aim: 'at most 0.35' },
  { segments: 64, aim: 'at most 0.12' },
];

export const enginePair: Bench = {
  name: 'engine-pair',
  async run() {
    const [start = 0, near = 0, between = 0, across = 0, far = 0, end = 0] = await freePorts(6);
    const kind = 'ethernet_switch';
    const first = await Forwarder.start('engine-forwarder', {
      kind,
      in: { local: near, remote: start },
      out: { local: between, remote: across },
      gathers: true,
    });
    const second = await Forwarder.start('engine-forwarder', {
      kind,
      in: { local: across, remote: between },
      out: { local: far, remote: end },
      gathers: true,
    });
    const load = { ...ethernet(64).frame, localPort: start, toPort: near, receivePort: end, gathers: true };
    try {
      const figures: Figure[] = [];
      for (const { segments, aim } of RUNS) {
        figures.push(
          ...(await measure([first, second], { ...load, rate: 0, seconds: SECONDS, segments }, aim)),
        );
      }
      return figures;
    } finally {
      await Promise.all([first.stop(), second.stop()]);
    }
  },
};

async function measure(
  engines: readonly Forwarder[],
  load: Omit<Load, 'cpu'>,
  aim: string,
): Promise<Figure[]> {
  const costs: number[][] = [[], []];
  const rates: number[] = [];
  await offer(load);
  for (let round = 0; round < ROUNDS; round++) {
    const before = engines.map((engine) => engine.cpuSeconds());
    const { received, receivedPerSecond } = await offer(load);
    engines.forEach((engine, index) => {
      costs[index]?.push(((engine.cpuSeconds() - (before[index] ?? 0)) / received) * 1e6);
    });
    rates.push(receivedPerSecond);
  }
  const name = `64 octets, runs of ${load.segments}`;
  return [
    figure(`${name}, first engine`, 's/million', costs[0] ?? [], aim),
    figure(`${name}, second engine`, 's/million', costs[1] ?? [], aim),
    figure(`${name}, through both`, 'frames/s', rates),
  ];
}
