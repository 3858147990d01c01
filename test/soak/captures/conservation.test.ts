/**
 * Whatever is done to a link while packets pass (captures, filters each way, suspension, streams), every frame is
 * accounted for: at both ends, frames in + copies + originated = frames out + consumed + drops.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import type { Json } from '../../support/link-lab.js';
import { LiveStream } from '../../support/live-stream.js';
import { ethernetFrame, ipPacket } from '../../support/numbered-packets.js';
import { MARK, PacketLine } from '../../support/packet-line.js';
import { pcapFile } from '../../support/pcap-records.js';
import { seededRandom } from '../../support/seeded-random.js';
import { startServer } from '../../support/server-process.js';

const SEED = Number(process.env['WIREFARM_TEST_SEED'] ?? Date.now() % 1_000_000);
const FRAMES = 20_000;
const PORTION = 40;
const CHANGES = 100;

interface PortStatistics {
  readonly port_number: number;
  readonly counters: Readonly<Record<string, number>> & { readonly drops: Readonly<Record<string, number>> };
}

/** How many frames went in, and how many were delivered, dropped or lost. */
function balance(ports: readonly PortStatistics[]): { in: number; out: number } {
  const sum = (of: (counters: PortStatistics['counters']) => number): number =>
    ports.reduce((total, { counters }) => total + of(counters), 0);
  const named = (name: string): number => sum((counters) => counters[name] ?? 0);
  const drops = sum((counters) => Object.values(counters.drops).reduce((total, count) => total + count, 0));
  return {
    in: named('frames_in') + named('copies') + named('originated'),
    out: named('frames_out') + named('consumed') + drops,
  };
}

void t.test(`changes at random while ${FRAMES} frames pass, seed ${SEED}`, async (t) => {
  const random = seededRandom(SEED);
  const below = (limit: number): number => Math.floor(random() * limit);
  const server = await startServer(t);
  const client = new Client(server.url);
  const line = await PacketLine.make(t, { client, url: server.url });
  const filters = (): Json => ({
    ...(random() < 0.5 ? { packet_loss: [below(100)] } : {}),
    ...(random() < 0.5 ? { delay: [below(20), below(10)] } : {}),
    ...(random() < 0.3 ? { duplicate: [below(100)] } : {}),
    ...(random() < 0.3 ? { rate: [100 + below(20_000), below(50)] } : {}),
    ...(random() < 0.3 ? { reorder: [below(100), below(10)] } : {}),
    ...(random() < 0.3 ? { corrupt: [below(100)] } : {}),
    ...(random() < 0.3 ? { frequency_drop: [below(5) - 1] } : {}),
  });
  const streams: LiveStream[] = [];
  const changes: (() => Promise<unknown>)[] = [
    () => client.expect(201, 'PUT', line.at, { filters: filters() }),
    () => client.expect(201, 'PUT', line.at, { suspend: random() < 0.5 }),
    () =>
      client.expect(200, 'PUT', `${line.at}/directed_filters`, {
        forward: filters(),
        backward: filters(),
        seed: below(1000),
      }),
    () => client.post(`${line.at}/start_capture`, { format: random() < 0.5 ? 'pcap' : 'pcapng' }),
    () => client.post(`${line.at}/stop_capture`),
    async () => streams.push(await LiveStream.open(t, `${server.url}${line.lab.path}/pcap`)),
    () => {
      streams.pop()?.close();
      return Promise.resolve();
    },
  ];

  for (let round = 0; round < CHANGES; round++) {
    await Promise.all([line.spray(FRAMES / CHANGES, PORTION), changes[below(changes.length)]?.()]);
  }
  await client.expect(200, 'PUT', `${line.at}/directed_filters`, {});
  await client.expect(201, 'PUT', line.at, { filters: {}, suspend: false });
  await client.expect(201, 'POST', `${line.at}/stop_capture`);
  const link = await client.expect(201, 'POST', `${line.at}/start_capture`);
  // It comes last, and nothing waits before it any more.
  await line.mark();
  await client.expect(201, 'POST', `${line.at}/stop_capture`);
  const { packets } = pcapFile(readFileSync(String(link['capture_file_path'])));
  t.ok(packets.at(-1)?.equals(ethernetFrame(ipPacket(MARK, 0))), 'the last capture has what came last');
  for (const node of [line.near, line.far]) {
    const look = async (): Promise<ReturnType<typeof balance>> => {
      const { ports } = await client.expect(200, 'GET', `${line.lab.onCompute(node)}/statistics`);
      return balance(ports as PortStatistics[]);
    };
    const isBalanced = async (): Promise<true | undefined> => {
      const { in: came, out: went } = await look();
      return came === went ? true : undefined;
    };
    await eventually('nothing waits any more', isBalanced).catch(() => undefined);
    const { in: came, out: went } = await look();
    t.equal(came, went, `${String(node['name'])}: ${came} in, ${went} out`);
    t.ok(came > 0);
  }
});
