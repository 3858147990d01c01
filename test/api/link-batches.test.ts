/** Many changes of links in one call. */
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { end, LinkLab, type Json } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t, { flags: ['--udp-ports', '22000-22999'] });
const client = new Client(server.url);
const host = { client, url: server.url };
const UNKNOWN = '11111111-2222-3333-4444-555555555555';

const post = (lab: LinkLab, body: unknown): Promise<Reply> => client.post(`${lab.links}/batch`, body);

async function batch(lab: LinkLab, body: Json): Promise<Json[]> {
  const { results } = await client.expect(200, 'POST', `${lab.links}/batch`, body);
  return results as Json[];
}

async function udpPorts(): Promise<number> {
  const { udp_ports } = await client.expect(200, 'GET', '/v2/compute/network/ports');
  return (udp_ports as unknown[]).length;
}

const seen = (results: readonly Json[]): unknown[] => results.map(({ action, status }) => [action, status]);

void t.test('deletes, creates, updates, stops and starts, in this order, each with its result', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const old = await lab.link([end(a, 0), end(b, 0)]);
  const kept = await lab.link([end(a, 1), end(b, 1)]);
  await client.expect(201, 'POST', `${lab.at(kept)}/start_capture`);
  const news = await lab.told(async () => {
    const results = await batch(lab, {
      start_capture: [{ link_id: kept['link_id'], capture_file_name: 'again.pcap', max_packets: 5 }],
      stop_capture: [kept['link_id']],
      update: [{ link_id: kept['link_id'], suspend: true, filters: { delay: [3] } }],
      create: [{ nodes: [end(a, 0), end(b, 0)] }],
      delete: [old['link_id']],
    });
    t.same(seen(results), [
      ['delete', 204],
      ['create', 201],
      ['update', 201],
      ['stop_capture', 201],
      ['start_capture', 201],
    ]);
    t.same(
      results.map(({ link_id }) => link_id),
      [old['link_id'], (results[1]?.['link'] as Json)['link_id'], ...Array<unknown>(3).fill(kept['link_id'])],
    );
    t.match(results[4]?.['link'], { capturing: true, capture_file_name: 'again.pcap', suspend: true });
  });
  t.same(
    news.map(({ action }) => action),
    ['link.deleted', 'link.created', 'link.updated', 'link.updated', 'link.updated'],
  );
  t.same(await batch(lab, {}), []);
});

void t.test('a failing link does not keep the rest from being done', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const id = link['link_id'];
  const results = await batch(lab, {
    create: [
      { nodes: [end(a, 0), end(b, 1)] },
      { nodes: [end(a, 2), end(b, 2)] },
      { nodes: [end(a, 2), end(b, 3)] },
      { nodes: [end(a, 4), end(b, 4)], filters: { bogus: [1] } },
    ],
    delete: [UNKNOWN],
    update: [
      { link_id: UNKNOWN, suspend: true },
      { link_id: id, filters: { delay: ['x'] } },
      { link_id: id, suspend: true },
    ],
    stop_capture: [id, UNKNOWN],
    start_capture: [{ link_id: id }, { link_id: UNKNOWN }, { link_id: id }],
  });
  t.same(seen(results), [
    ['delete', 404],
    ...[409, 201, 409, 400].map((status) => ['create', status]),
    ...[404, 400, 201].map((status) => ['update', status]),
    ...[201, 404].map((status) => ['stop_capture', status]),
    ...[201, 404, 200].map((status) => ['start_capture', status]),
  ]);
  t.match(results[0], {
    code: 'link_unknown',
    link_id: UNKNOWN,
    message: `Link ID ${UNKNOWN} doesn't exist`,
  });
  t.match(results[1], { code: 'port_used', link_id: null, message: 'Port is already used' });
  t.match(results.at(-1)?.['link'], { capturing: true }, 'what runs already is done');
  t.equal((await lab.list()).length, 2);
  t.same(seen(await batch(lab, { start_capture: [{ link_id: id }] })), [['start_capture', 200]]);
});

void t.test('a body that is no batch is refused as a whole', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const good = { nodes: [end(a, 0), end(b, 0)] };
  for (const body of [
    { colour: [] },
    { create: good },
    { create: [good, { nodes: 5 }] },
    { create: [good], delete: ['no-uuid'] },
    { create: [good], update: [{ suspend: true }] },
    { create: [good], start_capture: [{ link_id: UNKNOWN, snaplen: 0 }] },
    { create: [good], delete: Array<string>(2049).fill(UNKNOWN) },
  ]) {
    t.equal((await post(lab, body)).status, 400, JSON.stringify(body).slice(0, 80));
  }
  t.same(await lab.list(), []);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.match(await post(lab, { create: [good] }), { status: 403 });
  t.match(await client.post(`/v2/projects/${UNKNOWN}/links/batch`, {}), { status: 404 });
});

void t.test('300 links are made in one call, captured, and deleted', async (t) => {
  const lab = await LinkLab.make(host);
  const ports_mapping = Array.from({ length: 20 }, (_, port_number) => ({
    name: `p${port_number}`,
    port_number,
  }));
  const hubs: Json[] = [];
  for (let hub = 0; hub < 31; hub++) hubs.push(await lab.node('ethernet_hub', 'H{0}', { ports_mapping }));
  const create = hubs.slice(1).flatMap((hub, index) =>
    Array.from({ length: 10 }, (_, port) => ({
      nodes: [end(hubs[index] ?? {}, port), end(hub, port + 10)],
    })),
  );
  const before = await udpPorts();
  const made = await batch(lab, { create });
  t.ok(made.length === 300 && made.every(({ status }) => status === 201));
  t.equal((await udpPorts()) - before, 600, 'all are connected');
  const ids = made.map(({ link_id }) => link_id);
  t.same(
    (await lab.list()).map(({ link_id }) => link_id),
    ids,
  );
  const started = await batch(lab, { start_capture: ids.map((link_id) => ({ link_id })) });
  t.ok(started.every(({ status }) => status === 201));
  const names = new Set(started.map(({ link }) => (link as Json)['capture_file_name']));
  t.equal(names.size, 300);
  const stopped = await batch(lab, { stop_capture: ids });
  t.ok(stopped.every(({ link }) => (link as Json)['capturing'] === false));
  t.ok((await batch(lab, { delete: ids })).every(({ status }) => status === 204));
  t.same(await lab.list(), []);
});
