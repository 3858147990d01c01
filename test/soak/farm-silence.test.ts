/** Servers of a farm that hear nothing of etcd, for longer than their leases last: what they answer, and what goes on. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { frameOf, hubLine, type HubLine } from '../support/link-lab.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../support/server-process.js';

const skip = missingEtcd();
const HUB = { node_type: 'ethernet_hub', compute_id: 'local' };
/** A lease is over after ten seconds. */
const LONGER_THAN_LEASES_S = 13;

interface Host {
  readonly server: ServerProcess;
  readonly client: Client;
  readonly url: string;
}

async function begin(t: Test, farm: string, part: number): Promise<Host> {
  const server = await startServer(t, {
    flags: ['--farm', farm, '--advertise', 'http://127.0.0.1:0'],
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(part) },
  });
  return { server, client: new Client(server.url), url: server.url };
}

async function streamOf(url: string): Promise<IncomingMessage> {
  const [reply] = (await once(get(url), 'response')) as [IncomingMessage];
  return reply;
}

/** The names of the nodes, and the age of the answer. */
async function nodesOn({ client }: Host, path: string): Promise<{ names: string[]; stale: number }> {
  const { status, headers, body } = await client.get(`${path}/nodes`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  const names = (body as { name: string }[]).map(({ name }) => name);
  return { names, stale: Number(headers.get('wirefarm-stale') ?? 0) };
}

/** A flow of numbered frames; all that were sent so far have arrived when `pass` resolves. */
class Flow {
  #sent = 0;

  constructor(readonly line: HubLine) {}

  async pass(): Promise<Buffer[]> {
    return this.line.pass([frameOf(this.#sent % 251)], ++this.#sent);
  }
}

/** The way of one server to etcd, which can be cut. */
async function startWay(
  t: Teardown,
  to: string,
): Promise<{ readonly farm: string; isCut: boolean; cut(): void }> {
  const sockets = new Set<Socket>();
  const target = new URL(to);
  const line = createServer((socket) => {
    if (way.isCut) {
      socket.destroy();
      return;
    }
    const onward = connect(Number(target.port), target.hostname);
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => undefined);
      end.on('close', () => sockets.delete(end));
    }
    socket.pipe(onward).pipe(socket);
  });
  line.listen(0, '127.0.0.1');
  await once(line, 'listening');
  const way = {
    farm: `etcd://127.0.0.1:${(line.address() as AddressInfo).port}`,
    isCut: false,
    cut: () => {
      way.isCut = true;
      for (const socket of sockets) socket.destroy();
    },
  };
  t.teardown(() => {
    way.cut();
    line.close();
  });
  return way;
}

for (const [how, signal] of [
  ['killed', 'SIGKILL'],
  ['stopped', 'SIGSTOP'],
] as const)
  void t.test(`two of three servers of etcd are ${how}`, { skip }, async (t) => {
    const folders = [0, 1, 2].map(() => scratchFolder(t));
    const etcd = await EtcdCluster.start(t, folders);
    const farm = etcd.address('silence');
    const owner = await begin(t, farm, 0);
    await owner.server.logged(/"scope":"@farm"/);
    const entrance = await begin(t, farm, 1);
    const line = await hubLine(t, owner);
    const { path } = line.lab;
    const flow = new Flow(line);
    await entrance.client.expect(201, 'POST', `${path}/files/notes.txt`, Buffer.from('notes'));
    await entrance.client.expect(201, 'POST', `${line.at}/start_capture`, {});
    const capture = await streamOf(`${entrance.url}${line.at}/pcap`);
    const captured: Buffer[] = [];
    capture.on('data', (piece: Buffer) => captured.push(piece));
    await flow.pass();

    // A leader that wakes takes leases for over that were so while it slept.
    const leader = await etcd.leader();
    const two = signal === 'SIGKILL' ? [0, 1] : [0, 1, 2].filter((index) => index !== leader);
    for (const index of two)
      if (signal === 'SIGKILL') await etcd.kill(index);
      else etcd.signal(index, signal);
    const first = entrance.client.post(`${path}/nodes`, { ...HUB, name: 'in doubt' });
    for (const host of [owner, entrance])
      await eventually('the answers of a long silence say how old they are', async () => {
        const { names, stale } = await nodesOn(host, path);
        t.same(names.slice(0, 2), ['PC1', 'SW1'], 'each read is answered');
        await flow.pass();
        return stale >= LONGER_THAN_LEASES_S || undefined;
      });
    t.ok([502, 503].includes((await first).status), 'a change that is in doubt is answered');
    for (const { client } of [owner, entrance]) {
      const refused = await client.post(`${path}/nodes`, { ...HUB, name: 'refused' });
      t.equal(refused.status, 503);
      t.match(refused.headers.get('retry-after'), /^\d+$/);
      const { body, headers } = await client.get('/v2/projects');
      t.match(body, [{ status: 'opened' }]);
      t.match(headers.get('wirefarm-stale'), /^\d+$/);
    }
    t.equal(String(await buffer(await streamOf(`${entrance.url}${path}/files/notes.txt`))), 'notes');

    for (const index of two)
      if (signal === 'SIGKILL') etcd.begin(index);
      else etcd.signal(index, 'SIGCONT');
    await eventually('a change is made again', async () => {
      await flow.pass();
      const { status } = await entrance.client.post(`${path}/nodes`, { ...HUB, name: 'after' });
      return status === 201 || undefined;
    });
    const { names, stale } = await nodesOn(entrance, path);
    t.equal(stale, 0);
    t.ok(names.includes('after'));
    t.notOk(names.includes('refused'));
    const frames = await flow.pass();
    t.same(
      frames.map((frame) => frame[12]),
      frames.map((_frame, index) => index % 251),
      'no frame is missing',
    );
    t.notMatch(owner.server.log(), /the claim of a scope is lost/);
    const ended = once(capture, 'end');
    await owner.client.expect(201, 'POST', `${line.at}/stop_capture`);
    await ended;
    const bytes = Buffer.concat(captured);
    for (const frame of new Set(frames.map((one) => one[12] ?? 0)))
      t.ok(bytes.includes(frameOf(frame)), `frame ${frame} was captured`);
  });

void t.test(
  'a server that is cut off from etcd while another takes over does not mislead',
  { skip },
  async (t) => {
    const etcd = await EtcdCluster.start(t);
    const way = await startWay(t, etcd.urls[0] ?? '');
    const former = await begin(t, `${way.farm}/cut`, 0);
    await former.server.logged(/"scope":"@farm"/);
    const line = await hubLine(t, former);
    const { path } = line.lab;
    const flow = new Flow(line);
    const next = await begin(t, etcd.address('cut'), 1);
    await eventually('the next one lists it', async () => {
      const { body } = await next.client.get('/v2/projects');
      return (body as readonly unknown[]).length === 1 || undefined;
    });
    way.cut();
    await eventually('the next one has taken over', async () => {
      const old = await nodesOn(former, path);
      t.same(old.names, ['PC1', 'SW1']);
      await flow.pass();
      const { status } = await next.client.post(`${path}/nodes`, { ...HUB, name: 'new' });
      return status === 201 || undefined;
    });
    const old = await nodesOn(former, path);
    t.ok(old.stale >= 9, `the former one tells that it does not know: ${old.stale} s`);
    const refused = await former.client.post(`${path}/nodes`, { ...HUB, name: 'refused' });
    t.equal(refused.status, 503);
    way.isCut = false;
    await eventually('the former one knows', async () => {
      const { names, stale } = await nodesOn(former, path).catch(() => ({ names: [], stale: 1 }));
      if (stale === 0) t.same(names.toSorted(), ['PC1', 'SW1', 'new']);
      return stale === 0 || undefined;
    });
    await eventually('it takes changes for the next one', async () => {
      const body = { ...HUB, name: 'ByWay' };
      return (await former.client.post(`${path}/nodes`, body)).status === 201 || undefined;
    });
    t.ok((await nodesOn(next, path)).names.includes('ByWay'));
  },
);
