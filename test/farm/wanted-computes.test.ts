/** A lab on another Wirefarm, which is told what is wanted: kills of either side, lost connections, and another controller. */
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { NodeLab, programsOf, type Json } from '../support/node-lab.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { ownConsolePorts, ownUdpPorts, startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';
import { missingVpcs } from '../support/vpcs.js';

/** Servers live as long as the file. */
const file = t;
const folders = { controller: scratchFolder(t), compute: scratchFolder(t) };
const firstUdp = ownUdpPorts();
const environment = {
  WIREFARM_CONSOLE_PORTS: ownConsolePorts(1),
  WIREFARM_UDP_PORTS: `${firstUdp}-${firstUdp + 99}`,
};
const hasVpcs = missingVpcs() === false;
let controller = await startServer(t, { data: folders.controller });
let compute = await startServer(t, { data: folders.compute, environment });
await new Client(controller.url).expect(201, 'POST', '/v2/computes', {
  ...{ compute_id: 'b', name: 'host b', protocol: 'http', host: '127.0.0.1', port: compute.port },
});
let lab = await connectedLab();

async function connectedLab(id?: string): Promise<NodeLab> {
  const client = new Client(controller.url);
  await eventually('the compute is connected', async () => {
    const { connected } = await client.expect(200, 'GET', '/v2/computes/b');
    return connected === true || undefined;
  });
  return id === undefined ? NodeLab.left('wanted', controller) : new NodeLab(controller, id);
}

const there = { compute_id: 'b' };
const one = await lab.node('ethernet_hub', 'ONE', {}, there);
const two = await lab.node('ethernet_hub', 'TWO', {}, there);
const here = await lab.node('ethernet_switch', 'HERE');
const pc = hasVpcs ? await lab.node('vpcs', 'PC', {}, there) : undefined;
const between = await lab.link([one, 0], [two, 0]);
await lab.link([two, 1], [here, 0]);
if (pc !== undefined) {
  await lab.link([pc, 0], [two, 2]);
  await lab.act(pc, 'start');
}

interface WantedThere {
  readonly epoch: number;
  readonly number: number;
  readonly nodes: readonly Json[];
  readonly attachments: readonly { readonly link_id: string; readonly lport: number }[];
}

const pathThere = `/v2/compute/projects/${lab.id}`;
const wanted = async (): Promise<WantedThere> =>
  (await new Client(compute.url).expect(200, 'GET', `${pathThere}/wanted`)) as unknown as WantedThere;

/** Leads a socket through both hubs to another one. Resolves with what sends a frame and waits for it, and with the end of this. */
async function leadThrough(t: Teardown): Promise<{ pass: () => Promise<number>; end: () => Promise<void> }> {
  const client = new Client(compute.url);
  const [from, to] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const ports: number[] = [];
  const at = (hub: Json): string =>
    `${pathThere}/ethernet_hub/nodes/${String(hub['node_id'])}/adapters/0/ports/5/nio`;
  for (const [hub, peer] of [
    [one, from],
    [two, to],
  ] as const) {
    const { udp_port: lport } = await client.expect(201, 'POST', `${pathThere}/ports/udp`);
    ports.push(Number(lport));
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: peer.port };
    await client.expect(201, 'POST', at(hub), nio);
  }
  let sent = 0;
  return {
    pass: async () => {
      await from.send(ports[0] ?? 0, [Buffer.alloc(60, 1)]);
      await to.receive(++sent);
      return sent;
    },
    end: async () => {
      for (const hub of [one, two]) await client.expect(204, 'DELETE', at(hub));
    },
  };
}

/** Sends frame after frame, each when the one before has come, while the work is done. Resolves with their number. */
async function whileFramesPass(t: Teardown, work: () => Promise<void>): Promise<number> {
  const { pass, end } = await leadThrough(t);
  const state = { isOver: false };
  const done = work().finally(() => {
    state.isOver = true;
  });
  let count = 0;
  while (!state.isOver) {
    count = await pass();
    await wait(2);
  }
  await done;
  await end();
  return count;
}

/** The ports at which the ends of links are. */
const portsOf = ({ attachments }: WantedThere): string[] =>
  attachments.map(({ link_id, lport }) => `${link_id} ${lport}`).sort();

void t.test(
  'frames between other hosts pass while the controller is killed, and after it has returned',
  async (t) => {
    const before = await wanted();
    const programs = pc === undefined ? [] : programsOf(pc);
    const passed = await whileFramesPass(t, async () => {
      await controller.stop('SIGKILL');
      controller = await startServer(file, { data: folders.controller });
      lab = await connectedLab(lab.id);
      await eventually('the controller has taken over what runs', async () =>
        (await wanted()).epoch > before.epoch &&
        (pc === undefined || (await lab.show(pc))['status'] === 'started')
          ? true
          : undefined,
      );
      // A request that waits for all work on the compute.
      await lab.change(one, { name: 'ONE' });
    });
    t.ok(passed > 0);
    const after = await wanted();
    t.strictSame(portsOf(after), portsOf(before));
    if (pc === undefined) return;
    t.strictSame(programsOf(pc), programs, 'the program is the same');
    t.hasStrict(await lab.act(pc, 'stop'), { status: 'stopped' });
    t.hasStrict(await lab.act(pc, 'start'), { status: 'started' });
  },
);

const recordedAt = (port: number): Promise<Json> => lab.client.expect(200, 'PUT', '/v2/computes/b', { port });

/** How each node and link runs. */
async function runs(): Promise<string[]> {
  const { nodes, links } = await lab.client.expect(200, 'GET', `${lab.path}/run`);
  const reports = Object.values({ ...(nodes as object), ...(links as object) }) as Record<string, string>[];
  return reports.map(({ state = '', reason }) => (reason === undefined ? state : `${state}: ${reason}`));
}

void t.test('a compute that was out of reach is sent what it lacks, and nothing else', async (t) => {
  const before = await wanted();
  const passed = await whileFramesPass(t, async () => {
    await recordedAt(1);
    await eventually('the connection is gone', async () => {
      const { connected } = await lab.client.expect(200, 'GET', '/v2/computes/b');
      return connected === false || undefined;
    });
    const [its, ...others] = (await runs()).toSorted();
    t.strictSame([...new Set(others)], ['unreachable: The compute host b is not connected']);
    t.equal(its, 'running', 'the node on this server');
    await lab.change(two, { name: 'OTHER' });
    const [, last] = (await lab.client.get(`${lab.path}/links`)).body as Json[];
    await lab.client.expect(204, 'DELETE', lab.linkAt(last ?? {}));
    await recordedAt(compute.port);
    await eventually('the difference', async () =>
      (await wanted()).attachments.length === before.attachments.length - 1 ? true : undefined,
    );
  });
  t.ok(passed > 0);
  await eventually('all runs', async () => (await runs()).every((each) => each === 'running') || undefined);
  const after = await wanted();
  t.equal(after.epoch, before.epoch);
  t.ok(after.number > before.number);
  const renamed = `${pathThere}/ethernet_hub/nodes/${String(two['node_id'])}`;
  await eventually('the name', async () => {
    const { name } = await new Client(compute.url).expect(200, 'GET', renamed);
    return name === 'OTHER' || undefined;
  });
});

void t.test(
  'a filter on a link between two switches of a compute is changed while frames pass',
  async (t) => {
    const port = async (): Promise<unknown> =>
      (await wanted()).attachments.filter(({ link_id }) => link_id === between['link_id']);
    const before = await port();
    await whileFramesPass(t, async () => {
      await lab.client.expect(201, 'PUT', lab.linkAt(between), { filters: { delay: [1, 0] } });
      await lab.client.expect(201, 'PUT', lab.linkAt(between), { filters: {} });
    });
    t.strictSame(await port(), before);
  },
);

void t.test('a compute that is killed and returns runs all of it again, at the same ports', async (t) => {
  const before = await wanted();
  await compute.stop('SIGKILL');
  // At another port: the old one may not be free yet.
  compute = await startServer(file, { data: folders.compute, environment });
  await recordedAt(compute.port);
  const after = await eventually('all of it', async () => {
    const { status, body } = await new Client(compute.url).get(`${pathThere}/wanted`);
    const found = body as WantedThere;
    return status === 200 && found.epoch > 0 ? found : undefined;
  });
  t.strictSame(portsOf(after), portsOf(before));
  const { pass } = await leadThrough(t);
  t.equal(await pass(), 1);
  if (pc === undefined) return;
  await eventually('the program runs', async () => (await lab.show(pc))['status'] === 'started' || undefined);
});

void t.test('a controller that has lost the project to another one changes nothing there', async (t) => {
  const { epoch } = await wanted();
  const node = { node_type: 'ethernet_hub', node_id: one['node_id'], settings: { name: 'MINE' } };
  const taken = { name: 'taken', epoch: epoch + 1, number: 1, nodes: [node] };
  await new Client(compute.url).expect(200, 'PUT', `${pathThere}/wanted`, taken);
  t.match(await lab.client.post(`${lab.path}/nodes`, { name: 'NEW', node_type: 'ethernet_hub', ...there }), {
    status: 409,
    body: { message: /runs this project for another controller/ },
  });
  await lab.client.expect(204, 'POST', `${lab.path}/close`);
  t.match(await wanted(), { epoch: epoch + 1, nodes: [{ node_id: one['node_id'] }] }, 'nor does it close it');
});
