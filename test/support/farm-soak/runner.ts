/** One seed of the soak of a farm: load, faults, healing, quiet, and what the checker says of all of it. */
import { Client } from '../client.js';
import { eventually } from '../eventually.js';
import type { Teardown } from '../scratch.js';
import { findings, quietFindings } from './checker.js';
import { SoakClients } from './clients.js';
import { AUTHORIZATION, PREFIX, PORT, SoakFarm } from './farm.js';
import { FollowedEtcd } from './followed-etcd.js';
import type { LoggedAnswer, Quiet, SoakHistory } from './history.js';
import { COMPUTES, planOf, wordsOf } from './plan.js';
import { untilQuiet, type Line } from './quiet.js';
import { SoakStreams } from './streams.js';

/** Faults of a seed take about a minute, with the time until all is quiet. */
const FAULTS = 5;

export interface SeedResult {
  readonly seed: number;
  readonly seconds: number;
  readonly operations: number;
  readonly changes: number;
  readonly acknowledged: number;
  readonly refused: number;
  readonly unknown: number;
  readonly reads: number;
  readonly revisions: number;
  readonly events: number;
  readonly faults: readonly string[];
  readonly findings: readonly string[];
}

export async function soak(t: Teardown, seed: number, tell: (line: string) => void): Promise<SeedResult> {
  const farm = await SoakFarm.start(t);
  const etcd = new FollowedEtcd(farm.storeUrls, PREFIX);
  farm.beforeCompaction = (revision) => etcd.reached(revision);
  const streams = new SoakStreams();
  t.teardown(() => {
    etcd.close();
    streams.close();
  });
  const clients = new SoakClients(farm.serverUrls, seed, (project) => {
    const url = farm.serverUrls[streams.streams.length % farm.serverUrls.length] ?? '';
    void streams.follow(url, project);
  });
  await recordComputes(farm);
  const line = await makeLine(clients);
  const started = performance.now();
  const quiet: Quiet[] = [];
  const plan = planOf(seed, FAULTS);
  for (const { faults, beforeMs, lastsMs } of plan) {
    clients.begin();
    await passed(beforeMs);
    const heals: (() => Promise<unknown>)[] = [];
    for (const fault of faults) {
      tell(`${seconds(started)} s: ${wordsOf(fault)}`);
      heals.push(await farm.strike(fault));
    }
    await passed(lastsMs);
    for (const heal of heals.reverse()) await heal();
    tell(`${seconds(started)} s: healed`);
    await clients.rest();
    tell(`${seconds(started)} s: all is answered`);
    await answers(farm, line);
    const seen = await untilQuiet(farm, etcd, line);
    quiet.push(seen);
    tell(`${seconds(started)} s: ${quietFindings(seen).join('; ') || 'quiet'}`);
  }
  await clients.readAll();
  const last = await etcd.last();
  const history: SoakHistory = {
    changes: etcd.changes,
    owners: etcd.owners,
    last,
    asked: clients.asked,
    reads: clients.reads,
    logged: loggedOf(farm, etcd),
    streams: streams.streams,
    quiet,
  };
  const count = (outcome: string): number => clients.asked.filter((each) => each.outcome === outcome).length;
  return {
    seed,
    seconds: seconds(started),
    operations: clients.asked.length + clients.reads.length,
    changes: clients.asked.length,
    acknowledged: count('done'),
    refused: count('refused'),
    unknown: count('unknown'),
    reads: clients.reads.length,
    revisions: etcd.changes.length,
    events: streams.streams.reduce((sum, { told }) => sum + told.length, 0),
    faults: plan.map(({ faults }) => faults.map(wordsOf).join(' + ')),
    findings: [...clients.broken, ...findings(history)],
  };
}

async function recordComputes(farm: SoakFarm): Promise<void> {
  const client = new Client(farm.serverUrls[0] ?? '', { authorization: AUTHORIZATION });
  for (const [index, id] of COMPUTES.entries()) {
    const host = farm.computes[index]?.host.address ?? '';
    const place = { compute_id: id, name: `host ${id}`, protocol: 'http', host, port: PORT };
    await eventually(`compute ${id} is on record`, async () => {
      const { status } = await client.post('/v2/computes', { ...place, user: 'ann', password: 'hush' });
      return status === 201 || undefined;
    });
  }
  for (const url of farm.serverUrls) {
    const each = new Client(url, { authorization: AUTHORIZATION });
    for (const id of COMPUTES)
      await eventually('a server is connected with the computes', async () => {
        const { body } = await each.get(`/v2/computes/${id}`);
        return (body as { connected?: boolean } | undefined)?.connected === true || undefined;
      });
  }
}

async function makeLine(clients: SoakClients): Promise<Line> {
  const project = await clients.makeProject();
  if (project === undefined) throw new Error('no project was made');
  const [b, c] = COMPUTES;
  const ends = [
    await clients.makeNode(project, 'ethernet_hub', b),
    await clients.makeNode(project, 'ethernet_hub', c),
  ];
  await clients.makeLink(
    project,
    ends.map((end) => [end, 0] as const),
  );
  if (project.links.length !== 1) throw new Error('no link was made');
  return { project: project.id, hubs: ends.map(({ id }) => id) };
}

/** Each server answers reads of a project without an age. */
async function answers(farm: SoakFarm, { project }: Line): Promise<void> {
  for (const url of farm.serverUrls) {
    const client = new Client(url, { authorization: AUTHORIZATION });
    await eventually(`${url} answers`, async () => {
      const reply = await client.get(`/v2/projects/${project}/nodes`).catch(() => undefined);
      return (reply?.status === 200 && !reply.headers.has('wirefarm-stale')) || undefined;
    });
  }
}

function loggedOf(farm: SoakFarm, etcd: FollowedEtcd): LoggedAnswer[] {
  return farm.processes.flatMap(({ address, process }) => {
    const server = etcd.servers.get(address);
    if (server === undefined) return [];
    return process
      .log()
      .split('\n')
      .flatMap((line) => {
        if (!line.includes('"req"') || line.includes('"owner"')) return [];
        const { req, status } = parsed(line);
        return typeof req === 'string' && typeof status === 'number'
          ? [{ server, request: req, status }]
          : [];
      });
  });
}

/** The last line of a killed server may be half. */
function parsed(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const seconds = (since: number): number => Math.round((performance.now() - since) / 100) / 10;
