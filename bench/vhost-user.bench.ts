/**
 * Guests that share their memory: two of DPDK's send to each other as fast as they can, through an Ethernet switch of an
 * engine, and through DPDK's own backend, in turn. Both backends have processor 0, the guests the other one.
 */
import { figure, type Bench, type Figure } from './measurement.js';
import { Forwarder } from './traffic/forwarder.js';
import { Testpmd } from './traffic/testpmd.js';

const ROUNDS = 3;
const SECONDS = 3;
/** DPDK counts the four octets of the checksum, too. */
const CHECKSUM = 4;
const LENGTHS = [
  { octets: 64, rate: 'at least 3 million', ratio: 'at least 0.5' },
  { octets: 1500, rate: undefined, ratio: undefined },
];

export const vhostUser: Bench = {
  name: 'vhost-user',
  async run() {
    const dpdk = new Testpmd();
    try {
      const figures: Figure[] = [];
      for (const length of LENGTHS) figures.push(...(await measure(dpdk, length)));
      return figures;
    } finally {
      dpdk.remove();
    }
  },
};

async function measure(dpdk: Testpmd, { octets, rate, ratio }: (typeof LENGTHS)[number]): Promise<Figure[]> {
  const [ours, theirs, costs]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    const engine = await Forwarder.startGuests(dpdk.sockets);
    const before = engine.cpuSeconds();
    const { framesPerSecond } = await dpdk.guests(octets + CHECKSUM, SECONDS);
    costs.push(((engine.cpuSeconds() - before) / (framesPerSecond * SECONDS)) * 1e6);
    await engine.stop();
    ours.push(framesPerSecond);
    const backend = await dpdk.backend();
    theirs.push((await dpdk.guests(octets + CHECKSUM, SECONDS)).framesPerSecond);
    await backend.stop();
  }
  const ratios = ours.map((value, round) => value / (theirs[round] ?? Number.NaN));
  return [
    figure(`${octets} octets, through a switch of an engine`, 'frames/s', ours, rate),
    figure(`${octets} octets, through DPDK's backend`, 'frames/s', theirs),
    figure(`${octets} octets, ratio of the rates`, '', ratios, ratio),
    figure(`${octets} octets, the engine, for a million frames`, 's/million', costs),
  ];
}
