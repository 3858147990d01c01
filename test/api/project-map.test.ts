/** The server behind a map: the map itself, its events by number, the traffic of its links, and batches of nodes. */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { end, frameOf, hubLine, LinkLab, type Json } from '../support/link-lab.js';
import { NotificationLog, type Notification } from '../support/notification-log.js';
import { startServer } from '../support/server-process.js';

interface Numbered extends Notification {
  readonly sequence?: number;
}

const server = await startServer(t, { flags: ['--nio-networks', '127.0.0.0/8'] });
const client = new Client(server.url);
const host = { client, url: server.url };
const UNKNOWN = '11111111-2222-3333-4444-555555555555';

const mapOf = (lab: LinkLab): Promise<Json> => client.expect(200, 'GET', `${lab.path}/map`);

function follow(lab: LinkLab, since: number): Promise<NotificationLog> {
  return NotificationLog.openSocket(`${server.url}${lab.path}/notifications/ws?observe=yes&since=${since}`);
}

const seen = (log: NotificationLog): unknown[] =>
  log.received.map((told) => [told.action, (told as Numbered).sequence]);

async function batch(lab: LinkLab, body: Json): Promise<Json[]> {
  return (await client.expect(200, 'POST', `${lab.path}/nodes/batch`, body))['results'] as Json[];
}

const idOf = ({ node_id }: Json): string => String(node_id);

void t.test('a map has what a picture needs, without what is usual', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub('A'), await lab.hub('B')];
  const atm = await lab.atm();
  const link = await lab.link([end(b, 1), end(a, 0)], { filters: { delay: [20] } });
  await client.expect(201, 'PUT', lab.at(link), { suspend: true });
  await client.expect(200, 'PUT', `${lab.path}/nodes/${idOf(a)}`, { x: -7, y: 9, locked: true });
  const map = await mapOf(lab);
  t.match(map, {
    project_id: lab.id,
    nodes: [
      {
        node_id: idOf(a),
        name: 'A',
        node_type: 'ethernet_hub',
        status: 'started',
        x: -7,
        y: 9,
        locked: true,
      },
      { node_id: idOf(b), symbol: 0 },
      { node_id: idOf(atm), node_type: 'atm_switch' },
    ],
    links: [
      {
        link_id: link['link_id'],
        ends: [
          [1, 0, 1],
          [0, 0, 0],
        ],
        suspend: true,
        filters: { delay: [20] },
      },
    ],
  });
  t.notOk('locked' in ((map['nodes'] as Json[])[1] ?? {}));
  t.same(map['symbols'], [a['symbol']]);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.equal((await client.get(`${lab.path}/map`)).status, 403);
  t.equal((await client.get(`/v2/projects/${UNKNOWN}/map`)).status, 404);
});

void t.test('events go on from a map, each with its number', async (t) => {
  const lab = await LinkLab.make(host);
  await lab.hub('first');
  const { version } = (await mapOf(lab)) as { version: number };
  await lab.hub('second');
  const log = await follow(lab, version);
  t.teardown(() => {
    log.close();
  });
  const node = await lab.hub('third');
  await log.next(({ event }) => event['name'] === 'third');
  t.same(seen(log), [
    ['node.created', version + 1],
    ['node.created', version + 2],
  ]);
  await client.expect(204, 'DELETE', `${lab.path}/nodes/${idOf(node)}`);
  await log.next(({ action }) => action === 'node.deleted');
  const lines = await NotificationLog.open(
    `${server.url}${lab.path}/notifications?observe=yes&since=${version + 2}`,
  );
  t.same(seen(lines), [['node.deleted', version + 3]]);
  lines.close();
  for (const unknown of [version - 1, version + 4, 0]) {
    const other = await follow(lab, unknown);
    t.same(seen(other), [['events.lost', version + 3]], String(unknown));
    other.close();
  }
  t.equal((await client.get(`${lab.path}/notifications?since=x`)).status, 400);
});

void t.test(
  'nodes are deleted, made, changed, stopped, started and reloaded, each with its result',
  async (t) => {
    const lab = await LinkLab.make(host);
    const [a, b] = [await lab.hub('A'), await lab.hub('B')];
    const results = await batch(lab, {
      reload: [idOf(a)],
      start: [idOf(a), UNKNOWN],
      stop: [idOf(a)],
      update: [
        { node_id: idOf(a), x: 5, y: 6 },
        { node_id: UNKNOWN, x: 1 },
      ],
      create: [
        { name: 'C', node_type: 'ethernet_hub', compute_id: 'local', x: 1, y: 2 },
        { name: 'D', node_type: 'ethernet_hub', compute_id: 'nowhere' },
      ],
      delete: [idOf(b)],
    });
    t.same(
      results.map(({ action, status }) => [action, status]),
      [
        ['delete', 204],
        ['create', 201],
        ['create', 404],
        ['update', 200],
        ['update', 404],
        ['stop', 200],
        ['start', 200],
        ['start', 404],
        ['reload', 200],
      ],
    );
    t.match(results[1], {
      node: { name: 'C', x: 1, y: 2 },
      node_id: (results[1]?.['node'] as Json)['node_id'],
    });
    t.match(results[2], { code: /./, message: /nowhere/, node_id: null });
    t.match(results[3], { node_id: idOf(a) });
    t.match(results[4], { code: 'node_unknown', node_id: UNKNOWN });
    const { nodes } = (await mapOf(lab)) as { nodes: Json[] };
    t.same(
      nodes.map(({ name, x }) => [name, x]),
      [
        ['A', 5],
        ['C', 1],
      ],
    );
    t.same(await batch(lab, {}), []);
  },
);

void t.test('a batch of nodes that is none is refused as a whole', async (t) => {
  const lab = await LinkLab.make(host);
  const hub = { name: 'C', node_type: 'ethernet_hub', compute_id: 'local' };
  const post = (body: unknown): Promise<Reply> => client.post(`${lab.path}/nodes/batch`, body);
  for (const body of [
    { create: [hub, { name: 'x' }] },
    { create: Array<object>(257).fill(hub) },
    { create: [hub], update: [{ x: 5 }] },
    { create: [hub], stop: ['no-uuid'] },
    { create: [hub], delete: Array<string>(2049).fill(UNKNOWN) },
    { create: [hub], paint: [] },
  ]) {
    t.equal((await post(body)).status, 400, JSON.stringify(body).slice(0, 60));
  }
  t.same((await mapOf(lab))['nodes'], []);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.equal((await post({ create: [hub] })).status, 403);
});

/** A viewer of traffic: the counts of each link, by its id. */
class TrafficView {
  readonly links = new Map<string, number>();
  readonly counts = new Map<number, readonly number[]>();
  readonly texts: Json[] = [];

  static async open(t: Test, lab: LinkLab): Promise<TrafficView> {
    const view = new TrafficView();
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${lab.path}/traffic/ws`);
    t.teardown(() => {
      socket.terminate();
    });
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) view.#take(data);
      else view.#number(JSON.parse(data.toString()) as Json);
    });
    await once(socket, 'open');
    return view;
  }

  of(link: Json): readonly number[] | undefined {
    const number = this.links.get(String(link['link_id']));
    return number === undefined ? undefined : this.counts.get(number);
  }

  #number(text: Json): void {
    this.texts.push(text);
    for (const [id, number] of Object.entries(text['links'] as Record<string, number>))
      this.links.set(id, number);
    for (const id of text['removed'] as string[]) this.links.delete(id);
  }

  #take(data: Buffer): void {
    const values = new Float64Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
    for (let at = 1; at < values.length; at += 8)
      this.counts.set(values[at] ?? -1, [...values.slice(at + 1, at + 8)]);
  }
}

void t.test('traffic of links comes once a second to all who look, and on request', async (t) => {
  const line = await hubLine(t, host);
  const { lab, link } = line;
  const view = await TrafficView.open(t, lab);
  await eventually('the first counts', () => view.of(link));
  t.same(view.of(link), [0, 0, 0, 0, 0, 0, 0]);
  await line.pass([frameOf(1), frameOf(2, 100)], 2);
  await line.passBack([frameOf(3)], 1);
  await eventually('the counts', () => (view.of(link)?.[2] === 1 ? true : undefined));
  t.same(view.of(link), [2, 160, 1, 60, 0, 0, 0]);
  const asked = await client.expect(200, 'GET', `${lab.path}/traffic`);
  t.same((asked['links'] as Json)[String(link['link_id'])], [2, 160, 1, 60, 0, 0, 0]);
  t.same(asked['columns'], view.texts[0]?.['columns']);

  await client.expect(201, 'PUT', line.at, { filters: { packet_loss: [100] } });
  const other = await TrafficView.open(t, lab);
  const near = await lab.peer(t, line.near, 2);
  await near.peer.send(near.near, [frameOf(4)]);
  await eventually('the filter', () =>
    other.of(link)?.[4] === 1 && view.of(link)?.[4] === 1 ? true : undefined,
  );

  const [c, d] = [await lab.hub('C'), await lab.hub('D')];
  const added = await lab.link([end(c, 0), end(d, 0)]);
  await eventually('the new link', () => view.of(added));
  await client.expect(204, 'DELETE', line.at);
  await eventually('the end of the old one', () =>
    view.links.size === 1 && other.links.size === 1 ? true : undefined,
  );
  t.same([...other.links.keys()], [added['link_id']]);
  await client.expect(204, 'POST', `${lab.path}/close`);
  await eventually('the end of all', () => (view.links.size === 0 ? true : undefined));
  t.equal((await client.get(`${lab.path}/traffic`)).status, 403);
});
