/** Links that are connected, and those that cannot be. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab, nioPath } from '../support/compute-lab.js';
import { libpcapLack } from '../support/libpcap.js';
import { end, frameOf, hubLine, LinkLab, type Json, type LabHost } from '../support/link-lab.js';
import { NotificationLog } from '../support/notification-log.js';
import type { Teardown } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { UdpPeer } from '../support/udp-peer.js';

interface Host extends LabHost {
  readonly server: ServerProcess;
}

async function newHost(t: Teardown, flags: readonly string[] = [], data?: string): Promise<Host> {
  const server = await startServer(t, { flags, ...(data === undefined ? {} : { data }) });
  return { server, url: server.url, client: new Client(server.url) };
}

const host = await newHost(t);
const { client } = host;

const udpPorts = async (of: LabHost = host): Promise<unknown[]> =>
  (await of.client.expect(200, 'GET', '/v2/compute/network/ports'))['udp_ports'] as unknown[];

void t.test('a link that cannot be connected leaves nothing', async (t) => {
  const own = await newHost(t);
  const lab = await LinkLab.make(own);
  const [a, b, c] = [await lab.hub(), await lab.hub(), await lab.hub()];
  const kept = await lab.link([end(a, 3), end(b, 3)]);
  // Somebody uses the ports behind the controller's back.
  const peer = await UdpPeer.open(t);
  const behind = await ComputeLab.open(own.client, lab.id);
  await behind.join(lab.onCompute(b), 0, peer);
  const before = await udpPorts(own);
  const more = { filters: { delay: [1] }, link_style: { color: 'red' }, suspend: true };
  const news = await lab.told(async () => {
    for (const ends of [
      [end(a, 0), end(b, 0)],
      [end(b, 0), end(a, 0)],
    ]) {
      t.hasStrict(await lab.post(ends, more), { status: 409, body: { message: "Port 0 isn't free" } });
    }
  });
  t.strictSame(news, [], 'nobody is told');
  t.strictSame(await lab.list(), [kept]);
  t.strictSame(await udpPorts(own), before, 'the UDP ports are given back');
  t.hasStrict(await own.client.delete(nioPath(lab.onCompute(a), 0)), {
    status: 409,
    body: { message: 'Port 0 is not allocated' },
  });
  t.equal((await lab.post([end(a, 0), end(c, 0)])).status, 201, 'the port that was free still is');
  const links = await lab.list();
  await own.server.stop('SIGKILL');
  const again = await newHost(t, [], own.server.data);
  t.strictSame(await (await LinkLab.open(again, lab.id)).list(), links, 'nothing else is stored');
});

void t.test('without free UDP ports there is no link', async (t) => {
  const own = await newHost(t, ['--udp-ports', '23010-23012']);
  const lab = await LinkLab.make(own);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const news = await lab.told(async () => {
    t.match(await lab.post([end(a, 1), end(b, 1)]), { status: 409, body: { message: /free port/ } });
  });
  t.strictSame(news, []);
  t.strictSame(await udpPorts(own), [23_010, 23_011]);
  await own.client.expect(204, 'DELETE', lab.at(link));
  await lab.link([end(a, 1), end(b, 1)]);
});

void t.test('a link is announced once, when it is connected', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const [left, right] = [await lab.peer(t, a, 1), await lab.peer(t, b, 1)];
  const stream = await NotificationLog.open(`${host.url}${lab.path}/notifications`);
  const made = lab.link([end(a, 0), end(b, 0)]);
  const { event } = await stream.next(({ action }) => action.startsWith('link.'));
  await left.peer.send(left.near, [frameOf(1)]);
  t.same(await right.peer.receive(1), [frameOf(1)]);
  t.strictSame(event, await made);
  const { drawing_id } = await client.expect(201, 'POST', `${lab.path}/drawings`);
  await stream.next((one) => one.event['drawing_id'] === drawing_id);
  t.equal(stream.received.filter(({ action }) => action.startsWith('link.')).length, 1);
  stream.close();
});

void t.test('only one of two links that are made at once with one port is made', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b, c] = [await lab.hub(), await lab.hub(), await lab.hub()];
  const before = await udpPorts();
  const replies = await Promise.all([b, c].map((far) => lab.post([end(a, 0), end(far, 0)])));
  t.same(replies.map(({ status }) => status).sort(), [201, 409]);
  t.match(
    replies.find(({ status }) => status === 409),
    { body: { message: 'Port is already used' } },
  );
  const [link = {}] = await lab.list();
  t.equal((await udpPorts()).length - before.length, 2);
  await client.expect(204, 'DELETE', lab.at(link));
  t.strictSame(await udpPorts(), before);
});

void t.test('a project that is closed while links are being made in it keeps no half of one', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const before = await udpPorts();
  for (let round = 0; round < 3; round++) {
    const ports = [0, 1, 2, 3];
    const [replies] = await Promise.all([
      Promise.all(ports.map((port) => lab.post([end(a, port), end(b, port)]))),
      client.expect(204, 'POST', `${lab.path}/close`),
    ]);
    t.strictSame(await udpPorts(), before, 'closed, it has no ports');
    await client.expect(201, 'POST', `${lab.path}/open`);
    const links = await lab.list();
    t.equal(links.length, replies.filter(({ status }) => status === 201).length);
    t.equal((await udpPorts()).length - before.length, links.length * 2);
    for (const link of links) await client.expect(204, 'DELETE', lab.at(link));
  }
});

void t.test('a node that is deleted while it is being linked takes the link along', async (t) => {
  const lab = await LinkLab.make(host);
  const a = await lab.hub();
  for (let round = 0; round < 5; round++) {
    const b = await lab.hub();
    const before = await udpPorts();
    const [reply] = await Promise.all([
      lab.post([end(a, 0), end(b, 0)]),
      client.expect(204, 'DELETE', `${lab.path}/nodes/${String(b['node_id'])}`),
    ]);
    t.ok([201, 404, 409].includes(reply.status), reply.text);
    t.strictSame(await lab.list(), []);
    t.strictSame(await udpPorts(), before);
  }
});

void t.test('filters and suspension of a link do what they say, in both directions', async (t) => {
  const line = await hubLine(t, host);
  await client.expect(201, 'PUT', line.at, { filters: { frequency_drop: [2] } });
  const frames = Array.from({ length: 8 }, (_, mark) => frameOf(mark));
  t.same(
    await line.pass(frames, 4),
    [0, 2, 4, 6].map((mark) => frameOf(mark)),
  );
  t.same(
    await line.passBack(frames, 4),
    [0, 2, 4, 6].map((mark) => frameOf(mark)),
  );
  await client.expect(201, 'PUT', line.at, { filters: {} });
  t.equal((await line.pass(frames, 12)).length, 12);
});

void t.test('each way can be filtered by itself', async (t) => {
  const line = await hubLine(t, host);
  const path = `${line.at}/directed_filters`;
  const id = line.link['link_id'];
  t.strictSame((await client.get(path)).body, { backward: {}, forward: {}, link_id: id, seed: null });
  const wanted = { backward: {}, forward: { frequency_drop: [2], delay: [0, 0] }, seed: 7 };
  const news = await line.lab.told(async () => {
    const directed = { backward: {}, forward: { frequency_drop: [2] }, link_id: id, seed: 7 };
    t.strictSame(await client.expect(200, 'PUT', path, wanted), directed);
  });
  t.match(
    news,
    [{ action: 'link.updated', event: { link_id: id, filters: {} } }],
    'others ask for them then; stock clients see the link as it was',
  );
  t.equal(news.length, 1);
  const frames = [1, 2, 3, 4].map((mark) => frameOf(mark));
  t.same(await line.pass(frames, 2), [frameOf(1), frameOf(3)]);
  t.same(await line.passBack(frames, 4), frames);
  await client.expect(201, 'PUT', line.at, { filters: { duplicate: [100] } });
  t.match((await client.get(path)).body, { forward: { frequency_drop: [2] } }, 'it is left alone');
  t.equal((await line.pass(frames, 6)).length, 6, 'both count');
  t.equal((await line.passBack(frames, 12)).length, 12);
  for (const body of [
    { forward: { bogus: [1] } },
    { seed: -1 },
    { sideways: {} },
    { backward: { delay: [-1] } },
  ]) {
    t.hasStrict(await client.put(path, body), { status: 400 });
  }
  t.match((await client.get(path)).body, { seed: 7 }, 'a refused one changes nothing');
  await client.expect(200, 'PUT', path, {});
  t.strictSame((await client.get(path)).body, { backward: {}, forward: {}, link_id: id, seed: null });
});

void t.test('directed filters outlive the server, and not their link', async (t) => {
  const own = await newHost(t);
  const lab = await LinkLab.make(own);
  const [a, b] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(a, 0), end(b, 0)]);
  const wanted = { backward: { delay: [3] }, forward: {}, seed: 1 };
  const path = `${lab.at(link)}/directed_filters`;
  await own.client.expect(200, 'PUT', path, wanted);
  await own.server.stop('SIGKILL');
  const again = await newHost(t, [], own.server.data);
  await LinkLab.open(again, lab.id);
  t.hasStrict((await again.client.get(path)).body, wanted);
  await again.client.expect(204, 'DELETE', lab.at(link));
  t.equal((await again.client.get(path)).status, 404);
  t.equal((await again.client.put(path, wanted)).status, 404);
});

void t.test('filters of a file that are none do not keep its project from opening', async (t) => {
  const lab = await LinkLab.make(host);
  const ends = [await lab.hub(), await lab.hub()] as const;
  const links: Json[] = [];
  for (const port of [0, 1, 2, 3]) links.push(await lab.link([end(ends[0], port), end(ends[1], port)]));
  const { name } = await client.expect(200, 'GET', lab.path);
  await client.expect(204, 'POST', `${lab.path}/close`);
  const file = join(host.server.data, 'projects', lab.id, `${String(name)}.gns3`);
  const text = JSON.parse(readFileSync(file, 'utf8')) as { topology: { links: Json[] } };
  const stored = [{ bogus: [5], corrupt: [100] }, { delay: [99_999] }, { bpf: ['icmp or'] }, 'abc'];
  for (const link of text.topology.links) {
    link['filters'] = stored[links.findIndex(({ link_id }) => link_id === link['link_id'])];
  }
  writeFileSync(file, JSON.stringify(text));
  const log = await NotificationLog.open(`${host.url}/v2/notifications`);
  await client.expect(201, 'POST', `${lab.path}/open`);
  for (const message of [/bogus/, /delay/]) {
    t.ok(
      await log.next(
        ({ action, event }) => action === 'log.warning' && message.test(String(event['message'])),
      ),
    );
  }
  if (libpcapLack() === false) {
    const { event } = await log.next((one) => String(one.event['message']).includes('icmp or'));
    t.match(event['message'], /ignoring BPF packet filter 'icmp or'/);
  }
  log.close();
  t.equal((await lab.list()).length, 4);
  t.strictSame((await udpPorts()).length >= 8, true, 'and the links are connected');
  t.hasStrict(await client.put(lab.at(links[0] ?? {}), { filters: {} }), {
    status: 201,
    body: { filters: {} },
  });
});

void t.test('many links are made at once, and all are connected', async (t) => {
  const own = await newHost(t);
  const lab = await LinkLab.make(own);
  const hubs = await Promise.all(Array.from({ length: 20 }, () => lab.hub()));
  const pairs = hubs.slice(1).map((hub, index) => [hubs[index], hub] as const);
  const made = await Promise.all(pairs.map(([one = {}, other]) => lab.link([end(one, 0), end(other, 1)])));
  t.equal((await udpPorts(own)).length, made.length * 2);
});
