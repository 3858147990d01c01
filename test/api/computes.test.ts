/** Computes: this server, and others that are on record and connected when they can be. */
import { hostname } from 'node:os';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { NotificationLog } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { StockCompute } from '../support/stock-compute.js';
import { CONSOLE_PORTS_BY_DEFAULT, startServer } from '../support/server-process.js';

const data = scratchFolder(t);
const server = await startServer(t, {
  data,
  flags: ['--udp-ports', '20000-30000'],
  environment: CONSOLE_PORTS_BY_DEFAULT,
});
const client = new Client(server.url);
const stream = await NotificationLog.open(`${server.url}/v2/notifications`);
t.teardown(() => {
  stream.close();
});
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });
const about = (action: string, id: unknown) => (told: { action: string; event: Record<string, unknown> }) =>
  told.action === action && told.event['compute_id'] === id;

/** Nobody can be reached there, and no name is asked for. */
const remote = { protocol: 'https', host: '0.0.0.1', port: 3443 };

/** The compute without the reason why it is not connected, which may come at any time. */
function steady(body: unknown): object {
  const { last_error, ...rest } = body as Record<string, unknown>;
  return rest;
}

async function listedIds(of = client): Promise<unknown[]> {
  return ((await of.get('/v2/computes')).body as Record<string, unknown>[]).map((one) => one['compute_id']);
}

void t.test('the first compute is this server, with what it serves', async (t) => {
  const { body } = await client.get('/v2/computes/local');
  const { cpu_usage_percent: cpu, memory_usage_percent: memory, ...rest } = body as Record<string, unknown>;
  t.strictSame(rest, {
    capabilities: {
      node_types: [
        ...['cloud', 'nat', 'ethernet_hub', 'ethernet_switch', 'frame_relay_switch', 'atm_switch'],
        ...['dynamips', 'vpcs', 'iou', 'qemu'],
      ],
      platform: process.platform,
      version: '2.2.60',
    },
    compute_id: 'local',
    connected: true,
    host: '127.0.0.1',
    last_error: null,
    name: hostname(),
    port: server.port,
    protocol: 'http',
    user: null,
  });
  t.type(cpu, 'number');
  t.type(memory, 'number');
  t.strictSame(await listedIds(), ['local']);
});

void t.test('a compute that is recorded is shown as not connected, and its password never', async (t) => {
  const reply = await client.post('/v2/computes', {
    ...remote,
    compute_id: 'second',
    name: 'Second',
    user: 'ann',
    password: 'hush',
  });
  t.equal(reply.status, 201);
  t.strictSame(steady(reply.body), {
    capabilities: { node_types: [], version: null },
    compute_id: 'second',
    connected: false,
    cpu_usage_percent: null,
    host: '0.0.0.1',
    memory_usage_percent: null,
    name: 'Second',
    port: 3443,
    protocol: 'https',
    user: 'ann',
  });
  t.strictSame(steady((await client.get('/v2/computes/second')).body), steady(reply.body));
  t.strictSame(steady((await stream.next(about('compute.created', 'second'))).event), steady(reply.body));
});

void t.test('a compute without a name is named after its address, with a long user cut short', async (t) => {
  const named = async (more: object): Promise<unknown> =>
    (await client.expect(201, 'POST', '/v2/computes', { protocol: 'http', host: 'h', ...more }))['name'];
  t.equal(await named({ port: 1001 }), 'http://h:1001');
  t.equal(await named({ port: 1002, user: 'ann' }), 'http://ann@h:1002');
  t.equal(await named({ port: 1003, user: 'fourteen-chars' }), 'http://fourteen-chars@h:1003');
  t.equal(await named({ port: 1004, user: 'fifteen--chars!' }), 'http://fifteen--ch...@h:1004');
});

void t.test('a compute without an id gets one of its own', async (t) => {
  const made = await client.expect(201, 'POST', '/v2/computes', { ...remote, name: 'no id' });
  t.match(made['compute_id'], /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  t.hasStrict(await client.get(`/v2/computes/${String(made['compute_id'])}`), { body: { name: 'no id' } });
});

void t.test('a known id is answered with the compute that has it, unchanged', async (t) => {
  const before = await client.expect(200, 'GET', '/v2/computes/second');
  const again = { compute_id: 'second', name: 'other', protocol: 'http', host: 'elsewhere', port: 1 };
  t.strictSame(steady(await client.expect(201, 'POST', '/v2/computes', again)), steady(before));
  t.strictSame(steady((await stream.next(about('compute.updated', 'second'))).event), steady(before));
  t.hasStrict(await client.post('/v2/computes', { ...again, compute_id: 'local' }), {
    status: 201,
    body: { compute_id: 'local', host: '127.0.0.1', port: server.port },
  });
});

void t.test('two computes cannot have one name', async (t) => {
  const before = await listedIds();
  for (const name of ['Second', hostname()]) {
    t.hasStrict(
      await client.post('/v2/computes', { ...remote, name }),
      refusal(409, `Compute name "${name}" already exists`),
    );
  }
  await client.expect(201, 'POST', '/v2/computes', { ...remote, compute_id: 'third', name: 'Third' });
  t.hasStrict(
    await client.put('/v2/computes/third', { name: 'Second' }),
    refusal(409, 'Compute name "Second" already exists'),
  );
  t.strictSame(await listedIds(), [...before, 'third'], 'the refused ones are not there');
});

void t.test('there is no GNS3 VM', async (t) => {
  for (const body of [
    { ...remote, compute_id: 'vm', name: 'any' },
    { ...remote, compute_id: 'any', name: 'gns3vm' },
  ]) {
    t.hasStrict(await client.post('/v2/computes', body), { status: 400, body: { status: 400 } });
  }
  t.equal((await client.get('/v2/computes/vm')).status, 404);
});

void t.test('a request for the GNS3 VM is told that there is none', async (t) => {
  t.hasStrict(
    await client.get('/v2/computes/vm'),
    refusal(404, 'Cannot use a node on the GNS3 VM server with the GNS3 VM not configured'),
  );
});

void t.test('a compute needs protocol, host and port, of the right kind, and nothing unknown', async (t) => {
  const before = await listedIds();
  const { port, ...withoutPort } = remote;
  for (const body of [
    {},
    withoutPort,
    { ...remote, port: 0 },
    { ...remote, port: 65_536 },
    { ...remote, port: String(port) },
    { ...remote, protocol: 'ftp' },
    { ...remote, host: null },
    { ...remote, colour: 'red' },
  ]) {
    const reply = await client.post('/v2/computes', body);
    t.hasStrict(reply, { status: 400, body: { path: '/v2/computes', method: 'POST', request: body } });
  }
  t.strictSame(await listedIds(), before);
});

void t.test('a refused request does not repeat the password', async (t) => {
  const reply = await client.post('/v2/computes', { ...remote, password: 'hush-hush', port: 'x' });
  t.equal(reply.status, 400);
  t.notMatch(reply.text, /hush/);
  t.notMatch(server.log(), /hush/);
});

void t.test('a change keeps what it does not name, and never the id', async (t) => {
  const changed = await client.expect(200, 'PUT', '/v2/computes/third', {
    compute_id: 'fourth',
    host: '0.0.0.2',
    user: 'ben',
  });
  t.hasStrict(changed, {
    compute_id: 'third',
    host: '0.0.0.2',
    user: 'ben',
    name: 'Third',
    port: 3443,
    protocol: 'https',
    connected: false,
  });
  t.strictSame(steady((await client.get('/v2/computes/third')).body), steady(changed));
  const told = await stream.next(
    (one) => about('compute.updated', 'third')(one) && one.event['host'] === '0.0.0.2',
  );
  t.strictSame(steady(told.event), steady(changed));
  t.equal((await client.get('/v2/computes/fourth')).status, 404);
});

void t.test('a compute keeps its own name when it is sent back', async (t) => {
  t.hasStrict(await client.put('/v2/computes/third', { name: 'Third' }), { status: 200 });
});

void t.test('an unknown compute is not found', async (t) => {
  const missing = refusal(404, "Compute ID nowhere doesn't exist");
  t.hasStrict(await client.get('/v2/computes/nowhere'), missing);
  t.hasStrict(await client.put('/v2/computes/nowhere', { host: 'h' }), missing);
  t.hasStrict(await client.get('/v2/computes/nowhere/ports'), missing);
});

void t.test('a deleted compute is gone, and deleting it again is no error', async (t) => {
  await client.expect(201, 'POST', '/v2/computes', { ...remote, compute_id: 'brief', name: 'Brief' });
  for (const body of [1, 2]) {
    const reply = await client.delete('/v2/computes/brief');
    t.equal(reply.status, 204, `time ${body}`);
    t.equal(reply.headers.get('content-type'), null);
  }
  t.hasStrict(await client.get('/v2/computes/brief'), { status: 404 });
  t.notOk((await listedIds()).includes('brief'));
  await client.expect(201, 'POST', '/v2/computes', { ...remote, compute_id: 'marker', name: 'Marker' });
  await stream.next(about('compute.created', 'marker'));
  const deletions = stream.received.filter(({ action }) => action === 'compute.deleted');
  t.equal(deletions.length, 1, 'told once');
  t.hasStrict(deletions[0]?.event, { compute_id: 'brief', name: 'Brief', connected: false });
  await client.expect(201, 'POST', '/v2/computes', { ...remote, name: 'Brief' });
});

void t.test('this server cannot be deleted', async (t) => {
  t.hasStrict(await client.delete('/v2/computes/local'), { status: 409 });
  t.equal((await client.get('/v2/computes/local')).status, 200);
});

void t.test('the ports of this server are those that its nodes have', async (t) => {
  const ports = (): Promise<Record<string, unknown>> => client.expect(200, 'GET', '/v2/computes/local/ports');
  t.strictSame(await ports(), {
    console_port_range: [5000, 10_000],
    console_ports: [],
    udp_port_range: [20_000, 30_000],
    udp_ports: [],
  });
  const { project_id } = await client.expect(201, 'POST', '/v2/projects', { name: 'ports' });
  const nodes = `/v2/projects/${String(project_id)}/nodes`;
  for (const wanted of [6000, null]) {
    await client.expect(201, 'POST', nodes, {
      name: 'SW',
      node_type: 'ethernet_switch',
      compute_id: 'local',
      console: wanted,
    });
  }
  t.strictSame((await ports())['console_ports'], [5000, 6000]);
  await client.expect(204, 'POST', `/v2/projects/${String(project_id)}/close`);
  t.strictSame((await ports())['console_ports'], []);
});

void t.test('the ports of a compute that is not connected cannot be had', async (t) => {
  t.hasStrict(
    await client.get('/v2/computes/second/ports'),
    refusal(409, "Cannot connect to compute 'Second' with request GET /network/ports"),
  );
});

void t.test('a compute that answers is connected, and asked for what only it knows', async (t) => {
  const stock = await StockCompute.start();
  t.teardown(() => stock.stop());
  stock.credentials = `Basic ${btoa('ann:hush')}`;
  const place = { protocol: 'http', host: '127.0.0.1', port: stock.port };
  const seen = (id: string, what: (shown: Record<string, unknown>) => boolean) =>
    eventually(`compute ${id}`, async () => {
      const shown = await client.expect(200, 'GET', `/v2/computes/${id}`);
      return what(shown) ? shown : undefined;
    });

  await client.expect(201, 'POST', '/v2/computes', { ...place, compute_id: 'stock', user: 'ann' });
  t.match(await seen('stock', (shown) => shown['last_error'] !== null), {
    connected: false,
    last_error: /does not accept the user and the password/,
  });
  stock.version = '3.0.1';
  await client.expect(200, 'PUT', '/v2/computes/stock', { password: 'hush' });
  const olderError = /2\.2\.60 is not the same as compute .* version 3\.0\.1/;
  await seen('stock', ({ last_error: error }) => olderError.test(String(error)));

  stock.version = '2.2.54';
  await client.expect(200, 'PUT', '/v2/computes/stock', { name: 'Stock' });
  t.hasStrict(await seen('stock', (shown) => shown['cpu_usage_percent'] !== null), {
    connected: true,
    capabilities: { node_types: ['vpcs', 'ethernet_switch'], platform: 'linux', version: '2.2.54' },
    cpu_usage_percent: 12.5,
    memory_usage_percent: 40,
    last_error: null,
  });
  await stream.next((one) => about('compute.updated', 'stock')(one) && one.event['connected'] === true);
  t.strictSame((await client.get('/v2/computes/stock/qemu/images')).body, []);
  t.hasStrict(await client.get('/v2/computes/stock/wishes/of/clients'), { status: 404 });
  t.hasStrict(await client.post('/v2/computes/stock/qemu/images/a', 'bytes'), {
    status: 409,
    body: { message: 'POST /qemu/images/a is not passed on to other computes: ask compute Stock itself' },
  });

  stock.forget();
  await stream.next((one) => about('compute.updated', 'stock')(one) && one.event['connected'] === false);
  await seen('stock', (shown) => shown['connected'] === true);
  await client.expect(204, 'DELETE', '/v2/computes/stock');
  t.notMatch(server.log(), /hush/);
});

void t.test('this server is no compute of its own', async (t) => {
  const own = { protocol: 'http', host: '127.0.0.1', port: server.port, compute_id: 'self' };
  await client.expect(201, 'POST', '/v2/computes', own);
  const told = await stream.next(about('compute.updated', 'self'));
  t.match(told.event, { connected: false, last_error: /is the server itself/ });
  await client.expect(204, 'DELETE', '/v2/computes/self');
});

void t.test('a request that a compute does not know is not found', async (t) => {
  for (const method of ['GET', 'POST', 'PUT'] as const) {
    const body = method === 'GET' ? undefined : { some: 'thing' };
    for (const action of ['qemu/nothing', 'wishes/of/clients']) {
      t.hasStrict(
        await client.request(method, `/v2/computes/local/${action}`, body),
        refusal(404, `${method} /${action} not found`),
      );
    }
    t.hasStrict(
      await client.request(method, '/v2/computes/nowhere/qemu/nothing', body),
      refusal(404, "Compute ID nowhere doesn't exist"),
    );
  }
});

void t.test('the load of this server is told about once a second', async (t) => {
  const { event } = await stream.next(about('compute.updated', 'local'));
  t.hasStrict(event, { compute_id: 'local', connected: true, name: hostname() });
});

void t.test('a restart remembers the computes, in the order in which they came', async (t) => {
  const before = (await client.get('/v2/computes')).body as Record<string, unknown>[];
  t.ok(before.length > 5);
  await server.stop();
  const next = await startServer(t, { data });
  const after = (await new Client(next.url).get('/v2/computes')).body as Record<string, unknown>[];
  t.strictSame(after.slice(1).map(steady), before.slice(1).map(steady));
  t.equal(after[0]?.['compute_id'], 'local');
});

void t.test('this server shows the user that it asks for', async (t) => {
  const guarded = await startServer(t, {
    flags: ['--user', 'ann'],
    environment: { WIREFARM_PASSWORD: 'hush' },
  });
  const its = new Client(guarded.url, { authorization: `Basic ${btoa('ann:hush')}` });
  t.hasStrict(await its.get('/v2/computes/local'), { body: { user: 'ann' } });
});
