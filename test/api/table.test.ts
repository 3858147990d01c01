/** The route table and the OpenAPI document that is made of it. */
import t from 'tap';
import { routeTable, type Services } from '../../src/api/table.js';
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

const SWITCHES = ['atm_switch', 'frame_relay_switch', 'ethernet_switch', 'ethernet_hub'];

/** The routes of the contract's appendix 1 that are served by now; T is each kind of switch. */
const CONTRACT = `
  GET /v2/version
  POST /v2/version
  POST /v2/reload
  POST /v2/shutdown
  GET /v2/computes
  POST /v2/computes
  GET /v2/computes/{compute_id}
  PUT /v2/computes/{compute_id}
  DELETE /v2/computes/{compute_id}
  GET /v2/computes/{compute_id}/ports
  GET /v2/projects
  POST /v2/projects
  POST /v2/projects/load
  GET /v2/projects/{project_id}
  PUT /v2/projects/{project_id}
  DELETE /v2/projects/{project_id}
  POST /v2/projects/{project_id}/open
  POST /v2/projects/{project_id}/close
  GET /v2/projects/{project_id}/stats
  POST /v2/projects/{project_id}/duplicate
  GET /v2/projects/{project_id}/export
  POST /v2/projects/{project_id}/import
  GET /v2/projects/{project_id}/snapshots
  POST /v2/projects/{project_id}/snapshots
  DELETE /v2/projects/{project_id}/snapshots/{snapshot_id}
  POST /v2/projects/{project_id}/snapshots/{snapshot_id}/restore
  GET /v2/projects/{project_id}/files/{path}
  POST /v2/projects/{project_id}/files/{path}
  GET /v2/projects/{project_id}/nodes
  POST /v2/projects/{project_id}/nodes
  POST /v2/projects/{project_id}/nodes/start
  POST /v2/projects/{project_id}/nodes/stop
  POST /v2/projects/{project_id}/nodes/suspend
  POST /v2/projects/{project_id}/nodes/reload
  GET /v2/projects/{project_id}/nodes/{node_id}
  PUT /v2/projects/{project_id}/nodes/{node_id}
  DELETE /v2/projects/{project_id}/nodes/{node_id}
  POST /v2/projects/{project_id}/nodes/{node_id}/start
  POST /v2/projects/{project_id}/nodes/{node_id}/stop
  POST /v2/projects/{project_id}/nodes/{node_id}/suspend
  POST /v2/projects/{project_id}/nodes/{node_id}/reload
  POST /v2/projects/{project_id}/nodes/{node_id}/duplicate
  GET /v2/projects/{project_id}/nodes/{node_id}/links
  GET /v2/projects/{project_id}/links
  POST /v2/projects/{project_id}/links
  GET /v2/projects/{project_id}/links/{link_id}
  PUT /v2/projects/{project_id}/links/{link_id}
  DELETE /v2/projects/{project_id}/links/{link_id}
  GET /v2/projects/{project_id}/links/{link_id}/available_filters
  GET /v2/projects/{project_id}/drawings
  POST /v2/projects/{project_id}/drawings
  GET /v2/projects/{project_id}/drawings/{drawing_id}
  PUT /v2/projects/{project_id}/drawings/{drawing_id}
  DELETE /v2/projects/{project_id}/drawings/{drawing_id}
  GET /v2/templates
  POST /v2/templates
  GET /v2/templates/{template_id}
  PUT /v2/templates/{template_id}
  DELETE /v2/templates/{template_id}
  POST /v2/templates/{template_id}/duplicate
  POST /v2/projects/{project_id}/templates/{template_id}
  GET /v2/symbols
  GET /v2/symbols/{symbol_id}/raw
  POST /v2/symbols/{symbol_id}/raw
  GET /v2/symbols/{symbol_id}/dimensions
  GET /v2/default_symbols
  GET /v2/notifications
  GET /v2/notifications/ws
  GET /v2/projects/{project_id}/notifications
  GET /v2/projects/{project_id}/notifications/ws
  GET /v2/computes/{compute_id}/network/interfaces
  GET /v2/compute/version
  GET /v2/compute/capabilities
  GET /v2/compute/network/interfaces
  GET /v2/compute/network/ports
  GET /v2/compute/notifications/ws
  GET /v2/compute/projects
  POST /v2/compute/projects
  GET /v2/compute/projects/{project_id}
  PUT /v2/compute/projects/{project_id}
  DELETE /v2/compute/projects/{project_id}
  POST /v2/compute/projects/{project_id}/close
  POST /v2/compute/projects/{project_id}/ports/udp
  GET /v2/compute/projects/{project_id}/files
  GET /v2/compute/projects/{project_id}/files/{path}
  POST /v2/compute/projects/{project_id}/files/{path}
  POST /v2/compute/projects/{project_id}/T/nodes
  GET /v2/compute/projects/{project_id}/T/nodes/{node_id}
  PUT /v2/compute/projects/{project_id}/T/nodes/{node_id}
  DELETE /v2/compute/projects/{project_id}/T/nodes/{node_id}
  POST /v2/compute/projects/{project_id}/T/nodes/{node_id}/duplicate
  POST /v2/compute/projects/{project_id}/T/nodes/{node_id}/start
  POST /v2/compute/projects/{project_id}/T/nodes/{node_id}/stop
  POST /v2/compute/projects/{project_id}/T/nodes/{node_id}/suspend
  POST /v2/compute/projects/{project_id}/T/nodes/{node_id}/adapters/{adapter_number}/ports/{port_number}/nio
  DELETE /v2/compute/projects/{project_id}/T/nodes/{node_id}/adapters/{adapter_number}/ports/{port_number}/nio
`
  .trim()
  .split('\n')
  .flatMap((line) => (line.includes('/T/') ? SWITCHES.map((kind) => line.replace('/T/', `/${kind}/`)) : line))
  .map((line) => line.trim());

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

void t.test('every route of the contract that is served is there', (t) => {
  const found = new Set(operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`));
  for (const line of CONTRACT) t.ok(found.has(line), line);
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

void t.test('every answer is described, and every error has one shape', (t) => {
  for (const { path, method, operation } of operations) {
    const { default: error, ...answers } = operation.responses;
    t.strictSame(error, { $ref: '#/components/responses/Error' }, `${method} ${path}`);
    t.ok(Object.keys(answers).length > 0);
    for (const [status, answer] of Object.entries(answers)) {
      t.match(status, /^(101|200|201|204|206|304)$/);
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
