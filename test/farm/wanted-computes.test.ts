/** A lab on another Wirefarm, which is told what is wanted: kills of either side, lost connections, and another controller. */
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { LiveStream } from '../support/live-stream.js';
import { NodeLab, programsOf, type Json } from '../support/node-lab.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { ownConsolePorts, ownUdpPorts, startServer } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';
import { WebSocketView } from '../support/web-socket-view.js';
import { missingTshark, tsharkRows, tsharkText } from '../support/tshark.js';
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
const across = await lab.link([two, 1], [here, 0]);
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

interface Line {
  /** Sends a frame through both hubs and waits for it. Resolves with the number of frames so far. */
  readonly pass: () => Promise<number>;
  /** Sends one the other way, and waits for it. */
  readonly back: () => Promise<unknown>;
  readonly end: () => Promise<void>;
}

const FRAME = Buffer.alloc(60, 2).fill(0xff, 0, 6);

/** Leads a socket to the sixth port of a switch, at the server that runs it. */
async function socketAt(
  t: Teardown,
  { url }: { readonly url: string },
  node: Json,
): Promise<{ peer: UdpPeer; port: number; end: () => Promise<unknown> }> {
  const client = new Client(url);
  const peer = await UdpPeer.open(t);
  const { udp_port: lport } = await client.expect(201, 'POST', `${pathThere}/ports/udp`);
  const id = `${String(node['node_type'])}/nodes/${String(node['node_id'])}`;
  const at = `${pathThere}/${id}/adapters/0/ports/5/nio`;
  await client.expect(201, 'POST', at, { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: peer.port });
  return { peer, port: Number(lport), end: () => client.expect(204, 'DELETE', at) };
}

/** Leads a socket through both hubs to another one. */
async function leadThrough(t: Teardown): Promise<Line> {
  const [from, to] = [await socketAt(t, compute, one), await socketAt(t, compute, two)];
  let [sent, returned] = [0, 0];
  return {
    pass: async () => {
      await from.peer.send(from.port, [FRAME]);
      await to.peer.receive(++sent);
      return sent;
    },
    back: async () => {
      await to.peer.send(to.port, [FRAME]);
      await from.peer.receive(++returned);
    },
    end: async () => {
      for (const socket of [from, to]) await socket.end();
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
    await lab.client.expect(201, 'POST', `${lab.linkAt(between)}/start_capture`);
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
    t.match(await captureOf(between, ({ packets }) => Number(packets) >= passed), {
      ...{ state: 'running', gaps: [] },
    });
    t.match(await stopped(between), { capturing: false, capture_file_name: 'ONE_0-0_to_TWO_0-0.pcap' });
    if (pc === undefined) return;
    t.strictSame(programsOf(pc), programs, 'the program is the same');
    t.hasStrict(await lab.act(pc, 'stop'), { status: 'stopped' });
    t.hasStrict(await lab.act(pc, 'start'), { status: 'started' });
  },
);

const stopped = (link: Json): Promise<Json> =>
  lab.client.expect(201, 'POST', `${lab.linkAt(link)}/stop_capture`);

/** The state of the capture of a link, once it is as wanted. */
function captureOf(link: Json, isWanted: (status: Json) => boolean): Promise<Json> {
  return eventually('the state of the capture', async () => {
    const { body } = await lab.client.get(`${lab.linkAt(link)}/capture`);
    return isWanted(body as Json) ? (body as Json) : undefined;
  });
}

async function fileOf(link: Json, headers: Record<string, string> = {}): Promise<Buffer> {
  const answer = await fetch(`${controller.url}${lab.linkAt(link)}/capture/file`, { headers });
  return Buffer.from(await answer.arrayBuffer());
}

const isWritten =
  (count: number) =>
  ({ packets, unwritten_bytes: left }: Json): boolean =>
    packets === count && left === 0;

void t.test('a link between switches of another compute is captured there', async (t) => {
  const at = lab.linkAt(between);
  // It asks for routers now and then.
  if (pc !== undefined) await lab.act(pc, 'stop');
  const line = await leadThrough(t);
  const start = (body: Json): Promise<Json> =>
    lab.client.expect(201, 'POST', `${at}/start_capture`, { capture_file_name: 'far.pcap', ...body });
  t.match(await start({}), { capturing: true, capture_compute_id: 'b', capture_file_name: 'far.pcap' });
  t.match(await lab.client.post(`${at}/start_capture`), { status: 409 });
  const live = await LiveStream.open(t, `${controller.url}${at}/pcap`);
  const view = await WebSocketView.open(t, controller.port, `${at}/pcap/ws`);
  for (let count = 0; count < 3; count++) await line.pass();
  const whole = await live.reach(24 + 3 * (16 + FRAME.length));
  await captureOf(between, isWritten(3));
  t.strictSame(await fileOf(between), whole);
  t.strictSame(await fileOf(between, { range: 'bytes=4-7' }), whole.subarray(4, 8));
  t.match(await stopped(between), { capturing: false, capture_compute_id: null });
  t.strictSame(await live.ended, whole);
  t.strictSame(await view.ended, { code: 1000, bytes: whole });
  if (!missingTshark()) t.strictSame(tsharkRows(whole, ['frame.len']), [['60'], ['60'], ['60']]);
  t.match(await lab.client.get(`${at}/pcap`), { status: 409 });
  t.match(await captureOf(between, () => true), { state: 'stopped', packets: 3 });

  await t.test('in one direction, and with filters of one way', async () => {
    await start({ direction: 'backward' });
    await line.pass();
    await line.back();
    await captureOf(between, isWritten(1));
    await lab.client.expect(200, 'PUT', `${at}/directed_filters`, { backward: { duplicate: [100] } });
    await line.back();
    await line.pass();
    await captureOf(between, isWritten(3));
    await lab.client.expect(200, 'PUT', `${at}/directed_filters`, { backward: {} });
    await stopped(between);
  });
  await line.end();
});

void t.test(
  'a link whose second end is here is filtered once, and captured in the direction of the link',
  async (t) => {
    const at = lab.linkAt(across);
    const [from, to] = [await socketAt(t, compute, one), await socketAt(t, controller, here)];
    await lab.client.expect(201, 'POST', `${at}/start_capture`, { direction: 'forward' });
    await lab.client.expect(201, 'PUT', at, { filters: { frequency_drop: [2] } });
    for (let count = 0; count < 8; count++) await from.peer.send(from.port, [FRAME]);
    await to.peer.receive(4);
    await captureOf(across, isWritten(4));
    await lab.client.expect(201, 'PUT', at, { filters: {} });
    await stopped(across);
    for (const socket of [from, to]) await socket.end();
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

void t.test('labs that end while a compute is out of reach end there when it is back', async () => {
  const [deleted, closed] = [
    await NodeLab.left('deleted', controller),
    await NodeLab.left('closed', controller),
  ];
  for (const { id } of [deleted, closed])
    await new NodeLab(controller, id).node('ethernet_hub', 'HUB', {}, there);
  const known = async (): Promise<unknown[]> =>
    ((await new Client(compute.url).get('/v2/compute/projects')).body as Json[]).map(
      (one) => one['project_id'],
    );
  const areThere = (found: readonly unknown[]): boolean[] =>
    [deleted, closed].map(({ id }) => found.includes(id));
  t.same(areThere(await known()), [true, true]);
  await recordedAt(1);
  await eventually('the connection is gone', async () => {
    const { connected } = await lab.client.expect(200, 'GET', '/v2/computes/b');
    return connected === false || undefined;
  });
  await lab.client.expect(204, 'DELETE', deleted.path);
  await lab.client.expect(204, 'POST', `${closed.path}/close`);
  t.same(areThere(await known()), [true, true], 'nobody could tell it');
  await recordedAt(compute.port);
  await eventually('they end', async () => !areThere(await known()).includes(true) || undefined);
  await eventually(
    'all else runs',
    async () => (await runs()).every((each) => each === 'running') || undefined,
  );
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
  const first = await leadThrough(t);
  await lab.client.expect(201, 'POST', `${lab.linkAt(between)}/start_capture`, {
    ...{ format: 'pcapng', bpf: 'ether src 02:02:02:02:02:02' },
  });
  if (pc !== undefined) await lab.act(pc, 'start');
  await first.pass();
  await captureOf(between, isWritten(1));
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
  await captureOf(between, ({ gaps }) => (gaps as Json[] | undefined)?.length === 1);
  t.equal(await pass(), 1);
  await captureOf(between, isWritten(2));
  if (!missingTshark()) {
    const text = tsharkText(await fileOf(between));
    t.equal(text.match(/^Frame \d+:/gm)?.length, 2, 'one of each life');
  }
  t.match((await fileOf(between)).toString('latin1'), /Packets between .* may be missing/);
  await stopped(between);
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
