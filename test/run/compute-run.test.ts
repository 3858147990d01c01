/** Projects of the controller that run: what a client draws carries frames. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { eventually } from '../support/eventually.js';
import { NotificationLog } from '../support/notification-log.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

const FLAGS = ['--udp-ports', '23000-23009'];
const TYPE = 'ethernet_switch';

/** Two switches of a project of the controller, joined by a link at port 0 of both. */
interface Joined {
  readonly project: string;
  readonly link: string;
  /** On the compute. */
  readonly switches: readonly [string, string];
}

async function joined(client: Client, name: string, settings: object = {}): Promise<Joined> {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name, ...settings });
  const project = `/v2/projects/${String(id)}`;
  const node = async (): Promise<string> => {
    const body = { name: 'SW{0}', node_type: TYPE, compute_id: 'local' };
    return String((await client.expect(201, 'POST', `${project}/nodes`, body))['node_id']);
  };
  const ids = [await node(), await node()] as const;
  const nodes = ids.map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 }));
  const { link_id: link } = await client.expect(201, 'POST', `${project}/links`, { nodes });
  const onCompute = (node_id: string): string =>
    `/v2/compute/projects/${String(id)}/${TYPE}/nodes/${node_id}`;
  return {
    project,
    link: `${project}/links/${String(link)}`,
    switches: [onCompute(ids[0]), onCompute(ids[1])],
  };
}

/** A peer at port 1 of each switch. */
async function peersOf(
  t: Teardown,
  client: Client,
  { project, switches }: Joined,
): Promise<{ near: UdpPeer; far: UdpPeer; toNear: number; toFar: number }> {
  const lab = await ComputeLab.open(client, project.split('/').at(-1));
  const [near, far] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const [toNear, toFar] = [await lab.join(switches[0], 1, near), await lab.join(switches[1], 1, far)];
  return { near, far, toNear, toFar };
}

function frame(mark: number): Buffer {
  const bytes = Buffer.alloc(60, mark);
  bytes.fill(0xff, 0, 6);
  bytes.set([2, 0, 0, 0, 0, 1], 6);
  return bytes;
}

const server = await startServer(t, { flags: FLAGS });
const client = new Client(server.url);

/** It is deleted at the end of the test, so that the next one finds all UDP ports free. */
async function ownLab(t: Teardown): Promise<Joined> {
  const lab = await joined(client, 'lab');
  t.teardown(() => client.delete(lab.project));
  return lab;
}

const udpPorts = async (client: Client): Promise<unknown> =>
  (await client.expect(200, 'GET', '/v2/compute/network/ports'))['udp_ports'];

void t.test('a link carries frames from when it is made until it is deleted', async (t) => {
  const lab = await ownLab(t);
  const { near, far, toNear } = await peersOf(t, client, lab);
  await near.send(toNear, [frame(1), frame(2)]);
  t.same(await far.receive(2), [frame(1), frame(2)]);
  await client.expect(204, 'DELETE', lab.link);
  await near.send(toNear, [frame(3)]);
  const drops = async (): Promise<unknown> => {
    const { ports } = await client.expect(200, 'GET', `${lab.switches[0]}/statistics`);
    return (ports as { counters: { drops: Record<string, number> } }[])[0]?.counters.drops['no_output'];
  };
  await eventually('the frame has nowhere to go', async () => ((await drops()) === 1 ? true : undefined));
  t.equal(far.received.length, 2);
});

void t.test('a suspended link carries nothing until it is resumed', async (t) => {
  const lab = await ownLab(t);
  const { near, far, toNear } = await peersOf(t, client, lab);
  await client.expect(201, 'PUT', lab.link, { suspend: true });
  await near.send(toNear, [frame(1)]);
  await eventually('the frame is dropped at the link', async () => {
    const { ports } = await client.expect(200, 'GET', `${lab.switches[0]}/statistics`);
    const [first] = ports as { counters: { drops: { suspended: number } } }[];
    return first?.counters.drops.suspended === 1 ? true : undefined;
  });
  await client.expect(201, 'PUT', lab.link, { suspend: false });
  await near.send(toNear, [frame(2)]);
  t.same(await far.receive(1), [frame(2)]);
});

void t.test('settings of a node are those of the running switch', async (t) => {
  const lab = await ownLab(t);
  const { near, far, toNear } = await peersOf(t, client, lab);
  const node = `${lab.project}/nodes/${lab.switches[0].split('/').at(-1) ?? ''}`;
  const { properties } = await client.expect(200, 'GET', node);
  const { ports_mapping: ports } = properties as { ports_mapping: object[] };
  const moved = ports.map((port, index) => ({ ...port, vlan: index === 1 ? 7 : 1 }));
  await client.expect(200, 'PUT', node, { properties: { ports_mapping: moved } });
  await near.send(toNear, [frame(1)]);
  await client.expect(200, 'PUT', node, { properties: { ports_mapping: ports } });
  await near.send(toNear, [frame(2)]);
  t.same(await far.receive(1), [frame(2)], 'the first was of a VLAN that leads nowhere');
  await client.expect(200, 'PUT', node, { name: 'renamed' });
  t.match(await client.expect(200, 'GET', lab.switches[0]), { name: 'renamed' });
});

void t.test('a closed project does not run, and runs again when it is opened', async (t) => {
  const lab = await ownLab(t);
  t.same(await udpPorts(client), [23_000, 23_001]);
  await client.expect(204, 'POST', `${lab.project}/close`);
  t.same(await udpPorts(client), []);
  t.equal((await client.get(lab.switches[0])).status, 404);
  await client.expect(201, 'POST', `${lab.project}/open`);
  t.same(await udpPorts(client), [23_000, 23_001]);
  const { near, far, toNear, toFar } = await peersOf(t, client, lab);
  await near.send(toNear, [frame(1)]);
  t.same(await far.receive(1), [frame(1)]);
  await far.send(toFar, [frame(2)]);
  t.same(await near.receive(1), [frame(2)]);
});

void t.test('a link of a file that says nothing of its suspension is connected', async (t) => {
  const { project } = await ownLab(t);
  await client.expect(204, 'POST', `${project}/close`);
  const file = join(server.data, 'projects', project.split('/').at(-1) ?? '', 'lab.gns3');
  const topology = JSON.parse(readFileSync(file, 'utf8')) as { topology: { links: { suspend?: boolean }[] } };
  for (const link of topology.topology.links) delete link.suspend;
  writeFileSync(file, JSON.stringify(topology));
  await client.expect(201, 'POST', `${project}/open`);
  t.same(await udpPorts(client), [23_000, 23_001]);
});

void t.test('deleted nodes and projects give back what they had', async (t) => {
  const lab = await ownLab(t);
  await client.expect(204, 'DELETE', `${lab.project}/nodes/${lab.switches[0].split('/').at(-1) ?? ''}`);
  t.same(await udpPorts(client), []);
  t.equal((await client.get(lab.switches[0])).status, 404);
  t.equal((await client.get(lab.switches[1])).status, 200);
  await client.expect(204, 'DELETE', lab.project);
  t.equal((await client.get(lab.switches[1])).status, 404);
  const { console_ports } = await client.expect(200, 'GET', '/v2/compute/network/ports');
  t.same(console_ports, [], 'the node held one console port, not two');
});

void t.test(
  'a link that cannot be connected when its project is opened is told of, and the rest runs',
  async (t) => {
    const server = await startServer(t, { flags: ['--udp-ports', '23000-23002'] });
    const client = new Client(server.url);
    const first = await joined(client, 'first');
    await client.expect(204, 'POST', `${first.project}/close`);
    const second = await joined(client, 'second');
    const announcements = await NotificationLog.open(`${server.url}/v2/notifications`);
    await client.expect(201, 'POST', `${first.project}/open`);
    const { event } = await announcements.next(({ action }) => action === 'log.warning');
    t.match(event['message'], /^first: Link .* does not run as it should: Could not find a free port/);
    t.same(await udpPorts(client), [23_000, 23_001], 'the half that was there is given back');
    t.equal((await client.get(first.switches[1])).status, 200);
    t.equal((await client.get(second.link)).status, 200);
    announcements.close();
  },
);

void t.test(
  'a project that opens by itself runs after a restart, with nodes and links as they were',
  async (t) => {
    const lab = await joined(client, 'lab', { auto_open: true });
    await server.stop('SIGKILL');
    const next = new Client((await startServer(t, { flags: FLAGS, data: server.data })).url);
    await eventually('the link is there', async () =>
      isDeepStrictEqual(await udpPorts(next), [23_000, 23_001]) ? true : undefined,
    );
    const { near, far, toNear } = await peersOf(t, next, lab);
    await near.send(toNear, [frame(1)]);
    t.same(await far.receive(1), [frame(1)]);
  },
);
