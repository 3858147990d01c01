/**
 * Packet filters: what each of them costs a frame, in an engine without sockets; and how exactly frames are delayed
 * by a whole server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Libpcap } from '../src/engine/bpf/libpcap.js';
import { refusals } from '../src/base/errors/errors.js';
import { Batch, BATCH_FRAMES } from '../src/engine/forwarding/port.js';
import type { PortEndpoint } from '../src/engine/forwarding/transport.js';
import type { FilterStage } from '../src/engine/filters/filter-plan.js';
import type { BpfProgram } from '../src/engine/wire/bpf.js';
import { LINK_TYPE } from '../src/engine/wire/pcap.js';
import { ChildServer } from './child-server.js';
import { ComputeClient } from './compute-client.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { freePorts, offer } from './traffic/forwarder.js';
import type { LoadResult } from './traffic/load.js';
import { MemoryEngine } from './traffic/memory-engine.js';
import { ethernet } from './traffic/setting.js';

const ROUNDS = 5;
const FRAMES_A_ROUND = 5_000_000;
const FRAME_LENGTH = 64;
/** Between two batches: 256 frames in a tenth of a millisecond are 1.3 Gbit/s. */
const MS_A_BATCH = 0.1;
/** Ethernet, IPv4, UDP from port 9 to port 9. */
const FRAME = Buffer.concat([
  Buffer.from('02000000000202000000000108004500002e00000000401100000a0000010a00000200090009001a0000', 'hex'),
  Buffer.alloc(FRAME_LENGTH),
]).subarray(0, FRAME_LENGTH);
const NOWHERE: PortEndpoint = { type: 'null' };

const DELAY_ROUNDS = 3;
const DELAY_MS = 100;
const DELAYED_A_SECOND = 10_000;
const DELAY_SECONDS = 5;

export const filters: Bench = {
  name: 'filters',
  async run() {
    return [...costs(), ...(await delays())];
  },
};

interface Side {
  readonly name: string;
  readonly run: (frames: number) => void;
  /** Nanoseconds a frame, a round each. */
  readonly costs: number[];
}

/** All of them in turn in every round; what a filter costs is what it costs more than none. */
function costs(): Figure[] {
  const plain = sideOf('none', []);
  const sides = [plain, ...stages().map(([name, list]) => sideOf(name, list))];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { run, costs: taken } of sides) {
      const start = performance.now();
      run(FRAMES_A_ROUND);
      // The first round warms up.
      if (round > 0) taken.push(((performance.now() - start) * 1e6) / FRAMES_A_ROUND);
    }
  }
  return sides.map(({ name, costs: taken }) =>
    name === plain.name
      ? figure('a frame through a hub without filters', 'ns', taken)
      : figure(
          `${name} adds`,
          'ns/frame',
          taken.map((cost, round) => cost - (plain.costs[round] ?? Number.NaN)),
        ),
  );
}

/** They are left with nearly all frames, so that those pay for all that follows. */
function stages(): [name: string, stages: FilterStage[]][] {
  const single = (stage: FilterStage, note: string): [string, FilterStage[]] => [
    `${stage.type}, ${note}`,
    [stage],
  ];
  const frequency: FilterStage = { type: 'frequency_drop', every: 32_767 };
  const loss: FilterStage = { type: 'packet_loss', percent: 1 };
  const corrupt: FilterStage = { type: 'corrupt', percent: 1 };
  const bpf: FilterStage = { type: 'bpf', programs: [compiled('udp dst port 53')] };
  const delay: FilterStage = { type: 'delay', latencyMs: 1, jitterMs: 0 };
  return [
    single(frequency, 'every 32,767th'),
    single(loss, '1 %'),
    single(corrupt, '1 %'),
    single({ type: 'corrupt', percent: 100 }, '100 %'),
    single(bpf, 'udp dst port 53'),
    single({ type: 'duplicate', percent: 1 }, '1 %'),
    single({ type: 'reorder', percent: 1, holdMs: 1 }, '1 % for 1 ms'),
    single({ type: 'rate', kilobits: 2_000_000, queueMs: 500 }, '2 Gbit/s at 1.3 Gbit/s'),
    single(delay, '1 ms'),
    ["the contract's five together", [frequency, loss, corrupt, bpf, delay]],
  ];
}

function compiled(expression: string): BpfProgram {
  const libpcap = Libpcap.find();
  if (libpcap === undefined) throw refusals.bpfUnavailable();
  return { instructions: libpcap.compile(expression, LINK_TYPE.EN10MB, FRAME_LENGTH) };
}

/** A hub with two ports: what comes in at the first leaves by the second, which has the filters. */
function sideOf(name: string, outward: readonly FilterStage[]): Side {
  const memory = new MemoryEngine();
  memory.engine.perform({ do: 'add', device: 0, settings: { kind: 'ethernet_hub', settings: null } });
  memory.attach(0, 1, NOWHERE);
  const row = memory.attach(
    0,
    2,
    NOWHERE,
    outward.length === 0 ? undefined : { seed: 1, outward, inward: [] },
  );
  for (let frame = 0; frame < BATCH_FRAMES; frame++) memory.bytes.set(FRAME, frame * FRAME_LENGTH);
  const batch = new Batch();
  const run = (frames: number): void => {
    const before = memory.framesOut(row);
    for (let pushed = 0; pushed < frames; pushed += BATCH_FRAMES) {
      batch.count = 0;
      for (let frame = 0; frame < BATCH_FRAMES; frame++) batch.add(frame * FRAME_LENGTH, FRAME_LENGTH);
      memory.now += MS_A_BATCH;
      memory.push(batch);
      void memory.engine.turn();
    }
    const carried = memory.framesOut(row) - before;
    if (carried < frames * 0.9) throw new Error(`${name}: of ${frames} frames ${carried} came through`);
  };
  return { name, run, costs: [] };
}

async function delays(): Promise<Figure[]> {
  const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
  const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
  try {
    const client = await ComputeClient.withProject(server.url);
    const node = await client.newNode('ethernet_switch', { name: 'SW' });
    const [near = 0, nearPeer = 0, far = 0, farPeer = 0] = await freePorts(4);
    await client.attach(node, 1, near, nearPeer);
    await client.attach(node, 2, far, farPeer, { delay: [DELAY_MS, 0] });
    const load = {
      ...ethernet(FRAME_LENGTH).frame,
      localPort: nearPeer,
      toPort: near,
      receivePort: farPeer,
      rate: DELAYED_A_SECOND,
      segments: 1,
      gathers: false,
    };
    await offer({ ...load, seconds: 1 });
    const results: LoadResult[] = [];
    for (let round = 0; round < DELAY_ROUNDS; round++) {
      results.push(await offer({ ...load, seconds: DELAY_SECONDS }));
    }
    const name = `a delay of ${DELAY_MS} ms at ${DELAYED_A_SECOND} frames/s`;
    const ms = (key: 'latency1' | 'latency50' | 'latency99'): number[] =>
      results.map((result) => result[key] / 1000);
    return [
      figure(`${name}, p1`, 'ms', ms('latency1'), `at least ${DELAY_MS - 2}`),
      figure(`${name}, p50`, 'ms', ms('latency50')),
      figure(`${name}, p99`, 'ms', ms('latency99'), `at most ${DELAY_MS + 2}`),
      figure(
        `${name}, lost`,
        'frames',
        results.map(({ sent, received }) => sent - received),
        'at most 0',
      ),
    ];
  } finally {
    await server.stop();
    rmSync(data, { recursive: true });
  }
}
