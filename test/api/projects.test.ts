/** Projects: made, opened, changed, closed and deleted. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { gns3Node, gns3Text, placeGns3Project } from '../support/gns3-project.js';
import { NotificationLog, type Notification } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

type Json = Record<string, unknown>;

const data = scratchFolder(t);
const server = await startServer(t, { data });
const client = new Client(server.url);
const folder = join(data, 'projects');
const stream = await NotificationLog.open(`${server.url}/v2/notifications`);
t.teardown(() => {
  stream.close();
});
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });
const at = (project: Json): string => `/v2/projects/${String(project['project_id'])}`;

function make(name: string, more: Json = {}): Promise<Json> {
  return client.expect(201, 'POST', '/v2/projects', { name, ...more });
}

async function listed(of = client): Promise<Json[]> {
  return (await of.get('/v2/projects')).body as Json[];
}

/** The controller's notifications about the work, up to the template that marks its end. */
async function told(work: () => Promise<unknown>): Promise<readonly Notification[]> {
  const before = stream.received.length;
  await work();
  const body = { name: 'marker', template_type: 'ethernet_hub', compute_id: null };
  const { template_id } = await client.expect(201, 'POST', '/v2/templates', body);
  await stream.next(({ event }) => event['template_id'] === template_id);
  return stream.received.slice(before, -1);
}

void t.test('a new project has the 19 keys and their defaults, and is open', async (t) => {
  const reply = await client.post('/v2/projects', { name: 'first' });
  t.equal(reply.status, 201);
  const { project_id, ...rest } = reply.body as Json;
  t.match(project_id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  t.strictSame(rest, {
    auto_close: true,
    auto_open: false,
    auto_start: false,
    drawing_grid_size: 25,
    filename: 'first.gns3',
    grid_size: 75,
    name: 'first',
    path: join(folder, String(project_id)),
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
  });
  const keys = Object.keys(reply.body as Json);
  t.strictSame(keys, [...keys].sort());
  t.strictSame((await client.get(at({ project_id }))).body, reply.body);
  t.strictSame(await listed(), [reply.body]);
  t.ok(existsSync(join(folder, String(project_id), 'first.gns3')));
});

void t.test('a project is made as it is asked for', async (t) => {
  const wanted = {
    auto_close: false,
    auto_open: true,
    auto_start: true,
    drawing_grid_size: 5,
    grid_size: 6,
    name: 'Wünsche & "more"',
    project_id: '0a0a0a0a-0000-4000-8000-000000000001',
    scene_height: 7,
    scene_width: 8,
    show_grid: true,
    show_interface_labels: true,
    show_layers: true,
    snap_to_grid: true,
    supplier: { logo: 'logo.png', url: 'http://example.com' },
    variables: [{ name: 'A', value: '1' }, { name: 'B' }],
    zoom: 9,
  };
  t.hasStrict(await make(wanted.name, wanted), { ...wanted, path: join(folder, wanted.project_id) });
  t.hasStrict(await make('nulls', { project_id: null, path: null }), { status: 'opened' });
});

void t.test('a known id is answered with the project that has it', async (t) => {
  const project = await make('known');
  const before = await listed();
  const news = await told(async () => {
    const { project_id } = project;
    t.strictSame(await make('other name', { project_id, zoom: 5 }), project);
  });
  t.strictSame(news, []);
  t.strictSame(await listed(), before);
});

void t.test('two projects cannot have one name', async (t) => {
  const taken = await make('taken');
  const other = await make('other');
  const before = await listed();
  t.hasStrict(
    await client.post('/v2/projects', { name: 'taken' }),
    refusal(409, 'Project "taken" already exists'),
  );
  t.hasStrict(
    await client.put(at(other), { name: 'taken', zoom: 1 }),
    refusal(409, 'Project "taken" already exists'),
  );
  t.strictSame(await listed(), before);
  t.hasStrict(await client.put(at(taken), { name: 'taken' }), { status: 200 }, 'but its own');
});

void t.test('many requests for one name at the same moment make one project', async (t) => {
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => client.post('/v2/projects', { name: 'race' })),
  );
  t.strictSame(replies.map(({ status }) => status).sort(), [201, ...Array<number>(7).fill(409)]);
  t.equal((await listed()).filter(({ name }) => name === 'race').length, 1);
});

void t.test(
  'a request that is no project is refused with what was wrong, and leaves no folder',
  async (t) => {
    const before = await listed();
    const folders = readdirSync(folder);
    const cases: [field: string, body: Json][] = [
      ['name', {}],
      ['name', { name: null }],
      ['name', { name: '' }],
      ['name', { name: 5 }],
      ['project_id', { name: 'x', project_id: 'no-uuid' }],
      ['auto_close', { name: 'x', auto_close: 'yes' }],
      ['zoom', { name: 'x', zoom: 1.5 }],
      ['zoom', { name: 'x', zoom: '1' }],
      ['grid_size', { name: 'x', grid_size: null }],
      ['supplier', { name: 'x', supplier: 'me' }],
      ['variables', { name: 'x', variables: {} }],
      ['variables', { name: 'x', variables: [{ value: 'nameless' }] }],
      ['status', { name: 'x', status: 'opened' }],
      ['filename', { name: 'x', filename: 'x.gns3' }],
      ['colour', { name: 'x', colour: 'red' }],
    ];
    for (const [field, body] of cases) {
      const reply = await client.post('/v2/projects', body);
      t.hasStrict(reply, { status: 400, body: { method: 'POST', path: '/v2/projects', request: body } });
      t.match(reply.text, field);
    }
    for (const name of ['a/b', '../x', '..', 'a\\b', 'a\u0000b']) {
      t.hasStrict(
        await client.post('/v2/projects', { name }),
        { status: 400, body: { status: 400 } },
        JSON.stringify(name),
      );
    }
    t.strictSame(await listed(), before);
    t.strictSame(readdirSync(folder), folders);
  },
);

void t.test('query parameters make no project', async (t) => {
  t.hasStrict(await client.post('/v2/projects?name=query'), { status: 400, body: { request: {} } });
});

void t.test('a project lies where its client says, within the projects folder', async (t) => {
  const path = join(folder, 'chosen');
  t.hasStrict(await make('placed', { path }), { path, status: 'opened' });
  t.ok(existsSync(join(path, 'placed.gns3')));
  const before = await listed();
  mkdirSync(join(folder, 'there', 'inner'), { recursive: true });
  const cases: [path: string, answer: object][] = [
    [path, refusal(403, `The path ${path} already exist.`)],
    [join(folder, 'there'), refusal(403, `The path ${join(folder, 'there')} already exist.`)],
    ['/tmp/outside', refusal(403, 'The path is not allowed')],
    [join(folder, '..', 'up'), refusal(403, 'The path is not allowed')],
    [folder, refusal(403, 'The path is not allowed')],
    ['relative', refusal(403, 'The path is not allowed')],
    [join(folder, 'quo"te'), refusal(403, 'The path is not allowed')],
  ];
  for (const [wanted, answer] of cases) {
    t.hasStrict(await client.post('/v2/projects', { name: 'elsewhere', path: wanted }), answer, wanted);
  }
  t.strictSame(await listed(), before);
  rmSync(join(folder, 'there'), { recursive: true });
});

void t.test('a change keeps what it does not name, and is told only when something changed', async (t) => {
  const project = await make('changing');
  const variables = [{ name: 'HOST', value: 'h' }];
  const news = await told(async () => {
    const changed = await client.expect(200, 'PUT', at(project), { zoom: 80, variables });
    t.strictSame(changed, { ...project, zoom: 80, variables });
    t.strictSame(await client.expect(200, 'PUT', at(project), { zoom: 80 }), changed);
    t.strictSame(await client.expect(200, 'PUT', at(project), {}), changed);
    t.strictSame((await client.get(at(project))).body, changed);
  });
  t.strictSame(news, [{ action: 'project.updated', event: { ...project, zoom: 80, variables } }]);
});

void t.test('a renamed project keeps its file and its folder', async (t) => {
  const project = await make('before');
  const renamed = await client.expect(200, 'PUT', at(project), { name: 'after' });
  t.strictSame(renamed, { ...project, name: 'after' });
  t.equal(renamed['filename'], 'before.gns3');
  await client.expect(204, 'POST', `${at(project)}/close`);
  const file = JSON.parse(readFileSync(join(String(project['path']), 'before.gns3'), 'utf8')) as Json;
  t.equal(file['name'], 'after');
});

void t.test('a change that is none is refused, and nothing is changed', async (t) => {
  const project = await make('steady');
  for (const body of [
    { project_id: project['project_id'] },
    { status: 'closed' },
    { filename: 'x.gns3' },
    { name: null },
    { name: '' },
    { zoom: 5, colour: 'red' },
    { zoom: 5, grid_size: '1' },
  ]) {
    t.hasStrict(await client.put(at(project), body), {
      status: 400,
      body: { method: 'PUT', path: '/v2/projects/{project_id}', request: body },
    });
  }
  t.hasStrict(await client.put(at(project), { name: 'a/b' }), { status: 400 });
  t.hasStrict(await client.put(at(project), { path: '/tmp' }), refusal(403, 'The path is not allowed'));
  t.strictSame((await client.get(at(project))).body, project);
});

void t.test('a project is closed and opened, each once', async (t) => {
  const project = await make('door');
  const closed = { ...project, status: 'closed' };
  const news = await told(async () => {
    const reply = await client.post(`${at(project)}/close`);
    t.equal(reply.status, 204);
    t.equal(reply.text, '');
    t.equal((await client.post(`${at(project)}/close`)).status, 204);
    t.strictSame((await client.get(at(project))).body, closed);
    t.strictSame(await client.expect(201, 'POST', `${at(project)}/open`), project);
    t.strictSame(await client.expect(201, 'POST', `${at(project)}/open`), project);
  });
  t.strictSame(news, [
    { action: 'project.closed', event: closed },
    { action: 'project.opened', event: project },
  ]);
});

void t.test('a closed project can be changed, and keeps the change', async (t) => {
  const project = await make('asleep');
  await client.expect(204, 'POST', `${at(project)}/close`);
  const changed = await client.expect(200, 'PUT', at(project), { zoom: 33, name: 'awake' });
  t.strictSame(changed, { ...project, status: 'closed', zoom: 33, name: 'awake' });
  t.strictSame(await client.expect(201, 'POST', `${at(project)}/open`), { ...changed, status: 'opened' });
});

void t.test('the counts of a project are true, open or closed', async (t) => {
  const project = await make('counted');
  const stats = (): Promise<Json> => client.expect(200, 'GET', `${at(project)}/stats`);
  t.strictSame(await stats(), { drawings: 0, links: 0, nodes: 0, snapshots: 0 });
  const node = { name: 'H{0}', node_type: 'ethernet_hub', compute_id: 'local' };
  const ends: Json[] = [];
  for (let count = 0; count < 3; count++) {
    const { node_id } = await client.expect(201, 'POST', `${at(project)}/nodes`, node);
    ends.push({ node_id, adapter_number: 0, port_number: 0 });
    if (count > 0) await client.expect(201, 'POST', `${at(project)}/drawings`);
  }
  await client.expect(201, 'POST', `${at(project)}/links`, { nodes: ends.slice(0, 2) });
  mkdirSync(join(String(project['path']), 'snapshots'));
  writeFileSync(join(String(project['path']), 'snapshots', 'one_010126_000000.gns3project'), '');
  const counts = { drawings: 2, links: 1, nodes: 3, snapshots: 1 };
  t.strictSame(await stats(), counts);
  await client.expect(204, 'POST', `${at(project)}/close`);
  t.strictSame(await stats(), counts, 'closed');
});

void t.test('a deleted project is gone with its folder, open or closed', async (t) => {
  for (const isClosed of [false, true]) {
    const project = await make(`doomed ${String(isClosed)}`);
    if (isClosed) await client.expect(204, 'POST', `${at(project)}/close`);
    const gone = { ...project, status: 'closed' };
    const news = await told(async () => {
      t.equal((await client.delete(at(project))).status, 204);
    });
    t.strictSame(news.at(-1), { action: 'project.deleted', event: gone });
    if (!isClosed) t.strictSame(news[0], { action: 'project.closed', event: gone });
    t.notOk(existsSync(String(project['path'])));
    const missing = refusal(404, `Project ID ${String(project['project_id'])} doesn't exist`);
    t.hasStrict(await client.get(at(project)), missing);
    t.hasStrict(await client.delete(at(project)), missing);
    t.notOk((await listed()).some(({ project_id }) => project_id === project['project_id']));
    await client.expect(204, 'DELETE', at(await make(String(project['name']))));
  }
});

void t.test('an unknown project is not found', async (t) => {
  const missing = refusal(404, `Project ID ${UNKNOWN} doesn't exist`);
  const path = `/v2/projects/${UNKNOWN}`;
  t.hasStrict(await client.get(path), missing);
  t.hasStrict(await client.put(path, { zoom: 1 }), missing);
  t.hasStrict(await client.delete(path), missing);
  t.hasStrict(await client.get(`${path}/stats`), missing);
  t.hasStrict(await client.post(`${path}/open`), missing);
  t.hasStrict(await client.post(`${path}/close`), missing);
  t.hasStrict(await client.get('/v2/projects/nonsense'), refusal(404, "Project ID nonsense doesn't exist"));
});

void t.test('a project file of a later revision is refused and left as it is', async (t) => {
  const newer = placeGns3Project(folder, 'newer', { head: { revision: 10, version: '3.0.1' } });
  await client.expect(200, 'POST', '/v2/reload');
  t.hasStrict(
    await client.post(`/v2/projects/${newer.id}/open`),
    refusal(
      409,
      'This project was created with more recent version of GNS3 (file revision: 10). ' +
        'Please upgrade GNS3 to version 3.0.1 or later',
    ),
  );
  t.hasStrict(await client.get(`/v2/projects/${newer.id}`), { body: { status: 'closed' } });
  t.equal(readFileSync(newer.path, 'utf8'), newer.text);
  rmSync(newer.folder, { recursive: true });
  await client.expect(200, 'POST', '/v2/reload');
});

void t.test('only a local server loads a file', async (t) => {
  const { id, path } = placeGns3Project(scratchFolder(t), 'outside');
  const reply = await client.post('/v2/projects/load', { path });
  t.hasStrict(reply, { status: 403, body: { status: 403 } });
  t.equal(reply.headers.get('content-type'), 'application/json');
  t.hasStrict(await client.get(`/v2/projects/${id}`), { status: 404 });
  t.hasStrict(await client.post('/v2/projects/load', {}), { status: 400 });
});

void t.test('a local server', async (t) => {
  const local = await startServer(t, { flags: ['--local'] });
  const its = new Client(local.url);
  const outside = scratchFolder(t);

  await t.test('loads a file from anywhere and opens it', async (t) => {
    const node = gns3Node('ethernet_hub');
    const { id, path, folder: place } = placeGns3Project(outside, 'loaded', { nodes: [node] });
    const loaded = await its.expect(201, 'POST', '/v2/projects/load', { path });
    t.hasStrict(loaded, { project_id: id, name: 'loaded', status: 'opened', path: place });
    t.hasStrict(await its.get(`/v2/projects/${id}/nodes`), { body: [{ node_id: node.node_id }] });
    await its.expect(204, 'POST', `/v2/projects/${id}/close`);
    t.strictSame(await its.expect(201, 'POST', '/v2/projects/load', { path }), loaded, 'and once more');
    t.equal((await listed(its)).length, 1);
  });

  await t.test('says what is wrong with a file that it cannot load', async (t) => {
    t.hasStrict(await its.post('/v2/projects/load', { path: join(outside, 'nowhere.gns3') }), {
      status: 404,
      body: { status: 404 },
    });
    const path = join(outside, 'broken.gns3');
    writeFileSync(path, '{"revision": 9');
    const reply = await its.post('/v2/projects/load', { path });
    t.equal(reply.status, 409);
    t.match((reply.body as Json)['message'], `Could not load topology ${path}: `);
    writeFileSync(path, 'a secret of somebody');
    t.hasStrict(await its.post('/v2/projects/load', { path }), {
      status: 409,
      body: { message: `Could not load topology ${path}: it is not valid JSON`, status: 409 },
    });
    writeFileSync(path, gns3Text('no-uuid', 'broken'));
    t.match((await its.post('/v2/projects/load', { path })).text, 'Invalid data in topology file: ');
    t.equal((await listed(its)).length, 1);
  });

  await t.test('makes projects anywhere, moves them, and does not delete them there', async (t) => {
    const place = join(outside, 'made');
    const project = await its.expect(201, 'POST', '/v2/projects', { name: 'made', path: place });
    t.hasStrict(project, { path: place, status: 'opened' });
    t.ok(existsSync(join(place, 'made.gns3')));
    t.hasStrict(
      await its.delete(at(project)),
      refusal(
        409,
        "Project 'made' cannot be deleted because it is not in the default project directory: " +
          `'${join(local.data, 'projects')}'`,
      ),
    );
    t.hasStrict(await its.get(at(project)), { body: { status: 'closed' } }, 'closed, as clients know it');
    t.ok(existsSync(join(place, 'made.gns3')));
    const moved = join(outside, 'moved');
    t.hasStrict(await its.put(at(project), { path: moved }), { status: 200, body: { path: moved } });
  });
});

void t.test('a listener may only look, and says so with yes', async (t) => {
  const project = await make('looked at');
  const stream = `${at(project)}/notifications?observe=`;
  const observer = await NotificationLog.open(`${server.url}${stream}yes`);
  observer.close();
  t.match(await client.get(`${stream}maybe`), { status: 400 });
});

void t.test(
  'after a restart projects come in their order, closed, but for those that open themselves',
  async (t) => {
    const opening = await make('opens itself', { auto_open: true });
    const before = await listed();
    await server.stop();
    const next = await startServer(t, { data });
    const its = new Client(next.url);
    await its.expect(201, 'POST', `${at(opening)}/open`);
    const after = await listed(its);
    t.ok(after.length > 10);
    t.strictSame(
      after.map(({ status, ...rest }) => ({ ...rest, isKnown: status !== undefined })),
      before.map(({ status, ...rest }) => ({ ...rest, isKnown: status !== undefined })),
    );
    for (const { name, status, auto_open: opens } of after) {
      if (opens !== true) t.equal(status, 'closed', String(name));
    }
  },
);

void t.test('a project that opens itself is open soon after a start', async (t) => {
  const place = scratchFolder(t);
  const { id } = placeGns3Project(join(place, 'projects'), 'self', { head: { auto_open: true } });
  const started = await startServer(t, { data: place });
  const its = new Client(started.url);
  await eventually('it is open', async () => {
    const { status } = await its.expect(200, 'GET', `/v2/projects/${id}`);
    return status === 'opened' || undefined;
  });
});
