/** Notifications: two streams, each over HTTP and over WebSocket. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t);
const client = new Client(server.url);
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });

interface Line {
  readonly text: string;
  readonly action: string;
  readonly event: Json;
}

const parsed = (text: string): Line => ({ ...(JSON.parse(text) as { action: string; event: Json }), text });

/** The lines that one client is told. */
interface Told {
  /** The next line that is not the load of a compute. */
  next(): Promise<Line>;
  close(): void;
}

class Lines implements Told {
  readonly close: () => void;
  readonly #waiting: Line[] = [];
  #wake: (() => void) | undefined;

  constructor(close: () => void) {
    this.close = close;
  }

  push(text: string): void {
    this.#waiting.push(parsed(text));
    this.#wake?.();
  }

  async next(): Promise<Line> {
    for (;;) {
      const line = this.#waiting.shift();
      if (line === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (line.action !== 'compute.updated') {
        return line;
      }
    }
  }
}

async function overHttp(path: string): Promise<{ told: Told; response: Response }> {
  const abort = new AbortController();
  const response = await fetch(server.url + path, { signal: abort.signal });
  const told = new Lines(() => {
    abort.abort();
  });
  void read(response, told).catch(() => undefined);
  return { told, response };
}

async function read(response: Response, lines: Lines): Promise<void> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of response.body ?? []) {
    const found = (rest + decoder.decode(bytes as Uint8Array, { stream: true })).split('\n');
    rest = found.pop() ?? '';
    for (const line of found) lines.push(line);
  }
}

async function overSocket(path: string): Promise<{ told: Told; socket: WebSocket }> {
  const socket = new WebSocket(server.url.replace('http', 'ws') + path);
  const told = new Lines(() => {
    socket.terminate();
  });
  socket.on('message', (data: Buffer, isBinary) => {
    t.notOk(isBinary, 'frames are text');
    told.push(data.toString());
  });
  await once(socket, 'open');
  return { told, socket };
}

const TRANSPORTS: readonly [name: string, suffix: string, open: (path: string) => Promise<{ told: Told }>][] =
  [
    ['HTTP', '', overHttp],
    ['WebSocket', '/ws', overSocket],
  ];

function newProject(name: string): Promise<Json> {
  return client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
}

/** The status with which the server refuses the upgrade. */
async function refusedUpgrade(path: string, headers: Record<string, string> = {}): Promise<number> {
  const socket = new WebSocket(server.url.replace('http', 'ws') + path, { headers });
  socket.on('error', () => undefined);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  socket.terminate();
  return response.statusCode;
}

for (const [name, suffix, open] of TRANSPORTS) {
  void t.test(`a ping with the load of the host comes first, over ${name}`, async (t) => {
    const { project_id } = await newProject(`ping over ${name}`);
    for (const path of ['/v2/notifications', `/v2/projects/${String(project_id)}/notifications`]) {
      const { told } = await open(path + suffix);
      const { text, action, event } = await told.next();
      t.equal(action, 'ping');
      t.strictSame(Object.keys(event), ['cpu_usage_percent', 'memory_usage_percent']);
      for (const share of Object.values(event)) t.ok(Number(share) >= 0 && Number(share) <= 100);
      t.match(text, /^\{"action": "ping", "event": \{.*\}\}$/, 'the envelope is spaced as clients know it');
      told.close();
    }
  });

  void t.test(
    `projects, templates and computes are told on the controller’s stream, over ${name}`,
    async (t) => {
      const { told } = await open(`/v2/notifications${suffix}`);
      t.equal((await told.next()).action, 'ping');
      const next = async (action: string, event: unknown): Promise<void> => {
        const line = await told.next();
        t.strictSame({ action: line.action, event: line.event }, { action, event });
      };

      const project = await newProject(`told over ${name}`);
      const path = `/v2/projects/${String(project['project_id'])}`;
      await next('project.created', project);
      const changed = await client.expect(200, 'PUT', path, { zoom: 80 });
      await next('project.updated', changed);
      await client.expect(200, 'PUT', path, { zoom: 80 });
      await client.expect(201, 'POST', `${path}/open`);
      await client.expect(204, 'POST', `${path}/close`);
      await next('project.closed', { ...changed, status: 'closed' });
      await client.expect(204, 'POST', `${path}/close`);
      await next('project.opened', await client.expect(201, 'POST', `${path}/open`));
      await client.expect(204, 'DELETE', path);
      await next('project.closed', { ...changed, status: 'closed' });
      await next('project.deleted', { ...changed, status: 'closed' });

      const wanted = { name: 'T', template_type: 'ethernet_hub', compute_id: null };
      const template = await client.expect(201, 'POST', '/v2/templates', wanted);
      await next('template.created', template);
      await client.expect(204, 'DELETE', `/v2/templates/${String(template['template_id'])}`);
      await next('template.deleted', template);

      // It is silent: what it answers would be told, too.
      const silent = createServer();
      t.teardown(() => silent.close());
      await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
      const { port } = silent.address() as AddressInfo;
      const address = { protocol: 'http', host: '127.0.0.1', port };
      const compute = await client.expect(201, 'POST', '/v2/computes', address);
      await next('compute.created', compute);
      await client.expect(204, 'DELETE', `/v2/computes/${String(compute['compute_id'])}`);
      await next('compute.deleted', compute);
      told.close();
    },
  );

  void t.test(`nodes, links and drawings are told on the project’s stream, over ${name}`, async (t) => {
    const [project, other] = [await newProject(`mine over ${name}`), await newProject(`other over ${name}`)];
    const path = `/v2/projects/${String(project['project_id'])}`;
    const { told } = await open(`${path}/notifications${suffix}`);
    t.equal((await told.next()).action, 'ping');
    const next = async (action: string, event: unknown): Promise<void> => {
      const line = await told.next();
      t.strictSame({ action: line.action, event: line.event }, { action, event });
    };
    const hub = { name: 'H{0}', node_type: 'ethernet_hub', compute_id: 'local' };
    const elsewhere = `/v2/projects/${String(other['project_id'])}`;
    await client.expect(201, 'POST', `${elsewhere}/nodes`, hub);
    await client.expect(200, 'PUT', path, { zoom: 50 });

    const [a, b] = [
      await client.expect(201, 'POST', `${path}/nodes`, hub),
      await client.expect(201, 'POST', `${path}/nodes`, hub),
    ];
    const ends = [a, b].map(({ node_id }) => ({ node_id, adapter_number: 0, port_number: 0 }));
    const link = await client.expect(201, 'POST', `${path}/links`, { nodes: ends });
    const drawing = await client.expect(201, 'POST', `${path}/drawings`);
    await next('node.created', a);
    await next('node.created', b);
    await next('link.created', link);
    await next('drawing.created', drawing);

    await client.expect(204, 'POST', `${path}/close`);
    await client.expect(201, 'POST', `${path}/open`);
    await next('node.created', a);
    await next('node.created', b);
    await next('link.created', link);
    await next('drawing.created', drawing);
    told.close();
  });

  void t.test(`a closed project tells nothing but pings until it is opened, over ${name}`, async (t) => {
    const { project_id } = await newProject(`closed over ${name}`);
    const path = `/v2/projects/${String(project_id)}`;
    const drawing = await client.expect(201, 'POST', `${path}/drawings`);
    await client.expect(204, 'POST', `${path}/close`);
    const { told } = await open(`${path}/notifications${suffix}`);
    t.equal((await told.next()).action, 'ping');
    await client.expect(201, 'POST', `${path}/open`);
    t.hasStrict(await told.next(), { action: 'drawing.created', event: drawing });
    told.close();
  });

  void t.test(`a quiet stream is kept alive by pings, over ${name}`, async (t) => {
    const { project_id } = await newProject(`quiet over ${name}`);
    const { told } = await open(`/v2/projects/${String(project_id)}/notifications${suffix}`);
    t.equal((await told.next()).action, 'ping');
    t.equal((await told.next()).action, 'ping');
    told.close();
  });
}

void t.test('the HTTP stream is JSON in chunks without an end', async (t) => {
  const { told, response } = await overHttp('/v2/notifications');
  t.equal(response.status, 200);
  t.equal(response.headers.get('content-type'), 'application/json');
  t.equal(response.headers.get('transfer-encoding'), 'chunked');
  t.equal(response.headers.get('content-length'), null);
  told.close();
});

void t.test('every listener is told the same, in the same order', async (t) => {
  const { project_id } = await newProject('many listeners');
  const path = `/v2/projects/${String(project_id)}`;
  const listeners = await Promise.all(
    Array.from({ length: 6 }, (_, index) =>
      index % 2 === 0 ? overHttp(`${path}/notifications`) : overSocket(`${path}/notifications/ws`),
    ),
  );
  for (const { told } of listeners) t.equal((await told.next()).action, 'ping');
  const made = await Promise.all(
    Array.from({ length: 50 }, (_, x) => client.expect(201, 'POST', `${path}/drawings`, { x })),
  );
  const texts: string[][] = [];
  for (const { told } of listeners) {
    const seen: string[] = [];
    for (const { length } of made) {
      t.equal(length, undefined);
      seen.push((await told.next()).text);
    }
    texts.push(seen);
    told.close();
  }
  t.equal(new Set(texts[0]).size, 50);
  for (const seen of texts) t.strictSame(seen, texts[0]);
  const listed = ((await client.get(`${path}/drawings`)).body as Json[]).map((one) => one['drawing_id']);
  t.strictSame(
    texts[0]?.map((text) => parsed(text).event['drawing_id']),
    listed,
    'the order of the events is that of the list',
  );
});

void t.test('messages of a client into its socket are ignored', async (t) => {
  const { project_id } = await newProject('talkative');
  const path = `/v2/projects/${String(project_id)}`;
  const { told, socket } = await overSocket(`${path}/notifications/ws`);
  t.equal((await told.next()).action, 'ping');
  socket.send('hello');
  socket.send(Buffer.from([0, 1, 2]));
  socket.ping();
  await once(socket, 'pong');
  await client.expect(201, 'POST', `${path}/drawings`);
  t.equal((await told.next()).action, 'drawing.created');
  told.close();
});

void t.test('a WebSocket path wants a WebSocket', async (t) => {
  const { project_id } = await newProject('plain');
  for (const path of ['/v2/notifications/ws', `/v2/projects/${String(project_id)}/notifications/ws`]) {
    t.hasStrict(await client.get(path), { status: 400, body: { status: 400 } });
    t.hasStrict(await client.post(path), { status: 405, body: { status: 405 } });
  }
  t.equal(await refusedUpgrade('/v2/version'), 400);
});

void t.test('a stream of an unknown project is refused, before the upgrade', async (t) => {
  const path = `/v2/projects/${UNKNOWN}/notifications`;
  t.hasStrict(await client.get(path), refusal(404, `Project ID ${UNKNOWN} doesn't exist`));
  t.equal(await refusedUpgrade(`${path}/ws`), 404);
  t.equal(await refusedUpgrade('/v2/nowhere/ws'), 404);
});

void t.test('a project of the compute tells of itself and of no other', async (t) => {
  const [lab, other] = [await ComputeLab.open(client), await ComputeLab.open(client)];
  const { told, response } = await overHttp(`${lab.path}/notifications`);
  t.equal(response.headers.get('content-type'), 'application/json');
  t.equal((await told.next()).action, 'ping');
  await client.expect(200, 'PUT', await other.node('ethernet_hub'), { name: 'other' });
  await client.expect(200, 'PUT', await lab.node('ethernet_hub'), { name: 'own' });
  const next = async (): Promise<Line> => {
    const line = await told.next();
    return line.action === 'ping' ? next() : line;
  };
  const line = await next();
  t.match(line, { action: 'node.updated', event: { name: 'own', project_id: lab.id } });
  t.match(line.text, `, "project_id": "${lab.id}"}`);
  told.close();
  t.match(await client.get(`/v2/compute/projects/${UNKNOWN}/notifications`), { status: 404 });
});

void t.test(
  'a WebSocket from a foreign page is refused, one from a stock client’s page is not',
  async (t) => {
    t.equal(await refusedUpgrade('/v2/notifications/ws', { origin: 'http://evil.example' }), 403);
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v2/notifications/ws`, {
      origin: 'http://localhost:4200',
    });
    await once(socket, 'open');
    socket.terminate();
  },
);

void t.test('a server that stops ends the streams of both kinds', async (t) => {
  const stopping = await startServer(t);
  const response = await fetch(`${stopping.url}/v2/notifications`);
  const socket = new WebSocket(`${stopping.url.replace('http', 'ws')}/v2/notifications/ws`);
  await once(socket, 'open');
  const closed = once(socket, 'close') as Promise<[number]>;
  const text = response.text();
  t.equal(await stopping.stop(), 0);
  t.match(await text, /^\{"action": "ping"/, 'ended, not cut');
  const [code] = await closed;
  t.equal(code, 1001, 'going away');
});
