/**
 * The cost of a capture for a whole server: engine, writer and HTTP thread, in CPU seconds a million frames. The same
 * switch without a capture, with one, and with one that a client watches: paired, in turn, several rounds.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { headerOf, hecOf } from '../src/engine/wire/atm-cell.js';
import { ERF_CELL_LENGTH } from '../src/engine/wire/erf.js';
import { PCAP_HEADER_LENGTH, RECORD_HEADER_LENGTH } from '../src/engine/wire/pcap.js';
import { CELL_PAYLOAD_LENGTH } from '../src/engine/wire/aal5.js';
import { SUN_ATM_LENGTH } from '../src/engine/wire/sun-atm.js';
import { ChildServer } from './child-server.js';
import { ComputeClient, portPath } from './compute-client.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { freePorts, offer } from './traffic/forwarder.js';
import type { Load } from './traffic/load.js';
import { ATM, ethernet, type Traffic } from './traffic/setting.js';
import { ViewerCrowd } from './traffic/viewer-crowd.js';

const ROUNDS = 5;
/** Until everything that was recorded is in the file. */
const SETTLE_MS = 300;
const AIM = 'at most 0.15';
const LOADS = [
  { name: 'overload by runs of 16', rate: 0, segments: 16, seconds: 1 },
  { name: '100,000/s one by one', rate: 100_000, segments: 1, seconds: 2 },
  // Just where the engine begins to let frames gather: it does so in one round and not in another.
  { name: '50,000/s one by one', rate: 50_000, segments: 1, seconds: 2 },
];
const MAPPINGS = { '1:1:100': '2:2:200' };
/** In the payload type, this marks the last cell of an AAL5 frame. */
const LAST = 2;

interface Subject {
  readonly traffic: Traffic;
  readonly settings: object;
  /** The length of one frame in the file. */
  readonly recordLength: number;
}

const SUBJECTS: readonly Subject[] = [
  { traffic: ethernet(64), settings: {}, recordLength: RECORD_HEADER_LENGTH + 64 },
  {
    traffic: { ...ATM, name: 'ATM cells' },
    settings: { cells: true },
    recordLength: RECORD_HEADER_LENGTH + ERF_CELL_LENGTH,
  },
  {
    // The worst case: every cell is a frame of its own. Its CRC is wrong, so it is recorded with its trailer.
    traffic: {
      ...ATM,
      name: 'AAL5 frames of one cell',
      frame: { ...ATM.frame, sendHeader: lastCell(1, 100), expectHeader: lastCell(2, 200) },
    },
    settings: {},
    recordLength: RECORD_HEADER_LENGTH + SUN_ATM_LENGTH + CELL_PAYLOAD_LENGTH,
  },
];

type Variant = 'plain' | 'captured' | 'watched';
const VARIANTS: readonly Variant[] = ['plain', 'captured', 'watched'];

interface Sample {
  readonly cpuPerMillion: number;
  readonly carriedPerSecond: number;
  /** The share of the frames that came out of the switch. */
  readonly recorded: number;
}

export const captureCost: Bench = {
  name: 'capture-cost',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      const client = await ComputeClient.withProject(server.url);
      const figures: Figure[] = [];
      for (const subject of SUBJECTS) figures.push(...(await measure(server, client, subject)));
      return figures;
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

async function measure(server: ChildServer, client: ComputeClient, subject: Subject): Promise<Figure[]> {
  const { kind, name, frame } = subject.traffic;
  const node = await client.newNode(kind, {
    name: 'SW',
    ...(kind === 'atm_switch' ? { mappings: MAPPINGS } : {}),
  });
  const [near = 0, nearPeer = 0, far = 0, farPeer = 0] = await freePorts(4);
  await client.attach(node, 1, near, nearPeer);
  await client.attach(node, 2, far, farPeer);
  const figures: Figure[] = [];
  for (const { name: loadName, ...rest } of LOADS) {
    const load = {
      ...frame,
      ...rest,
      localPort: nearPeer,
      toPort: near,
      receivePort: farPeer,
      gathers: true,
    };
    const samples: Record<Variant, Sample[]> = { plain: [], captured: [], watched: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      for (const variant of VARIANTS) {
        const taken = await sample(server, client, { node, load, subject, variant });
        // The first round warms up.
        if (round > 0) samples[variant].push(taken);
      }
    }
    figures.push(...figuresOf(`${name}, ${loadName}`, samples));
    await setTimeout(SETTLE_MS);
  }
  return figures;
}

interface Run {
  readonly node: string;
  readonly load: Omit<Load, 'cpu'>;
  readonly subject: Subject;
  readonly variant: Variant;
}

/** To begin and to end a capture is not part of what is measured; to write everything is. */
async function sample(
  server: ChildServer,
  client: ComputeClient,
  { node, load, subject, variant }: Run,
): Promise<Sample> {
  const settings = { ...subject.settings, capture_file_name: 'bench.pcap' };
  const path = variant === 'plain' ? undefined : await client.startCapture(node, 2, settings);
  const plan = { urls: [`${portPath(node, 2)}/pcap`], reads: 'octets', tagAt: 0 } as const;
  const crowd = variant === 'watched' ? await ViewerCrowd.start(plan) : undefined;
  const before = server.cpuSeconds();
  const { received, receivedPerSecond } = await offer(load);
  await setTimeout(SETTLE_MS);
  const cpuPerMillion = ((server.cpuSeconds() - before) / received) * 1e6;
  if (path === undefined) return { cpuPerMillion, carriedPerSecond: receivedPerSecond, recorded: 0 };
  await client.stopCapture(node, 2);
  const octets = statSync(path).size - PCAP_HEADER_LENGTH;
  const report = await crowd?.report();
  if (report !== undefined && report.viewers[0]?.octets !== octets) {
    throw new Error(`the file has ${octets} octets, the viewer got ${String(report.viewers[0]?.octets)}`);
  }
  const recorded = octets / subject.recordLength / received;
  return { cpuPerMillion, carriedPerSecond: receivedPerSecond, recorded };
}

/** The added cost is that of recorded frames: frames that found no room cost little, and are no bargain. */
function figuresOf(
  name: string,
  { plain, captured, watched }: Readonly<Record<Variant, readonly Sample[]>>,
): Figure[] {
  const costs = (samples: readonly Sample[]): number[] => samples.map(({ cpuPerMillion }) => cpuPerMillion);
  const carried = (samples: readonly Sample[]): number[] =>
    samples.map(({ carriedPerSecond }) => carriedPerSecond);
  const against = (
    samples: readonly Sample[],
    others: readonly Sample[],
    compare: (sample: Sample, other: Sample) => number,
  ): number[] =>
    samples.flatMap((sample, round) => {
      const other = others[round];
      return other === undefined ? [] : [compare(sample, other)];
    });
  const added = (sample: Sample, other: Sample): number =>
    (sample.cpuPerMillion - other.cpuPerMillion) / sample.recorded;
  const ratio = (sample: Sample, other: Sample): number => sample.cpuPerMillion / other.cpuPerMillion;
  const recorded = [...captured, ...watched].map((sample) => sample.recorded * 100);
  return [
    figure(`${name}, plain`, 's/million', costs(plain)),
    figure(`${name}, captured`, 's/million', costs(captured)),
    figure(`${name}, captured and watched`, 's/million', costs(watched)),
    figure(`${name}, the capture adds`, 's/million', against(captured, plain, added), AIM),
    figure(`${name}, the viewer adds`, 's/million', against(watched, captured, added)),
    figure(`${name}, ratio captured to plain`, '', against(captured, plain, ratio)),
    figure(`${name}, carried plain`, 'frames/s', carried(plain)),
    figure(`${name}, carried captured`, 'frames/s', carried(captured)),
    figure(`${name}, recorded of what came out`, '%', recorded, 'at least 100'),
  ];
}

function lastCell(vpi: number, vci: number): string {
  const header = headerOf(vpi, vci) | LAST;
  const cell = Buffer.alloc(5);
  cell.writeUInt32BE(header);
  cell.writeUInt8(hecOf(header), 4);
  return cell.toString('hex');
}
