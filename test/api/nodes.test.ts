/** Nodes of the kinds that are served. */
import t from 'tap';
import { Client } from '../support/client.js';
import { gns3Node, placeGns3Project } from '../support/gns3-project.js';
import { NotificationLog, type Notification } from '../support/notification-log.js';
import { CONSOLE_PORTS_BY_DEFAULT, startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t, { environment: CONSOLE_PORTS_BY_DEFAULT });
const client = new Client(server.url);
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });
const KINDS = ['ethernet_switch', 'ethernet_hub', 'frame_relay_switch', 'atm_switch'];
const KEYS = [
  'command_line',
  'compute_id',
  'console',
  'console_auto_start',
  'console_host',
  'console_type',
  'custom_adapters',
  'first_port_name',
  'height',
  'label',
  'locked',
  'name',
  'node_directory',
  'node_id',
  'node_type',
  'port_name_format',
  'port_segment_size',
  'ports',
  'project_id',
  'properties',
  'status',
  'symbol',
  'template_id',
  'width',
  'x',
  'y',
  'z',
];

/** A project of a test's own, and what tests do in it. */
class Lab {
  static #count = 0;
  readonly id: string;
  readonly path: string;
  readonly nodes: string;

  private constructor(id: string) {
    this.id = id;
    this.path = `/v2/projects/${id}`;
    this.nodes = `${this.path}/nodes`;
  }

  static async make(): Promise<Lab> {
    const body = { name: `lab ${++Lab.#count}`, auto_close: false };
    return new Lab(String((await client.expect(201, 'POST', '/v2/projects', body))['project_id']));
  }

  node(node_type: string, more: Json = {}): Promise<Json> {
    const body = { name: 'N{0}', node_type, compute_id: 'local', ...more };
    return client.expect(201, 'POST', this.nodes, body);
  }

  post(body: Json): ReturnType<Client['post']> {
    return client.post(this.nodes, { name: 'N{0}', compute_id: 'local', node_type: 'ethernet_hub', ...body });
  }

  at(node: Json): string {
    return `${this.nodes}/${String(node['node_id'])}`;
  }

  async list(): Promise<Json[]> {
    return (await client.get(this.nodes)).body as Json[];
  }

  link(first: Json, second: Json, ports: readonly [number, number] = [0, 0]): Promise<Json> {
    const nodes = [first, second].map(({ node_id }, index) => ({
      node_id,
      adapter_number: 0,
      port_number: ports[index],
    }));
    return client.expect(201, 'POST', `${this.path}/links`, { nodes });
  }

  /** The project's notifications about the work, up to the drawing that marks its end. */
  async told(work: () => Promise<unknown>): Promise<readonly Notification[]> {
    const stream = await NotificationLog.open(`${server.url}${this.path}/notifications`);
    await work();
    const { drawing_id } = await client.expect(201, 'POST', `${this.path}/drawings`);
    await stream.next(({ event }) => event['drawing_id'] === drawing_id);
    stream.close();
    return stream.received.slice(0, -1);
  }
}

const port = (name: string, short_name: string, number: number, type: string, links: Json): Json => ({
  adapter_number: 0,
  data_link_types: links,
  link_type: type,
  name,
  port_number: number,
  short_name,
});
const ethernetPort = (index: number, name = `Ethernet${index}`): Json =>
  port(name, `e${index}`, index, 'ethernet', { Ethernet: 'DLT_EN10MB' });
const eight = <One>(make: (index: number) => One): One[] => Array.from({ length: 8 }, (_, i) => make(i));

void t.test('a new node has the 27 keys and the defaults of its kind', async (t) => {
  const lab = await Lab.make();
  const common = {
    command_line: null,
    compute_id: 'local',
    console: null,
    console_auto_start: false,
    console_host: '127.0.0.1',
    console_type: null,
    custom_adapters: [],
    first_port_name: null,
    height: 59,
    locked: false,
    node_directory: null,
    port_name_format: 'Ethernet{0}',
    port_segment_size: 0,
    ports: [],
    project_id: lab.id,
    status: 'started',
    symbol: ':/symbols/computer.svg',
    template_id: null,
    width: 65,
    x: 0,
    y: 0,
    z: 1,
  };
  const ports_mapping = eight((i) => ({ name: `Ethernet${i}`, port_number: i }));
  const special: Record<string, Json> = {
    ethernet_switch: {
      console: 5000,
      console_type: 'none',
      ports: eight((i) => ethernetPort(i)),
      properties: { ports_mapping: ports_mapping.map((one) => ({ ...one, type: 'access', vlan: 1 })) },
    },
    ethernet_hub: { ports: eight((i) => ethernetPort(i)), properties: { ports_mapping } },
    frame_relay_switch: { properties: { mappings: {} } },
    atm_switch: { properties: { mappings: {} } },
  };
  for (const [index, node_type] of KINDS.entries()) {
    const reply = await lab.post({ node_type });
    t.equal(reply.status, 201);
    const { node_id, ...rest } = reply.body as Json;
    const name = `N${index + 1}`;
    t.match(node_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.strictSame(
      rest,
      {
        ...common,
        ...special[node_type],
        name,
        node_type,
        label: { rotation: 0, style: null, text: name, x: null, y: -40 },
      },
      node_type,
    );
    t.strictSame(Object.keys(reply.body as Json), KEYS, 'sorted');
    t.strictSame((await client.get(lab.at({ node_id }))).body, reply.body);
  }
});

void t.test('a node is made as it is asked for', async (t) => {
  const lab = await Lab.make();
  const wanted = {
    name: 'core',
    node_type: 'ethernet_switch',
    compute_id: 'local',
    node_id: '0a0a0a0a-0000-4000-8000-000000000001',
    template_id: '0a0a0a0a-0000-4000-8000-000000000002',
    console: 7001,
    console_type: 'none',
    console_auto_start: true,
    symbol: ':/symbols/router.svg',
    x: -5,
    y: 6,
    z: 7,
    locked: true,
    port_name_format: 'Gi{0}',
    port_segment_size: 2,
    first_port_name: 'Management0',
    custom_adapters: [
      { adapter_number: 0, port_name: 'x', adapter_type: 'e1000', mac_address: '00:11:22:33:44:55' },
    ],
  };
  const label = { rotation: 5, style: 'font-size: 9', text: 'not this', x: 1, y: 2 };
  const made = await client.expect(201, 'POST', lab.nodes, { ...wanted, label });
  t.hasStrict(made, { ...wanted, width: 66, height: 45, label: { ...label, text: 'core' } });
});

void t.test('properties that only the server sets may be sent along and are ignored', async (t) => {
  const lab = await Lab.make();
  const { body, status } = await lab.post({
    width: 1,
    height: 2,
    console_host: 'elsewhere',
    status: 'stopped',
    ports: [],
    project_id: UNKNOWN,
    node_directory: '/etc',
    command_line: 'rm',
  });
  t.equal(status, 201);
  t.hasStrict(body, {
    width: 65,
    height: 59,
    console_host: '127.0.0.1',
    status: 'started',
    project_id: lab.id,
    node_directory: null,
    command_line: null,
  });
  t.equal(((body as Json)['ports'] as unknown[]).length, 8);
});

void t.test('the label stands above the symbol, at half its height rounded to even', async (t) => {
  const lab = await Lab.make();
  const y = async (symbol: string): Promise<unknown> =>
    ((await lab.node('ethernet_hub', { symbol }))['label'] as Json)['y'];
  t.equal(await y(':/symbols/hub.svg'), -26, '32 high');
  t.equal(await y(':/symbols/router.svg'), -32, '45 high: 32.5 becomes 32');
  t.equal(await y(':/symbols/computer.svg'), -40, '59 high: 39.5 becomes 40');
  t.equal(await y(':/symbols/call_manager.svg'), -34, '47 high: 33.5 becomes 34');
});

void t.test('names are made unique, numbered, and have no spaces', async (t) => {
  const lab = await Lab.make();
  const named = async (name: string): Promise<unknown> => (await lab.node('ethernet_hub', { name }))['name'];
  t.equal(await named('PC1'), 'PC1');
  t.equal(await named('PC1'), 'PC2', 'trailing digits become the next free number');
  t.equal(await named('PC2'), 'PC3');
  t.equal(await named('PC7'), 'PC7', 'a free name stays');
  t.equal(await named('hub'), 'hub');
  t.equal(await named('hub'), 'hub1', 'a number is appended');
  t.equal(await named('hub'), 'hub2');
  t.equal(await named('S{0}'), 'S1');
  t.equal(await named('S{id}'), 'S2');
  t.equal(await named('{name}-{0}'), 'Node-1');
  t.equal(await named('my big hub'), 'mybighub');
  t.equal(await named('a{0}b{0}'), 'a1b1');
});

void t.test('a name that is given back can be had again', async (t) => {
  const lab = await Lab.make();
  const first = await lab.node('ethernet_hub', { name: 'H{0}' });
  await lab.node('ethernet_hub', { name: 'H{0}' });
  await client.expect(204, 'DELETE', lab.at(first));
  t.equal((await lab.node('ethernet_hub', { name: 'H{0}' }))['name'], 'H1');
});

void t.test('a name with an unknown placeholder is refused, and nothing is made', async (t) => {
  const lab = await Lab.make();
  t.hasStrict(
    await lab.post({ name: 'N{0}{colour}' }),
    refusal(409, '{colour} is not a valid replacement string in the node name'),
  );
  t.hasStrict(await lab.post({ name: 'say"no' }), { status: 400, body: { status: 400 } });
  t.strictSame(await lab.list(), []);
});

void t.test('a refused node takes no name and no console', async (t) => {
  const lab = await Lab.make();
  const consoles = async (): Promise<unknown> =>
    (await client.expect(200, 'GET', '/v2/computes/local/ports'))['console_ports'];
  const before = await consoles();
  const properties = { ports_mapping: 'wrong' };
  t.equal((await lab.post({ name: 'X', node_type: 'ethernet_switch', properties })).status, 400);
  t.strictSame(await consoles(), before);
  t.equal((await lab.node('ethernet_switch', { name: 'X' }))['name'], 'X');
});

void t.test('an Ethernet switch gets the console that it wants, else the lowest free one', async (t) => {
  const lab = await Lab.make();
  const made = (console?: number): Promise<Json> =>
    lab.node('ethernet_switch', console === undefined ? {} : { console });
  const { console_ports: ports } = await client.expect(200, 'GET', '/v2/computes/local/ports');
  const taken = new Set(ports as number[]);
  const free = Array.from({ length: 100 }, (_, i) => 5000 + i).filter((number) => !taken.has(number));
  const first = await made();
  t.equal(first['console'], free[0]);
  t.equal((await made())['console'], free[1]);
  t.equal((await made(7777))['console'], 7777);
  t.equal((await made(7777))['console'], free[2], 'taken');
  t.equal((await made(80))['console'], free[3], 'out of range');
  await client.expect(204, 'DELETE', lab.at(first));
  t.equal((await made())['console'], free[0], 'free again');
});

void t.test('consoles are given back when the project closes, and kept across its closing', async (t) => {
  const lab = await Lab.make();
  const before = await client.expect(200, 'GET', '/v2/computes/local/ports');
  const node = await lab.node('ethernet_switch', { console: 8123 });
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.strictSame(await client.expect(200, 'GET', '/v2/computes/local/ports'), before);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.strictSame((await client.get(lab.at(node))).body, node);
});

void t.test('a known node id is answered with the node that has it', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_hub', { name: 'one' });
  const news = await lab.told(async () => {
    const again = await lab.post({ name: 'two', node_id: node['node_id'], node_type: 'atm_switch' });
    t.equal(again.status, 201);
    t.strictSame(again.body, node);
  });
  t.strictSame(news, []);
  t.strictSame(await lab.list(), [node]);
});

void t.test('a node of a kind that is not served is refused, and nothing is made', async (t) => {
  const lab = await Lab.make();
  const news = await lab.told(async () => {
    for (const type of ['traceng', 'virtualbox', 'vmware'])
      t.equal((await lab.post({ node_type: type })).status, 409, type);
  });
  t.strictSame(news, []);
  t.strictSame(await lab.list(), []);
});

void t.test('a node needs a compute that is there and within reach', async (t) => {
  const lab = await Lab.make();
  const remote = { compute_id: 'far', name: 'Far away', protocol: 'http', host: 'far.example', port: 3080 };
  await client.expect(201, 'POST', '/v2/computes', remote);
  t.hasStrict(await lab.post({ compute_id: 'nowhere' }), refusal(404, "Compute ID nowhere doesn't exist"));
  const request = `POST /projects/${lab.id}/ethernet_hub/nodes`;
  t.hasStrict(
    await lab.post({ compute_id: 'far' }),
    refusal(409, `Cannot connect to compute 'Far away' with request ${request}`),
  );
  t.strictSame(await lab.list(), []);
});

void t.test('a request that is no node is refused with what was wrong', async (t) => {
  const lab = await Lab.make();
  const good: Json = { name: 'N', node_type: 'ethernet_hub', compute_id: 'local' };
  const without = (key: string): Json =>
    Object.fromEntries(Object.entries(good).filter(([name]) => name !== key));
  const cases: [field: string, body: Json][] = [
    ['name', without('name')],
    ['node_type', without('node_type')],
    ['compute_id', without('compute_id')],
    ['name', { ...good, name: '' }],
    ['name', { ...good, name: 5 }],
    ['node_type', { ...good, node_type: 'toaster' }],
    ['node_id', { ...good, node_id: 'no-uuid' }],
    ['template_id', { ...good, template_id: 'no-uuid' }],
    ['console', { ...good, console: 0 }],
    ['console', { ...good, console: 65_536 }],
    ['console_type', { ...good, console_type: 'carrier pigeon' }],
    ['x', { ...good, x: 1.5 }],
    ['x', { ...good, x: '1' }],
    ['x', { ...good, x: true }],
    ['locked', { ...good, locked: 'no' }],
    ['label', { ...good, label: {} }],
    ['label', { ...good, label: { text: 'x', rotation: 361 } }],
    ['label', { ...good, label: { text: 'x', colour: 'red' } }],
    ['custom_adapters', { ...good, custom_adapters: [{}] }],
    ['mac_address', { ...good, custom_adapters: [{ adapter_number: 0, mac_address: 'x' }] }],
    ['colour', { ...good, colour: 'red' }],
  ];
  for (const [field, body] of cases) {
    const reply = await client.post(lab.nodes, body);
    t.hasStrict(reply, {
      status: 400,
      body: { method: 'POST', path: '/v2/projects/{project_id}/nodes', request: body, status: 400 },
    });
    t.match(reply.text, field);
  }
  t.strictSame(await lab.list(), []);
});

void t.test('properties that the kind does not have are refused', async (t) => {
  const lab = await Lab.make();
  const mapped = (more: Json): Json => ({
    ports_mapping: [{ name: 'a', port_number: 0, type: 'access', vlan: 1, ...more }],
  });
  const cases: [node_type: string, properties: Json][] = [
    ['ethernet_switch', { colour: 'red' }],
    ['ethernet_switch', { mappings: {} }],
    ['ethernet_switch', mapped({ type: 'trunk' })],
    ['ethernet_switch', mapped({ vlan: 0 })],
    ['ethernet_switch', mapped({ vlan: '1' })],
    ['ethernet_switch', mapped({ ethertype: '0x1234' })],
    ['ethernet_switch', mapped({ name: '' })],
    ['ethernet_switch', mapped({ port_number: -1 })],
    ['ethernet_switch', mapped({ colour: 'red' })],
    ['ethernet_switch', { ports_mapping: ['Ethernet0'] }],
    ['ethernet_hub', mapped({})],
    ['ethernet_hub', { ports_mapping: [{ name: 'a' }] }],
    ['atm_switch', { ports_mapping: [] }],
    ['atm_switch', { mappings: { '1:1': 5 } }],
    ['atm_switch', { mappings: { '1:2:3': '4:5' } }],
    ['atm_switch', { mappings: { '1': '2' } }],
    ['atm_switch', { mappings: { 'a:1:1': '2:1:1' } }],
    ['atm_switch', { mappings: { '1:1:1:1': '2:1:1:1' } }],
    ['frame_relay_switch', { mappings: { '1:101': '10' } }],
    ['frame_relay_switch', { mappings: { '1:101': '2:x' } }],
    ['frame_relay_switch', { mappings: { '1:1:1': '2:1:1' } }],
    ['frame_relay_switch', { mappings: [] }],
  ];
  for (const [node_type, properties] of cases) {
    const reply = await lab.post({ node_type, properties });
    t.hasStrict(reply, { status: 400, body: { status: 400 } }, `${node_type} ${JSON.stringify(properties)}`);
  }
  t.strictSame(await lab.list(), []);
});

void t.test(
  'an Ethernet switch keeps the port names that it is made with, and counts by position',
  async (t) => {
    const lab = await Lab.make();
    const node = await lab.node('ethernet_switch', {
      properties: {
        ports_mapping: [
          { name: 'up', port_number: 4, type: 'dot1q', vlan: 7 },
          { name: 'down', port_number: 9, type: 'qinq', vlan: 8, ethertype: '0x88A8' },
          { name: 'plain', port_number: 1, type: 'access' },
        ],
      },
    });
    t.strictSame(node['properties'], {
      ports_mapping: [
        { name: 'up', port_number: 4, type: 'dot1q', vlan: 7 },
        { ethertype: '0x88A8', name: 'down', port_number: 9, type: 'qinq', vlan: 8 },
        { name: 'plain', port_number: 1, type: 'access', vlan: 1 },
      ],
    });
    t.strictSame(node['ports'], [ethernetPort(0, 'up'), ethernetPort(1, 'down'), ethernetPort(2, 'plain')]);
  },
);

void t.test('changed ports of switches and hubs are renamed and renumbered by position', async (t) => {
  const lab = await Lab.make();
  for (const [node_type, settings] of [
    ['ethernet_switch', { type: 'dot1q', vlan: 3 }],
    ['ethernet_hub', {}],
  ] as const) {
    const node = await lab.node(node_type);
    const changed = await client.expect(200, 'PUT', lab.at(node), {
      properties: {
        ports_mapping: [
          { name: 'up', port_number: 7, ...settings },
          { name: 'down', port_number: 3, ...settings },
        ],
      },
    });
    t.strictSame(changed['properties'], {
      ports_mapping: [
        { name: 'Ethernet0', port_number: 0, ...settings },
        { name: 'Ethernet1', port_number: 1, ...settings },
      ],
    });
    t.strictSame(changed['ports'], [ethernetPort(0), ethernetPort(1)]);
  }
});

void t.test('ports that are sent back unchanged keep their names', async (t) => {
  const lab = await Lab.make();
  const properties = { ports_mapping: [{ name: 'up', port_number: 7 }] };
  const node = await lab.node('ethernet_hub', { properties });
  t.strictSame((await client.expect(200, 'PUT', lab.at(node), { properties }))['ports'], node['ports']);
});

void t.test('a connected switch keeps its number of ports, a connected hub its ports', async (t) => {
  const lab = await Lab.make();
  const first = await lab.node('ethernet_switch');
  const second = await lab.node('ethernet_hub');
  const link = await lab.link(first, second);
  const list = (count: number, settings: Json): Json => ({
    properties: {
      ports_mapping: Array.from({ length: count }, (_, i) => ({
        name: `p${i}`,
        port_number: i,
        ...settings,
      })),
    },
  });
  const access = { type: 'access', vlan: 2 };
  t.hasStrict(
    await client.put(lab.at(first), list(7, access)),
    refusal(409, "Can't modify a switch already connected."),
  );
  t.hasStrict(await client.put(lab.at(first), list(8, access)), { status: 200 });
  for (const count of [7, 8]) {
    t.hasStrict(
      await client.put(lab.at(second), list(count, {})),
      refusal(409, "Can't modify a hub already connected."),
    );
  }
  t.strictSame((await client.get(lab.at(second))).body, second);
  await client.expect(204, 'DELETE', `${lab.path}/links/${String(link['link_id'])}`);
  t.hasStrict(await client.put(lab.at(first), list(7, access)), { status: 200 });
  t.hasStrict(await client.put(lab.at(second), list(7, {})), { status: 200 });
});

void t.test('the ports of ATM and Frame Relay switches are those of their mappings, ascending', async (t) => {
  const lab = await Lab.make();
  const atm = await lab.node('atm_switch', {
    properties: { mappings: { '10:0:200': '1:0:100', '2:20': '1:10' } },
  });
  const atmPort = (n: number): Json => port(`${n}`, `${n}`, n, 'serial', { ATM: 'DLT_ATM_RFC1483' });
  t.strictSame(atm['ports'], [atmPort(1), atmPort(2), atmPort(10)]);
  t.strictSame(atm['properties'], { mappings: { '10:0:200': '1:0:100', '2:20': '1:10' } });
  const relay = await lab.node('frame_relay_switch', { properties: { mappings: { '1:101': '10:202' } } });
  const relayPort = (n: number): Json => port(`${n}`, `${n}`, n, 'serial', { 'Frame Relay': 'DLT_FRELAY' });
  t.strictSame(relay['ports'], [relayPort(1), relayPort(10)]);
});

void t.test('mappings are replaced as a whole, and an empty object clears them', async (t) => {
  const lab = await Lab.make();
  for (const [node_type, first, second] of [
    ['atm_switch', { '1:1': '2:2' }, { '3:0:1': '4:0:1' }],
    ['frame_relay_switch', { '1:101': '2:102' }, { '3:101': '4:102' }],
  ] as const) {
    const node = await lab.node(node_type, { properties: { mappings: first } });
    const put = (mappings: Json): Promise<Json> =>
      client.expect(200, 'PUT', lab.at(node), { properties: { mappings } });
    const changed = await put(second);
    t.strictSame(changed['properties'], { mappings: second });
    t.strictSame(
      (changed['ports'] as Json[]).map((one) => one['port_number']),
      [3, 4],
    );
    const kept = await client.expect(200, 'PUT', lab.at(node), { properties: {} });
    t.strictSame(kept['properties'], { mappings: second }, 'no mappings given: the stored ones stay');
    const cleared = await put({});
    t.strictSame(cleared['properties'], { mappings: {} });
    t.strictSame(cleared['ports'], []);
  }
});

void t.test('mappings that cannot work are refused before anything is stored', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('atm_switch', { properties: { mappings: { '1:1': '2:2' } } });
  const put = (mappings: Json): ReturnType<Client['put']> =>
    client.put(lab.at(node), { name: 'renamed', properties: { mappings } });
  for (const mappings of [{ '1:x': '2:2' }, { '1:2:3': '4:5' }, { '1:1': null }]) {
    t.hasStrict(await put(mappings), { status: 400, body: { status: 400 } });
  }
  t.hasStrict(await put({ '1:5': '2:5', '1:5:7': '3:5:7' }), { status: 409, body: { status: 409 } });
  t.hasStrict(await put({ '1:5': '2:5', '1:05': '3:5' }), { status: 409, body: { status: 409 } });
  t.strictSame((await client.get(lab.at(node))).body, node, 'not even the name');
  await client.expect(204, 'POST', `${lab.path}/close`);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.strictSame((await client.get(lab.at(node))).body, node, 'the node is not poisoned');
});

void t.test('a mapping may be repeated, mirrored', async (t) => {
  const lab = await Lab.make();
  const mappings = { '1:1:1': '2:2:2', '2:2:2': '1:1:1' };
  t.strictSame((await lab.node('atm_switch', { properties: { mappings } }))['properties'], { mappings });
});

void t.test('a change keeps what it does not name', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_switch', { x: 1, y: 2, z: 3 });
  const changed = await client.expect(200, 'PUT', lab.at(node), { x: 50, locked: true });
  t.strictSame(changed, { ...node, x: 50, locked: true });
  t.strictSame((await client.get(lab.at(node))).body, changed);
});

void t.test('a node that was read can be sent back whole', async (t) => {
  const lab = await Lab.make();
  for (const kind of KINDS) {
    const node = await lab.node(kind);
    t.strictSame(await client.expect(200, 'PUT', lab.at(node), node), node);
    const edited = { ...node, x: 9, status: 'stopped', width: 1, height: 1, ports: [] };
    t.strictSame(await client.expect(200, 'PUT', lab.at(node), edited), { ...node, x: 9 });
  }
});

void t.test('the identity of a node cannot be changed', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_switch');
  const changed = await client.expect(200, 'PUT', lab.at(node), {
    node_id: UNKNOWN,
    node_type: 'atm_switch',
    compute_id: 'nowhere',
    project_id: UNKNOWN,
    template_id: UNKNOWN,
  });
  t.strictSame(changed, node);
});

void t.test('a console moves to the port that is wanted, or to a free one when that is taken', async (t) => {
  const lab = await Lab.make();
  const [node, other] = [await lab.node('ethernet_switch'), await lab.node('ethernet_switch')];
  const move = async (console: unknown): Promise<unknown> =>
    (await client.expect(200, 'PUT', lab.at(node), { console }))['console'];
  t.equal(await move(9999), 9999);
  t.equal(await move(null), 9999, 'null leaves it where it is');
  const elsewhere = await move(other['console']);
  t.not(elsewhere, other['console']);
  t.equal(await move(9999), 9999, 'the old port is free again');
  t.equal(await move(node['console']), node['console']);
});

void t.test('a renamed node takes its label along, and a name that is taken is made unique', async (t) => {
  const lab = await Lab.make();
  await lab.node('ethernet_hub', { name: 'A1' });
  const node = await lab.node('ethernet_hub', { name: 'B' });
  const rename = async (name: string): Promise<Json> => client.expect(200, 'PUT', lab.at(node), { name });
  t.hasStrict(await rename('C c'), { name: 'Cc', label: { text: 'Cc', y: -40 } });
  t.hasStrict(await rename('A1'), { name: 'A2', label: { text: 'A2' } });
  t.hasStrict(await rename('A2'), { name: 'A2' }, 'its own name is not taken');
  const label = { text: 'mine', x: 3 };
  t.strictSame((await client.expect(200, 'PUT', lab.at(node), { label }))['label'], { text: 'A2', x: 3 });
  t.strictSame((await rename('A2'))['label'], { text: 'A2', x: 3 }, 'the same name leaves it');
  t.strictSame((await rename('D'))['label'], { text: 'D', x: null }, 'a new name is centred again');
  const both = await client.expect(200, 'PUT', lab.at(node), { name: 'E', label: { text: '', x: 5 } });
  t.strictSame(both['label'], { text: 'E', x: 5 }, 'unless a client places it');
  t.equal((await lab.node('ethernet_hub', { name: 'B' }))['name'], 'B', 'the old name is free');
});

void t.test('another symbol changes the size, and none means the default one', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_hub');
  const put = (symbol: string | null): Promise<Json> => client.expect(200, 'PUT', lab.at(node), { symbol });
  t.hasStrict(await put(':/symbols/hub.svg'), { symbol: ':/symbols/hub.svg', width: 72, height: 32 });
  t.hasStrict(await put(null), { symbol: ':/symbols/computer.svg', width: 65, height: 59 });
});

void t.test('a change that is none is refused, and nothing is changed', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_switch');
  for (const body of [
    { colour: 'red' },
    { x: 4, y: 'down' },
    { x: 4, name: '' },
    { x: 4, properties: { colour: 'red' } },
    { x: 4, console_type: 'vnc' },
    { x: 4, label: { rotation: 1 } },
  ]) {
    const reply = await client.put(lab.at(node), body);
    t.hasStrict(reply, {
      status: 400,
      body: { method: 'PUT', path: '/v2/projects/{project_id}/nodes/{node_id}', request: body },
    });
  }
  t.strictSame((await client.get(lab.at(node))).body, node);
});

void t.test('a locked node cannot be deleted until it is unlocked', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_hub', { name: 'held', locked: true });
  const other = await lab.node('ethernet_hub');
  await lab.link(node, other);
  t.hasStrict(
    await client.delete(lab.at(node)),
    refusal(409, 'Node held cannot be deleted because it is locked'),
  );
  t.equal(((await client.get(`${lab.at(node)}/links`)).body as unknown[]).length, 1, 'nor its links');
  t.hasStrict(await client.put(lab.at(node), { locked: false, x: 2 }), { status: 200 });
  t.equal((await client.delete(lab.at(node))).status, 204);
});

void t.test('a deleted node takes its links along', async (t) => {
  const lab = await Lab.make();
  const [a, b, c] = [
    await lab.node('ethernet_hub'),
    await lab.node('ethernet_hub'),
    await lab.node('ethernet_hub'),
  ];
  const first = await lab.link(a, b);
  const second = await lab.link(c, a, [0, 1]);
  const kept = await lab.link(b, c, [1, 1]);
  const news = await lab.told(async () => {
    const reply = await client.delete(lab.at(a));
    t.equal(reply.status, 204);
    t.equal(reply.headers.get('content-length'), null);
  });
  t.strictSame(news, [
    { action: 'link.deleted', event: first },
    { action: 'link.deleted', event: second },
    { action: 'node.deleted', event: a },
  ]);
  t.hasStrict(await client.get(lab.at(a)), refusal(404, `Node ID ${String(a['node_id'])} doesn't exist`));
  t.strictSame((await client.get(`${lab.path}/links`)).body, [kept]);
  t.strictSame(await lab.list(), [b, c]);
  t.hasStrict(await client.delete(lab.at(a)), { status: 404 });
  await lab.link(b, c);
});

void t.test('a node is isolated by the suspension of its links, and connected again', async (t) => {
  const lab = await Lab.make();
  const [a, b, c] = [
    await lab.node('ethernet_hub'),
    await lab.node('ethernet_hub'),
    await lab.node('ethernet_hub'),
  ];
  await lab.link(a, b);
  await lab.link(c, a, [0, 1]);
  await lab.link(b, c, [1, 1]);
  const suspended = async (): Promise<unknown[]> =>
    ((await client.get(`${lab.path}/links`)).body as Json[]).map((link) => link['suspend']);
  const news = await lab.told(async () => {
    for (let round = 0; round < 2; round++) {
      await client.expect(204, 'POST', `${lab.at(a)}/isolate`);
      t.same(await suspended(), [true, true, false]);
    }
  });
  t.equal(news.length, 2, 'only a change is told');
  await client.expect(204, 'POST', `${lab.at(a)}/unisolate`);
  t.same(await suspended(), [false, false, false]);
  t.hasStrict(await client.post(`${lab.path}/nodes/nowhere/isolate`), { status: 404 });
});

void t.test('the links of a node are listed in the order in which they came', async (t) => {
  const lab = await Lab.make();
  const [a, b] = [await lab.node('ethernet_hub'), await lab.node('ethernet_hub')];
  t.strictSame((await client.get(`${lab.at(a)}/links`)).body, []);
  const links = [await lab.link(a, b, [5, 5]), await lab.link(b, a, [1, 1]), await lab.link(a, b, [3, 3])];
  t.strictSame((await client.get(`${lab.at(a)}/links`)).body, links);
});

void t.test('a duplicate is a node like the first, in another place, with a name of its own', async (t) => {
  const lab = await Lab.make();
  const template_id = '1966b864-93e7-32d5-965f-001384eec461';
  const node = await lab.node('ethernet_switch', {
    name: 'twin1',
    template_id,
    symbol: ':/symbols/router.svg',
    z: 5,
    label: { text: '', style: 'bold', x: 3, y: 4, rotation: 6 },
    properties: { ports_mapping: [{ name: 'up', port_number: 0, type: 'qinq', vlan: 9 }] },
  });
  const copy = await client.expect(201, 'POST', `${lab.at(node)}/duplicate`, { x: 7, y: 8 });
  t.not(copy['node_id'], node['node_id']);
  t.not(copy['console'], node['console']);
  const { node_id, console } = node;
  t.strictSame(
    { ...copy, node_id, console },
    { ...node, name: 'twin2', label: { ...(node['label'] as Json), text: 'twin2' }, x: 7, y: 8, z: 0 },
  );
  t.strictSame(await lab.list(), [node, copy]);
  t.hasStrict(await client.post(`${lab.at(node)}/duplicate`, { x: 7, y: 8, z: 3 }), {
    status: 201,
    body: { name: 'twin3', z: 3 },
  });
});

void t.test('the duplicate of a locked node is not locked', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_hub', { locked: true });
  const copy = await client.expect(201, 'POST', `${lab.at(node)}/duplicate`, { x: 0, y: 0 });
  t.equal(copy['locked'], false);
});

void t.test('a duplicate needs a place', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_hub');
  for (const body of [{}, { x: 1 }, { x: 1, y: 1.5 }, { x: 1, y: 1, name: 'n' }]) {
    t.hasStrict(await client.post(`${lab.at(node)}/duplicate`, body), {
      status: 400,
      body: { path: '/v2/projects/{project_id}/nodes/{node_id}/duplicate', request: body },
    });
  }
  t.equal((await lab.list()).length, 1);
});

void t.test('start, stop, suspend and reload answer with the node, which always runs', async (t) => {
  const lab = await Lab.make();
  for (const kind of KINDS) {
    const node = await lab.node(kind);
    for (const action of ['start', 'stop', 'suspend', 'reload']) {
      const reply = await client.post(`${lab.at(node)}/${action}`);
      t.equal(reply.status, 200);
      t.strictSame(reply.body, node, `${action} ${kind}`);
      t.equal(node['status'], 'started');
    }
  }
});

void t.test('all nodes are started, stopped, suspended and reloaded without a word', async (t) => {
  const lab = await Lab.make();
  await lab.node('ethernet_switch');
  await lab.node('atm_switch');
  const before = await lab.list();
  for (const action of ['start', 'stop', 'suspend', 'reload']) {
    const reply = await client.post(`${lab.nodes}/${action}`, {});
    t.equal(reply.status, 204, action);
    t.equal(reply.text, '');
    t.equal(reply.headers.get('content-type'), null);
  }
  t.strictSame(await lab.list(), before);
});

void t.test('a node that is only kept is stopped and cannot be started, alone or with all', async (t) => {
  const node = gns3Node('virtualbox', { name: 'PC1' });
  const hub = gns3Node('ethernet_hub', { name: 'Hub1' });
  const { id } = placeGns3Project(`${server.data}/projects`, 'kept', { nodes: [node, hub] });
  await client.expect(200, 'POST', '/v2/reload');
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  const nodes = `/v2/projects/${id}/nodes`;
  const unserved = (doing: string): object =>
    refusal(409, `Cannot ${doing} the node: VirtualBox is not available on this host`);
  t.hasStrict(await client.get(`${nodes}/${node.node_id}`), { body: { status: 'stopped', name: 'PC1' } });
  t.hasStrict(await client.post(`${nodes}/${node.node_id}/start`), unserved('start'));
  t.hasStrict(await client.post(`${nodes}/${node.node_id}/reload`), unserved('reload'));
  t.hasStrict(await client.post(`${nodes}/${node.node_id}/duplicate`, { x: 0, y: 0 }), unserved('duplicate'));
  t.hasStrict(await client.post(`${nodes}/${node.node_id}/stop`), { status: 200 });
  t.hasStrict(await client.post(`${nodes}/${node.node_id}/suspend`), { status: 200 });
  t.hasStrict(
    await client.post(`${nodes}/start`),
    refusal(
      409,
      'Cannot start 1 of 2 nodes: PC1: Cannot start the node: VirtualBox is not available on this host',
    ),
  );
  t.equal((await client.post(`${nodes}/stop`)).status, 204);
  t.hasStrict(await client.put(`${nodes}/${node.node_id}`, { x: 77 }), { status: 200, body: { x: 77 } });
  t.hasStrict(await client.put(`${nodes}/${node.node_id}`, { name: 'PC9' }), unserved('change'));
  t.equal((await client.delete(`${nodes}/${node.node_id}`)).status, 204);
});

void t.test('missing nodes are not found', async (t) => {
  const lab = await Lab.make();
  const other = await Lab.make();
  const elsewhere = await other.node('ethernet_hub');
  const lost = lab.at({ node_id: UNKNOWN });
  const missing = refusal(404, `Node ID ${UNKNOWN} doesn't exist`);
  t.hasStrict(await client.get(lost), missing);
  t.hasStrict(await client.put(lost, {}), missing);
  t.hasStrict(await client.delete(lost), missing);
  t.hasStrict(await client.get(`${lost}/links`), missing);
  t.hasStrict(await client.post(`${lost}/duplicate`, { x: 0, y: 0 }), missing);
  for (const action of ['start', 'stop', 'suspend', 'reload']) {
    t.hasStrict(await client.post(`${lost}/${action}`), missing);
  }
  t.hasStrict(await client.get(lab.at(elsewhere)), { status: 404 }, 'a node of another project');
  t.hasStrict(
    await client.get(lab.at({ node_id: 'nonsense' })),
    refusal(404, "Node ID nonsense doesn't exist"),
  );
  const upper = String(elsewhere['node_id']).toUpperCase();
  t.hasStrict(await client.get(other.at({ node_id: upper })), { status: 404 }, 'ids are matched exactly');
  const noProject = refusal(404, `Project ID ${UNKNOWN} doesn't exist`);
  t.hasStrict(await client.get(`/v2/projects/${UNKNOWN}/nodes`), noProject);
  t.hasStrict(
    await client.post(`/v2/projects/${UNKNOWN}/nodes`, {
      name: 'N',
      node_type: 'ethernet_hub',
      compute_id: 'local',
    }),
    noProject,
  );
  t.hasStrict(await client.post(`/v2/projects/${UNKNOWN}/nodes/start`), noProject);
});

void t.test('a closed project lists its nodes as its file has them and refuses the rest', async (t) => {
  const lab = await Lab.make();
  const node = await lab.node('ethernet_switch', { name: 'first' });
  await lab.node('atm_switch', { name: 'second' });
  await client.expect(204, 'POST', `${lab.path}/close`);
  const stored = await lab.list();
  const absent = ['command_line', 'console_host', 'node_directory', 'ports', 'project_id', 'status'];
  const kept = KEYS.filter((key) => !absent.includes(key));
  t.equal(kept.length, 21);
  t.strictSame(
    stored.map((one) => Object.keys(one).sort()),
    [kept, kept],
  );
  t.strictSame(stored[0], Object.fromEntries(kept.map((key) => [key, node[key]])));
  const closed = refusal(403, 'The project is not opened');
  t.hasStrict(await lab.post({}), closed);
  t.hasStrict(await client.get(lab.at(node)), closed);
  t.hasStrict(await client.put(lab.at(node), { x: 1 }), closed);
  t.hasStrict(await client.delete(lab.at(node)), closed);
  t.hasStrict(await client.get(`${lab.at(node)}/links`), closed);
  t.hasStrict(await client.post(`${lab.at(node)}/duplicate`, { x: 0, y: 0 }), closed);
  for (const action of ['start', 'stop', 'suspend', 'reload']) {
    t.hasStrict(await client.post(`${lab.at(node)}/${action}`), closed);
    t.hasStrict(await client.post(`${lab.nodes}/${action}`), closed);
  }
});

void t.test('nodes are listed in creation order, also after changes and a reopening', async (t) => {
  const lab = await Lab.make();
  const ids: unknown[] = [];
  for (const first of ['f', '0', 'a', '7', 'c']) {
    const node_id = `${first}0000000-0000-4000-8000-000000000000`;
    ids.push((await lab.node('ethernet_hub', { node_id }))['node_id']);
  }
  const order = async (): Promise<unknown[]> => (await lab.list()).map((one) => one['node_id']);
  t.strictSame(await order(), ids);
  await client.expect(200, 'PUT', lab.at({ node_id: ids[0] }), { x: 5 });
  t.strictSame(await order(), ids);
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.strictSame(await order(), ids, 'closed');
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.strictSame(await order(), ids, 'open again');
  ids.push((await lab.node('ethernet_hub'))['node_id']);
  t.strictSame(await order(), ids);
});

void t.test(
  'each change is told once, with the whole node, and what changes nothing is not told',
  async (t) => {
    const lab = await Lab.make();
    const events: Json[] = [];
    const news = await lab.told(async () => {
      const node = await lab.node('ethernet_switch', { name: 'told' });
      const moved = await client.expect(200, 'PUT', lab.at(node), { x: 3, y: 4 });
      await client.expect(200, 'PUT', lab.at(node), { x: 3 });
      await client.expect(200, 'PUT', lab.at(node), {});
      const renamed = await client.expect(200, 'PUT', lab.at(node), { name: 'renamed', z: 9 });
      await client.put(lab.at(node), { x: 'wrong' });
      await client.expect(200, 'POST', `${lab.at(node)}/start`);
      const copy = await client.expect(201, 'POST', `${lab.at(node)}/duplicate`, { x: 1, y: 1 });
      await client.expect(204, 'DELETE', lab.at(node));
      events.push(node, moved, renamed, copy, renamed);
    });
    t.strictSame(
      news,
      ['created', 'updated', 'updated', 'created', 'deleted'].map((verb, index) => ({
        action: `node.${verb}`,
        event: events[index],
      })),
    );
  },
);

void t.test('a switch that is to have a Telnet console warns that there is none', async (t) => {
  const lab = await Lab.make();
  const message = '"S1": Telnet access for switches is not available in this version of GNS3';
  const warnings = (news: readonly Notification[]): readonly Notification[] =>
    news.filter(({ action }) => action.startsWith('log.'));
  let node: Json = {};
  const made = await lab.told(async () => {
    node = await lab.node('ethernet_switch', { name: 'S1', console_type: 'telnet' });
  });
  t.strictSame(warnings(made), [{ action: 'log.warning', event: { message } }]);
  t.equal(node['console_type'], 'telnet');
  const changed = await lab.told(async () => {
    await client.expect(200, 'PUT', lab.at(node), { console_type: 'telnet', x: 1 });
    await client.expect(200, 'PUT', lab.at(node), { console_type: 'none' });
    await client.expect(200, 'PUT', lab.at(node), { console_type: 'telnet' });
  });
  t.strictSame(warnings(changed), [{ action: 'log.warning', event: { message } }], 'on a change only');
});
