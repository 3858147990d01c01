/**
 * One captured link and those who watch it: how much 1, 10 and 100 viewers are given of a link that is overloaded,
 * every octet of it, and how old packets are when a viewer has them.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RECORD_HEADER_LENGTH } from '../src/engine/wire/pcap.js';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { CaptureLab } from './traffic/capture-lab.js';
import { monotonicMs } from './traffic/monotonic.js';
import { ethernet } from './traffic/setting.js';
import { spray, type SprayPlan } from './traffic/spray.js';
import { ViewerCrowd, type CrowdPlan, type CrowdReport } from './traffic/viewer-crowd.js';

const ROUNDS = 3;
const CROWDS = [1, 10, 100];
const OVERLOAD = { rate: 0, segments: 16, seconds: 1 };
const LATENCY_RATES = [100, 5000];
const LATENCY_CROWDS = [1, 10];
const LATENCY_SECONDS = 5;
const { size, sendHeader: header } = ethernet(64).frame;

interface Watched {
  readonly report: CrowdReport;
  readonly recorded: number;
  readonly sent: number;
  /** When the first frame was sent, or a little before. */
  readonly startedAt: number;
}

export const captureViewers: Bench = {
  name: 'capture-viewers',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      const lab = await CaptureLab.open(server.url, 1);
      const figures: Figure[] = [];
      for (const viewers of CROWDS) figures.push(...(await throughput(server, lab, viewers)));
      for (const rate of LATENCY_RATES) {
        for (const viewers of LATENCY_CROWDS) figures.push(...(await latency(lab, viewers, rate)));
      }
      return figures;
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

/** From the first frame until the last viewer has the last octet: those who fall behind read from the file. */
async function throughput(server: ChildServer, lab: CaptureLab, viewers: number): Promise<Figure[]> {
  const rates: number[] = [];
  const costs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const cpu = server.cpuSeconds();
    const { report, recorded, startedAt } = await watch(lab, viewers, 'octets', OVERLOAD);
    const delivered =
      report.viewers.reduce((sum, { octets }) => sum + octets, 0) / (RECORD_HEADER_LENGTH + size);
    if (delivered !== recorded * viewers) {
      throw new Error(`${viewers} viewers got ${delivered} packets of ${recorded} each`);
    }
    rates.push(delivered / ((report.lastAt - startedAt) / 1000));
    costs.push(((server.cpuSeconds() - cpu) / delivered) * 1e6);
  }
  const name = `delivered to ${viewers} viewer${viewers === 1 ? '' : 's'} of one link`;
  return [
    figure(name, 'packets/s', rates),
    figure(`${name}, forwarding and recording included`, 's/million', costs),
  ];
}

async function latency(lab: CaptureLab, viewers: number, rate: number): Promise<Figure[]> {
  const rounds: Watched[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const load = { rate, segments: 1, seconds: LATENCY_SECONDS };
    rounds.push(await watch(lab, viewers, 'records', load));
  }
  const name = `from sent to seen, ${viewers} viewer${viewers === 1 ? '' : 's'}, ${rate} packets/s`;
  const each = (value: (watched: Watched) => number): number[] => rounds.map(value);
  const unseen = ({ sent, report }: Watched): number =>
    report.viewers.reduce((sum, { packets, missing }) => sum + Math.max(sent - packets, missing), 0);
  return [
    figure(
      `${name}, p50`,
      'ms',
      each(({ report }) => report.latency50),
    ),
    figure(
      `${name}, p99`,
      'ms',
      each(({ report }) => report.latency99),
      'less than 20',
    ),
    figure(`${name}, not seen`, 'packets', each(unseen), 'at most 0'),
  ];
}

/** A capture from its start to its end, with viewers from the start on. */
async function watch(
  lab: CaptureLab,
  viewers: number,
  reads: CrowdPlan['reads'],
  load: Pick<SprayPlan, 'rate' | 'segments' | 'seconds'>,
): Promise<Watched> {
  await lab.startCaptures();
  const url = `${lab.links[0]?.path ?? ''}/pcap`;
  const urls = Array.from({ length: viewers }, () => url);
  const crowd = await ViewerCrowd.start({ urls, reads, tagAt: header.length / 2 });
  const startedAt = monotonicMs();
  const toPorts = lab.links.map(({ entry }) => entry);
  const [sent = 0] = await spray({ ...load, localPort: lab.peerPort, toPorts, size, header });
  await lab.settled(sent);
  await lab.stopCaptures();
  const [counts] = await lab.counts();
  return { report: await crowd.report(), recorded: counts?.packets ?? 0, sent, startedAt };
}
