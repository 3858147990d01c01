/** The route table and the OpenAPI document that is made of it. */
import t from 'tap';
import { routeTable, type Services } from '../../src/api/table.js';
import { GRANTS, RIGHTS } from '../../src/base/rights.js';
import type { RouteAccess } from '../../src/http/route-access.js';
import { Client } from '../support/client.js';
import { startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Json[];
  readonly requestBody?: { readonly content: Json };
  readonly responses: Readonly<Record<string, Json>>;
  readonly 'x-access': RouteAccess;
}

const server = await startServer(t);
const client = new Client(server.url);
/** No handler runs here. */
const SERVICES: unknown = { controller: {}, compute: {} };
const table = routeTable(SERVICES as Services);
const document = await client.expect(200, 'GET', '/v2/openapi.json');
const paths = document['paths'] as Record<string, Record<string, Operation>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);
const documented = (path: string): string => path.replaceAll(':.+}', '}');

/** Every object in the document, however deep. */
function* objectsIn(value: unknown): Generator<Json> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Json;
  for (const inner of Object.values(value)) yield* objectsIn(inner);
}

void t.test('the document says what it is', (t) => {
  t.equal(document['openapi'], '3.1.0');
  const info = document['info'] as Json;
  t.equal(info['title'], 'Wirefarm');
  t.match(info['version'], /^\d+\.\d+\.\d+$/);
  t.strictSame(Object.keys(document).sort(), ['components', 'info', 'openapi', 'paths']);
  t.end();
});

void t.test('every route of the table is there, and nothing else', (t) => {
  const expected = [
    ...table.routes.map(({ method, path }) => `${method} ${documented(path)}`),
    ...table.sockets.map(({ path }) => `GET ${documented(path)}`),
  ];
  t.strictSame(
    operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`).sort(),
    expected.sort(),
  );
  t.equal(new Set(expected).size, expected.length, 'each once');
  t.end();
});

void t.test('every operation has a name of its own, words for people, and a tag', (t) => {
  const ids = operations.map(({ operation }) => operation.operationId);
  t.equal(new Set(ids).size, ids.length);
  for (const { path, operation } of operations) {
    t.match(operation.operationId, /^[a-z][\w.]+$/, path);
    t.ok(operation.summary.length > 5, path);
    t.equal(operation.tags.length, 1, path);
  }
  t.end();
});

void t.test('no list in a body is without a bound: each element that does not fit takes time', (t) => {
  for (const { path, method, operation } of operations)
    for (const schema of objectsIn(operation.requestBody?.content ?? {}))
      if (schema['type'] === 'array') t.type(schema['maxItems'], 'number', `${method} ${path}`);
  t.end();
});

void t.test('the parameters in a path are declared, required, and no others', (t) => {
  for (const { path, method, operation } of operations) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    const inPath = operation.parameters.filter((parameter) => parameter['in'] === 'path');
    t.strictSame(inPath.map((parameter) => parameter['name']).sort(), named.sort(), `${method} ${path}`);
    for (const parameter of operation.parameters) {
      t.type(parameter['schema'], 'object');
      if (parameter['in'] === 'path') t.equal(parameter['required'], true);
    }
  }
  t.end();
});

/** The routes that change nothing although their method says that they may. */
const READING_POSTS = [
  'POST /v2/admin/audit/verification',
  'POST /v2/lab-files/read',
  'POST /v2/projects/{project_id}/snapshots/{snapshot_id}/verify',
];
/** These paths name projects that are still to be made. */
const NEW_PROJECTS = ['/v2/projects/{project_id}/import'];

void t.test('every operation says who may call it', (t) => {
  for (const { path, method, operation } of operations) {
    const access = operation['x-access'];
    const name = `${method.toUpperCase()} ${path}`;
    if (typeof access === 'string') {
      t.match(access, /^(anyone|signed in)$/, name);
      t.notOk(path.includes('{project_id}'), `${name} is for those who may see the project`);
      continue;
    }
    const { right, project, grant } = access;
    t.ok(RIGHTS.includes(right), `${name} has a known right`);
    t.ok(grant === undefined || GRANTS.includes(grant), name);
    const isOfProject = /^(\/v2)?\/projects\/\{project_id\}/.test(path) && !NEW_PROJECTS.includes(path);
    t.equal(project, isOfProject ? 'project_id' : undefined, `${name} is checked for its project`);
    const isReading = method === 'get' || READING_POSTS.includes(name);
    if (/:(read|write)$/.test(right)) t.equal(right.endsWith(':read'), isReading, `${name} is ${right}`);
  }
  t.end();
});

void t.test('every route and WebSocket says what of a farm it acts on', (t) => {
  const places = [...table.routes, ...table.sockets];
  for (const { path, scope } of places) {
    t.match(scope, /^(project|farm|here|any)$/, path);
    if (path.startsWith('/v2/compute/')) t.equal(scope, 'here', path);
    else t.equal(scope === 'project', path.includes('{project_id}'), path);
  }
  const ofFarm = new Set(places.filter(({ scope }) => scope === 'farm').map(({ path }) => path));
  for (const path of ['/v2/templates', '/v2/users', '/v2/session', '/v2/computes'])
    t.ok(ofFarm.has(path), path);
  const goesOn = places.filter((place) => place.goesOn === true).map(({ path }) => path);
  t.same(goesOn, ['/v2/projects/{project_id}/notifications', '/v2/projects/{project_id}/notifications/ws']);
  t.end();
});

void t.test('every answer is described, and every error has one shape', (t) => {
  for (const { path, method, operation } of operations) {
    const { default: error, ...answers } = operation.responses;
    t.strictSame(error, { $ref: '#/components/responses/Error' }, `${method} ${path}`);
    t.ok(Object.keys(answers).length > 0);
    for (const [status, answer] of Object.entries(answers)) {
      t.match(status, /^(101|200|201|202|204|206|302|304)$/);
      t.type(answer['description'], 'string');
    }
    // Clients of GNS3 send the platforms that they ask for in a body.
    const mayHaveBody = method !== 'get' && method !== 'delete';
    if (!mayHaveBody && !path.includes('/qemu/')) t.equal(operation.requestBody, undefined, path);
  }
  const { responses } = document['components'] as { responses: { Error: Json } };
  const { Error: error } = responses as { Error: { content: Record<string, { schema: Json }> } };
  const schema = error.content['application/json']?.schema ?? {};
  t.strictSame(schema['required'], ['code', 'message', 'status']);
  t.end();
});

void t.test('every reference leads somewhere', (t) => {
  let count = 0;
  for (const object of objectsIn(document)) {
    const { $ref: reference } = object;
    if (typeof reference !== 'string') continue;
    count++;
    const found = reference
      .replace('#/', '')
      .split('/')
      .reduce<unknown>((inside, key) => (inside as Json | undefined)?.[key], document);
    t.type(found, 'object', reference);
  }
  t.ok(count >= operations.length);
  t.end();
});

void t.test('the objects of the contract are closed, with all of their keys', (t) => {
  const keys = (path: string, method: string, status: string): readonly [Json, string[]] => {
    const answer = paths[path]?.[method]?.responses[status] as { content: Record<string, { schema: Json }> };
    const schema = answer.content['application/json']?.schema ?? {};
    return [schema, Object.keys(schema['properties'] as Json)];
  };
  const sizes: readonly (readonly [path: string, count: number])[] = [
    ['/v2/projects/{project_id}', 19],
    ['/v2/projects/{project_id}/nodes/{node_id}', 27],
    ['/v2/projects/{project_id}/links/{link_id}', 11],
    ['/v2/projects/{project_id}/drawings/{drawing_id}', 8],
    ['/v2/computes/{compute_id}', 11],
  ];
  for (const [path, count] of sizes) {
    const [schema, names] = keys(path, 'get', '200');
    t.equal(names.length, count, path);
    t.equal(schema['additionalProperties'], false, path);
    t.strictSame((schema['required'] as string[]).sort(), names.sort(), path);
  }
  t.end();
});

void t.test('every documented operation exists, and other methods of its path are refused', async (t) => {
  for (const [path, methods] of Object.entries(paths)) {
    const url = path.replace(/\{\w+\}/g, 'x');
    const missing = ['GET', 'POST', 'PUT', 'DELETE'].filter((method) => !(method.toLowerCase() in methods));
    for (const method of missing) {
      const reply = await client.request(method, url);
      t.hasStrict(reply, { status: 405, body: { status: 405 } }, `${method} ${path}`);
      const allowed = reply.headers.get('allow')?.split(', ') ?? [];
      const isSocket = path.endsWith('/ws');
      for (const own of Object.keys(methods)) {
        if (!isSocket) t.ok(allowed.includes(own.toUpperCase()), `${own} is named for ${path}`);
      }
      t.notOk(allowed.includes(method));
    }
  }
});

void t.test('the document is the same at every call', async (t) => {
  const [first, second] = [await client.get('/v2/openapi.json'), await client.get('/v2/openapi.json')];
  t.equal(first.text, second.text);
  t.equal(first.headers.get('content-type'), 'application/json');
});
