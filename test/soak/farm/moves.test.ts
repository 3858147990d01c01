/** Switches and hubs are moved between this server and two other Wirefarms while they run, also when one side is gone. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { NodeLab, type Json } from '../../support/node-lab.js';
import { NotificationLog } from '../../support/notification-log.js';
import { scratchFolder } from '../../support/scratch.js';
import { ownUdpPorts, startServer, type ServerProcess } from '../../support/server-process.js';
import { UdpPeer } from '../../support/udp-peer.js';

const file = t;
const FRAME = Buffer.alloc(60, 2).fill(0xff, 0, 6);
const KILLS = 4;

const firstUdp = ownUdpPorts();
const udpPorts = (index: number): { environment: Record<string, string> } => {
  const first = firstUdp + index * 30;
  return { environment: { WIREFARM_UDP_PORTS: `${first}-${first + 29}` } };
};
const data = scratchFolder(t);
let controller = await startServer(t, { data, ...udpPorts(0) });
const computes = new Map<string, ServerProcess>();
for (const [index, id] of ['b', 'c'].entries()) {
  const compute = await startServer(t, udpPorts(index + 1));
  computes.set(id, compute);
  await new Client(controller.url).expect(201, 'POST', '/v2/computes', {
    ...{ compute_id: id, name: `host ${id}`, protocol: 'http', host: '127.0.0.1', port: compute.port },
  });
  await connected(id, true);
}
let lab = await NodeLab.left('moves', controller);
const left = await lab.node('ethernet_hub', 'LEFT');
const right = await lab.node('ethernet_hub', 'RIGHT', {}, { compute_id: 'b' });
const middle = await lab.node('ethernet_switch', 'MIDDLE');
const first = await lab.link([left, 0], [middle, 0]);
await lab.link([middle, 1], [right, 0]);

function connected(id: string, wanted: boolean): Promise<unknown> {
  return eventually(`compute ${id} is ${wanted ? '' : 'not '}connected`, async () => {
    const shown = await new Client(controller.url).expect(200, 'GET', `/v2/computes/${id}`);
    return shown['connected'] === wanted || undefined;
  });
}

/** Leads a socket to the sixth port of a hub, at the server that runs it. */
async function socketAt({ url }: { readonly url: string }, node: Json): Promise<() => Promise<void>> {
  const client = new Client(url);
  const peer = await UdpPeer.open(file);
  const project = `/v2/compute/projects/${lab.id}`;
  const { udp_port: lport } = await client.expect(201, 'POST', `${project}/ports/udp`);
  const at = `${project}/ethernet_hub/nodes/${String(node['node_id'])}/adapters/0/ports/5/nio`;
  await client.expect(201, 'POST', at, { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: peer.port });
  sockets.set(node, { peer, port: Number(lport), end: () => client.expect(204, 'DELETE', at) });
  return () => peer.send(Number(lport), [FRAME]).then(() => undefined);
}

const sockets = new Map<Json, { peer: UdpPeer; port: number; end: () => Promise<unknown> }>();

/** A frame passes from one hub through the node in the middle to the other. */
async function passes(): Promise<void> {
  const send = await socketAt(controller, left);
  const rightAt = String((await lab.show(right))['compute_id']);
  await socketAt(computes.get(rightAt) ?? controller, right);
  const receiver = sockets.get(right)?.peer;
  await send();
  await receiver?.receive(1);
  for (const socket of sockets.values()) await socket.end();
  sockets.clear();
}

const move = (node: Json, to: string | undefined): Promise<Json> =>
  lab.client.expect(200, 'POST', `${lab.at(node)}/move`, { compute_id: to });

/** The nodes of the lab that a compute has. */
async function nodesOn(id: string): Promise<string[]> {
  const { url } = computes.get(id) ?? controller;
  const { status, body } = await new Client(url).get(`/v2/compute/projects/${lab.id}/wanted`);
  return status === 404
    ? []
    : (body as { nodes: Json[] }).nodes.map(({ node_id: node }) => String(node)).sort();
}

/** The computes have the nodes that are stored with them, and no others. */
async function runsAsStored(): Promise<void> {
  const nodes = (await lab.client.get(`${lab.path}/nodes`)).body as Json[];
  for (const id of computes.keys()) {
    const stored = nodes
      .flatMap((node) => (node['compute_id'] === id ? [String(node['node_id'])] : []))
      .sort();
    await eventually(
      `compute ${id} has what is stored`,
      async () => JSON.stringify(await nodesOn(id)) === JSON.stringify(stored) || undefined,
    );
  }
  await eventually('all runs', async () => {
    const { nodes: on, links } = await lab.client.expect(200, 'GET', `${lab.path}/run`);
    const reports = Object.values({ ...(on as object), ...(links as object) }) as Json[];
    return reports.every(({ state }) => state === 'running') || undefined;
  });
}

const recordedAt = (id: string, port: number): Promise<Json> =>
  lab.client.expect(200, 'PUT', `/v2/computes/${id}`, { port });

async function returned(): Promise<void> {
  controller = await startServer(file, { data, ...udpPorts(0) });
  lab = new NodeLab(controller, lab.id);
}

void t.test(
  'a switch that runs is moved from host to host and back, and frames pass through it',
  async (t) => {
    const events = await NotificationLog.open(lab.events);
    t.teardown(() => {
      events.close();
    });
    await passes();
    for (const to of ['b', 'c', 'b', 'local', 'c', 'local']) {
      t.match(await move(middle, to), { compute_id: to, status: 'started' });
      await events.next(
        ({ action, event }) =>
          action === 'node.updated' && event['compute_id'] === to && event['name'] === 'MIDDLE',
      );
      await runsAsStored();
      await passes();
    }
  },
);

void t.test('both ends of a link are moved to this server, and away again', async () => {
  for (const to of ['local', 'c', 'b']) {
    await move(right, to);
    await runsAsStored();
    await passes();
  }
});

void t.test('nodes that cannot be moved are refused with a sentence', async (t) => {
  const refused = async (node: Json, to: string | undefined, status: number, code: string): Promise<void> => {
    t.match(await lab.client.post(`${lab.at(node)}/move`, { compute_id: to }), { status, body: { code } });
  };
  await refused(middle, 'local', 409, 'node_there_already');
  await refused(middle, undefined, 409, 'node_there_already');
  await refused(middle, 'nowhere', 404, 'compute_unknown');
  const cloud = await lab.node('cloud', 'CLOUD');
  await refused(cloud, 'b', 409, 'node_not_movable');
  await lab.client.expect(204, 'DELETE', lab.at(cloud));
  await lab.client.expect(201, 'POST', `${lab.linkAt(first)}/start_capture`);
  await refused(middle, 'b', 409, 'node_moved_while_captured');
  await lab.client.expect(201, 'POST', `${lab.linkAt(first)}/stop_capture`);
  await lab.client.expect(200, 'POST', '/v2/computes/b/drain', { on: true });
  await refused(middle, 'b', 409, 'compute_drained');
  await lab.client.expect(200, 'POST', '/v2/computes/b/drain', { on: false });
});

void t.test(
  'a switch is moved away from a host that is out of reach, which lets it go when it is back',
  async (t) => {
    const port = computes.get('c')?.port ?? 0;
    for (const isKilled of [false, true]) {
      await move(middle, 'c');
      await recordedAt('c', 1);
      await connected('c', false);
      await move(middle, 'local');
      await passes();
      t.strictSame(await nodesOn('c'), [String(middle['node_id'])], 'nobody could tell the host');
      if (isKilled) {
        await controller.stop('SIGKILL');
        await returned();
      }
      await recordedAt('c', port);
      await connected('c', true);
      await runsAsStored();
      await passes();
    }
  },
);

void t.test('after a kill at any moment of a move the nodes run where they are stored', async () => {
  const there = ['b', 'c', 'local'];
  for (let kill = 0; kill < KILLS; kill++) {
    const now = String((await lab.show(middle))['compute_id']);
    const to = there[(there.indexOf(now) + 1) % there.length];
    const moved = lab.client.post(`${lab.at(middle)}/move`, { compute_id: to }).catch(() => undefined);
    // The number of requests before the kill leads it to different moments.
    for (let asked = 0; asked < kill; asked++) await lab.client.get('/v2/version');
    await controller.stop('SIGKILL');
    await moved;
    await returned();
    for (const id of computes.keys()) await connected(id, true);
    await runsAsStored();
    await passes();
  }
});
