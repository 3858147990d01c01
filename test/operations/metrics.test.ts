/** `/metrics` of a server that is idle, that works, and whose engine is killed. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { withEngineKiller } from '../support/engine-killer.js';
import { eventually } from '../support/eventually.js';
import { meanwhile } from '../support/meanwhile.js';
import {
  complaintsOf,
  isCount,
  OPEN_METRICS,
  samplesOf,
  scrape,
  type Samples,
} from '../support/metric-samples.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';
import { missingVpcs } from '../support/vpcs.js';

const server = await startServer(t, {
  environment: withEngineKiller(join(scratchFolder(t), 'engines end at once')),
});
const client = new Client(server.url);
const frame = Buffer.alloc(64, 1);
const FRAMES_IN = 'wirefarm_engine_frames_total{engine="0",direction="in"}';
const RESTARTS = 'wirefarm_engine_restarts_total{engine="0"}';

async function isAccepted(t: Test, page: string): Promise<void> {
  const complaints = await complaintsOf(page);
  if (complaints === undefined) t.pass('# SKIP promtool is not installed');
  else t.equal(complaints, '');
}

/** The first scrape in which a series has at least this value. */
function scrapeWith(series: string, least: number): Promise<Samples> {
  return eventually(`${series} is ${least}`, async () => {
    const samples = await scrape(client);
    return (samples.get(series) ?? 0) >= least ? samples : undefined;
  });
}

function hasNotFallen(t: Test, before: Samples, after: Samples): void {
  for (const [series, value] of before) {
    if (isCount(series) && (after.get(series) ?? -1) < value)
      t.fail(`${series} fell from ${value} to ${after.get(series)}`);
  }
}

void t.test('promtool accepts the page of an idle server, which has the usual series', async (t) => {
  await scrapeWith('wirefarm_thread_cpu_seconds_total{thread="state",index="0"}', 0.000_001);
  const { headers, text } = await client.get('/metrics');
  t.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  await isAccepted(t, text);
  const samples = samplesOf(text);
  for (const thread of ['http', 'state', 'engine', 'reader', 'file'])
    t.ok(samples.has(`wirefarm_thread_cpu_seconds_total{thread="${thread}",index="0"}`), thread);
  for (const part of ['projects', 'images', 'state', 'uploads'])
    t.ok((samples.get(`wirefarm_disk_free_bytes{part="${part}"}`) ?? 0) > 0, part);
  t.equal(samples.get('wirefarm_build_info{version="0.1.0",node="' + process.version + '"}'), 1);
  t.ok((samples.get('process_open_fds') ?? 0) > 10);
  t.ok(samples.size < 4000, `${samples.size} series`);
});

void t.test('a client that accepts OpenMetrics gets it, whole', async (t) => {
  const reply = await client.request('GET', '/metrics', undefined, OPEN_METRICS);
  t.equal(reply.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8');
  t.ok(reply.text.endsWith('\n# EOF\n'));
  const types = new Map(
    [...reply.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
  );
  t.equal(types.get('wirefarm_http_requests'), 'counter');
  t.equal(types.get('wirefarm_build'), 'info');
  for (const series of samplesOf(reply.text).keys()) {
    const name = series.replace(/\{.*/, '').replace(/_(total|info|bucket|sum|count)$/, '');
    t.ok(types.has(name), series);
  }
});

void t.test('requests are counted by templates, whatever clients type', async (t) => {
  await client.get('/v2/projects/secret-name');
  await client.get('/a/secret-name?with=secret-name');
  await client.request('BREW', '/v2/version').catch(() => undefined);
  const { text } = await client.get('/metrics');
  t.notMatch(text, /secret-name|BREW/);
  const samples = samplesOf(text);
  t.equal(
    samples.get('wirefarm_http_requests_total{route="/v2/projects/{project_id}",method="GET",code="404"}'),
    1,
  );
  t.equal(samples.get('wirefarm_http_requests_total{route="none",method="GET",code="404"}'), 1);
  t.ok((samples.get('wirefarm_http_request_seconds_count{group="Projects",change="0"}') ?? 0) >= 1);
});

void t.test('many projects, nodes and links add no series', async (t) => {
  const make = async (name: string): Promise<void> => {
    const { project_id } = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
    const node = { node_type: 'ethernet_hub', compute_id: 'local', name: 'HUB{0}' };
    const ends: object[] = [];
    for (let count = 0; count < 2; count++) {
      const made = await client.expect(201, 'POST', `/v2/projects/${String(project_id)}/nodes`, node);
      ends.push({ node_id: made['node_id'], adapter_number: 0, port_number: 0 });
    }
    await client.expect(201, 'POST', `/v2/projects/${String(project_id)}/links`, { nodes: ends });
  };
  await make('first');
  const before = await scrape(client);
  for (let count = 0; count < 20; count++) await make(`another ${count}`);
  const after = await scrape(client);
  // Threads are started when they are needed.
  const own = (samples: Samples): string[] =>
    [...samples.keys()].filter((series) => !series.includes('thread='));
  t.strictSame(own(after), own(before));
  t.equal(after.get('wirefarm_projects{state="opened"}'), 21);
  t.equal(after.get('wirefarm_nodes{kind="ethernet_hub",status="started"}'), 42);
  t.equal(after.get('wirefarm_links'), 21);
});

void t.test('no count falls when an engine is killed and ports are used again', async (t) => {
  const lab = await ComputeLab.open(client);
  const hub = await lab.node('ethernet_hub');
  const peer = await UdpPeer.open(t);
  const near = await lab.join(hub, 0, peer);
  await peer.send(near, [frame, frame, frame]);
  const before = await scrapeWith(FRAMES_IN, 3);
  server.child.kill('SIGUSR2');
  const killed = await scrapeWith(RESTARTS, 1);
  hasNotFallen(t, before, killed);
  await lab.part(hub, 0);
  const again = await lab.join(hub, 0, peer);
  await peer.send(again, [frame, frame]);
  hasNotFallen(t, killed, await scrapeWith(FRAMES_IN, 5));
});

void t.test('pages under load are accepted, and no count falls between them', async (t) => {
  const paths = ['/v2/projects', '/v2/version', '/nowhere', '/v2/projects/unknown/nodes'];
  const load = Promise.all(
    paths.map(async (path) => {
      for (let round = 0; round < 50; round++) await client.get(path);
      await client.expect(201, 'POST', '/v2/projects', { name: path.replaceAll('/', ' ') });
    }),
  );
  let before: Samples = new Map();
  await meanwhile(
    load,
    async () => {
      const { text } = await client.get('/metrics');
      await isAccepted(t, text);
      const samples = samplesOf(text);
      hasNotFallen(t, before, samples);
      before = samples;
    },
    3,
  );
});

void t.test('the page of projects has each open one by its id, and its name once', async (t) => {
  const name = 'a "name" of mine';
  const { project_id } = await client.expect(201, 'POST', '/v2/projects', { name });
  const labels = `project="${String(project_id)}"`;
  const { text } = await client.get('/metrics/projects');
  await isAccepted(t, text);
  const samples = samplesOf(text);
  t.equal(samples.get(`wirefarm_project_info{${labels},name="a \\"name\\" of mine"}`), 1);
  t.equal(samples.get(`wirefarm_project_nodes{${labels},status="started"}`), 0);
  t.equal(samples.get(`wirefarm_project_links{${labels}}`), 0);
  t.equal(text.split('of mine').length, 2);
  await client.expect(204, 'POST', `/v2/projects/${String(project_id)}/close`);
  t.notMatch((await client.get('/metrics/projects')).text, String(project_id));
});

void t.test('links, snapshots, jobs, commits and processes of nodes are counted', async (t) => {
  const { project_id } = await client.expect(201, 'POST', '/v2/projects', { name: 'all', auto_close: false });
  const path = `/v2/projects/${String(project_id)}`;
  const node = async (node_type: string): Promise<string> =>
    String(
      (await client.expect(201, 'POST', `${path}/nodes`, { node_type, compute_id: 'local', name: 'N{0}' }))[
        'node_id'
      ],
    );
  const [pc, hub] = [await node('vpcs'), await node('ethernet_hub')];
  const ends = [pc, hub].map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 }));
  const { link_id } = await client.expect(201, 'POST', `${path}/links`, { nodes: ends });
  await client.expect(201, 'POST', `${path}/snapshots`, { name: 'one' });
  const snapshots = await eventually('the snapshot is counted', async () => {
    const samples = await scrape(client);
    return samples.get('wirefarm_snapshots') === 1 ? samples : undefined;
  });
  t.equal(snapshots.get('wirefarm_job_seconds_count{kind="snapshot.create",outcome="done"}'), 1);
  t.ok((snapshots.get('wirefarm_commit_requests_sum') ?? 0) > 3);
  t.equal(snapshots.get('wirefarm_capture_viewers'), 0);
  await client.expect(204, 'DELETE', `${path}/snapshots/${await snapshotId(path)}`);
  await eventually('the snapshot is gone', async () =>
    (await scrape(client)).get('wirefarm_snapshots') === 0 ? true : undefined,
  );
  const { text, status } = await client.get(`/metrics/links?project=${String(project_id)}`);
  t.equal(status, 200);
  await isAccepted(t, text);
  const link = `link="${String(link_id)}"`;
  t.strictSame(
    [...samplesOf(text).keys()],
    ['frames', 'octets']
      .flatMap((what) =>
        ['forward', 'backward'].map((way) => `wirefarm_link_${what}_total{${link},direction="${way}"}`),
      )
      .concat(`wirefarm_link_drops_total{${link}}`),
  );
  t.equal((await client.get(`/metrics/links?project=${randomUUID()}`)).status, 404);
  t.equal((await client.get('/metrics/links')).status, 400);
  if (missingVpcs() !== false) return;
  await client.expect(200, 'POST', `${path}/nodes/${pc}/start`);
  const running = await scrapeWith('wirefarm_node_processes{kind="vpcs"}', 1);
  t.ok((running.get('wirefarm_node_memory_bytes{kind="vpcs"}') ?? 0) > 0);
  const sent = async (): Promise<number> => {
    const samples = await scrape(client, `/metrics/links?project=${String(project_id)}`);
    return samples.get(`wirefarm_link_frames_total{${link},direction="backward"}`) ?? 0;
  };
  t.equal(await sent(), 0, 'a hub of one link sends nothing');
});

async function snapshotId(path: string): Promise<string> {
  const { body } = await client.get(`${path}/snapshots`);
  return String((body as { readonly snapshot_id: string }[])[0]?.snapshot_id);
}
