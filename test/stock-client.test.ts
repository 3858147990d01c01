/** The server as gns3fy uses it, call by call, held against the samples of the contract. */
import t, { type Test } from 'tap';
import { Client, type Reply } from './support/client.js';
import { CONSOLE_PORTS_BY_DEFAULT, startServer } from './support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t, { environment: CONSOLE_PORTS_BY_DEFAULT });
// gns3fy sends this header, JSON bodies when they are not empty, and raw bodies as they are.
const client = new Client(`${server.url}/v2`, { accept: 'application/json' });
const UNKNOWN = '11111111-2222-3333-4444-555555555555';

/** The keys that the classes of gns3fy and the desktop client know: another key is a crash, a missing one a None. */
const PROJECT = {
  auto_close: true,
  auto_open: false,
  auto_start: false,
  drawing_grid_size: 25,
  filename: 'samples.gns3',
  grid_size: 75,
  name: 'samples',
  scene_height: 1000,
  scene_width: 2000,
  show_grid: false,
  show_interface_labels: false,
  show_layers: false,
  snap_to_grid: false,
  status: 'opened',
  supplier: null,
  variables: null,
  zoom: 100,
};
const NODE = {
  command_line: null,
  compute_id: 'local',
  console_auto_start: false,
  console_host: '127.0.0.1',
  custom_adapters: [],
  first_port_name: null,
  locked: false,
  node_directory: null,
  port_name_format: 'Ethernet{0}',
  port_segment_size: 0,
  status: 'started',
  x: 0,
  y: 0,
  z: 1,
};
const LABEL_STYLE =
  'font-family: TypeWriter;font-size: 10.0;font-weight: bold;fill: #000000;fill-opacity: 1.0;';

async function call(status: number, method: string, path: string, body?: unknown): Promise<Json> {
  const reply = await client.request(method, path, body);
  if (reply.status !== status) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
  return (reply.body ?? {}) as Json;
}

async function list(path: string): Promise<Json[]> {
  const reply = await client.get(path);
  return reply.body as Json[];
}

/** As gns3fy raises it: the body of an error must have a status and a message. */
function checkError(t: Test, reply: Reply, status: number): void {
  t.equal(reply.status, status);
  t.equal(reply.headers.get('content-type'), 'application/json');
  const { message, status: told } = reply.body as Json;
  t.type(message, 'string');
  t.ok(String(message).length > 0);
  t.equal(told, status);
}

void t.test('gns3fy builds a lab, works in it and takes it down', async (t) => {
  // Gns3Connector.get_version()
  const version = await call(200, 'GET', '/version');
  t.strictSame(Object.keys(version), ['local', 'version']);
  t.match(version['version'], /^2\.2\.\d+$/);

  // Gns3Connector.get_computes()
  const [compute] = await list('/computes');
  t.strictSame(Object.keys(compute ?? {}), [
    'capabilities',
    'compute_id',
    'connected',
    'cpu_usage_percent',
    'host',
    'last_error',
    'memory_usage_percent',
    'name',
    'port',
    'protocol',
    'user',
  ]);
  t.hasStrict(compute, { compute_id: 'local', connected: true, protocol: 'http', user: null });
  t.strictSame(Object.keys(compute?.['capabilities'] as Json), ['node_types', 'platform', 'version']);
  t.equal((compute?.['capabilities'] as Json)['version'], version['version']);
  t.hasStrict(await call(200, 'GET', '/computes/local/ports'), { console_port_range: [5000, 10_000] });

  // Project(name="samples", connector=…).create()
  const project = await call(201, 'POST', '/projects', { name: 'samples' });
  const { path, project_id, ...settings } = project;
  t.strictSame(settings, PROJECT);
  t.equal(path, `${server.data}/projects/${String(project_id)}`);
  t.equal(Object.keys(project).length, 19);
  const at = `/projects/${String(project_id)}`;

  // Project.get()
  t.strictSame(await list('/projects'), [project]);
  t.strictSame(await call(200, 'GET', at), project);
  t.strictSame(await call(200, 'GET', `${at}/stats`), { drawings: 0, links: 0, nodes: 0, snapshots: 0 });
  t.strictSame(await list(`${at}/nodes`), []);
  t.strictSame(await list(`${at}/links`), []);

  // Project.create_node(name=…, template=…): the template by name, the node from it, then PUT of the rest.
  const create = async (template: string, name: string, more: Json = {}): Promise<Json> => {
    const found = (await list('/templates')).find((one) => one['name'] === template);
    for (const key of ['template_id', 'name', 'template_type', 'builtin', 'category']) {
      t.ok(found !== undefined && key in found, `${template} has ${key}`);
    }
    const use = { x: 0, y: 0, compute_id: 'local' };
    const node = await call(201, 'POST', `${at}/templates/${String(found?.['template_id'])}`, use);
    const changed = { compute_id: 'local', name, ...more };
    const named = await call(200, 'PUT', `${at}/nodes/${String(node['node_id'])}`, changed);
    t.equal(Object.keys(named).length, 27);
    t.hasStrict(named, { name, node_id: node['node_id'], template_id: found?.['template_id'] });
    return named;
  };
  const ethernetSwitch = await create('Ethernet switch', 'sw-1');
  const hub = await create('Ethernet hub', 'hub-1');
  const mappings = { '1:0:100': '10:0:200', '1:10': '2:20' };
  const atm = await create('ATM switch', 'ATM1', { properties: { mappings } });
  const relay = await create('Frame Relay switch', 'FR1', {
    properties: { mappings: { '1:101': '10:202' } },
  });

  const serial = (number: number, links: Json): Json => ({
    adapter_number: 0,
    data_link_types: links,
    link_type: 'serial',
    name: `${number}`,
    port_number: number,
    short_name: `${number}`,
  });
  const ethernet = Array.from({ length: 8 }, (_, index) => ({
    adapter_number: 0,
    data_link_types: { Ethernet: 'DLT_EN10MB' },
    link_type: 'ethernet',
    name: `Ethernet${index}`,
    port_number: index,
    short_name: `e${index}`,
  }));
  const mapping = ethernet.map(({ name, port_number }) => ({ name, port_number }));
  const sample = (node: Json, special: Json): void => {
    const { node_id, template_id, ...rest } = node;
    t.ok(typeof node_id === 'string' && typeof template_id === 'string');
    const label = { rotation: 0, style: null, text: special['name'], x: null };
    const y = -Math.round(Number(special['height']) / 2 + 10);
    t.strictSame(rest, { ...NODE, project_id, label: { ...label, y }, ...special });
  };
  sample(ethernetSwitch, {
    name: 'sw-1',
    node_type: 'ethernet_switch',
    console: 5000,
    console_type: 'none',
    symbol: ':/symbols/ethernet_switch.svg',
    height: 32,
    width: 72,
    ports: ethernet,
    properties: { ports_mapping: mapping.map((one) => ({ ...one, type: 'access', vlan: 1 })) },
  });
  sample(hub, {
    name: 'hub-1',
    node_type: 'ethernet_hub',
    console: null,
    console_type: null,
    symbol: ':/symbols/hub.svg',
    height: 32,
    width: 72,
    ports: ethernet,
    properties: { ports_mapping: mapping },
  });
  sample(atm, {
    name: 'ATM1',
    node_type: 'atm_switch',
    console: null,
    console_type: null,
    symbol: ':/symbols/atm_switch.svg',
    height: 48,
    width: 51,
    ports: [1, 2, 10].map((number) => serial(number, { ATM: 'DLT_ATM_RFC1483' })),
    properties: { mappings },
  });
  sample(relay, {
    name: 'FR1',
    node_type: 'frame_relay_switch',
    console: null,
    console_type: null,
    symbol: ':/symbols/frame_relay_switch.svg',
    height: 48,
    width: 51,
    ports: [1, 10].map((number) => serial(number, { 'Frame Relay': 'DLT_FRELAY' })),
    properties: { mappings: { '1:101': '10:202' } },
  });
  t.strictSame(await list(`${at}/nodes`), [ethernetSwitch, hub, atm, relay]);

  // Project.create_link(node_a, port_a, node_b, port_b): ports are found by name, which becomes the label.
  const connect = (first: Json, firstPort: string, second: Json, secondPort: string): Promise<Json> => {
    const nodes = [[first, firstPort] as const, [second, secondPort] as const].map(([node, name]) => {
      const port = (node['ports'] as Json[]).find((one) => one['name'] === name);
      const { adapter_number, port_number } = port ?? {};
      return { node_id: node['node_id'], adapter_number, port_number, label: { text: name } };
    });
    return call(201, 'POST', `${at}/links`, { project_id, nodes });
  };
  const link = await connect(ethernetSwitch, 'Ethernet0', hub, 'Ethernet3');
  const { link_id, ...linkRest } = link;
  t.strictSame(linkRest, {
    capture_compute_id: null,
    capture_file_name: null,
    capture_file_path: null,
    capturing: false,
    filters: {},
    link_style: {},
    link_type: 'ethernet',
    nodes: [
      { adapter_number: 0, label: { text: 'Ethernet0' }, node_id: ethernetSwitch['node_id'], port_number: 0 },
      { adapter_number: 0, label: { text: 'Ethernet3' }, node_id: hub['node_id'], port_number: 3 },
    ],
    project_id,
    suspend: false,
  });
  t.equal(Object.keys(link).length, 11);
  const wan = await connect(atm, '2', relay, '10');
  t.equal(wan['link_type'], 'serial');
  t.strictSame(await list(`${at}/links`), [link, wan]);
  t.strictSame(await list(`${at}/nodes/${String(hub['node_id'])}/links`), [link]);
  const bare = { node_id: hub['node_id'], adapter_number: 0, port_number: 7 };
  const unlabelled = await call(201, 'POST', `${at}/links`, {
    nodes: [{ ...bare, node_id: ethernetSwitch['node_id'] }, bare],
  });
  t.strictSame((unlabelled['nodes'] as Json[])[1]?.['label'], { style: LABEL_STYLE, text: '0/7' });
  checkError(t, await client.post(`${at}/links`, { nodes: [bare] }), 409);

  // Link.update(): PUT answers 201. Link.delete(): 204.
  t.strictSame(await call(201, 'PUT', `${at}/links/${String(link_id)}`, { suspend: true }), {
    ...link,
    suspend: true,
  });
  t.equal((await client.delete(`${at}/links/${String(unlabelled['link_id'])}`)).status, 204);

  // Project.start_nodes() and the like: any 2xx. Node.start() and the like: a JSON object with a status.
  for (const action of ['start', 'stop', 'reload', 'suspend']) {
    t.equal((await client.post(`${at}/nodes/${action}`)).status, 204);
    t.hasStrict(await call(200, 'POST', `${at}/nodes/${String(hub['node_id'])}/${action}`), {
      node_id: hub['node_id'],
      status: 'started',
    });
  }

  // Project.write_file() and get_file(): raw text.
  t.equal((await client.request('POST', `${at}/files/README.txt`, 'a lab')).status, 201);
  t.equal((await client.get(`${at}/files/README.txt`)).text, 'a lab');
  checkError(t, await client.get(`${at}/files/missing.txt`), 404);

  // Project.create_drawing(), update_drawing(), delete_drawing().
  const svg = '<svg height="210" width="500"><line x1="0" y1="0" x2="200" y2="200"/></svg>';
  const drawing = await call(201, 'POST', `${at}/drawings`, { svg, locked: false, x: 10, y: 20, z: 0 });
  const { drawing_id, ...drawn } = drawing;
  t.strictSame(drawn, { locked: false, project_id, rotation: 0, svg, x: 10, y: 20, z: 0 });
  t.equal(Object.keys(drawing).length, 8);
  t.strictSame(await list(`${at}/drawings`), [drawing]);
  const moved = { svg, locked: false, x: 11, y: 21, z: 1 };
  t.strictSame(await call(201, 'PUT', `${at}/drawings/${String(drawing_id)}`, moved), {
    ...drawing,
    ...moved,
  });
  t.equal((await client.delete(`${at}/drawings/${String(drawing_id)}`)).status, 204);

  // Gns3Connector.create_template(), update_template(), delete_template().
  const template = await call(201, 'POST', '/templates', {
    name: 'Access switch',
    template_type: 'ethernet_switch',
    compute_id: 'local',
  });
  const template_id = String(template['template_id']);
  t.hasStrict(await call(200, 'PUT', `/templates/${template_id}`, { category: 'guest' }), {
    category: 'guest',
  });
  await create('Access switch', 'access-1');
  t.equal((await client.delete(`/templates/${template_id}`)).status, 204);

  // Project.update(), Node.delete(), then the summaries of everything.
  t.hasStrict(await call(200, 'PUT', at, { auto_close: false }), { auto_close: false });
  t.equal((await client.delete(`${at}/nodes/${String(relay['node_id'])}`)).status, 204);
  t.strictSame(await call(200, 'GET', `${at}/stats`), { drawings: 0, links: 1, nodes: 4, snapshots: 0 });
  for (const node of await list(`${at}/nodes`)) t.equal(Object.keys(node).length, 27);
  for (const one of await list(`${at}/links`)) t.equal(Object.keys(one).length, 11);

  // Project.close(): the status must be 204 exactly. Project.open(): the body is the project.
  t.equal((await client.post(`${at}/close`)).status, 204);
  t.hasStrict((await list('/projects'))[0], { project_id, status: 'closed' });
  t.strictSame(await call(201, 'POST', `${at}/open`), { ...project, auto_close: false });
  t.equal((await list(`${at}/nodes`)).length, 4);
  t.equal((await client.delete(at)).status, 204);
  t.strictSame(await list('/projects'), []);
});

void t.test('every error has a status and a message, so that gns3fy can raise it', async (t) => {
  const { project_id } = await call(201, 'POST', '/projects', { name: 'errors', auto_close: false });
  const closed = await call(201, 'POST', '/projects', { name: 'closed', auto_close: false });
  const at = `/projects/${String(project_id)}`;
  const shut = `/projects/${String(closed['project_id'])}`;
  await client.post(`${shut}/close`);
  const hub = { name: 'H', node_type: 'ethernet_hub', compute_id: 'local' };
  const cases: [status: number, method: string, path: string, body?: unknown][] = [
    [400, 'POST', '/projects', {}],
    [400, 'POST', '/projects', '{"name": '],
    [400, 'POST', '/projects', '[]'],
    [400, 'POST', '/projects', '"text"'],
    [400, 'POST', '/projects', '7'],
    [400, 'PUT', at, { colour: 'red' }],
    [400, 'POST', `${at}/nodes`, { name: 'H' }],
    [400, 'POST', `${at}/links`, {}],
    [400, 'POST', `${at}/drawings`, { x: 'left' }],
    [400, 'POST', '/templates', {}],
    [400, 'GET', '/notifications/ws'],
    [403, 'POST', '/projects/load', { path: '/x.gns3' }],
    [403, 'POST', '/shutdown'],
    [403, 'POST', '/projects', { name: 'x', path: '/outside' }],
    [403, 'GET', `${at}/files/..%2F..%2Fx`],
    [403, 'POST', `${shut}/nodes`, hub],
    [403, 'GET', `${shut}/nodes/${UNKNOWN}`],
    [403, 'POST', `${shut}/nodes/start`],
    [404, 'GET', '/nowhere'],
    [404, 'GET', '/settings'],
    [404, 'GET', `/projects/${UNKNOWN}`],
    [404, 'GET', `${at}/nodes/${UNKNOWN}`],
    [404, 'GET', `${at}/links/${UNKNOWN}`],
    [404, 'GET', `${at}/drawings/${UNKNOWN}`],
    [404, 'GET', `/templates/${UNKNOWN}`],
    [404, 'POST', `${at}/templates/${UNKNOWN}`, { x: 0, y: 0 }],
    [404, 'GET', '/computes/nowhere'],
    [404, 'GET', `${at}/files/missing`],
    [405, 'DELETE', '/projects'],
    [405, 'PUT', `${at}/nodes`],
    [405, 'POST', '/symbols'],
    [409, 'POST', '/projects', { name: 'errors' }],
    [409, 'POST', `${at}/nodes`, { ...hub, node_type: 'virtualbox' }],
    [409, 'DELETE', '/templates/1966b864-93e7-32d5-965f-001384eec461'],
    [409, 'POST', '/version', { version: '2.1.0' }],
    [413, 'POST', '/projects', { name: 'x'.repeat(1_048_576) }],
  ];
  for (const [status, method, path, body] of cases) {
    const reply = await client.request(method, path, body);
    checkError(t, reply, status);
    const { faults = [], ...others } = reply.body as Json;
    t.ok(Array.isArray(faults) && (status === 400 || faults.length === 0), path);
    const keys = status === 400 ? ['method', 'path', 'request'] : [];
    t.strictSame(Object.keys(others), ['code', 'message', ...keys, 'status'], path);
  }
});

void t.test('a text that is no JSON is told apart from a text with wrong content', async (t) => {
  const reply = await client.post('/projects', '{"name": ');
  t.match((reply.body as Json)['message'], /^Invalid JSON /);
  t.hasStrict(reply.body, {
    method: 'POST',
    path: '/v2/projects',
    request: { malformed_json: '{"name": ' },
  });
  const unfit = await client.post('/projects', { colour: 'red' });
  const start = `JSON schema error with API request '/v2/projects' and JSON data '{"colour":"red"}': `;
  t.ok(String((unfit.body as Json)['message']).startsWith(start));
  t.match((unfit.body as Json)['message'], 'name');
});

void t.test('a wrong password is told in JSON', async (t) => {
  const guarded = await startServer(t, {
    flags: ['--user', 'ann'],
    environment: { WIREFARM_PASSWORD: 'hush' },
  });
  const stranger = await new Client(guarded.url).get('/v2/version');
  checkError(t, stranger, 401);
  t.equal(stranger.headers.get('www-authenticate'), 'Basic realm="GNS3 server"');
  const ann = new Client(guarded.url, { authorization: `Basic ${btoa('ann:hush')}` });
  t.equal((await ann.get('/v2/version')).status, 200);
});
