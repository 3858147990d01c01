/**
 * 500 captures at once, with a viewer each and traffic on all of them: what the server needs for it, whether every
 * viewer has every packet of its link, and whether other clients notice.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { call } from './compute-client.js';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { CaptureLab } from './traffic/capture-lab.js';
import { ethernet } from './traffic/setting.js';
import { spray } from './traffic/spray.js';
import { ViewerCrowd, type CrowdReport } from './traffic/viewer-crowd.js';

const LINKS = 500;
const PACKETS_A_SECOND = 200;
const SECONDS = 60;
const CALL_EVERY_MS = 50;
const MEMORY_EVERY_MS = 1000;
const { size, sendHeader: header } = ethernet(64).frame;

export const captureMany: Bench = {
  name: 'capture-many',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      const lab = await CaptureLab.open(server.url, LINKS);
      const start = performance.now();
      await lab.startCaptures();
      const startMs = performance.now() - start;
      const urls = lab.links.map(({ path }) => `${path}/pcap`);
      const crowd = await ViewerCrowd.start({ urls, reads: 'records', tagAt: header.length / 2 });
      const flow = spray({
        localPort: lab.peerPort,
        toPorts: lab.links.map(({ entry }) => entry),
        size,
        header,
        rate: LINKS * PACKETS_A_SECOND,
        seconds: SECONDS,
        segments: 1,
      });
      const load = await observe(server, lab, flow);
      await lab.settled(load.packets);
      const stop = performance.now();
      await lab.stopCaptures();
      const stopMs = performance.now() - stop;
      const counts = await lab.counts();
      const report = await crowd.report();
      return [
        figure(`${LINKS} captures, all started by one call`, 'ms', [startMs]),
        ...figuresOfLoad(load),
        ...figuresOfPackets(await flow, counts, report),
        figure('the viewers of this bench themselves', 's of CPU', [report.cpuSeconds]),
        figure(`${LINKS} captures, all stopped by one call`, 'ms', [stopMs]),
      ];
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

interface Observed {
  /** Milliseconds, in order of size. */
  readonly calls: readonly number[];
  readonly memoryMiB: readonly number[];
  readonly cpuSeconds: number;
  readonly seconds: number;
  readonly packets: number;
}

/** As long as the flow goes on, what another client finds. */
async function observe(
  server: ChildServer,
  { links }: CaptureLab,
  flow: Promise<readonly number[]>,
): Promise<Observed> {
  const calls: number[] = [];
  const memoryMiB = [server.residentMiB()];
  const start = performance.now();
  const cpu = server.cpuSeconds();
  const end = start + SECONDS * 1000;
  for (let next = start; next < end; next += CALL_EVERY_MS) {
    await setTimeout(Math.max(0, next - performance.now()));
    const calledAt = performance.now();
    await call(links[calls.length % links.length]?.path ?? '', 'GET');
    calls.push(performance.now() - calledAt);
    if (calledAt - start >= memoryMiB.length * MEMORY_EVERY_MS) memoryMiB.push(server.residentMiB());
  }
  const packets = sum(await flow);
  const seconds = (performance.now() - start) / 1000;
  return { calls, memoryMiB, cpuSeconds: server.cpuSeconds() - cpu, seconds, packets };
}

/** Logs fill the memory that they are given at first, so it is the second half that must be flat. */
function figuresOfLoad({ calls, memoryMiB, cpuSeconds, seconds, packets }: Observed): Figure[] {
  const name = `${LINKS} captures of ${PACKETS_A_SECOND} packets/s, a viewer each`;
  const sorted = [...calls].sort((a, b) => a - b);
  const quantile = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;
  const [first = 0, middle = 0, last = 0] = [0, memoryMiB.length >> 1, memoryMiB.length - 1].map(
    (index) => memoryMiB[index],
  );
  return [
    figure(`${name}, offered`, 'packets/s', [packets / SECONDS]),
    figure(`${name}, all of the server`, '% of a core', [(cpuSeconds / seconds) * 100]),
    figure(`${name}, all of the server`, 's/million', [(cpuSeconds / packets) * 1e6]),
    figure(`${name}, reading a link meanwhile, p50`, 'ms', [quantile(0.5)]),
    figure(`${name}, reading a link meanwhile, p99`, 'ms', [quantile(0.99)], 'less than 10'),
    figure(`${name}, memory at the start`, 'MiB', [first]),
    figure(`${name}, memory half-way`, 'MiB', [middle]),
    figure(`${name}, memory at the end`, 'MiB', [last]),
  ];
}

function figuresOfPackets(
  sent: readonly number[],
  counts: readonly { readonly packets: number; readonly dropped: number }[],
  { viewers, latency50, latency99 }: CrowdReport,
): Figure[] {
  const total = sum(sent);
  const name = `${LINKS} captures, ${total} packets`;
  const recorded = sum(counts.map(({ packets }) => packets));
  const short = viewers.filter(({ packets }, index) => packets !== counts[index]?.packets).length;
  return [
    figure(`${name}, lost before they were recorded`, 'packets', [total - recorded], 'at most 0'),
    figure(
      `${name}, dropped by captures`,
      'packets',
      [sum(counts.map(({ dropped }) => dropped))],
      'at most 0',
    ),
    figure(
      `${name}, recorded and not seen`,
      'packets',
      [recorded - sum(viewers.map(({ packets }) => packets))],
      'at most 0',
    ),
    figure(
      `${name}, out of order or missing`,
      'packets',
      [sum(viewers.map(({ missing }) => missing))],
      'at most 0',
    ),
    figure(`${name}, viewers that lack some`, `of ${LINKS}`, [short], 'at most 0'),
    figure(`${name}, from sent to seen, p50`, 'ms', [latency50]),
    figure(`${name}, from sent to seen, p99`, 'ms', [latency99], 'less than 20'),
  ];
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
