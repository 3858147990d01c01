/** NAT nodes: a virtual PC behind one reaches a server in a namespace that stands for the world, and nothing of the host. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../../support/client.js';
import { ComputeLab, nioPath } from '../../../support/compute-lab.js';
import { eventually } from '../../../support/eventually.js';
import { lackForNamespaces } from '../../../support/network-namespace.js';
import { ECHO, natWorld, udpEcho, WORLD } from '../../../support/nat-world.js';
import { NotificationLog } from '../../../support/notification-log.js';
import { startServer } from '../../../support/server-process.js';
import { freePort, UdpPeer } from '../../../support/udp-peer.js';
import { missingVpcs, VirtualPc } from '../../../support/vpcs.js';

type Json = Record<string, unknown>;

const lacksQemu = spawnSync('which', ['qemu-system-x86_64']).status !== 0;
const skip = lacksQemu
  ? 'the program qemu-system-x86_64 is missing: install the package qemu-system-x86'
  : missingVpcs() || lackForNamespaces();
const LEASE = /DORA IP 192\.168\.122\.(\d+)\/24 GW 192\.168\.122\.1/;

const server = await startServer(t);
const client = new Client(server.url);

/** The processes that the keeper has started for a node. */
function programsOf(node: string): number[] {
  const mark = `/${node.slice(node.lastIndexOf('/') + 1)}\0`;
  return readdirSync('/proc')
    .filter((name) => {
      try {
        return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark);
      } catch {
        return false;
      }
    })
    .map(Number);
}

async function dropsOf(node: string, cause: 'nat_refused' | 'suspended'): Promise<number> {
  const { ports } = await client.expect(200, 'GET', `${node}/statistics`);
  const [port] = ports as { counters: { drops: Record<string, number> } }[];
  return port?.counters.drops[cause] ?? 0;
}

const refusedBy = (node: string): Promise<number> => dropsOf(node, 'nat_refused');

/** A virtual PC whose frames go to a port of a node, and its lease. */
async function guest(
  t: Test,
  lab: ComputeLab,
  id: number,
  node: string,
  port: number,
): Promise<{ readonly pc: VirtualPc; readonly address: string }> {
  const own = await freePort();
  const pc = await VirtualPc.start(t, id, own, await lab.join(node, port, { port: own }));
  const printed = await pc.run('dhcp');
  t.match(printed, LEASE);
  return { pc, address: LEASE.exec(printed)?.[1] ?? '' };
}

void t.test('a guest gets an address, reaches the world, and not the host', { skip }, async (t) => {
  await natWorld(t);
  const lab = await ComputeLab.open(client);
  const nat = await lab.node('nat');
  t.match(await client.expect(200, 'GET', nat), { status: 'started', ports_mapping: [{ name: 'nat0' }] });
  t.same(programsOf(nat), [], 'nothing runs without a link');
  const { pc } = await guest(t, lab, 1, nat, 0);
  t.not(programsOf(nat).length, 0);
  t.match(await pc.run('show ip'), /DNS +: 192\.168\.122\.3/);
  // It asks for routers of IPv6, which are not there.
  const before = await refusedBy(nat);
  t.match(await pc.run(`ping ${WORLD} -c 1 -P 6 -p ${ECHO}`), /Connect +7@198\.18\.79\.1 seq=1 ttl=\d+/);
  t.match(await pc.run(`ping ${WORLD} -c 1 -P 17 -p ${ECHO}`), /198\.18\.79\.1 udp_seq=1 ttl=\d+/);
  t.match(await pc.run('ping 192.168.122.1 -c 1'), /192\.168\.122\.1 icmp_seq=1 ttl=\d+/);
  t.equal(await refusedBy(nat), before);

  const port = await freePort();
  const { udp, listening } = udpEcho(t, '127.0.0.1', port);
  const tcp = createServer((socket) => socket.end()).listen(port, '127.0.0.1');
  t.teardown(() => tcp.close());
  await Promise.all([listening, once(tcp, 'listening')]);
  let came = 0;
  tcp.on('connection', () => came++);
  udp.on('message', () => came++);
  for (const address of ['192.168.122.1', '192.168.122.3', '127.0.0.1']) {
    const sofar = await refusedBy(nat);
    t.notMatch(await pc.run(`ping ${address} -c 1 -P 6 -p ${port}`), /Connect .* ttl=/);
    t.notMatch(await pc.run(`ping ${address} -c 1 -P 17 -p ${port}`), /udp_seq=1 ttl=/);
    t.ok((await refusedBy(nat)) > sofar, address);
  }
  t.equal(came, 0, 'nothing came to the loopback of the host');

  await lab.part(nat, 0);
  t.same(programsOf(nat), [], 'the program goes with the link');
});

void t.test('two guests behind a switch share one NAT node', { skip }, async (t) => {
  await natWorld(t);
  const lab = await ComputeLab.open(client);
  const nat = await lab.node('nat');
  const ports = [0, 1, 2].map((port_number) => ({
    name: `${port_number}`,
    port_number,
    type: 'access',
    vlan: 1,
  }));
  const sw = await lab.node('ethernet_switch', { ports_mapping: ports });
  await lab.link([nat, 0], [sw, 2]);
  const one = await guest(t, lab, 1, sw, 0);
  const two = await guest(t, lab, 2, sw, 1);
  t.not(one.address, two.address);
  for (const { pc } of [one, two]) {
    t.match(await pc.run(`ping ${WORLD} -c 1 -P 6 -p ${ECHO}`), /Connect +7@198\.18\.79\.1 seq=1 ttl=\d+/);
  }
  t.match(await one.pc.run(`ping 192.168.122.${two.address} -c 1`), /icmp_seq=1 ttl=64/);
  await client.expect(204, 'DELETE', nat);
  t.same(programsOf(nat), [], 'a node that is deleted leaves nothing');
});

void t.test(
  'frames that a NAT does not carry are counted, and a suspended port carries none',
  { skip },
  async (t) => {
    const lab = await ComputeLab.open(client);
    const nat = await lab.node('nat');
    const station = await UdpPeer.open(t);
    const lport = await lab.join(nat, 0, station);
    const whoHas = Buffer.from(
      `ffffffffffff0050796668010806000108000604000100507966680100000000000000000000c0a87a01${'00'.repeat(18)}`,
      'hex',
    );
    await station.send(lport, [whoHas]);
    const [answer] = await station.receive(1);
    t.equal(answer?.subarray(28, 32).toString('hex'), 'c0a87a01');
    const ipv6 = Buffer.from(whoHas);
    ipv6.writeUInt16BE(0x86dd, 12);
    await station.send(lport, [ipv6]);
    await eventually('it is counted', async () => (await refusedBy(nat)) === 1 || undefined);

    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: station.port };
    const suspended = { ...nio, suspend: true, filters: {} };
    t.strictSame(await client.expect(201, 'PUT', nioPath(nat, 0), suspended), suspended);
    await station.send(lport, [ipv6]);
    await eventually('it is dropped', async () => (await dropsOf(nat, 'suspended')) === 1 || undefined);
    await client.expect(201, 'PUT', nioPath(nat, 0), nio);
    await station.send(lport, [whoHas]);
    await station.receive(2);
    t.match(await client.put(nioPath(nat, 0), { ...nio, rport: 9 }), { status: 409 });
    t.match(await client.put(nioPath(nat, 0), { ...nio, filters: { bpf: ['no such thing'] } }), {
      status: 400,
    });
    await lab.part(nat, 0);
    t.match(await client.put(nioPath(nat, 0), nio), { status: 409 });
    t.match(await lab.nio(nat, 1, nio), { status: 409, body: { message: "Port 1 doesn't exist" } });
  },
);

void t.test(
  'a program that ends as soon as it was started stays down, and is told of',
  { skip },
  async (t) => {
    const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'nat' });
    const path = `/v2/projects/${String(id)}`;
    t.teardown(() => client.expect(204, 'DELETE', path));
    const make = (node_type: string): Promise<Json> =>
      client.expect(201, 'POST', `${path}/nodes`, {
        name: `${node_type}-{0}`,
        node_type,
        compute_id: 'local',
      });
    const [nat, hub] = [await make('nat'), await make('ethernet_hub')];
    t.match(nat, {
      status: 'started',
      console: null,
      ports: [{ name: 'nat0' }],
    });
    const at = `${path}/nodes/${String(nat['node_id'])}`;
    const folder = join(server.data, `projects/${String(id)}/project-files/builtin`);
    mkdirSync(join(folder, String(nat['node_id'])), { recursive: true });
    writeFileSync(join(folder, String(nat['node_id']), 'note'), 'x');
    const nodes = [nat, hub].map(({ node_id }) => ({ node_id, adapter_number: 0, port_number: 0 }));
    const link = await client.expect(201, 'POST', `${path}/links`, { nodes });
    const stream = await NotificationLog.open(`${server.url}${path}/notifications`);
    const told = stream.next(({ action }) => action === 'log.error');
    for (const pid of programsOf(at)) process.kill(pid, 'SIGKILL');
    t.match(await told, { event: { message: /stays down until its link is made anew.*: signal SIGKILL/ } });
    t.same(programsOf(at), []);
    await client.expect(204, 'DELETE', `${path}/links/${String(link['link_id'])}`);
    await client.expect(201, 'POST', `${path}/links`, { nodes });
    t.not(programsOf(at).length, 0);
    stream.close();
    await client.expect(204, 'DELETE', at);
    t.same(programsOf(at), []);
    t.same(readdirSync(folder), [], 'the folder of the node goes with it');
  },
);

void t.test('the death of the server ends the program', { skip }, async (t) => {
  const mortal = await startServer(t);
  const other = new Client(mortal.url);
  const lab = await ComputeLab.open(other);
  const nat = await lab.node('nat');
  t.match(await lab.nio(nat, 0, { type: 'nio_null' }), { status: 201 });
  t.not(programsOf(nat).length, 0);
  await mortal.stop('SIGKILL');
  await eventually('it has ended', () => programsOf(nat).length === 0 || undefined);
});
