/** Templates, and nodes made from them. */
import { createHash } from 'node:crypto';
import t from 'tap';
import { Client } from '../support/client.js';
import { NotificationLog, type Notification } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const data = scratchFolder(t);
const server = await startServer(t, { data });
const client = new Client(server.url);
const stream = await NotificationLog.open(`${server.url}/v2/notifications`);
t.teardown(() => {
  stream.close();
});
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });

const TRACENG = { name: 'Trace', template_type: 'traceng', compute_id: 'local' };
const BUILTIN = {
  cloud: '39e257dc-8412-3174-b6b3-0ee3ed6a43e9',
  nat: 'df8f4ea9-33b7-3e96-86a2-c39bc9bb649c',
  vpcs: '19021f99-e36f-394d-b4a1-8aaa902ab9cc',
  ethernet_switch: '1966b864-93e7-32d5-965f-001384eec461',
  ethernet_hub: 'b4503ea9-d6b6-3695-9fe4-1db3b39290b0',
  frame_relay_switch: 'dd0f6f3a-ba58-3249-81cb-a1dd88407a47',
  atm_switch: 'aaa764e2-b383-300f-8a0e-3493bbfdb7d2',
};
const UNKNOWN = '11111111-2222-3333-4444-555555555555';

type Json = Record<string, unknown>;

async function listed(): Promise<Json[]> {
  return (await client.get('/v2/templates')).body as Json[];
}

function make(more: Json): Promise<Json> {
  const body = { name: 'T', template_type: 'ethernet_hub', compute_id: 'local', ...more };
  return client.expect(201, 'POST', '/v2/templates', body);
}

/** The controller's notifications about the work, up to the project that marks its end. */
async function told(work: () => Promise<unknown>): Promise<Notification[]> {
  const before = stream.received.length;
  await work();
  const marker = await client.expect(201, 'POST', '/v2/projects', { name: `marker ${before}` });
  await stream.next(
    ({ action, event }) => action === 'project.created' && event['project_id'] === marker['project_id'],
  );
  return stream.received.slice(before, -1);
}

void t.test('the built-in templates come first, with the ids that stock clients know', async (t) => {
  const builtin = { builtin: true, compute_id: null };
  t.strictSame(await listed(), [
    {
      ...builtin,
      category: 'guest',
      default_name_format: 'Cloud{0}',
      name: 'Cloud',
      symbol: ':/symbols/cloud.svg',
      template_id: BUILTIN.cloud,
      template_type: 'cloud',
    },
    {
      ...builtin,
      category: 'guest',
      default_name_format: 'NAT{0}',
      name: 'NAT',
      symbol: ':/symbols/nat.svg',
      template_id: BUILTIN.nat,
      template_type: 'nat',
    },
    {
      ...builtin,
      category: 'guest',
      default_name_format: 'PC{0}',
      name: 'VPCS',
      properties: { base_script_file: 'vpcs_base_config.txt' },
      symbol: ':/symbols/vpcs_guest.svg',
      template_id: BUILTIN.vpcs,
      template_type: 'vpcs',
    },
    {
      ...builtin,
      category: 'switch',
      console_type: 'none',
      default_name_format: 'Switch{0}',
      name: 'Ethernet switch',
      symbol: ':/symbols/ethernet_switch.svg',
      template_id: BUILTIN.ethernet_switch,
      template_type: 'ethernet_switch',
    },
    {
      ...builtin,
      category: 'switch',
      default_name_format: 'Hub{0}',
      name: 'Ethernet hub',
      symbol: ':/symbols/hub.svg',
      template_id: BUILTIN.ethernet_hub,
      template_type: 'ethernet_hub',
    },
    {
      ...builtin,
      category: 'switch',
      default_name_format: 'FRSW{0}',
      name: 'Frame Relay switch',
      symbol: ':/symbols/frame_relay_switch.svg',
      template_id: BUILTIN.frame_relay_switch,
      template_type: 'frame_relay_switch',
    },
    {
      ...builtin,
      category: 'switch',
      default_name_format: 'ATMSW{0}',
      name: 'ATM switch',
      symbol: ':/symbols/atm_switch.svg',
      template_id: BUILTIN.atm_switch,
      template_type: 'atm_switch',
    },
  ]);
});

void t.test('the ids of the built-in templates are the name-based UUIDs of their types', (t) => {
  const dns = Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex');
  for (const [type, id] of Object.entries(BUILTIN)) {
    const hash = createHash('md5').update(dns).update(type).digest();
    hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x30;
    hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
    t.equal(hash.toString('hex'), id.replaceAll('-', ''), type);
  }
  t.end();
});

void t.test('a template that is made gets the defaults of its type', async (t) => {
  const common = { builtin: false, category: 'switch', compute_id: 'local', name: 'Mine' };
  const eight = (settings: object): object[] =>
    Array.from({ length: 8 }, (_, i) => ({ name: `Ethernet${i}`, port_number: i, ...settings }));
  const expected: Record<string, Json> = {
    ethernet_switch: {
      console_type: 'none',
      default_name_format: 'Switch{0}',
      ports_mapping: eight({ ethertype: '', type: 'access', vlan: 1 }),
      symbol: ':/symbols/ethernet_switch.svg',
    },
    ethernet_hub: {
      default_name_format: 'Hub{0}',
      ports_mapping: eight({}),
      symbol: ':/symbols/hub.svg',
    },
    frame_relay_switch: { default_name_format: 'FRSW{0}', symbol: ':/symbols/frame_relay_switch.svg' },
    atm_switch: { default_name_format: 'ATMSW{0}', symbol: ':/symbols/atm_switch.svg' },
  };
  for (const [template_type, special] of Object.entries(expected)) {
    const made = await make({ name: 'Mine', template_type });
    const { template_id, ...rest } = made;
    t.match(template_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    t.strictSame(rest, { ...common, template_type, ...special }, template_type);
    t.strictSame((await client.get(`/v2/templates/${String(template_id)}`)).body, made);
  }
});

void t.test('values of the client win over the defaults', async (t) => {
  const template_id = '0a0a0a0a-0000-4000-8000-000000000001';
  const settings = {
    template_id,
    name: 'Access',
    template_type: 'ethernet_switch',
    compute_id: null,
    category: 'router',
    console_type: 'telnet',
    default_name_format: '{name}-{0}',
    symbol: ':/symbols/hub.svg',
    ports_mapping: [{ name: 'up', port_number: 4, type: 'dot1q', vlan: 7 }],
  };
  t.strictSame(await make(settings), { ...settings, builtin: false });
});

void t.test('templates are listed in the order in which they were made', async (t) => {
  const before = (await listed()).map((one) => one['template_id']);
  t.strictSame(before.slice(0, 7), Object.values(BUILTIN));
  const made: unknown[] = [];
  for (let index = 0; index < 5; index++) made.push((await make({ name: `n${index}` }))['template_id']);
  t.strictSame(
    (await listed()).map((one) => one['template_id']),
    [...before, ...made],
  );
});

void t.test('an id is given once', async (t) => {
  const { template_id } = await make({});
  const before = await listed();
  t.hasStrict(
    await client.post('/v2/templates', {
      name: 'again',
      template_type: 'ethernet_hub',
      compute_id: 'local',
      template_id,
    }),
    refusal(409, `Template ID '${String(template_id)}' already exists`),
  );
  t.strictSame(await listed(), before);
});

void t.test('a template needs a name, a type and a compute, and knows no other keys', async (t) => {
  const before = await listed();
  const good: Json = { name: 'T', template_type: 'ethernet_hub', compute_id: 'local' };
  const { name, ...noName } = good;
  const { template_type: type, ...noType } = good;
  const { compute_id: compute, ...noCompute } = good;
  for (const body of [
    noName,
    noType,
    noCompute,
    { ...good, name: '' },
    { ...good, template_type: 'toaster' },
    { ...good, template_id: 'no-uuid' },
    { ...good, category: 'kitchen' },
    { ...good, colour: 'red' },
    { ...good, console_type: 'none' },
    { ...good, ports_mapping: [{ name: 'e0' }] },
  ]) {
    const reply = await client.post('/v2/templates', body);
    t.hasStrict(reply, { status: 400, body: { path: '/v2/templates', request: body } }, JSON.stringify(body));
  }
  t.strictSame(await listed(), before);
  t.ok([name, type, compute].every((value) => typeof value === 'string'));
});

/** The settings that the templates of a type must have, and some of its own with the defaults of the others. */
const KINDS: Record<string, { must?: Json; change: Json; unfit: Json; shows: Json }> = {
  cloud: {
    change: { remote_console_port: 5900 },
    unfit: { remote_console_port: 0 },
    shows: { ports_mapping: [], remote_console_host: '127.0.0.1', symbol: ':/symbols/cloud.svg' },
  },
  docker: {
    must: { image: 'alpine' },
    change: { adapters: 3, mac_address: '02:42:00:00:00:01' },
    unfit: { adapters: 100 },
    shows: { adapters: 1, console_type: 'telnet', extra_volumes: [], symbol: ':/symbols/docker_guest.svg' },
  },
  dynamips: {
    must: { platform: 'c3725', image: 'c3725.bin' },
    change: { slot1: 'NM-4T', wic0: 'WIC-1T' },
    unfit: { slot1: 'PA-99' },
    shows: { iomem: 5, ram: 128, startup_config: 'ios_base_startup-config.txt', category: 'router' },
  },
  iou: {
    must: { path: 'l3.bin' },
    change: { ethernet_adapters: 4 },
    unfit: { ethernet_adapters: 15 },
    shows: {
      ethernet_adapters: 2,
      serial_adapters: 2,
      ram: 1024,
      startup_config: 'iou_l3_base_startup-config.txt',
    },
  },
  nat: { change: { name: 'Out' }, unfit: { ports_mapping: [] }, shows: { symbol: ':/symbols/nat.svg' } },
  qemu: {
    change: { hda_disk_image: 'a.qcow2', console_type: 'spice+agent' },
    unfit: { cpus: 256 },
    shows: { adapter_type: 'e1000', linked_clone: true, process_priority: 'normal', ram: 256 },
  },
  traceng: {
    change: { ip_address: '192.0.2.1' },
    unfit: { console_type: 'telnet' },
    shows: { console_type: 'none', default_name_format: 'TraceNG{0}' },
  },
  virtualbox: {
    must: { vmname: 'vm' },
    change: { ram: 1024 },
    unfit: { adapters: 37 },
    shows: { adapter_type: 'Intel PRO/1000 MT Desktop (82540EM)', ram: 256, headless: false },
  },
  vmware: {
    must: { vmx_path: '/vm.vmx' },
    change: { adapter_type: 'vmxnet3' },
    unfit: { adapters: 11 },
    shows: { adapter_type: 'e1000', linked_clone: false, symbol: ':/symbols/vmware_guest.svg' },
  },
  vpcs: {
    change: { base_script_file: 'mine.txt' },
    unfit: { base_script_file: '' },
    shows: { base_script_file: 'vpcs_base_config.txt', console_type: 'telnet', console_auto_start: false },
  },
};

void t.test('templates of kinds that are not served are made, changed, copied and deleted', async (t) => {
  for (const [template_type, { must = {}, change, unfit, shows }] of Object.entries(KINDS)) {
    const body = { name: 'T', template_type, compute_id: 'local' };
    for (const key of Object.keys(must)) {
      const { [key]: left, ...rest } = must;
      const reply = await client.post('/v2/templates', { ...body, ...rest });
      t.hasStrict(reply, { status: 400, body: { path: '/v2/templates' } }, `${template_type} needs ${key}`);
      t.match((reply.body as Json)['message'], `${key} is required`);
      t.ok(left);
    }
    const made = await make({ template_type, ...must });
    t.hasStrict(made, { ...body, builtin: false, ...must, ...shows });
    const path = `/v2/templates/${String(made['template_id'])}`;
    t.strictSame(await client.expect(200, 'PUT', path, made), made, 'what was read can be sent back');
    for (const wrong of [unfit, { colour: 'red' }]) {
      t.hasStrict(await client.put(path, wrong), { status: 400, body: { request: wrong } }, template_type);
    }
    t.strictSame(await client.expect(200, 'PUT', path, change), { ...made, ...change });
    const copy = await client.expect(201, 'POST', `${path}/duplicate`);
    t.strictSame(copy, { ...made, ...change, template_id: copy['template_id'] });
    t.equal((await client.delete(path)).status, 204);
    t.equal((await client.delete(`/v2/templates/${String(copy['template_id'])}`)).status, 204);
  }
});

void t.test('the settings of a router must go together', async (t) => {
  const router = { template_type: 'dynamips', platform: 'c7200', image: 'c7200.bin' };
  const reply = await client.post('/v2/templates', {
    ...router,
    name: 'R',
    compute_id: 'local',
    chassis: '3640',
  });
  t.hasStrict(reply, { status: 400 });
  t.match((reply.body as Json)['message'], 'c7200 routers do not have chassis');
  const made = await make(router);
  const path = `/v2/templates/${String(made['template_id'])}`;
  t.hasStrict(await client.put(path, { platform: 'c3600' }), { status: 400 });
  t.strictSame((await client.get(path)).body, made);
});

void t.test('the built-in template of virtual PCs can be sent back', async (t) => {
  const path = `/v2/templates/${BUILTIN.vpcs}`;
  const read = await client.expect(200, 'GET', path);
  t.strictSame(await client.expect(200, 'PUT', path, read), read);
});

void t.test('an unchanged template is answered with 304 to who has it already', async (t) => {
  const path = `/v2/templates/${String((await make({}))['template_id'])}`;
  const first = await client.get(path);
  const etag = first.headers.get('etag') ?? '';
  t.match(etag, /^"[0-9a-f]{32}"$/);
  const second = await client.request('GET', path, undefined, { 'if-none-match': etag });
  t.equal(second.status, 304);
  t.equal(second.text, '');
  t.equal(second.headers.get('etag'), etag);
  const other = await client.request('GET', path, undefined, { 'if-none-match': '"0"' });
  t.equal(other.status, 200);
  t.strictSame(other.body, first.body);
  await client.expect(200, 'PUT', path, { name: 'another' });
  const third = await client.request('GET', path, undefined, { 'if-none-match': etag });
  t.equal(third.status, 200, 'after a change the tag is another');
  t.not(third.headers.get('etag'), etag);
});

void t.test('a change keeps what it does not name, and never what identifies the template', async (t) => {
  const made = await make({ name: 'before' });
  const changed = await client.expect(200, 'PUT', `/v2/templates/${String(made['template_id'])}`, {
    name: 'after',
    category: 'guest',
    template_id: UNKNOWN,
    template_type: 'atm_switch',
    compute_id: 'elsewhere',
    builtin: true,
  });
  t.strictSame(changed, { ...made, name: 'after', category: 'guest' });
});

void t.test('a template that was read can be sent back', async (t) => {
  const made = await make({ template_type: 'ethernet_switch' });
  const path = `/v2/templates/${String(made['template_id'])}`;
  t.strictSame(await client.expect(200, 'PUT', path, made), made);
});

void t.test('a change to something unknown or unfit is refused, and nothing is changed', async (t) => {
  const made = await make({});
  const path = `/v2/templates/${String(made['template_id'])}`;
  for (const body of [{ colour: 'red' }, { name: '' }, { name: 'x', ports_mapping: 3 }]) {
    t.hasStrict(await client.put(path, body), { status: 400, body: { request: body } });
  }
  t.strictSame((await client.get(path)).body, made);
});

void t.test('a built-in template may be changed', async (t) => {
  const path = `/v2/templates/${BUILTIN.ethernet_hub}`;
  const before = await client.expect(200, 'GET', path);
  const changed = await client.expect(200, 'PUT', path, { default_name_format: 'H{0}' });
  t.strictSame(changed, { ...before, default_name_format: 'H{0}' });
  await client.expect(200, 'PUT', path, { default_name_format: 'Hub{0}' });
});

void t.test('a deleted template is gone', async (t) => {
  const made = await make({});
  const path = `/v2/templates/${String(made['template_id'])}`;
  t.equal((await client.delete(path)).status, 204);
  const missing = refusal(404, `Template ID ${String(made['template_id'])} doesn't exist`);
  t.hasStrict(await client.get(path), missing);
  t.hasStrict(await client.delete(path), missing);
  t.hasStrict(await client.put(path, { name: 'x' }), missing);
  t.hasStrict(await client.post(`${path}/duplicate`), missing);
  t.notOk((await listed()).some((one) => one['template_id'] === made['template_id']));
});

void t.test('a built-in template can neither be deleted nor duplicated', async (t) => {
  const before = await listed();
  for (const id of Object.values(BUILTIN)) {
    t.hasStrict(
      await client.delete(`/v2/templates/${id}`),
      refusal(409, `Template ID ${id} cannot be deleted because it is a builtin`),
    );
    t.hasStrict(await client.post(`/v2/templates/${id}/duplicate`), { status: 409, body: { status: 409 } });
  }
  t.strictSame(await listed(), before);
});

void t.test('a duplicate differs in its id only', async (t) => {
  const made = await make({ name: 'twin', category: 'router' });
  const copy = await client.expect(201, 'POST', `/v2/templates/${String(made['template_id'])}/duplicate`);
  t.not(copy['template_id'], made['template_id']);
  t.strictSame({ ...copy, template_id: made['template_id'] }, made);
  t.strictSame((await listed()).at(-1), copy);
});

void t.test('every change is told on the controller’s stream', async (t) => {
  const objects: Json[] = [];
  const news = await told(async () => {
    const made = await make({ name: 'told' });
    const path = `/v2/templates/${String(made['template_id'])}`;
    const same = await client.expect(200, 'PUT', path, {});
    const copy = await client.expect(201, 'POST', `${path}/duplicate`);
    await client.expect(204, 'DELETE', path);
    objects.push(made, same, copy, same);
  });
  t.strictSame(
    news,
    ['created', 'updated', 'created', 'deleted'].map((verb, index) => ({
      action: `template.${verb}`,
      event: objects[index],
    })),
  );
});

void t.test('templates that were made survive a restart, in their order', async (t) => {
  const before = await listed();
  await server.stop();
  const next = await startServer(t, { data });
  t.strictSame((await new Client(next.url).get('/v2/templates')).body, before);
});

void t.test('nodes from templates', async (t) => {
  const controller = await startServer(t);
  const its = new Client(controller.url);
  const { project_id } = await its.expect(201, 'POST', '/v2/projects', { name: 'lab' });
  const project = `/v2/projects/${String(project_id)}`;
  const place = { x: 10, y: -20 };
  const made = async (more: Json): Promise<string> => {
    const body = { name: 'Mine', template_type: 'ethernet_switch', compute_id: 'local', ...more };
    return String((await its.expect(201, 'POST', '/v2/templates', body))['template_id']);
  };
  const nodeCount = async (): Promise<number> =>
    ((await its.get(`${project}/nodes`)).body as unknown[]).length;

  await t.test('a built-in one makes a node with its symbol and its numbered name', async (t) => {
    const use = (): Promise<Json> =>
      its.expect(201, 'POST', `${project}/templates/${BUILTIN.ethernet_switch}`, {
        ...place,
        compute_id: 'local',
      });
    const node = await use();
    t.hasStrict(node, {
      name: 'Switch1',
      label: { rotation: 0, style: null, text: 'Switch1', x: null, y: -26 },
      node_type: 'ethernet_switch',
      template_id: BUILTIN.ethernet_switch,
      compute_id: 'local',
      console_type: 'none',
      symbol: ':/symbols/ethernet_switch.svg',
      width: 72,
      height: 32,
      x: 10,
      y: -20,
      z: 1,
      status: 'started',
    });
    t.equal((node['ports'] as unknown[]).length, 8);
    t.equal((await use())['name'], 'Switch2');
  });

  await t.test('each of the four kinds can be made', async (t) => {
    const names = { ethernet_hub: 'Hub1', frame_relay_switch: 'FRSW1', atm_switch: 'ATMSW1' };
    for (const [type, name] of Object.entries(names)) {
      const node = await its.expect(201, 'POST', `${project}/templates/${BUILTIN[type as 'atm_switch']}`, {
        ...place,
        compute_id: 'local',
      });
      t.hasStrict(node, { name, node_type: type, symbol: `:/symbols/${type.replace('ethernet_', '')}.svg` });
      if (type !== 'ethernet_hub') t.strictSame(node['ports'], [], 'no mapping, no port');
    }
  });

  await t.test('a built-in one needs a compute', async (t) => {
    const before = await nodeCount();
    const path = `${project}/templates/${BUILTIN.ethernet_hub}`;
    t.hasStrict(await its.post(path, place), refusal(404, "Compute ID None doesn't exist"));
    t.hasStrict(
      await its.post(path, { ...place, compute_id: 'nowhere' }),
      refusal(404, "Compute ID nowhere doesn't exist"),
    );
    t.equal(await nodeCount(), before);
  });

  await t.test('a template with a compute keeps it, whatever is asked', async (t) => {
    const id = await made({});
    t.hasStrict(await its.post(`${project}/templates/${id}`, { ...place, compute_id: 'nowhere' }), {
      status: 201,
      body: { compute_id: 'local', template_id: id },
    });
  });

  await t.test('its name is the one that is asked for, made unique', async (t) => {
    const id = await made({});
    const named = async (name: string | null): Promise<unknown> =>
      (await its.expect(201, 'POST', `${project}/templates/${id}`, { ...place, name }))['name'];
    t.equal(await named('core'), 'core');
    t.equal(await named('core'), 'core1');
    t.equal(await named('my edge{0}'), 'myedge1');
    t.match(await named(null), /^Switch\d+$/);
  });

  await t.test('{name} in the name format is the name of the template', async (t) => {
    const id = await made({ name: 'Big one', default_name_format: '{name}-{0}' });
    t.hasStrict(await its.post(`${project}/templates/${id}`, place), { body: { name: 'Bigone-1' } });
  });

  await t.test('its ports and its console type are the template’s', async (t) => {
    const id = await made({
      console_type: 'telnet',
      ports_mapping: [{ name: 'up', port_number: 4, type: 'dot1q', vlan: 7 }],
    });
    const { body } = await its.post(`${project}/templates/${id}`, place);
    t.hasStrict(body, {
      console_type: 'telnet',
      properties: { ports_mapping: [{ name: 'up', port_number: 4, type: 'dot1q', vlan: 7 }] },
      ports: [{ name: 'up', short_name: 'e0', port_number: 0, adapter_number: 0 }],
    });
  });

  await t.test('a template of a kind that is not served makes nothing', async (t) => {
    const before = await nodeCount();
    const id = String((await its.expect(201, 'POST', '/v2/templates', TRACENG))['template_id']);
    t.hasStrict(
      await its.post(`${project}/templates/${id}`, { ...place, compute_id: 'local' }),
      refusal(409, 'TraceNG is not available on this host: it is a program for Windows'),
    );
    t.equal(await nodeCount(), before);
  });

  await t.test('an unknown one, an unknown project and unfit places are refused', async (t) => {
    t.hasStrict(
      await its.post(`${project}/templates/${UNKNOWN}`, place),
      refusal(404, `Template ${UNKNOWN} doesn't exist`),
    );
    t.hasStrict(
      await its.post(`/v2/projects/${UNKNOWN}/templates/${BUILTIN.ethernet_hub}`, place),
      refusal(404, `Project ID ${UNKNOWN} doesn't exist`),
    );
    for (const body of [{}, { x: 1 }, { x: 1, y: '2' }, { x: 1.5, y: 2 }, { ...place, z: 3 }]) {
      t.hasStrict(await its.post(`${project}/templates/${BUILTIN.ethernet_hub}`, body), {
        status: 400,
        body: { path: '/v2/projects/{project_id}/templates/{template_id}', request: body },
      });
    }
  });

  await t.test('a closed project takes none', async (t) => {
    await its.expect(204, 'POST', `${project}/close`);
    t.hasStrict(
      await its.post(`${project}/templates/${BUILTIN.ethernet_hub}`, { ...place, compute_id: 'local' }),
      refusal(403, 'The project is not opened'),
    );
  });
});
