/**
 * Thousands of requests that no client should send, on every route: each is answered, never with a 5xx, always as
 * the route declares; and the server is as good as new afterwards. WIREFARM_TEST_SEED repeats another run.
 */
import t from 'tap';
import { z } from 'zod';
import { routeTable, type Services } from '../src/api/table.js';
import type { Route } from '../src/http/route.js';
import { checkReply, Client, type Reply } from './support/client.js';
import { eventually } from './support/eventually.js';
import { descriptorsOf } from './support/open-descriptors.js';
import { patience } from './support/patience.js';
import { Random, testSeed } from './support/random.js';
import {
  chunked,
  headerOf,
  RawConnection,
  requestBytes,
  type RawReply,
  type RawRequest,
} from './support/raw-client.js';
import { rounds } from './support/rounds.js';
import { startServer } from './support/server-process.js';

const SEED = testSeed(20_260_729);
const ROUNDS = rounds(1, 40);
const PER_ROUTE = 4;
const CONNECTIONS = 6;
/** With the headers, what the library takes. */
const LONGEST_PATH = 14_000;
const LARGEST_BODY = 1024 * 1024;

/** No handler runs here. */
const SERVICES: unknown = { controller: {}, compute: {} };
const TABLE = routeTable(SERVICES as Services);
/** Servers that have their first user, or are drained, refuse the others, and nothing would be met. */
const CLOSING = ['/v2/users', '/v2/admin/drain'];
const closesServer = ({ method, path }: Route): boolean => method === 'POST' && CLOSING.includes(path);
const TARGETS: readonly Target[] = [
  ...TABLE.routes
    .filter((each) => !closesServer(each))
    .map((route) => ({ method: route.method, path: route.path, route })),
  ...TABLE.sockets.map(({ path }) => ({ method: 'GET', path, route: undefined })),
];

interface Target {
  readonly method: string;
  readonly path: string;
  readonly route: Route | undefined;
}

/** The names of everything in the lab, by parameter. */
type Lab = Readonly<Record<string, readonly string[]>>;

interface HostileRequest extends RawRequest {
  readonly method: string;
  readonly path: string;
}

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\0',
  'a\u0000b',
  '\u0001\u001f\u007f\u0085\u2028',
  '../../../etc/passwd',
  '/etc/passwd',
  '..',
  '.',
  'NaN',
  '-0',
  '__proto__',
  'constructor',
  '{0}{id}{',
  '${7*7}%s%n',
  '<svg onload="alert(1)">',
  '𝕎é\u0301\u202e',
  "'; DROP TABLE nodes; --",
  'x'.repeat(256),
  'y'.repeat(70_000),
] as const;
const HOSTILE_VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  -1e308,
  2 ** 31,
  2 ** 53,
  1e21,
  [],
  {},
  [[]],
  [null],
  [{}],
  { length: 1e9 },
  { toString: 'x', valueOf: 1, toJSON: 2 },
  { then: 'later' },
  Array.from({ length: 2000 }, (_, index) => index),
  ...HOSTILE_TEXTS,
];
const HOSTILE_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'then',
  '',
  '\0',
  'nodes',
  'x'.repeat(5000),
];
/** Written into the text of a body, because no value becomes them. */
const HOSTILE_LITERALS = [
  'NaN',
  'Infinity',
  '-Infinity',
  'undefined',
  '1e400',
  '-1e400',
  '0x10',
  '01',
  '1.',
  '9'.repeat(400),
  '"\\ud800"',
  '"\\udfff\\ud800"',
  '"\\x"',
  '"\t\n"',
  '"\\u0000"',
  '{"__proto__":{"status":200,"isFault":true}}',
  '{"a":1,"a":2}',
  '[1,]',
  "'x'",
  '/* */ 1',
];
const HOSTILE_SEGMENTS = [
  '%00',
  '%2f',
  '%2F..%2f',
  '%2e%2e',
  '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '%ff',
  '%c0%ae',
  '%ed%a0%80',
  '%252e%252e%252f',
  '%25',
  '%',
  '%zz',
  '%0d%0aX-Evil:%201',
  '\xff\xfe',
  '\xc3\xa9',
  '..',
  '.',
  '*',
  '__proto__',
  'constructor',
  'x'.repeat(300),
  '%41'.repeat(3000),
  'z'.repeat(12_000),
];
const QUERIES = [
  '',
  '?',
  '?a=b',
  '?name=x&name=y',
  '?%',
  '?%ff=%00',
  '?__proto__=1&constructor=2',
  '?=&&&=',
  '?project_id=x',
  `?long=${'q'.repeat(8000)}`,
];
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'Content-Type': 'application/x-www-form-urlencoded' },
  { 'Content-Type': 'application/json; charset=utf-16' },
  { 'Content-Type': '\xff' },
  { Accept: 'text/html', 'Accept-Encoding': 'gzip, br' },
  { Authorization: 'Basic \xff\xfe' },
  { Origin: 'http://127.0.0.1:3080' },
  { Origin: 'https://evil.example' },
  { Origin: 'null', 'Access-Control-Request-Method': 'BREW', 'Access-Control-Request-Headers': 'a, \xe9' },
  { Host: 'evil.example' },
  { Host: 'localhost:1' },
  { 'If-None-Match': '"x"', 'If-Modified-Since': 'yesterday', Range: 'bytes=5-1' },
  { 'X-HTTP-Method-Override': 'DELETE', 'X-Original-URL': '/v2/shutdown' },
  { 'X-Long': 'h'.repeat(9000) },
  { Upgrade: 'h2c', Connection: 'Upgrade' },
  { Expect: '100-continue' },
  { Cookie: 'a=b; '.repeat(100) },
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'BREW', 'post'];

/** A value that a JSON schema allows, more or less; the server's own checks do the rest. */
function sample(schema: Record<string, unknown>, lab: Lab, random: Random, name = ''): unknown {
  const known = lab[name];
  if (known !== undefined && random.chance(0.8)) return random.pick(known);
  if (Array.isArray(schema['anyOf']))
    return sample(random.pick(schema['anyOf'] as Record<string, unknown>[]), lab, random, name);
  if (Array.isArray(schema['enum'])) return random.pick(schema['enum'] as unknown[]);
  switch (schema['type']) {
    case 'string':
      return schema['pattern'] === undefined ? `text ${random.below(1000)}` : random.uuid();
    case 'integer':
    case 'number':
      return random.below(Math.min(Number(schema['maximum'] ?? 1000), 64) + 1);
    case 'boolean':
      return random.chance(0.5);
    case 'array':
      return Array.from({ length: random.below(4) }, () =>
        sample((schema['items'] ?? {}) as Record<string, unknown>, lab, random),
      );
    case 'object': {
      const required = new Set((schema['required'] ?? []) as string[]);
      const properties = Object.entries(
        (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>,
      );
      return Object.fromEntries(
        properties
          .filter(([key]) => required.has(key) || random.chance(0.4))
          .map(([key, field]) => [key, sample(field, lab, random, key)]),
      );
    }
    default:
      return null;
  }
}

const SCHEMAS = new Map<Route, Record<string, unknown>>(
  TABLE.routes.flatMap((route) =>
    route.body instanceof z.ZodType
      ? [[route, z.toJSONSchema(route.body, { io: 'input', unrepresentable: 'any' })] as const]
      : [],
  ),
);

/** Bodies whose deeper parts the schema leaves open. */
function example(target: Target, lab: Lab, random: Random): unknown {
  const end = (): object => ({
    node_id: random.pick(lab['node_id'] ?? ['']),
    adapter_number: random.below(3),
    port_number: random.below(10),
    label: { text: 'e0', x: random.below(90), y: 1, rotation: 0, style: 'font-size: 10' },
  });
  switch (`${target.method} ${target.path}`) {
    case 'POST /v2/projects/{project_id}/nodes':
    case 'PUT /v2/projects/{project_id}/nodes/{node_id}':
      return {
        name: `N${random.below(50)}`,
        compute_id: 'local',
        ...random.pick<object>([
          { node_type: 'atm_switch', properties: { mappings: { '1:0:100': '10:0:200', '2:5': '11:6' } } },
          { node_type: 'frame_relay_switch', properties: { mappings: { '1:101': '10:202' } } },
          {
            node_type: 'ethernet_switch',
            properties: {
              ports_mapping: [{ name: 'Ethernet0', port_number: 0, type: 'access', vlan: 1, ethertype: '' }],
            },
          },
          { node_type: 'ethernet_hub', properties: { ports_mapping: [{ name: 'E0', port_number: 0 }] } },
        ]),
      };
    case 'POST /v2/projects/{project_id}/links':
    case 'PUT /v2/projects/{project_id}/links/{link_id}':
      return {
        nodes: [end(), end()],
        filters: { delay: [10, 5], bpf: ['icmp'] },
        link_style: { color: '#fff', width: 2, type: 1 },
        suspend: random.chance(0.5),
      };
    case 'POST /v2/templates':
    case 'PUT /v2/templates/{template_id}':
      return {
        name: `T${random.below(50)}`,
        compute_id: 'local',
        template_type: random.pick(['ethernet_switch', 'ethernet_hub', 'atm_switch', 'vpcs']),
        ports_mapping: [{ name: 'E0', port_number: 0 }],
      };
    default:
      return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One change at a random place. */
function mutated(value: unknown, random: Random): unknown {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.75)) {
    const at = random.below(value.length);
    return value.map((item: unknown, index) => (index === at ? mutated(item, random) : item));
  }
  if (!isRecord(value)) return random.pick(HOSTILE_VALUES);
  const entries = Object.entries(value);
  const at = random.below(entries.length);
  switch (random.below(7)) {
    case 0:
      return random.pick(HOSTILE_VALUES);
    case 1:
      return Object.fromEntries([...entries, [random.pick(HOSTILE_KEYS), random.pick(HOSTILE_VALUES)]]);
    case 2:
      return Object.fromEntries(entries.filter((_, index) => index !== at));
    case 3:
      return [value];
    default:
      return Object.fromEntries(
        entries.map(([key, item], index) => [key, index === at ? mutated(item, random) : item]),
      );
  }
}

/** Damages a text so that no JSON writer would have written it. */
function broken(text: string, random: Random): Buffer {
  const at = random.below(text.length + 1);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  const literal = random.pick(HOSTILE_LITERALS);
  switch (random.below(9)) {
    case 0:
      return Buffer.from(before);
    case 1:
      return Buffer.from(`${before}${after}${after}`);
    case 2:
      return Buffer.concat([
        Buffer.from(before),
        Buffer.from([0xff, 0xc0, 0xed, 0xa0, 0x80]),
        Buffer.from(after),
      ]);
    case 3:
      return Buffer.from('['.repeat(random.pick([63, 64, 65, 5000, 200_000])));
    case 4: {
      const depth = random.pick([20, 64, 65, 1000]);
      return Buffer.from('{"a":'.repeat(depth) + '1' + '}'.repeat(depth));
    }
    case 5:
      return Buffer.from(literal);
    case 6:
      return Buffer.from(`\ufeff${text}`);
    default:
      return Buffer.from(text.replace(/:("[^"\\]*"|[\d.]+|true|false|null)/, () => `:${literal}`));
  }
}

function hostileBody(target: Target, lab: Lab, random: Random): Buffer | undefined {
  const schema = target.route === undefined ? undefined : SCHEMAS.get(target.route);
  if (schema === undefined) {
    if (target.route?.body !== 'raw' && random.chance(0.8)) return undefined;
    return Buffer.from(random.pick(HOSTILE_TEXTS));
  }
  let value = (random.chance(0.5) ? example(target, lab, random) : undefined) ?? sample(schema, lab, random);
  for (let changes = random.below(4); changes > 0; changes--) value = mutated(value, random);
  if (random.chance(0.005)) value = { name: 'n'.repeat(random.pick([LARGEST_BODY - 11, LARGEST_BODY - 10])) };
  const text = JSON.stringify(value);
  return random.chance(0.25) ? broken(text, random) : Buffer.from(text);
}

function hostilePath(target: Target, lab: Lab, random: Random): string {
  const filled = target.path.replace(/\{(\w+)(:\.\+)?\}/g, (_, name: string) => {
    const kind = random.below(10);
    if (kind < 7) return random.pick(lab[name] ?? ['unknown']);
    return kind < 8 ? random.uuid() : random.pick(HOSTILE_SEGMENTS);
  });
  if (random.chance(0.8)) return filled.slice(0, LONGEST_PATH);
  const segments = filled.split('/');
  const at = 1 + random.below(segments.length - 1);
  const segment = segments[at] ?? '';
  switch (random.below(5)) {
    case 0:
      segments[at] = segment + random.pick(HOSTILE_SEGMENTS);
      break;
    case 1:
      segments[at] = Array.from(segment)
        .map((c) => `%${c.charCodeAt(0).toString(16).padStart(2, '0')}`)
        .join('');
      break;
    case 2:
      segments.splice(at, 0, random.pick(['', '.', '..', '%2e%2e']));
      break;
    case 3:
      segments.push(random.pick(['', ...HOSTILE_SEGMENTS]));
      break;
    default:
      segments[at] = segment.toUpperCase();
  }
  return segments.join('/').slice(0, LONGEST_PATH);
}

function hostileRequest(target: Target, lab: Lab, random: Random): HostileRequest {
  const method = random.chance(0.9) ? target.method : random.pick(METHODS);
  const path = hostilePath(target, lab, random);
  const query = random.chance(0.8) || path.length > 6000 ? '' : random.pick(QUERIES);
  const headers = random.chance(0.7) || path.length + query.length > 5000 ? {} : random.pick(HEADERS);
  const body = method === 'GET' && random.chance(0.9) ? undefined : hostileBody(target, lab, random);
  const line = { method, path: path + query };
  if (body === undefined) return { ...line, headers };
  if (random.chance(0.9)) return { ...line, headers, body };
  const middle = Math.floor(body.length / 2);
  return {
    ...line,
    headers: { ...headers, 'Transfer-Encoding': 'chunked' },
    body: body.length < 2 ? chunked() : chunked(body.subarray(0, middle), body.subarray(middle)),
  };
}

const client = (url: string): Client => new Client(url);

async function makeLab(wirefarm: Client, random: Random): Promise<Lab> {
  const base = '/v2/projects';
  const project = await wirefarm.expect(201, 'POST', base, { name: `lab ${random.uuid()}` });
  const id = String(project['project_id']);
  const nodes: string[] = [];
  for (const node_type of ['ethernet_switch', 'ethernet_hub', 'atm_switch', 'frame_relay_switch']) {
    const body = { name: 'N{0}', node_type, compute_id: 'local' };
    nodes.push(String((await wirefarm.expect(201, 'POST', `${base}/${id}/nodes`, body))['node_id']));
  }
  const ends = nodes.slice(0, 2).map((node_id) => ({ node_id, adapter_number: 0, port_number: 0 }));
  const link = await wirefarm.expect(201, 'POST', `${base}/${id}/links`, { nodes: ends });
  const drawing = await wirefarm.expect(201, 'POST', `${base}/${id}/drawings`, { svg: '<svg/>' });
  const template = await wirefarm.expect(201, 'POST', '/v2/templates', {
    name: 'T',
    template_type: 'ethernet_hub',
    compute_id: 'local',
  });
  await wirefarm.expect(201, 'POST', `${base}/${id}/files/notes.txt`, 'notes');
  const compute = { protocol: 'http', host: 'other.example', port: 3080, compute_id: `c${random.below(5)}` };
  await wirefarm.expect(201, 'POST', '/v2/computes', { ...compute, name: compute.compute_id });
  return {
    project_id: [id],
    node_id: nodes,
    link_id: [String(link['link_id'])],
    drawing_id: [String(drawing['drawing_id'])],
    template_id: [String(template['template_id'])],
    compute_id: ['local', compute.compute_id],
    symbol_id: [':/symbols/hub.svg', '%3A%2Fsymbols%2Fatm_switch.svg', 'mine.svg'],
    path: ['notes.txt', `lab.gns3`, 'sub/file.bin', 'new.bin'],
  };
}

function endsLab({ method, path }: HostileRequest): boolean {
  return method === 'DELETE' || path.endsWith('/close');
}

async function sendAll(port: number, requests: HostileRequest[]): Promise<void> {
  const waiting = [...requests];
  const work = async (): Promise<void> => {
    let connection = await RawConnection.open(port);
    let before = 'nothing';
    for (let request = waiting.shift(); request !== undefined; request = waiting.shift()) {
      if (connection.isClosed) connection = await RawConnection.open(port);
      try {
        const isReusable = await sendOne(connection, request);
        before = isReusable ? shown(request) : 'nothing';
        if (isReusable) continue;
      } catch (error) {
        throw new Error(`seed ${SEED}: ${String(error)}\n${shown(request)}\nafter ${before}`, {
          cause: error,
        });
      }
      connection.close();
      connection = await RawConnection.open(port);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

function shown(request: HostileRequest): string {
  const text = requestBytes(request.method, request.path, request).toString('latin1');
  return JSON.stringify(text.slice(0, 2000));
}

/** Returns whether the connection can take another request. */
async function sendOne(connection: RawConnection, request: HostileRequest): Promise<boolean> {
  connection.send(request.method, request.path, request);
  let head = await connection.head();
  while (head.status === 100) head = await connection.head();
  if (headerOf(head, 'transfer-encoding') === 'chunked' && request.method !== 'HEAD') {
    const piece = await connection.chunk();
    // Packets, or files.
    if (headerOf(head, 'content-type') !== 'application/json') return false;
    if (headerOf(head, 'x-route')?.endsWith('/notifications') !== true) {
      const pieces = [piece];
      for (let next = await connection.chunk(); next.length > 0; next = await connection.chunk())
        pieces.push(next);
      const body = Buffer.concat(pieces);
      checkAnswer(request.method, request.path, { ...head, body, text: body.toString() });
      return headerOf(head, 'connection') !== 'close';
    }
    const first = JSON.parse(piece.toString()) as Record<string, unknown>;
    if (first['action'] !== 'ping') throw new Error(`a stream began with ${JSON.stringify(first)}`);
    return false;
  }
  const hasBody = request.method !== 'HEAD' && head.status !== 204 && head.status !== 304;
  const body = hasBody ? await connection.bytes(Number(headerOf(head, 'content-length'))) : Buffer.alloc(0);
  checkAnswer(request.method, request.path, { ...head, body, text: body.toString() });
  return headerOf(head, 'connection') !== 'close';
}

const errorShape = z.union([
  z.strictObject({ code: z.string().min(1), message: z.string().min(1), status: z.int() }),
  z.strictObject({
    code: z.string().min(1),
    faults: z
      .array(z.strictObject({ path: z.array(z.union([z.string(), z.int()])), reason: z.string() }))
      .optional(),
    message: z.string().min(1),
    method: z.string(),
    path: z.string(),
    request: z.unknown(),
    status: z.literal(400),
  }),
  z.strictObject({
    exception: z.string(),
    image: z.string(),
    code: z.string().min(1),
    message: z.string().min(1),
    status: z.literal(409),
  }),
]);

function checkAnswer(method: string, path: string, raw: RawReply): void {
  if (raw.status >= 500) throw new Error(`answered ${raw.status} ${raw.text}`);
  if (raw.status >= 400 && headerOf(raw, 'content-type') !== 'application/json')
    throw new Error(`an error of the type ${headerOf(raw, 'content-type') ?? 'none'}: ${raw.text}`);
  if (method === 'HEAD') return;
  const isJson = headerOf(raw, 'content-type') === 'application/json' && raw.text !== '';
  const body: unknown = isJson ? JSON.parse(raw.text) : undefined;
  if (raw.status >= 400) {
    if (errorShape.parse(body).status !== raw.status) throw new Error(`another status in ${raw.text}`);
    return;
  }
  const headers = new Headers();
  for (const [name, value] of raw.headers) headers.append(name, value);
  const reply: Reply = { status: raw.status, headers, text: raw.text, body };
  // The library knows methods in either case.
  checkReply(method.toUpperCase(), path.slice(0, 200), reply);
}

void t.test('no request on any route breaks the server, and every answer is a declared one', async (t) => {
  t.comment(`seed ${SEED}`);
  const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'error' } });
  const wirefarm = client(server.url);
  const random = new Random(SEED);
  const warmUp = await makeLab(wirefarm, random);
  // Some threads are started when they are first needed.
  const link = `/v2/projects/${warmUp['project_id']?.[0] ?? ''}/links/${warmUp['link_id']?.[0] ?? ''}`;
  for (const body of [{}, { bpf: 'ip' }]) {
    await wirefarm.post(`${link}/start_capture`, body);
    await wirefarm.expect(201, 'POST', `${link}/stop_capture`);
  }
  await wirefarm.expect(204, 'DELETE', `/v2/projects/${warmUp['project_id']?.[0] ?? ''}`);
  const images = '/v2/compute/qemu/images';
  const uploads = Array.from({ length: 8 }, (_, index) =>
    wirefarm.post(`${images}/warm-${index}`, 'x'.repeat(index < 4 ? 10 : 100_000)),
  );
  await Promise.all(uploads);
  await Promise.all(uploads.map(() => wirefarm.get(images)));
  for (const index of uploads.keys()) await wirefarm.delete(`${images}/warm-${index}`);
  const copied = await makeLab(wirefarm, random);
  const project = `/v2/projects/${copied['project_id']?.[0] ?? ''}`;
  const snapshot = await wirefarm.expect(201, 'POST', `${project}/snapshots`, { name: 'warm' });
  const details = `${project}/snapshots/${String(snapshot['snapshot_id'])}`;
  await Promise.all(Array.from({ length: 32 }, () => wirefarm.get(details)));
  await wirefarm.expect(204, 'DELETE', project);
  const counter = await RawConnection.open(server.port);
  const before = descriptorsOf(server).length;

  let count = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const lab = await makeLab(wirefarm, random);
    const requests = TARGETS.flatMap((target) =>
      Array.from({ length: PER_ROUTE }, () => hostileRequest(target, lab, random)),
    );
    // Requests that end the lab come last, so that the others meet something.
    requests.sort((a, b) => Number(endsLab(a)) - Number(endsLab(b)));
    await sendAll(server.port, requests);
    count += requests.length;
    // A slow disk would have more jobs wait than may.
    await eventually('no job is under way', async () => {
      const jobs = (await wirefarm.get('/v2/jobs')).body as readonly unknown[];
      return jobs.length === 0 || undefined;
    });
    // Leftovers would make the backups of later rounds longer.
    for (const [path, id] of [
      ['/v2/projects', 'project_id'],
      ['/v2/templates', 'template_id'],
    ] as const) {
      for (const left of (await wirefarm.get(path)).body as readonly Readonly<Record<string, unknown>>[])
        await wirefarm.delete(`${path}/${String(left[id])}`);
    }
  }
  t.comment(`${count} requests`);
  t.ok(count >= ROUNDS * 100);

  t.equal(server.log(), '', 'nothing was logged as a fault');
  t.equal(server.child.exitCode, null);
  const lab = await makeLab(wirefarm, random);
  await wirefarm.expect(
    200,
    'POST',
    `/v2/projects/${lab['project_id']?.[0] ?? ''}/nodes/${lab['node_id']?.[0] ?? ''}/start`,
  );
  await wirefarm.expect(204, 'DELETE', `/v2/projects/${lab['project_id']?.[0] ?? ''}`);
  for (
    const deadline = Date.now() + patience(10_000);
    Date.now() < deadline && descriptorsOf(server).length > before;
  )
    await wirefarm.get('/v2/version');
  t.ok(descriptorsOf(server).length <= before, 'every descriptor was given back');
  counter.close();
  t.equal(await server.stop(), 0);
});
