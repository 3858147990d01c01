/** Clouds: ports of a lab on an interface of the host and on UDP, through the interfaces of clients. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import { ComputeLab, nioPath } from '../../support/compute-lab.js';
import { eventually } from '../../support/eventually.js';
import { lackForNamespaces, NetworkNamespace } from '../../support/network-namespace.js';
import { pcapFile } from '../../support/pcap-records.js';
import { startServer } from '../../support/server-process.js';
import { freePort, UdpPeer } from '../../support/udp-peer.js';

type Json = Record<string, unknown>;

const skip = lackForNamespaces();
const VETH = `wfc${process.pid}`;
const BRIDGE = `wfb${process.pid}`;
const FAR = [198, 18, 78, 1];
const STATION = [198, 18, 78, 2];
const MAC = [2, 0, 0, 0, 0, 0xbb];

const server = await startServer(t, { flags: ['--nio-interfaces', `${VETH},${BRIDGE}`] });
const client = new Client(server.url);

function ip(...words: readonly string[]): void {
  execFileSync('ip', words);
}

/** An interface of the host whose other end, with an address, is in a namespace. */
function veth(t: Test): void {
  const namespace = new NetworkNamespace(t);
  ip('link', 'add', VETH, 'type', 'veth', 'peer', 'name', 'far');
  t.teardown(() => {
    ip('link', 'del', VETH);
  });
  ip('link', 'set', 'far', 'netns', namespace.name);
  namespace.ip('addr', 'add', `${FAR.join('.')}/30`, 'dev', 'far');
  namespace.ip('link', 'set', 'far', 'up');
  ip('link', 'set', VETH, 'up');
}

function whoHas(): Buffer {
  const request = [0, 1, 8, 0, 6, 4, 0, 1, ...MAC, ...STATION, 0, 0, 0, 0, 0, 0, ...FAR];
  return Buffer.concat([
    Buffer.alloc(6, 0xff),
    Buffer.from(MAC),
    Buffer.from('0806', 'hex'),
    Buffer.from(request),
  ]);
}

async function answered(station: UdpPeer): Promise<void> {
  for (let count = 1; ; count++) {
    const frame = (await station.receive(count))[count - 1];
    if (frame?.subarray(12, 14).toString('hex') !== '0806' || frame[21] !== 2) continue;
    t.same([...frame.subarray(28, 32)], FAR);
    return;
  }
}

const onInterface = (name: string): Json => ({ type: 'ethernet', name, interface: name, port_number: 0 });
const overUdp = (lport: number, rport: number): Json => {
  return { type: 'udp', name: 'far', port_number: 0, lport, rhost: '127.0.0.1', rport };
};

void t.test('a namespace answers through a cloud on an interface', { skip }, async (t) => {
  veth(t);
  const lab = await ComputeLab.open(client);
  const node = await lab.node('cloud', { ports_mapping: [onInterface(VETH)] });
  t.match(await client.expect(200, 'GET', node), {
    status: 'started',
    node_directory: /project-files\/builtin\//,
    remote_console_type: 'none',
    interfaces: [{ name: /./, special: Boolean, type: /ethernet|tap/ }],
  });
  for (let round = 0; round < 2; round++) {
    const station = await UdpPeer.open(t);
    const port = await lab.join(node, 0, station);
    await station.send(port, [whoHas()]);
    await answered(station);
    t.match(await client.put(node, { ports_mapping: [] }), {
      status: 409,
      body: { message: "Can't modify a cloud already connected." },
    });
    await lab.part(node, 0);
  }
  t.match(await client.put(node, { ports_mapping: [overUdp(1, 2)] }), { status: 200 });
  await client.expect(204, 'DELETE', node);
});

void t.test('a port on a bridge is a TAP of its own, which goes with the link', { skip }, async (t) => {
  veth(t);
  ip('link', 'add', BRIDGE, 'type', 'bridge');
  t.teardown(() => {
    ip('link', 'del', BRIDGE);
  });
  const lab = await ComputeLab.open(client);
  const node = await lab.node('cloud', { ports_mapping: [onInterface(BRIDGE)] });
  const station = await UdpPeer.open(t);
  const nio = { type: 'nio_udp', lport: await lab.udpPort(), rhost: '127.0.0.1', rport: station.port };
  t.match(await lab.nio(node, 0, nio), { status: 409, body: { message: /is down/ } });
  ip('link', 'set', BRIDGE, 'up');
  ip('link', 'set', VETH, 'master', BRIDGE);
  const ports = (): string[] => readdirSync(`/sys/class/net/${BRIDGE}/brif`).filter((name) => name !== VETH);
  const port = await lab.join(node, 0, station);
  t.match(ports(), [/^gns3tap\d+-0$/]);
  // The forwarding begins when the kernel has seen the carrier of the new port.
  await eventually('the namespace answers', async () => {
    await station.send(port, [whoHas()]);
    return station.received.some((frame) => frame[21] === 2 && frame[13] === 6) || undefined;
  });
  await lab.part(node, 0);
  await eventually('the TAP has gone', () => ports().length === 0 || undefined);
  await client.expect(204, 'DELETE', node);
});

void t.test('UDP is carried both ways, and captured', async (t) => {
  const far = await UdpPeer.open(t);
  const lport = await freePort();
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'udp cloud' });
  const path = `/v2/projects/${String(id)}`;
  t.teardown(() => client.expect(204, 'DELETE', path));
  const make = (name: string, node_type: string, properties: Json = {}): Promise<Json> =>
    client.expect(201, 'POST', `${path}/nodes`, { name, node_type, compute_id: 'local', properties });
  const cloud = await make('Cloud{0}', 'cloud', { ports_mapping: [overUdp(lport, far.port)] });
  t.match(cloud, {
    status: 'started',
    command_line: null,
    console: null,
    ports: [{ name: 'far', port_number: 0 }],
  });
  const hub = await make('Hub{0}', 'ethernet_hub');
  const nodes = [cloud, hub].map(({ node_id }) => ({ node_id, adapter_number: 0, port_number: 0 }));
  const link = await client.expect(201, 'POST', `${path}/links`, { nodes });
  const linkPath = `${path}/links/${String(link['link_id'])}`;
  const capture = await client.expect(201, 'POST', `${linkPath}/start_capture`, {});
  const lab = await ComputeLab.open(client, String(id));
  const near = await UdpPeer.open(t);
  const port = await lab.join(`${lab.path}/ethernet_hub/nodes/${String(hub['node_id'])}`, 1, near);
  const frames = Array.from({ length: 6 }, (_, index) => Buffer.alloc(60, 2 * index));
  await near.send(port, frames.slice(0, 3));
  t.same(await far.receive(3), frames.slice(0, 3));
  await far.send(lport, frames.slice(3));
  t.same(await near.receive(3), frames.slice(3));
  await client.expect(201, 'POST', `${linkPath}/stop_capture`);
  t.equal(pcapFile(readFileSync(String(capture['capture_file_path']))).packets.length, 6);
  t.match(
    await client.put(`${path}/nodes/${String(cloud['node_id'])}`, { properties: { ports_mapping: [] } }),
    {
      status: 409,
    },
  );
  t.match(await client.post(`${path}/nodes/${String(cloud['node_id'])}/duplicate`, { x: 1, y: 1 }), {
    status: 409,
  });
  await client.expect(204, 'DELETE', linkPath);
  const changed = await client.expect(200, 'PUT', `${path}/nodes/${String(cloud['node_id'])}`, {
    properties: { ports_mapping: [overUdp(lport, far.port), overUdp(lport, far.port)] },
  });
  t.match(changed, { ports: [{ port_number: 0 }, { port_number: 1 }] });
});

void t.test('a new cloud has the interfaces of the host', async (t) => {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'new cloud' });
  const path = `/v2/projects/${String(id)}`;
  t.teardown(() => client.expect(204, 'DELETE', path));
  const found = (await client.get('/v2/compute/network/interfaces')).body as Json[];
  const interfaces = found.map(({ name, special, type }) => ({ name, special, type }));
  const template = '/templates/39e257dc-8412-3174-b6b3-0ee3ed6a43e9';
  const made = await client.expect(201, 'POST', `${path}${template}`, { x: 0, y: 0, compute_id: 'local' });
  const plain = interfaces.filter(({ special }) => special === false).map(({ name }) => name);
  t.same((made['properties'] as Json)['interfaces'], interfaces);
  t.same(
    (made['ports'] as Json[]).map(({ name }) => name),
    plain,
  );
  t.equal(
    made['node_directory'],
    `${server.data}/projects/${String(id)}/project-files/builtin/${String(made['node_id'])}`,
  );
  for (const action of ['start', 'stop', 'suspend', 'reload']) {
    t.match(await client.post(`${path}/nodes/${String(made['node_id'])}/${action}`), {
      body: { status: 'started' },
    });
  }
});

void t.test('a port that may not or cannot be opened is refused, and stays free', { skip }, async (t) => {
  const lab = await ComputeLab.open(client);
  const far = await UdpPeer.open(t);
  const ports = [
    onInterface('lo'),
    onInterface('wfnothere'),
    { type: 'tap', name: 'tap', interface: 'wfnothere', port_number: 0 },
    overUdp(far.port, 9),
  ];
  const node = await lab.node('cloud', { ports_mapping: ports });
  const reasons = [/--nio-interfaces do not have it/, /is down/, /is down/, /Could not create/];
  for (const [port, reason] of reasons.entries()) {
    const nio = { type: 'nio_udp', lport: await lab.udpPort(), rhost: '127.0.0.1', rport: 9 };
    for (let attempt = 0; attempt < 2; attempt++) {
      t.match(await client.post(nioPath(node, port), nio), { status: 409, body: { message: reason } });
    }
  }
  t.match(await client.post(nioPath(node, 4), { type: 'nio_null' }), { status: 409 });
  // A link that cannot be attached leaves nothing open behind the port.
  const free = await lab.node('cloud', { ports_mapping: [overUdp(await freePort(), far.port)] });
  t.match(await client.post(nioPath(free, 0), { type: 'nio_nat' }), { status: 409 });
  t.match(await client.post(nioPath(free, 0), { type: 'nio_null' }), { status: 201 });
  t.match(await client.post(nioPath(free, 0), { type: 'nio_null' }), { status: 409 }, 'attached twice');
  await client.expect(204, 'DELETE', free);
});
