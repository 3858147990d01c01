/** Switches that run here: what they are told to be, and what they refuse to be. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { CONSOLE_PORTS_BY_DEFAULT, startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const server = await startServer(t, { environment: CONSOLE_PORTS_BY_DEFAULT });
const client = new Client(server.url);
const lab = await ComputeLab.open(client);
const KINDS = ['atm_switch', 'frame_relay_switch', 'ethernet_switch', 'ethernet_hub'] as const;
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });
const nodes = (kind: string): string => `${lab.path}/${kind}/nodes`;
const make = (kind: string, body: object): Promise<Json> => client.expect(201, 'POST', nodes(kind), body);
const ports = (count: number, more: object): Json[] =>
  Array.from({ length: count }, (_, index) => ({ name: `Ethernet${index}`, port_number: index, ...more }));

void t.test('a new node has the properties of its kind, and nothing more', async (t) => {
  const usual = { name: 'SW', project_id: lab.id, status: 'started' };
  const shown: Readonly<Record<string, Json>> = {
    atm_switch: { ...usual, mappings: {} },
    frame_relay_switch: { ...usual, mappings: {} },
    ethernet_switch: {
      ...usual,
      console: 5000,
      console_type: 'none',
      ports_mapping: ports(8, { type: 'access', vlan: 1 }),
    },
    ethernet_hub: { ...usual, ports_mapping: ports(8, {}) },
  };
  for (const kind of KINDS) {
    const made = await make(kind, { name: 'SW' });
    t.strictSame(made, { ...shown[kind], node_id: made['node_id'] }, kind);
    t.match(made['node_id'], /^[0-9a-f-]{36}$/);
    const path = `${nodes(kind)}/${String(made['node_id'])}`;
    const read = await client.get(path);
    t.strictSame(read.body, made);
    t.same(Object.keys(made), Object.keys(made).toSorted(), 'keys in order');
    t.equal((await client.delete(path)).status, 204);
    t.hasStrict(await client.get(path), refusal(404, `Node ID ${String(made['node_id'])} doesn't exist`));
  }
});

void t.test('a known id is answered with the node that has it, also when both come at once', async (t) => {
  const node_id = randomUUID();
  const mappings = { '1:2': '3:4' };
  const [first, second] = await Promise.all([
    make('atm_switch', { name: 'first', node_id, mappings }),
    make('atm_switch', { name: 'second', node_id }),
  ]);
  t.strictSame(second, first);
  t.match(first, { name: 'first', mappings });
  t.hasStrict(
    await client.post(nodes('ethernet_hub'), { name: 'other', node_id }),
    refusal(409, `Node ID ${node_id} is already used by another node`),
  );
  const other = await ComputeLab.open(client);
  t.equal((await client.post(`${other.path}/atm_switch/nodes`, { name: 'a', node_id })).status, 409);
  t.hasStrict(
    await client.get(`${other.path}/atm_switch/nodes/${node_id}`),
    refusal(404, `Project ID ${other.id} doesn't belong to node first`),
  );
  await client.expect(204, 'DELETE', `${nodes('atm_switch')}/${node_id}`);
  await client.expect(201, 'POST', `${other.path}/atm_switch/nodes`, { name: 'a', node_id });
  await other.close();
  await make('atm_switch', { name: 'free again', node_id });
});

void t.test('a node is only found by its own kind', async (t) => {
  for (const kind of KINDS) {
    const node_id = randomUUID();
    await make(kind, { name: 'a', node_id });
    for (const other of KINDS) {
      if (other === kind) continue;
      const path = `${nodes(other)}/${node_id}`;
      const replies = [
        await client.get(path),
        await client.put(path, {}),
        await client.post(`${path}/start`),
        await client.post(`${path}/duplicate`, { destination_node_id: node_id }),
        await client.post(`${path}/adapters/0/ports/1/nio`, { type: 'nio_null' }),
        await client.delete(`${path}/adapters/0/ports/1/nio`),
        await client.get(`${path}/statistics`),
        await client.delete(path),
      ];
      t.same(
        replies.map(({ status }) => status),
        replies.map(() => 404),
        `${kind} as ${other}`,
      );
    }
    await client.expect(204, 'DELETE', `${nodes(kind)}/${node_id}`);
  }
});

void t.test('an id that is none is told apart from one that nobody has', async (t) => {
  for (const kind of KINDS) {
    for (const [id, status, message] of [
      ['nonsense', 400, 'Node ID nonsense is not a valid UUID'],
      [UNKNOWN, 404, `Node ID ${UNKNOWN} doesn't exist`],
    ] as const) {
      const path = `${nodes(kind)}/${id}`;
      for (const reply of [
        await client.get(path),
        await client.put(path, {}),
        await client.delete(path),
        await client.post(`${path}/stop`),
        await client.post(`${path}/adapters/0/ports/1/nio`, { type: 'nio_null' }),
      ]) {
        t.match(reply, { status, body: { message } }, `${kind} ${id}`);
      }
    }
  }
});

void t.test('there is no list of nodes', async (t) => {
  for (const kind of KINDS) {
    const reply = await client.get(nodes(kind));
    t.equal(reply.status, 405);
    t.match(reply.headers.get('allow'), 'POST');
  }
  t.equal((await client.get(`${lab.path}/nothing/nodes`)).status, 404);
});

void t.test('start, stop, suspend and reload do nothing, and a copy has nothing to copy', async (t) => {
  for (const kind of KINDS) {
    const path = await lab.node(kind);
    for (const action of ['start', 'stop', 'suspend', 'reload']) {
      const reply = await client.post(`${path}/${action}`, { anything: 'at all' });
      t.equal(reply.status, 204, `${kind} ${action}`);
      t.equal(reply.text, '');
    }
    t.match((await client.get(path)).body, { status: 'started' });
    const copy = await make(kind, { name: 'copy' });
    t.strictSame(
      await client.expect(201, 'POST', `${path}/duplicate`, { destination_node_id: copy['node_id'] }),
      copy,
    );
    for (const [body, status] of [
      [{}, 400],
      [{ destination_node_id: 'x' }, 400],
      [{ destination_node_id: UNKNOWN }, 404],
    ] as const) {
      t.equal((await client.post(`${path}/duplicate`, body)).status, status);
    }
  }
});

void t.test('a whole object can be sent back', async (t) => {
  for (const kind of KINDS) {
    const path = await lab.node(kind);
    const { body } = await client.get(path);
    t.strictSame(await client.expect(200, 'PUT', path, body), body, kind);
    t.strictSame(await client.expect(200, 'PUT', path, {}), body, kind);
    t.match(await client.expect(200, 'PUT', path, { name: 'new' }), { name: 'new' });
  }
});

void t.test('mappings that cannot be are refused whole, and nothing is changed', async (t) => {
  const bad: Readonly<Record<string, readonly (readonly [number, unknown])[]>> = {
    atm_switch: [
      [400, { '1:2:3': '4:5' }],
      [400, { '1:1': 5 }],
      [400, { 'x:1': '2:1' }],
      [400, { '1:99999': '2:1' }],
      [400, { '1:0:65536': '2:0:1' }],
      [400, { '70000:1': '2:1' }],
      [400, []],
      [400, null],
      [409, { '1:5': '2:6', '1:5:7': '3:1:1' }],
      [409, { '1:5': '2:6', '3:7': '1:5' }],
    ],
    frame_relay_switch: [
      [400, { '1:0': '2:1' }],
      [400, { '1:1023': '2:1' }],
      [400, { '1:2:3': '4:5:6' }],
      [409, { '1:101': '2:202', '3:303': '1:101' }],
    ],
  };
  for (const [kind, cases] of Object.entries(bad)) {
    const good = kind === 'atm_switch' ? { '1:0:100': '10:0:200', '3:7': '4:8' } : { '1:101': '10:202' };
    const path = await lab.node(kind, { mappings: good });
    for (const [status, mappings] of cases) {
      t.equal(
        (await client.post(nodes(kind), { name: 'a', mappings })).status,
        status,
        JSON.stringify(mappings),
      );
      t.equal((await client.put(path, { name: 'b', mappings })).status, status, JSON.stringify(mappings));
    }
    t.match(await client.expect(200, 'GET', path), { name: 'SW', mappings: good });
    t.strictSame((await client.expect(200, 'PUT', path, { mappings: {} }))['mappings'], {}, 'can be emptied');
  }
});

void t.test('bodies that fit no kind are refused', async (t) => {
  for (const kind of KINDS) {
    const path = await lab.node(kind);
    for (const body of [
      {},
      { name: '' },
      { name: ' ' },
      { name: 'a"b' },
      { name: 'x'.repeat(256) },
      { name: 7 },
      { name: 'a', node_id: 'x' },
      { name: 'a', colour: 'red' },
      { name: 'a', [kind.startsWith('ethernet') ? 'mappings' : 'ports_mapping']: {} },
      { name: 'a', ...(kind === 'ethernet_switch' ? { console_type: 'vnc' } : { console_type: 'none' }) },
      { name: 'a', ports_mapping: 'x' },
      { name: 'a', ports_mapping: [7] },
      [],
      null,
      'text',
    ]) {
      t.equal(
        (await client.post(nodes(kind), body)).status,
        400,
        `${kind} ${JSON.stringify(body).slice(0, 60)}`,
      );
      // Some bodies are wrong for a new node only.
      if (!['{}', '{"name":"a","node_id":"x"}'].includes(JSON.stringify(body)))
        t.equal((await client.put(path, body)).status, 400);
    }
  }
});

void t.test(
  'the ports of an Ethernet switch keep their names when made, and are renumbered when changed',
  async (t) => {
    const ports_mapping = [
      { name: 'left', port_number: 4, type: 'access', vlan: 2 },
      { name: 'right', port_number: 9, type: 'qinq', vlan: 3, ethertype: '0x88A8' },
    ];
    const path = await lab.node('ethernet_switch', { ports_mapping });
    t.match(await client.expect(200, 'GET', path), { ports_mapping });
    t.match(await client.expect(200, 'PUT', path, { ports_mapping }), { ports_mapping }, 'the same stays');
    const changed = [{ ...ports_mapping[0], type: 'dot1q' }, ports_mapping[1]];
    t.match(await client.expect(200, 'PUT', path, { ports_mapping: changed }), {
      ports_mapping: [
        { name: 'Ethernet0', port_number: 0, type: 'dot1q', vlan: 2 },
        { name: 'Ethernet1', port_number: 1, type: 'qinq', vlan: 3, ethertype: '0x88A8' },
      ],
    });
    for (const entry of [
      { name: 'a', port_number: 0 },
      { name: 'a', port_number: 0, type: 'access', vlan: 0 },
      { name: 'a', port_number: 0, type: 'access', vlan: 4095 },
      { name: 'a', port_number: -1, type: 'access' },
      { name: 'a', port_number: 0, type: 'trunk' },
      { name: '', port_number: 0, type: 'access' },
      { name: 'a', port_number: 0, type: 'qinq', ethertype: '0x1234' },
    ]) {
      t.equal((await client.put(path, { ports_mapping: [entry] })).status, 400, JSON.stringify(entry));
    }
  },
);

void t.test('connected ports hold back what would take them away', async (t) => {
  const ethernet = await lab.node('ethernet_switch');
  await client.expect(201, 'POST', `${ethernet}/adapters/0/ports/0/nio`, { type: 'nio_null' });
  const fewer = ports(2, { type: 'access', vlan: 1 });
  t.hasStrict(
    await client.put(ethernet, { name: 'new', ports_mapping: fewer }),
    refusal(409, "Can't modify a switch already connected."),
  );
  t.match((await client.get(ethernet)).body, { name: 'SW' });
  t.equal((await client.put(ethernet, { ports_mapping: ports(8, { type: 'access', vlan: 5 }) })).status, 200);
  const hub = await lab.node('ethernet_hub');
  await client.expect(201, 'POST', `${hub}/adapters/0/ports/7/nio`, { type: 'nio_null' });
  t.hasStrict(
    await client.put(hub, { ports_mapping: ports(2, {}) }),
    refusal(409, "Can't modify a hub already connected."),
  );
  await client.expect(204, 'DELETE', `${hub}/adapters/0/ports/7/nio`);
  t.match(await client.expect(200, 'PUT', hub, { ports_mapping: [{ name: 'x', port_number: 3 }] }), {
    ports_mapping: [{ name: 'Ethernet0', port_number: 0 }],
  });
});

void t.test('an Ethernet switch has a console port of its own until it ends', async (t) => {
  const consoles = async (): Promise<unknown> =>
    (await client.expect(200, 'GET', '/v2/compute/network/ports'))['console_ports'];
  const own = await ComputeLab.open(client);
  const before = (await consoles()) as number[];
  const path = await own.node('ethernet_switch', { console: 7777 });
  const second = await own.node('ethernet_switch', { console: 7777 });
  t.match((await client.get(path)).body, { console: 7777 });
  t.notMatch((await client.get(second)).body, { console: 7777 });
  t.match(await client.expect(200, 'PUT', path, { console: 6000 }), { console: 7777 }, 'not to be changed');
  t.equal(((await consoles()) as number[]).length, before.length + 2);
  await client.expect(204, 'DELETE', path);
  await own.close();
  t.same(await consoles(), before);
});

void t.test('nodes go with their project', async (t) => {
  const own = await ComputeLab.open(client);
  const paths = await Promise.all(KINDS.map((kind) => own.node(kind)));
  await own.close();
  await ComputeLab.open(client, own.id);
  for (const path of paths) t.equal((await client.get(path)).status, 404);
});

void t.test('many requests on one node at once leave it in one piece', async (t) => {
  const path = await lab.node('atm_switch');
  const nio = `${path}/adapters/0/ports/1/nio`;
  const requests = Array.from({ length: 20 }, (_, index) => [
    client.post(nio, { type: 'nio_null' }),
    client.delete(nio),
    client.put(path, { mappings: { [`1:${index}`]: `2:${index}` } }),
  ]);
  for (const { status } of await Promise.all(requests.flat())) t.ok([200, 201, 204, 409].includes(status));
  await client.delete(nio);
  const { ports: attached, connections } = await client.expect(200, 'GET', `${path}/statistics`);
  t.strictSame(attached, []);
  t.match(connections, { length: 2 });
  await client.expect(204, 'DELETE', path);
  const raced = await lab.node('atm_switch');
  const statuses = await Promise.all([client.delete(raced), client.delete(raced), client.put(raced, {})]);
  t.same(statuses.map(({ status }) => status).toSorted(), [204, 404, 404]);
});
