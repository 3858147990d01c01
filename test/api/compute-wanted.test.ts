/** The dialect between Wirefarms: what a controller wants of a project, and what the compute makes of it. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { Client } from '../support/client.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

type Json = Record<string, unknown>;

const server = await startServer(t);
const client = new Client(server.url);
const [hub, odd] = [randomUUID(), randomUUID()];
const project = randomUUID();
const path = `/v2/compute/projects/${project}`;
const nodes = [{ node_type: 'ethernet_hub', node_id: hub, settings: { name: 'HUB' } }];
const frame = Buffer.alloc(60, 7);

const link = [randomUUID(), randomUUID()];
const place = (port: number): Json => ({ node_id: hub, adapter_number: 0, port_number: port });
const attachment = (port: number, more: Json = {}): Json => ({
  ...place(port),
  link_id: link[port],
  ...more,
});

const put = (body: Json): Promise<Json> =>
  client.expect(200, 'PUT', `${path}/wanted`, { name: 'lab', ...body });
const refused = async (body: Json): Promise<unknown> =>
  (await client.put(`${path}/wanted`, { name: 'lab', ...body })).body;

async function framesIn(): Promise<number> {
  const { ports } = await client.expect(200, 'GET', `${path}/ethernet_hub/nodes/${hub}/statistics`);
  return (ports as { port_number: number; counters: { frames_in: number } }[]).reduce(
    (sum, { counters }) => sum + counters.frames_in,
    0,
  );
}

const peers = [await UdpPeer.open(t), await UdpPeer.open(t)] as const;
const far = (index: 0 | 1): Json => ({ peer: { host: '127.0.0.1', port: peers[index].port } });
let ports: number[] = [];

void t.test('all that is wanted is made, with ports that the compute chooses', async (t) => {
  t.match(await client.put(`${path}/wanted`, { name: 'lab', epoch: 1, number: 2, since: 1 }), {
    status: 404,
  });
  const made = await put({ epoch: 5, number: 1, nodes, attachments: [attachment(0), attachment(1)] });
  t.match(made, { epoch: 5, number: 1, nodes: [{ node_id: hub, status: 'started', fault: null }] });
  ports = (made['attachments'] as { lport: number }[]).map(({ lport }) => lport);
  t.equal(new Set(ports).size, 2);
  const joined = await put({
    ...{ epoch: 5, number: 2, since: 1 },
    attachments: [attachment(0, far(0)), attachment(1, far(1))],
  });
  t.match(joined, { number: 2, nodes: [], attachments: ports.map((lport) => ({ lport, fault: null })) });
  await peers[0].send(ports[0] ?? 0, [frame]);
  t.strictSame(await peers[1].receive(1), [frame]);
});

void t.test(
  'frames do not notice what is said again, nor another controller that wants the same',
  async (t) => {
    const before = await framesIn();
    t.ok(before > 0);
    await put({ epoch: 5, number: 2, since: 1, attachments: [attachment(0, far(1))] });
    const same = await put({ epoch: 6, number: 1, nodes, attachments: [attachment(0), attachment(1)] });
    t.match(same, { epoch: 6, number: 1, attachments: ports.map((lport) => ({ lport })) });
    await put({ epoch: 6, number: 2, since: 1, attachments: [attachment(0, far(0)), attachment(1, far(1))] });
    t.equal(await framesIn(), before, 'the counters of an attachment begin with it');
    t.match(await client.expect(200, 'GET', `${path}/wanted`), { epoch: 6, number: 2 });
  },
);

void t.test('a filter is changed, and a far end, without another port', async (t) => {
  const more = await UdpPeer.open(t);
  const blocked = attachment(1, { ...far(1), filters: { frequency_drop: [-1] } });
  await put({ epoch: 6, number: 3, since: 2, attachments: [blocked] });
  const peer = { host: '127.0.0.1', port: more.port };
  const moved = await put({ epoch: 6, number: 4, since: 3, attachments: [attachment(1, { peer })] });
  t.match(moved, { attachments: [{ lport: ports[1], fault: null }] });
  await peers[0].send(ports[0] ?? 0, [frame]);
  t.strictSame(await more.receive(1), [frame]);
  t.equal(peers[1].received.length, 1);
});

void t.test('a controller that has lost the project is refused, and so is a gap', async (t) => {
  t.match(await refused({ epoch: 5, number: 9, nodes: [] }), { status: 409, code: 'wanted_older' });
  t.match(await refused({ epoch: 6, number: 9, since: 8 }), { status: 409, code: 'wanted_gap' });
  t.match(await refused({ epoch: 7, number: 2, since: 1 }), { status: 409, code: 'wanted_gap' });
  // A request that was overtaken on its way changes nothing.
  await put({ epoch: 6, number: 3, nodes: [] });
  t.match(await client.expect(200, 'GET', `${path}/wanted`), {
    epoch: 6,
    number: 4,
    nodes: [{ node_id: hub }],
  });
});

void t.test('a node that cannot run is told, and is tried again when it is wanted again', async (t) => {
  const settings = { name: 'odd"', console: null };
  const strange = { node_type: 'ethernet_switch', node_id: odd, settings };
  const lost = { ...attachment(0), node_id: odd };
  const answer = await put({ epoch: 6, number: 5, since: 4, nodes: [strange], attachments: [lost] });
  t.match(answer, {
    number: 5,
    nodes: [{ node_id: odd, status: null, fault: { status: 400 } }],
    attachments: [{ lport: null, fault: { status: 404 } }],
  });
  const mended = { ...strange, settings: { name: 'even' } };
  t.match(await put({ epoch: 6, number: 6, since: 5, nodes: [mended], attachments: [lost] }), {
    nodes: [{ status: 'started', fault: null }],
    attachments: [{ fault: null }],
  });
});

void t.test('nodes and links that are not wanted any more go, with their ports', async (t) => {
  await put({ epoch: 6, number: 7, since: 6, removed_nodes: [odd], removed_attachments: [place(1)] });
  t.match(await client.expect(200, 'GET', `${path}/wanted`), { nodes: [{ node_id: hub }] });
  t.match(await client.get(`${path}/ethernet_switch/nodes/${odd}`), { status: 404 });
  const all = await put({ epoch: 7, number: 1, nodes: [] });
  t.match(all, { nodes: [], attachments: [] });
  t.match(await client.expect(200, 'GET', '/v2/compute/network/ports'), { udp_ports: [] });
});

void t.test(
  'a body with thousands of nodes is checked in slices, and its first fault is named',
  async (t) => {
    const many = Array.from({ length: 4096 }, (_, index) => ({
      ...{ node_type: 'ethernet_hub', node_id: randomUUID() },
      settings: { name: index < 4095 ? `HUB${index}` : 7 },
    }));
    t.match(await refused({ epoch: 9, number: 1, nodes: many }), {
      ...{ status: 400, code: 'schema_violated' },
      message: /nodes\.4095\.settings\.name: Invalid input: expected string/,
    });
    t.match(await refused({ epoch: 9, number: 1, nodes: [...many, many[0]] }), {
      message: /nodes: Too big: expected array to have <=4096 items/,
    });
    const small = Array.from({ length: 90_000 }, () => []);
    t.match(await refused({ epoch: 9, number: 1, nodes: small }), { request: { truncated: /^\{"name"/ } });
    t.match(await refused({ epoch: '9', number: 1, nodes: many }), { message: /epoch: Invalid input/ });
    t.match(await refused({ epoch: 9, number: 1, nodes: 'many' }), { message: /nodes: Invalid input/ });
  },
);

void t.test(
  'only a Wirefarm is told of the dialect, and what is open here belongs to this controller',
  async (t) => {
    t.notOk('dialect' in (await client.expect(200, 'GET', '/v2/compute/capabilities')));
    t.match(await client.expect(200, 'GET', '/v2/compute/capabilities?controller=x'), { dialect: 2 });
    const { project_id: own } = await client.expect(201, 'POST', '/v2/projects', { name: 'own' });
    const body = { name: 'own', epoch: 1, number: 1 };
    t.match(await client.put(`/v2/compute/projects/${String(own)}/wanted`, body), {
      status: 409,
      body: { code: 'wanted_of_own' },
    });
  },
);
