/** The route table beside that of the reference. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { routeTable, type Services } from '../../src/api/table.js';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { startServer } from '../support/server-process.js';
import { REFERENCE_ROUTES } from './reference-routes.js';

const server = await startServer(t);
const client = new Client(server.url);
/** No handler runs here. */
const SERVICES: unknown = { controller: {}, compute: {} };
const table = routeTable(SERVICES as Services);

/** The path without the names of its parameters, which clients do not see. */
const shapeOf = (route: string): string =>
  route.replace(/\{\w+(:\.\+)?\}/g, (_found, rest) => (rest === undefined ? '{}' : '{…}'));

/** Kinds of node that no host of this server has: their nodes are refused, so that none is ever found. */
const UNAVAILABLE = /^(\w+) \/v2\/compute\/projects\/\{project_id\}\/(traceng|virtualbox|vmware)\//;

/** The other routes that answer on purpose in another way than the reference on a host that has everything. */
const DIFFERENT: Readonly<
  Record<string, { readonly status: number; readonly code: string; readonly body?: object }>
> = {
  'GET /v2/compute/virtualbox/vms': { status: 409, code: 'node_kind_unavailable' },
  'GET /v2/compute/vmware/vms': { status: 409, code: 'node_kind_unavailable' },
  'GET /debug': { status: 403, code: 'debug_local_only' },
  'GET /v2/compute/debug': { status: 403, code: 'debug_local_only' },
  'POST /v2/debug': { status: 403, code: 'debug_local_only' },
  'PUT /v2/gns3vm': { status: 409, code: 'virtual_machine_unavailable', body: { enable: true } },
  'GET /v2/gns3vm/engines/{engine}/vms': { status: 404, code: 'virtual_machine_engine_unknown' },
  'GET /v2/computes/{compute_id}/{emulator}/{action:.+}': { status: 404, code: 'compute_request_unknown' },
  'POST /v2/computes/{compute_id}/{emulator}/{action:.+}': {
    status: 404,
    code: 'compute_request_unknown',
    body: {},
  },
  'PUT /v2/computes/{compute_id}/{emulator}/{action:.+}': {
    status: 404,
    code: 'compute_request_unknown',
    body: {},
  },
  'GET /static/web-ui/{filename:.+}': { status: 404, code: 'web_ui_missing' },
};

void t.test('every route of the reference is in the table', (t) => {
  const own = new Set([
    ...table.routes.map(({ method, path }) => shapeOf(`${method} ${path}`)),
    ...table.sockets.map(({ path }) => shapeOf(`GET ${path}`)),
  ]);
  t.equal(REFERENCE_ROUTES.length, 358);
  t.same(
    REFERENCE_ROUTES.filter((route) => !own.has(shapeOf(route))),
    [],
  );
  t.end();
});

const PAGE = fileURLToPath(new URL('../../../docs/reference/gns3-routes.md', import.meta.url));
const ROW = /^\| `([^`]+)` \| (.+) \| (\w+) \| (.*)\|$/gm;

/** A route as the page of routes names it: kinds of node and parameters with slashes have one row. */
const rowOf = (route: string): string =>
  route
    .replace(/(\/compute\/projects\/\{project_id\})\/\w+\/nodes/, '$1/{kind}/nodes')
    .replaceAll(':.+}', '}');

void t.test('the page of routes has one row for each route, and a reason for each that differs', (t) => {
  const answers = new Map<string, string>();
  for (const [, path = '', methods = '', answer = '', reason = ''] of readFileSync(PAGE, 'utf8').matchAll(
    ROW,
  )) {
    t.match(answer, /^(same|more|different)$/, path);
    t.equal(reason.trim() === '', answer === 'same', `${path} has a reason when it is not the same`);
    for (const [, method = ''] of methods.matchAll(/`(\w+)`/g)) {
      const route = `${method} ${path}`;
      t.notOk(answers.has(route), `${route} is there once`);
      answers.set(route, answer);
    }
  }
  t.strictSame([...answers.keys()].sort(), [...new Set(REFERENCE_ROUTES.map(rowOf))].sort());
  for (const route of Object.keys(DIFFERENT)) t.equal(answers.get(rowOf(route)), 'different', route);
  t.end();
});

void t.test('a route that differs on purpose says why', async (t) => {
  for (const [route, { status, code, body }] of Object.entries(DIFFERENT)) {
    t.ok(REFERENCE_ROUTES.includes(route), route);
    const [method = '', path = ''] = route.split(' ');
    const asked = path.replace('{compute_id}', 'local').replaceAll(/\{\w+(:\.\+)?\}/g, 'something');
    const reply = await client.request(method, asked, body);
    t.match(reply, { status, body: { status, code } }, route);
  }
});

void t.test('no node of a kind that is not available is ever found', async (t) => {
  const { path: base } = await ComputeLab.open(client);
  const id = randomUUID();
  const routes = REFERENCE_ROUTES.filter((route) => UNAVAILABLE.test(route));
  t.equal(routes.length, 50);
  for (const route of routes) {
    const [method = '', path = ''] = route.split(' ');
    if (!path.includes('{node_id}') || path.endsWith('/ws')) continue;
    const asked = path
      .replace('/v2/compute/projects/{project_id}', base)
      .replace('{node_id}', id)
      .replace('{adapter}', '0')
      .replace('{port}', '0');
    const body = { status: 404, code: 'node_unknown', message: `Node ID ${id} doesn't exist` };
    t.match(await client.request(method, asked, method === 'GET' ? undefined : {}), { status: 404, body });
  }
  const nowhere = base.replace(/[^/]+$/, id);
  t.match(await client.get(`${nowhere}/vmware/nodes/${id}`), {
    status: 404,
    body: { message: `Project ID ${id} doesn't exist` },
  });
  t.match(await client.get(`${base}/vmware/nodes/nonsense`), { status: 400 });
});
