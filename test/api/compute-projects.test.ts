/** Projects of the compute side: what they are, what they give out, and what they can never take away. */
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { manyUdpPorts, startServer } from '../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_UDP_PORTS: manyUdpPorts() } });
const client = new Client(server.url);
const projects = '/v2/compute/projects';
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });
const folderOf = (id: string): string => join(server.data, 'projects', id);

const udpPorts = async (): Promise<unknown> =>
  (await client.expect(200, 'GET', '/v2/compute/network/ports'))['udp_ports'];

void t.test('a project is made, shown, listed, changed and closed', async (t) => {
  const variables = [{ name: 'a', value: 'b' }];
  const made = await client.expect(201, 'POST', projects, { name: 'one', variables });
  t.strictSame(made, { name: 'one', project_id: made['project_id'], variables });
  const path = `${projects}/${String(made['project_id'])}`;
  t.strictSame((await client.get(path)).body, made);
  t.strictSame((await client.get(projects)).body, [made]);
  t.strictSame((await client.put(path, { name: 'two', variables: [] })).body, { ...made, variables: [] });
  t.strictSame((await client.put(path, {})).body, { ...made, variables: null }, 'forgotten when absent');
  t.equal((await client.post(`${path}/close`)).status, 204);
  t.hasStrict(await client.get(path), refusal(404, `Project ID ${String(made['project_id'])} doesn't exist`));
  t.strictSame((await client.get(projects)).body, []);
});

void t.test('it is no project of the controller', async (t) => {
  const lab = await ComputeLab.open(client);
  t.strictSame((await client.get('/v2/projects')).body, []);
  await client.expect(200, 'POST', '/v2/reload');
  t.strictSame((await client.get('/v2/projects')).body, []);
  await lab.close();
});

void t.test('a known id is answered with the project that has it, also when both come at once', async (t) => {
  const project_id = randomUUID();
  const [first, second] = await Promise.all([
    client.expect(201, 'POST', projects, { name: 'first', project_id }),
    client.expect(201, 'POST', projects, { name: 'second', project_id, variables: [] }),
  ]);
  t.strictSame(second, first);
  t.strictSame(await client.expect(201, 'POST', projects, { name: 'third', project_id }), first);
  await client.expect(204, 'POST', `${projects}/${project_id}/close`);
});

void t.test('requests of controllers about a project are accepted, and no others', async (t) => {
  const whole = {
    name: 'whole',
    project_id: randomUUID(),
    path: '/somewhere/else',
    auto_close: true,
    auto_open: false,
    auto_start: false,
    scene_height: 1000,
    scene_width: 2000,
    zoom: 100,
    show_layers: false,
    snap_to_grid: false,
    show_grid: false,
    grid_size: 75,
    drawing_grid_size: 25,
    show_interface_labels: false,
    supplier: null,
    variables: null,
  };
  await client.expect(201, 'POST', projects, whole);
  t.ok(existsSync(folderOf(whole.project_id)), 'the path is for local servers only');
  await client.expect(204, 'DELETE', `${projects}/${whole.project_id}`);
  for (const body of [
    {},
    { name: '' },
    { name: 7 },
    { name: 'x'.repeat(1000) },
    { name: 'a', project_id: 'x' },
    { name: 'a', project_id: '../../../../../etc/xxxxxxxxxxxxxxxxx' },
    { name: 'a', colour: 'red' },
    { name: 'a', variables: [{}] },
    [],
    null,
  ]) {
    t.equal((await client.post(projects, body)).status, 400, JSON.stringify(body).slice(0, 60));
  }
});

void t.test('an id that is none is told apart from one that nobody has', async (t) => {
  const requests = (id: string): (readonly [string, string, object?])[] => [
    ['GET', `${projects}/${id}`],
    ['PUT', `${projects}/${id}`, {}],
    ['DELETE', `${projects}/${id}`],
    ['POST', `${projects}/${id}/close`],
    ['POST', `${projects}/${id}/ports/udp`],
    ['GET', `${projects}/${id}/files`],
    ['GET', `${projects}/${id}/files/a`],
    ['POST', `${projects}/${id}/files/a`],
    ['POST', `${projects}/${id}/atm_switch/nodes`, { name: 'a' }],
    ['GET', `${projects}/${id}/atm_switch/nodes/${UNKNOWN}`],
  ];
  for (const [method, path, body] of requests('nonsense')) {
    t.hasStrict(await client.request(method, path, body), {
      status: 400,
      body: { message: 'Project ID nonsense is not a valid UUID' },
    });
  }
  for (const [method, path, body] of requests(UNKNOWN)) {
    t.hasStrict(
      await client.request(method, path, body),
      refusal(404, `Project ID ${UNKNOWN} doesn't exist`),
    );
  }
});

void t.test('200 requests at once get 200 UDP ports, the lowest that can be bound', async (t) => {
  const [one, two] = [await ComputeLab.open(client), await ComputeLab.open(client)];
  const given = await Promise.all(
    Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? one : two).udpPort()),
  );
  t.equal(new Set(given).size, 200);
  const sorted = given.toSorted((a, b) => a - b);
  t.same(await udpPorts(), sorted);
  await one.close();
  t.equal(((await udpPorts()) as unknown[]).length, 100);
  await client.expect(204, 'DELETE', two.path);
  t.same(await udpPorts(), []);
});

void t.test('a UDP port that another program has is passed over', async (t) => {
  const lab = await ComputeLab.open(client);
  const free = await lab.udpPort();
  const socket = createSocket('udp4');
  socket.bind(free + 1, '127.0.0.1');
  await once(socket, 'listening');
  const next = await lab.udpPort();
  t.ok(next > free + 1);
  socket.close();
  await once(socket, 'close');
  t.equal(await lab.udpPort(), free + 1);
  await lab.close();
});

void t.test('a project that is deleted takes its folder along', async (t) => {
  const lab = await ComputeLab.open(client);
  await client.expect(201, 'POST', `${lab.path}/files/a/b`, 'x');
  t.equal(readFileSync(join(folderOf(lab.id), 'a', 'b'), 'utf8'), 'x');
  await client.expect(204, 'DELETE', lab.path);
  t.notOk(existsSync(folderOf(lab.id)));
  t.notOk(
    readdirSync(join(server.data, 'projects')).some((name) => name.includes(lab.id)),
    'nothing is left',
  );
  t.equal((await client.delete(lab.path)).status, 404);
});

void t.test('a project that is closed leaves its files for the next one of its id', async (t) => {
  const lab = await ComputeLab.open(client);
  await client.expect(201, 'POST', `${lab.path}/files/kept`, 'x');
  await lab.close();
  const again = await ComputeLab.open(client, lab.id);
  t.equal((await client.get(`${again.path}/files/kept`)).text, 'x');
  await client.expect(204, 'DELETE', again.path);
});

void t.test('making and deleting one project over and over never mixes them up', async (t) => {
  const project_id = randomUUID();
  const path = `${projects}/${project_id}`;
  const replies = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0 ? client.post(projects, { name: 'a', project_id }) : client.delete(path),
    ),
  );
  for (const { status } of replies) t.ok([201, 204, 404].includes(status), String(status));
  await client.expect(201, 'POST', projects, { name: 'a', project_id });
  await client.expect(201, 'POST', `${path}/files/f`, 'x');
  await client.expect(204, 'DELETE', path);
});

void t.test('the files of a project of the controller cannot be lost through the compute side', async (t) => {
  const { project_id, path } = await client.expect(201, 'POST', '/v2/projects', {
    name: 'precious',
    auto_close: false,
  });
  const id = String(project_id);
  const lab = await ComputeLab.open(client, id);
  await client.expect(201, 'POST', `${lab.path}/files/notes/a`, 'x');
  t.equal(
    (await client.get(`/v2/projects/${id}/files/notes/a`)).text,
    'x',
    'one folder, seen from two sides',
  );
  await client.expect(204, 'DELETE', lab.path);
  t.equal((await client.get(lab.path)).status, 404);
  t.match(await client.expect(200, 'GET', `/v2/projects/${id}`), { status: 'opened' });
  t.equal(readFileSync(join(String(path), 'notes', 'a'), 'utf8'), 'x');
  await client.expect(204, 'POST', `/v2/projects/${id}/close`);
  await (await ComputeLab.open(client, id)).close();
  await client.expect(204, 'DELETE', (await ComputeLab.open(client, id)).path);
  t.ok(existsSync(join(String(path), 'precious.gns3')));
  t.ok(existsSync(join(String(path), 'notes', 'a')));
});

void t.test('nor those of a lab that lies under another name or is not known yet', async (t) => {
  const id = randomUUID();
  const { project_id } = await client.expect(201, 'POST', '/v2/projects', {
    name: 'elsewhere',
    project_id: randomUUID(),
    path: folderOf(id),
    auto_close: false,
  });
  t.equal((await client.post(projects, { name: 'a', project_id: id })).status, 403);
  t.ok(existsSync(join(folderOf(id), 'elsewhere.gns3')));
  t.equal((await client.get(`/v2/projects/${String(project_id)}`)).status, 200);

  const dropped = randomUUID();
  mkdirSync(folderOf(dropped));
  writeFileSync(join(folderOf(dropped), 'unread.gns3'), 'not even JSON');
  await client.expect(204, 'DELETE', (await ComputeLab.open(client, dropped)).path);
  t.ok(existsSync(join(folderOf(dropped), 'unread.gns3')));
});

void t.test('a controller project of the same id that comes later keeps its folder', async (t) => {
  for (let round = 0; round < 10; round++) {
    const project_id = randomUUID();
    const lab = await ComputeLab.open(client, project_id);
    const [deleted, made] = await Promise.all([
      client.delete(lab.path),
      client.post('/v2/projects', { name: `late ${round}`, project_id, auto_close: false }),
    ]);
    t.same([deleted.status, made.status], [204, 201]);
    t.ok(existsSync(join(folderOf(project_id), `late ${round}.gns3`)), `round ${round}`);
  }
});

void t.test('both sides make, open and end one project at once, and nobody waits for ever', async (t) => {
  for (let round = 0; round < 20; round++) {
    const project_id = randomUUID();
    const controller = { name: `both ${round}`, project_id, auto_close: false };
    const replies = await Promise.all([
      client.post(projects, { name: 'a', project_id }),
      client.post('/v2/projects', controller),
      client.delete(`${projects}/${project_id}`),
      client.post(projects, { name: 'b', project_id }),
      client.post(`/v2/projects/${project_id}/close`),
      client.post(`/v2/projects/${project_id}/open`),
      client.post(`${projects}/${project_id}/close`),
      client.delete(`${projects}/${project_id}`),
    ]);
    for (const { status, text } of replies) t.ok([201, 204, 404].includes(status), `${status} ${text}`);
    t.ok(existsSync(join(folderOf(project_id), `both ${round}.gns3`)), `round ${round}`);
    t.equal((await client.delete(`/v2/projects/${project_id}`)).status, 204);
  }
});

void t.test('on a local server a project lies where the client says, and stays there', async (t) => {
  const local = await startServer(t, { flags: ['--local'] });
  const its = new Client(local.url);
  const folder = scratchFolder(t);
  mkdirSync(join(folder, 'tmp'));
  writeFileSync(join(folder, 'tmp', 'mine'), '');
  const project_id = randomUUID();
  await its.expect(201, 'POST', projects, { name: 'a', project_id, path: folder });
  await its.expect(201, 'POST', `${projects}/${project_id}/files/f`, 'x');
  t.equal(readFileSync(join(folder, 'f'), 'utf8'), 'x');
  await its.expect(204, 'DELETE', `${projects}/${project_id}`);
  t.ok(existsSync(join(folder, 'f')), 'a folder that we did not choose is not removed');
  t.ok(existsSync(join(folder, 'tmp', 'mine')), 'nor emptied');
  for (const path of ['relative', `${folder}/"`, join(local.data, 'projects')]) {
    const { status } = await its.post(projects, { name: 'a', path });
    t.ok(path.endsWith('projects') ? [201, 403].includes(status) : status === 403, path);
  }
  const { path } = await its.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  for (const inside of [String(path), join(String(path), 'below'), join(local.data, 'projects'), '/']) {
    t.equal((await its.post(projects, { name: 'a', path: inside })).status, 403, inside);
  }
});
