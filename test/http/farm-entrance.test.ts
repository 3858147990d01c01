/** Two servers of a farm: what is asked of one, and what the other has. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import t from 'tap';
import { WebSocket } from 'ws';
import { basic } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { ask, EtcdCluster, missingEtcd } from '../support/etcd.js';
import { eventually } from '../support/eventually.js';
import { frameOf, hubLine, LinkLab, end } from '../support/link-lab.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../support/server-process.js';

const ADMIN = basic('admin', 'secret of the test');
const ENVIRONMENT = { WIREFARM_USER: 'admin', WIREFARM_PASSWORD: 'secret of the test' };
const HUB = { node_type: 'ethernet_hub', compute_id: 'local' };
const UNKNOWN = '11111111-2222-3333-4444-555555555555';

interface Host {
  readonly server: ServerProcess;
  readonly client: Client;
  readonly url: string;
}

interface Notification {
  readonly action: string;
  readonly event: Readonly<Record<string, unknown>>;
}

async function streamOf({ url }: Host, path: string): Promise<IncomingMessage> {
  const asked = get(`${url}${path}`, { headers: ADMIN });
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  return reply;
}

/** The notifications that a stream or a WebSocket gives, as they come. */
async function notificationsOf(host: Host, path: string): Promise<Notification[]> {
  const found: Notification[] = [];
  const reply = await streamOf(host, path);
  let begun = '';
  reply.on('data', (piece: Buffer) => {
    const lines = (begun + piece.toString()).split('\n');
    begun = lines.pop() ?? '';
    found.push(...lines.map((line) => JSON.parse(line) as Notification));
  });
  reply.on('error', () => undefined);
  return found;
}

async function framesOf(host: Host, path: string): Promise<Notification[]> {
  const found: Notification[] = [];
  const socket = new WebSocket(`${host.url.replace('http', 'ws')}${path}`, { headers: ADMIN });
  socket.on('message', (data: Buffer) => found.push(JSON.parse(data.toString()) as Notification));
  await once(socket, 'open');
  return found;
}

/** The lines of the audit of a server. */
function auditOf({ server }: Host): Record<string, unknown>[] {
  const folder = join(server.data, 'audit');
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const lines = texts.flatMap((text) => text.split('\n').slice(0, -1));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

const made =
  (name: string) =>
  ({ action, event }: Notification): boolean =>
    action === 'node.created' && event['name'] === name;

void t.test('any server of a farm is the entrance', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const begin = async (part: number): Promise<Host> => {
    const server = await startServer(t, {
      flags: ['--farm', etcd.address('farm'), '--advertise', 'http://127.0.0.1:0'],
      environment: { ...ENVIRONMENT, WIREFARM_CONSOLE_PORTS: ownConsolePorts(part) },
    });
    return { server, client: new Client(server.url, ADMIN), url: server.url };
  };
  const owner = await begin(0);
  await owner.server.logged(/"scope":"@farm"/);
  const entrance = await begin(1);
  const line = await hubLine(t, owner);
  const { path } = line.lab;
  /** The same lab, as clients of the entrance have it. */
  const lab = new LinkLab(entrance, line.lab.id);

  await t.test('changes and reads', async (t) => {
    const other = await LinkLab.make(entrance);
    const [a, b] = [await other.hub('A'), await other.hub('B')];
    const link = await other.link([end(a, 0), end(b, 0)]);
    t.match((await owner.client.get(`${other.path}/links`)).body, [{ link_id: link['link_id'] }]);
    t.same((await other.list()).length, 1);
    t.match(await entrance.client.get(`${other.path}/nodes/${UNKNOWN}`), { status: 404 });
    t.match(await entrance.client.get(`/v2/projects/${UNKNOWN}`), { status: 404 }, 'and nobody claims it');
    t.match(await entrance.client.post(`${other.path}/nodes`, { name: 1 }), {
      status: 400,
      body: { request: { name: 1 } },
    });
    const lists = await eventually('both list both projects', async () => {
      const found = await Promise.all(
        [owner, entrance].map(async ({ client }) => (await client.get('/v2/projects')).body as object[]),
      );
      return found.every(({ length }) => length === 2) ? found : undefined;
    });
    t.same(lists[0], lists[1]);
    t.match(await entrance.client.request('DELETE', other.path), { status: 204 });
    t.match(await owner.client.get(other.path), { status: 404 });
    const keys = (await ask(etcd.urls[0] ?? '', 'kv/range', {
      key: Buffer.from(`/farm/owner/${UNKNOWN}`).toString('base64'),
    })) as { readonly kvs?: unknown };
    t.equal(keys.kvs, undefined);
  });

  await t.test('a new project is of the server that makes it, once', async (t) => {
    const valueOf = async (key: string): Promise<string | undefined> => {
      const found = (await ask(etcd.urls[0] ?? '', 'kv/range', {
        key: Buffer.from(`/farm/owner/${encodeURIComponent(key)}`).toString('base64'),
      })) as { readonly kvs?: readonly { readonly value: string }[] };
      return found.kvs?.[0]?.value;
    };
    const id = randomUUID();
    const wanted = { name: 'own', project_id: id };
    const made = await entrance.client.expect(201, 'POST', '/v2/projects', wanted);
    const holder = await valueOf(id);
    t.ok(holder !== undefined && holder !== (await valueOf('@farm')), 'the entrance has it');
    t.same(await owner.client.expect(201, 'POST', '/v2/projects', wanted), made, 'the same, by any server');
    t.equal(await valueOf(id), holder);

    const statuses = async (asks: readonly Promise<{ readonly status: number }>[]): Promise<number[]> =>
      (await Promise.all(asks)).map(({ status }) => status).sort();
    const hosts = [owner, entrance];
    for (let round = 0; round < 4; round++) {
      const twice = hosts.map(({ client }) => client.post('/v2/projects', { name: `twice ${round}` }));
      t.same(await statuses(twice), [201, 409], 'a name is given once, whoever gives it');
    }
    const labs = await Promise.all(
      hosts.map(({ client }, index) => client.expect(201, 'POST', '/v2/projects', { name: `mine ${index}` })),
    );
    for (let round = 0; round < 4; round++) {
      const renamed = labs.map((lab, index) =>
        hosts[1 - index]?.client.request('PUT', `/v2/projects/${String(lab['project_id'])}`, {
          name: `renamed ${round}`,
        }),
      );
      t.same(await statuses(renamed.flatMap((one) => one ?? [])), [200, 409]);
    }
    const listed = (await owner.client.get('/v2/projects')).body as { readonly project_id: string }[];
    for (const lab of listed.filter(({ project_id: of }) => !line.lab.path.endsWith(of)))
      await entrance.client.expect(204, 'DELETE', `/v2/projects/${lab.project_id}`);
  });

  await t.test('the owner notes who has asked, and the entrance nothing', async (t) => {
    const reply = await entrance.client.post(`${path}/drawings`, { svg: '<svg/>' });
    t.equal(reply.status, 201);
    const req = reply.headers.get('x-request-id');
    const line = await eventually('the owner has noted it', () =>
      auditOf(owner).find((noted) => noted['req'] === req && noted['kind'] !== 'intent'),
    );
    t.match(line, { user: 'admin', address: '127.0.0.1', status: 201 });
    t.notOk(auditOf(entrance).some((noted) => noted['req'] === req));
  });

  await t.test('a client cannot speak as one of the servers', async (t) => {
    const told = { id: 'x', address: '10.0.0.1', scheme: 'http', pass: { as: 'admin', name: 'admin' } };
    const hop = { 'X-Wirefarm-Hop': Buffer.from(JSON.stringify(told)).toString('base64url') };
    for (const { url } of [owner, entrance])
      for (const signature of [{}, { 'X-Wirefarm-Signature': 'A'.repeat(43) }]) {
        const reply = await new Client(url, { ...hop, ...signature }).get(path);
        t.match(reply, { status: 400, body: { code: 'hop_malformed' } });
      }
    t.match(await new Client(entrance.url).get(path), { status: 401 });
    const secrets = (await ask(etcd.urls[0] ?? '', 'kv/range', {
      key: Buffer.from('/farm/secret/forwarding').toString('base64'),
    })) as { readonly kvs?: readonly { readonly value: string }[] };
    const secret = Buffer.from(secrets.kvs?.[0]?.value ?? '', 'base64')
      .toString()
      .slice(-43);
    t.match(secret, /^[\w-]{43}$/);
    t.notOk(
      [owner, entrance].some(({ server }) => server.log().includes(secret)),
      'and no log tells how',
    );
  });

  await t.test('files and captures, while they are made', async (t) => {
    const bytes = Buffer.alloc(3 * 1024 * 1024, 'lab');
    t.match(await entrance.client.post(`${path}/files/large.bin`, bytes), { status: 201 });
    for (const host of [owner, entrance]) {
      const whole = await buffer(await streamOf(host, `${path}/files/large.bin`));
      t.ok(whole.equals(bytes));
    }
    await entrance.client.expect(201, 'POST', `${line.at}/start_capture`, {});
    const capture = await streamOf(entrance, `${line.at}/pcap`);
    const pieces: Buffer[] = [];
    capture.on('data', (piece: Buffer) => pieces.push(piece));
    await line.pass([frameOf(1), frameOf(2)], 2);
    await eventually('the packets are here', () => Buffer.concat(pieces).includes(frameOf(2)) || undefined);
    const ended = once(capture, 'end');
    await entrance.client.expect(201, 'POST', `${line.at}/stop_capture`);
    await ended;
  });

  const news = await notificationsOf(entrance, `${path}/notifications`);
  const frames = await framesOf(entrance, `${path}/notifications/ws`);
  const toldOf = (name: string): Promise<unknown> =>
    eventually(
      `both are told of ${name}`,
      () => [news, frames].every((told) => told.some(made(name))) || undefined,
    );

  await t.test('notifications', async (t) => {
    await owner.client.expect(201, 'POST', `${path}/nodes`, { ...HUB, name: 'N1' });
    await toldOf('N1');
    await entrance.client.expect(201, 'POST', `${path}/nodes`, { ...HUB, name: 'N2' });
    await toldOf('N2');
    t.pass();
  });

  await t.test('when the owner dies', async (t) => {
    const nodes = (await entrance.client.get(`${path}/nodes`)).body as object[];
    const closed = { name: 'closed', project_id: randomUUID() };
    const closedAt = `/v2/projects/${closed.project_id}`;
    await owner.client.expect(201, 'POST', '/v2/projects', closed);
    await owner.client.expect(201, 'POST', `${closedAt}/nodes`, { ...HUB, name: 'kept' });
    await owner.client.expect(204, 'POST', `${closedAt}/close`);
    await owner.server.stop('SIGKILL');
    const refused = await entrance.client.post(`${path}/nodes`, { ...HUB, name: 'N3' });
    t.equal(refused.status, 503);
    t.match(refused.body, { code: 'owner_unreachable', message: new RegExp(`${owner.url} .*12 seconds`) });
    t.equal(refused.headers.get('retry-after'), '1');
    const added = await eventually('the entrance has taken it over', async () => {
      const { status } = await entrance.client.post(`${path}/nodes`, { ...HUB, name: 'N4' });
      if (status !== 503) t.equal(status, 201);
      return status === 201 || undefined;
    }).then(() => ['N4']);
    // Events of the time between two owners are not told afterwards.
    await eventually('the streams go on', async () => {
      const name = `N${added.length + 4}`;
      await entrance.client.expect(201, 'POST', `${path}/nodes`, { ...HUB, name });
      added.push(name);
      return [news, frames].every((told) => added.some((node) => told.some(made(node)))) || undefined;
    });
    for (const told of [news, frames])
      t.equal(told.filter(({ action }) => action === 'log.warning').length, 1, 'and say so once');
    t.equal((await lab.list()).length, 1, 'the link is there');
    const after = (await entrance.client.get(`${path}/nodes`)).body as object[];
    t.equal(after.length, nodes.length + added.length, 'and all nodes, none of them twice');
    t.match(await entrance.client.expect(201, 'POST', '/v2/projects', closed), { status: 'closed' });
    await entrance.client.expect(201, 'POST', `${closedAt}/open`);
    t.match((await entrance.client.get(`${closedAt}/nodes`)).body, [{ name: 'kept' }], 'nobody made it anew');
  });
});
