/** Frames through switches that run here: from socket to socket, live changes, and what is counted of it. */
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { eventually } from '../support/eventually.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

type Json = Record<string, unknown>;

const server = await startServer(t);
const client = new Client(server.url);
const lab = await ComputeLab.open(client);

/** A cell with a mark, whose header error control is left to be mended. */
function cell(vpi: number, vci: number, mark = 0): Buffer {
  const bytes = Buffer.alloc(53, mark);
  bytes.writeUInt32BE(((vpi << 20) | (vci << 4)) >>> 0);
  bytes[4] = 0;
  return bytes;
}

const labelOf = (bytes: Buffer): string =>
  `${bytes.readUInt32BE() >>> 20}:${(bytes.readUInt32BE() >>> 4) & 0xffff}`;

interface Statistics {
  readonly connections: readonly Json[];
  readonly ports: readonly {
    readonly port_number: number;
    readonly counters: Json & { readonly drops: Json };
  }[];
}

const statisticsOf = async (node: string): Promise<Statistics> =>
  (await client.expect(200, 'GET', `${node}/statistics`)) as unknown as Statistics;

/** Once the first port has seen so many frames. */
function statisticsAfter(node: string, frames: number): Promise<Statistics> {
  return eventually(`${frames} frames in`, async () => {
    const found = await statisticsOf(node);
    return found.ports[0]?.counters['frames_in'] === frames ? found : undefined;
  });
}

void t.test('cells pass an ATM switch both ways, by channel and by path', async (t) => {
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await lab.node('atm_switch', { mappings: { '1:0:100': '10:0:200', '1:7': '10:8' } });
  const [toA, toB] = [await lab.join(node, 1, a), await lab.join(node, 10, b)];
  await a.send(toA, [cell(0, 100, 1), cell(7, 33, 2)]);
  t.same((await b.receive(2)).map(labelOf), ['0:200', '8:33']);
  await b.send(toB, [cell(0, 200, 3), cell(8, 44, 4)]);
  const back = await a.receive(2);
  t.same(back.map(labelOf), ['0:100', '7:44']);
  t.same(
    back.map((bytes) => bytes[52]),
    [3, 4],
    'the content is what was sent',
  );
  const { connections, ports } = await statisticsAfter(node, 2);
  t.strictSame(connections, [
    { cells: 1, from: '1:0:100', to: '10:0:200' },
    { cells: 1, from: '10:0:200', to: '1:0:100' },
    { cells: 1, from: '1:7', to: '10:8' },
    { cells: 1, from: '10:8', to: '1:7' },
  ]);
  t.match(ports, [
    { port_number: 1, counters: { frames_in: 2, octets_in: 106, frames_out: 2, socket_full: 0 } },
    { port_number: 10, counters: { frames_in: 2, frames_out: 2, drops: { no_connection: 0 } } },
  ]);
});

void t.test('mappings that are changed work at once, and the rest is not disturbed', async (t) => {
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await lab.node('atm_switch', { mappings: { '1:0:100': '2:0:100', '1:0:101': '2:0:101' } });
  const toA = await lab.join(node, 1, a);
  await lab.join(node, 2, b);
  await a.send(toA, [cell(0, 100), cell(0, 101)]);
  await b.receive(2);
  await client.expect(200, 'PUT', node, { mappings: { '1:0:100': '2:0:100', '1:0:102': '2:0:222' } });
  await a.send(toA, [cell(0, 101), cell(0, 102), cell(0, 100)]);
  t.same((await b.receive(4)).map(labelOf), ['0:100', '0:101', '0:222', '0:100']);
  const { connections, ports } = await statisticsAfter(node, 5);
  t.match(ports[0]?.counters.drops, { no_connection: 1 });
  t.match(connections, [
    { from: '1:0:100', cells: 2 },
    { from: '2:0:100', cells: 0 },
    { from: '1:0:102', cells: 1 },
    {},
  ]);
  t.equal((await client.put(node, { mappings: { '1:0:100': 'nonsense' } })).status, 400);
  await a.send(toA, [cell(0, 102)]);
  await b.receive(5);
});

void t.test('a detached link is silent, and its traffic comes back where it is attached anew', async (t) => {
  const [a, b, c] = [await UdpPeer.open(t), await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await lab.node('frame_relay_switch', { mappings: { '1:101': '2:202' } });
  const toA = await lab.join(node, 1, a);
  await lab.join(node, 2, b);
  const frame = Buffer.from([0x18, 0x51, 1, 2, 3]);
  await a.send(toA, [frame]);
  t.same(await b.receive(1), [Buffer.from([0x30, 0xa1, 1, 2, 3])]);
  await lab.part(node, 2);
  await a.send(toA, [frame]);
  t.match(await statisticsAfter(node, 2), {
    ports: [{ port_number: 1, counters: { drops: { no_output: 1 } } }],
    connections: [{ from: '1:101', to: '2:202', frames: 1 }, {}],
  });
  await lab.join(node, 2, c);
  await a.send(toA, [frame]);
  await c.receive(1);
  t.equal(b.received.length, 1);
});

void t.test('a suspended port counts and carries nothing', async (t) => {
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await lab.node('ethernet_hub');
  const toA = await lab.join(node, 0, a, { suspend: true });
  const toB = await lab.join(node, 1, b);
  await a.send(toA, [Buffer.alloc(60)]);
  await statisticsAfter(node, 1);
  await b.send(toB, [Buffer.alloc(60)]);
  await eventually('both are dropped', async () => {
    const [port] = (await statisticsOf(node)).ports;
    return port?.counters.drops['suspended'] === 2 ? true : undefined;
  });
  t.same([a.received.length, b.received.length], [0, 0]);
});

void t.test('an Ethernet switch learns, and tells what; VLANs that are changed part at once', async (t) => {
  const peers = [await UdpPeer.open(t), await UdpPeer.open(t), await UdpPeer.open(t)] as const;
  const node = await lab.node('ethernet_switch');
  const near = [
    await lab.join(node, 0, peers[0]),
    await lab.join(node, 1, peers[1]),
    await lab.join(node, 2, peers[2]),
  ] as const;
  const address = (last: number): number[] => [2, 0, 0, 0, 0, last];
  const frame = (to: number[], from: number[]): Buffer =>
    Buffer.concat([Buffer.from([...to, ...from, 0x08, 0x00]), Buffer.alloc(46)]);
  const everybody = [255, 255, 255, 255, 255, 255];
  await peers[0].send(near[0], [frame(everybody, address(1))]);
  await Promise.all([peers[1].receive(1), peers[2].receive(1)]);
  await peers[1].send(near[1], [frame(address(1), address(2))]);
  await peers[0].receive(1);
  t.equal(peers[2].received.length, 1, 'it went to one port only');
  const { body } = await client.get(`${node}/mac_table`);
  t.match(body, [
    { mac_address: '02:00:00:00:00:01', port_number: 0, vlan: 1 },
    { mac_address: '02:00:00:00:00:02', port_number: 1, vlan: 1 },
  ]);
  const { ports_mapping: mapping } = await client.expect(200, 'GET', node);
  const changed = (mapping as Json[]).map((port, index) => (index === 0 ? { ...port, vlan: 7 } : port));
  await client.expect(200, 'PUT', node, { ports_mapping: changed });
  await peers[0].send(near[0], [frame(everybody, address(1))]);
  t.match((await statisticsAfter(node, 2)).ports[0]?.counters.drops, { no_output: 1 });
  t.same([peers[1].received.length, peers[2].received.length], [1, 1]);
});

void t.test('a frame that a trunk brings without a tag does not leave at a qinq port', async (t) => {
  const [trunk, tunnel, access] = [await UdpPeer.open(t), await UdpPeer.open(t), await UdpPeer.open(t)];
  const port = (port_number: number, type: string): Json => ({ name: type, port_number, type, vlan: 10 });
  const node = await lab.node('ethernet_switch', {
    ports_mapping: [port(0, 'dot1q'), port(1, 'qinq'), port(2, 'access')],
  });
  const near = await lab.join(node, 0, trunk);
  await lab.join(node, 1, tunnel);
  await lab.join(node, 2, access);
  const frame = (rest: string): Buffer =>
    Buffer.from(`ffffffffffff020000000001${rest}080045000014`.padEnd(120, '0'), 'hex');
  // Both end in VLAN 10, and the switch of Dynamips does the same with them.
  await trunk.send(near, [frame(''), frame('8100000a')]);
  t.same((await access.receive(2)).length, 2);
  t.match((await statisticsAfter(node, 2)).ports[0]?.counters.drops, { vlan_mismatch: 1 });
  t.same(await tunnel.receive(1), [Buffer.from(frame('').subarray(0, 56))]);
});

void t.test('a Frame Relay switch tells its DLCIs and how the management of each port stands', async (t) => {
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await lab.node('frame_relay_switch', { mappings: { '1:101': '2:202' } });
  const toA = await lab.join(node, 1, a);
  const silent = { dialect: null, enquiries: 0, last_enquiry_seconds_ago: null };
  t.match((await client.get(`${node}/dlcis`)).body, [
    { port_number: 1, lmi: silent, dlcis: [{ dlci: 101, to_port_number: 2, to_dlci: 202, active: false }] },
    { port_number: 2, lmi: silent, dlcis: [{ dlci: 202, to_port_number: 1, to_dlci: 101, active: true }] },
  ]);
  await lab.join(node, 2, b);
  // ANSI Annex D: a status enquiry for everything, with the first sequence number.
  const enquiry = (sent: number, received: number): Buffer =>
    Buffer.from([0x00, 0x01, 0x03, 0x08, 0x00, 0x75, 0x95, 1, 1, 0, 3, 2, sent, received]);
  const status = (count: number, pvc: string): string =>
    `00010308007d950101000302${`0${count}`.repeat(2)}070306a8${pvc}`;
  await a.send(toA, [enquiry(1, 0)]);
  const [first] = await a.receive(1);
  t.equal(first?.toString('hex'), status(1, '8a'), 'the PVC is active and new');
  t.match((await client.get(`${node}/dlcis`)).body, [
    { port_number: 1, lmi: { dialect: 'ansi', enquiries: 1 }, dlcis: [{ dlci: 101, active: true }] },
    {},
  ]);
  await a.send(toA, [enquiry(2, 1)]);
  t.equal((await a.receive(2))[1]?.toString('hex'), status(2, '82'), 'it is not, when the router knows it');
});

void t.test('only the kinds that have a table tell one', async (t) => {
  for (const kind of ['atm_switch', 'ethernet_hub']) {
    const node = await lab.node(kind);
    t.equal((await client.get(`${node}/mac_table`)).status, 404);
    t.equal((await client.get(`${node}/dlcis`)).status, 404);
  }
});

void t.test('statistics can begin anew', async (t) => {
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await lab.node('atm_switch', { mappings: { '1:0:100': '2:0:200' } });
  const toA = await lab.join(node, 1, a);
  await lab.join(node, 2, b);
  await a.send(toA, [cell(0, 100), cell(0, 99)]);
  await statisticsAfter(node, 2);
  t.equal((await client.delete(`${node}/statistics`)).status, 204);
  const { connections, ports } = await statisticsOf(node);
  for (const { counters } of ports) {
    const { drops, ...passed } = counters;
    t.ok([...Object.values(passed), ...Object.values(drops)].every((count) => count === 0));
  }
  t.ok(connections.every(({ cells }) => cells === 0));
  await a.send(toA, [cell(0, 100)]);
  await b.receive(2);
  t.match(await statisticsAfter(node, 1), { connections: [{ cells: 1 }, { cells: 0 }] });
});

void t.test('switches of one lab that lead to each other pass cells along', async (t) => {
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const mappings = { '1:0:100': '2:0:100' };
  const nodes = [
    await lab.node('atm_switch', { mappings }),
    await lab.node('atm_switch', { mappings }),
  ] as const;
  const [left, right] = [await lab.udpPort(), await lab.udpPort()];
  const toA = await lab.join(nodes[0], 1, a);
  const between = { type: 'nio_udp', rhost: '127.0.0.1' };
  await lab.nio(nodes[0], 2, { ...between, lport: left, rport: right });
  await lab.nio(nodes[1], 1, { ...between, lport: right, rport: left });
  await lab.join(nodes[1], 2, b);
  await a.send(toA, [cell(0, 100, 5)]);
  t.same((await b.receive(1)).map(labelOf), ['0:100']);
});

void t.test('cells with a wrong checksum are mended, or refused where that is wished', async (t) => {
  const strict = await startServer(t, { flags: ['--refuse-bad-hec'] });
  const its = await ComputeLab.open(new Client(strict.url));
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await its.node('atm_switch', { mappings: { '1:0:0': '2:0:1' } });
  const toA = await its.join(node, 1, a);
  await its.join(node, 2, b);
  const good = cell(0, 0);
  good[4] = 0x55;
  await a.send(toA, [cell(0, 0), good]);
  await b.receive(1);
  await eventually('the wrong one is refused', async () => {
    const { ports } = (await (await fetch(`${strict.url}${node}/statistics`)).json()) as Statistics;
    const counters = ports[0]?.counters;
    return counters?.['bad_hec'] === 1 && counters.drops['bad_hec_refused'] === 1 ? true : undefined;
  });
  t.equal(b.received.length, 1);
});

void t.test('the process ends while cells pass', async (t) => {
  const busy = await startServer(t);
  const its = await ComputeLab.open(new Client(busy.url));
  const [a, b] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const node = await its.node('atm_switch', { mappings: { '1:0:100': '2:0:200' } });
  const toA = await its.join(node, 1, a);
  await its.join(node, 2, b);
  for (let port = 3; port < 60; port++) {
    await its.nio(node, port, { type: 'nio_udp', lport: await its.udpPort(), rhost: '127.0.0.1', rport: 9 });
  }
  const sending = setInterval(() => {
    a.send(toA, [cell(0, 100)]).catch(() => undefined);
  }, 1);
  await b.receive(10);
  t.equal(await busy.stop('SIGTERM'), 0);
  clearInterval(sending);
});
