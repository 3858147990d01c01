/** Snapshots over HTTP: making, listing and deleting them, as stock clients do. */
import { existsSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, finished, resultOf, type Reply } from '../support/client.js';
import { end, type Json } from '../support/link-lab.js';
import { NotificationLog } from '../support/notification-log.js';
import { startServer } from '../support/server-process.js';
import { SnapshotLab } from '../support/snapshot-lab.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const UNKNOWN = '01234567-89ab-4cde-8f01-23456789abcd';

const names = (snapshots: readonly Json[]): unknown[] => snapshots.map(({ name }) => name);

void t.test('a snapshot is the six keys of the contract', async (t) => {
  const lab = await SnapshotLab.make(host);
  t.same(await lab.list(), []);
  const before = Math.floor(Date.now() / 1000);
  const taken = await lab.take('before change');
  t.same(Object.keys(taken).sort(), [
    'created_at',
    'description',
    'filename',
    'name',
    'project_id',
    'snapshot_id',
  ]);
  const created = Number(taken['created_at']);
  t.ok(Number.isInteger(created) && created >= before && created <= Date.now() / 1000);
  t.match(taken['snapshot_id'], UUID);
  const [date, time] = new Date(created * 1000).toISOString().split(/[T.]/);
  t.same(taken, {
    snapshot_id: taken['snapshot_id'],
    name: 'before change',
    created_at: created,
    description: `Snapshot 'before change' taken on ${date ?? ''} at ${time ?? ''}`,
    filename: 'before change.gns3snapshot',
    project_id: lab.lab.id,
  });
  t.same(await lab.list(), [taken]);
  const described = await lab.take('described', { description: 'With ünïcode, kept' });
  t.equal(described['description'], 'With ünïcode, kept');
  t.equal((await client.get(`${lab.path}/stats`)).text, '{"drawings":0,"links":0,"nodes":0,"snapshots":2}');
  await client.expect(204, 'POST', `${lab.path}/close`);
  t.same(await lab.list(), [taken, described], 'of a closed project, too');
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.same(await lab.list(), [taken, described], 'and after it is opened again');
});

void t.test('impossible names and other wrong requests are refused', async (t) => {
  const lab = await SnapshotLab.make(host);
  const refusal = async (body: unknown): Promise<unknown> => {
    const { status, body: said } = await client.post(lab.snapshots, body);
    return [status, (said as Json)['message']];
  };
  for (const body of [
    {},
    { name: '' },
    { name: 5 },
    { name: null },
    { name: ['a'] },
    { name: 'a', more: 1 },
    { name: 'a', description: 5 },
    { name: 'x'.repeat(201) },
    { name: 'ü'.repeat(101) },
    ...['../up', 'a/b', '/etc', '.', '..', 'a\\b', 'a\nb', 'a\0b'].map((name) => ({ name })),
  ]) {
    t.match(await refusal(body), [400, String], JSON.stringify(body));
  }
  t.equal((await client.request('POST', lab.snapshots, '{"name":')).status, 400);
  t.same(await lab.list(), []);
  t.notOk(existsSync(join(lab.folder, 'snapshots', '.work')), 'nothing was begun');
  t.same(
    readdirSync(join(server.data, 'projects')).filter((name) => name.includes('up')),
    [],
  );

  for (const name of [
    'ü'.repeat(100),
    'снимок',
    '快照 1',
    '...',
    'a:b*?"<>|',
    ' ',
    '-rf',
    'x.gns3snapshot',
  ]) {
    t.match(await lab.take(name), { name, filename: `${name}.gns3snapshot` });
  }
  t.same(await refusal({ name: '...' }), [409, 'The snapshot name ... already exists']);
  t.same(await refusal({ name: '...', description: 'another' }), [
    409,
    'The snapshot name ... already exists',
  ]);
});

void t.test('unknown projects and snapshots, and closed projects', async (t) => {
  const lab = await SnapshotLab.make(host);
  const taken = await lab.take('one');
  const nowhere = `/v2/projects/${UNKNOWN}/snapshots`;
  for (const [method, path] of [
    ['GET', nowhere],
    ['POST', nowhere],
    ['GET', `${nowhere}/${UNKNOWN}`],
    ['DELETE', `${nowhere}/${UNKNOWN}`],
    ['POST', `${nowhere}/${UNKNOWN}/restore`],
    ['POST', `${nowhere}/${UNKNOWN}/verify`],
    ['GET', `${nowhere}/${UNKNOWN}/diff`],
    ['POST', `${nowhere}/${UNKNOWN}/nodes/${UNKNOWN}/restore`],
    ['DELETE', `${nowhere}?keep=1`],
  ] as const) {
    const reply = await client.request(
      method,
      path,
      path === nowhere && method === 'POST' ? { name: 'a' } : undefined,
    );
    t.same(
      [reply.status, (reply.body as Json)['message']],
      [404, `Project ID ${UNKNOWN} doesn't exist`],
      path,
    );
  }
  for (const id of [UNKNOWN, 'nonsense', '..%2F..', String(taken['snapshot_id']).toUpperCase()]) {
    const one = `${lab.snapshots}/${id}`;
    for (const [method, path] of [
      ['GET', one],
      ['DELETE', one],
      ['POST', `${one}/restore`],
      ['POST', `${one}/verify`],
      ['GET', `${one}/diff`],
      ['POST', `${one}/nodes/${UNKNOWN}/restore`],
    ] as const) {
      const { status, body } = await client.request(method, path);
      const message = `Snapshot ID ${decodeURIComponent(id)} doesn't exist`;
      t.same([status, (body as Json)['message']], [404, message], `${method} ${path}`);
    }
  }

  await client.expect(204, 'POST', `${lab.path}/close`);
  for (const [method, path, body] of [
    ['POST', lab.snapshots, { name: 'one' }],
    ['POST', lab.snapshots, { name: 'two' }],
    ['DELETE', lab.at(taken)],
    ['DELETE', `${lab.snapshots}/${UNKNOWN}`],
    ['DELETE', `${lab.snapshots}?keep=0`],
    ['POST', `${lab.at(taken)}/restore`],
    ['POST', `${lab.at(taken)}/nodes/${UNKNOWN}/restore`],
    ['GET', `${lab.at(taken)}/diff`],
  ] as const) {
    const { status, body: said } = await client.request(method, path, body);
    t.same([status, (said as Json)['message']], [403, 'The project is not opened'], `${method} ${path}`);
  }
  t.equal((await client.post(`${lab.snapshots}/${UNKNOWN}/restore`)).status, 404, 'first it must be there');
  t.match(await lab.details(taken), { name: 'one', state: 'whole' }, 'details of a closed project');
  t.same(await lab.damaged(taken), []);
  t.same(await lab.list(), [taken]);
});

void t.test('making one is told as a job only, and so is its end', async (t) => {
  const lab = await SnapshotLab.make(host);
  const stream = await lab.listen();
  const controller = await NotificationLog.open(`${server.url}/v2/notifications`);
  const taken = await lab.take('quiet');
  await client.expect(204, 'DELETE', lab.at(taken));
  const isLast = ({ action, event }: { action: string; event: Json }): boolean =>
    action === 'job.ended' && event['kind'] === 'snapshot.delete';
  await Promise.all([stream.next(isLast), controller.next(isLast)]);
  for (const log of [stream, controller]) {
    const told = log.received.filter(({ action }) => action !== 'job.progress');
    t.match(told, [
      { action: 'job.started', event: { kind: 'snapshot.create', subject: 'quiet', state: 'running' } },
      { action: 'job.ended', event: { kind: 'snapshot.create', outcome: 'done' } },
      { action: 'job.started', event: { kind: 'snapshot.delete', subject: 'quiet' } },
      { action: 'job.ended', event: { kind: 'snapshot.delete', outcome: 'done' } },
    ]);
    t.equal(told.length, 4, 'nothing else');
    log.close();
  }
});

void t.test('they are listed by age, then by name', async (t) => {
  const lab = await SnapshotLab.make(host);
  const order = ['c', 'a', 'b', 'B', 'ä'];
  const taken: Json[] = [];
  for (const name of order) taken.push(await lab.take(name));
  const sorted = taken.toSorted(
    (a, b) =>
      Number(a['created_at']) - Number(b['created_at']) || (String(a['name']) < String(b['name']) ? -1 : 1),
  );
  t.same(await lab.list(), sorted);
});

void t.test('deleting, also what has lost its files', async (t) => {
  const lab = await SnapshotLab.make(host);
  const node = await lab.lab.hub('H1');
  await lab.write(node, 'a.cfg', 'first');
  const [one, two, three] = [await lab.take('1'), await lab.take('2'), await lab.take('3')];
  await client.expect(204, 'DELETE', lab.at(two));
  t.equal((await client.delete(lab.at(two))).status, 404);
  t.same(names(await lab.list()), ['1', '3']);
  t.same(await lab.damaged(three), []);
  const content = join(lab.folder, 'snapshots', 'content');
  rmSync(content, { recursive: true });
  t.match(await lab.damaged(three), [{ path: String, reason: String }]);
  const refused = await client.post(`${lab.at(three)}/restore`);
  t.equal(refused.status, 409);
  t.match((refused.body as Json)['message'], /^The snapshot is damaged \(.*\): nothing was changed$/);
  t.equal((await lab.read(node, 'a.cfg')).text, 'first');
  await client.expect(204, 'DELETE', lab.at(three));
  await client.expect(204, 'DELETE', lab.at(one));
  t.same(await lab.list(), []);
  t.match(await client.get(`${lab.path}/stats`), { body: { snapshots: 0 } });
  t.same(await lab.damaged(await lab.take('1')), [], 'a name that is free again');
});

void t.test('a damaged snapshot is found, told, and never restored', async (t) => {
  const lab = await SnapshotLab.make(host);
  const node = await lab.lab.hub('H1');
  await lab.write(node, 'a.cfg', 'x'.repeat(10_000));
  const [good, bad] = [await lab.take('good'), await lab.take('bad')];
  const manifest = join(lab.folder, 'snapshots', `${String(bad['snapshot_id'])}.manifest`);
  writeFileSync(manifest, 'no manifest');
  t.same(await lab.damaged(good), []);
  t.equal((await client.get(lab.snapshots)).status, 200, 'the list is readable all the same');
  t.ok([404, 409].includes((await client.post(`${lab.at(bad)}/restore`)).status));
  t.match(await lab.restore(good), { status: 'opened' });
});

void t.test(
  'the changed lines of a file are told, and of nothing beside the files of the project',
  async (t) => {
    const lab = await SnapshotLab.make(host);
    const node = await lab.lab.hub('H1');
    const folder = `project-files/ethernet_hub/${String(node['node_id'])}`;
    await lab.write(node, 'a.cfg', 'one\ntwo\n');
    await lab.write(node, 'gone.cfg', 'x');
    const taken = await lab.take('1');
    const change = async (path: string): Promise<{ status: number; body: unknown }> =>
      client.get(`${lab.at(taken)}/diff/file?path=${encodeURIComponent(path)}`);
    await lab.write(node, 'a.cfg', 'one\n2\n');
    rmSync(join(lab.folder, folder, 'gone.cfg'));
    symlinkSync('/etc/passwd', join(lab.folder, folder, 'link'));
    await lab.write(node, 'large', 'x'.repeat(600_000));
    t.match((await change(`${folder}/a.cfg`)).body, {
      ...{ kind: 'text', added: 1, removed: 1, before: 8, after: 6, is_cut: false },
      hunks: [{ before: 1, after: 1, lines: [' one', '-two', '+2'] }],
    });
    t.match((await change(`${folder}/gone.cfg`)).body, { kind: 'text', before: 1, after: null, removed: 1 });
    t.match((await change(`${folder}/large`)).body, {
      kind: 'large',
      before: null,
      after: 600_000,
      hunks: [],
    });
    for (const path of [
      ...['../x', '/etc/passwd', `${folder}/../a.cfg`, `${folder}/link`, `${folder}/none`, 'a\0b', folder],
      ...[`snapshots/${String(taken['snapshot_id'])}.manifest`, `${lab.lab.id}.gns3`, '.wirefarm'],
    ])
      t.ok([404, 409].includes((await change(path)).status), path);
    t.equal((await client.get(`${lab.at(taken)}/diff/file`)).status, 400);
  },
);

void t.test('an answer names the job of its request, and the job tells how it ended', async (t) => {
  const lab = await SnapshotLab.make(host);
  const jobOf = async ({ headers }: Reply, project = lab.path): Promise<Reply> =>
    client.get(`${project}/jobs/${headers.get('wirefarm-job') ?? 'none'}`);
  const taken = await client.post(lab.snapshots, { name: 'one' });
  const done = { outcome: 'done', subject: 'one' };
  t.match((await jobOf(taken)).body, { ...done, kind: 'snapshot.create' });
  const at = lab.at(taken.body as Json);
  const refused = await client.post(lab.snapshots, { name: 'one' });
  t.equal(refused.status, 409);
  const { message: reason, code, status } = refused.body as Json;
  t.match((await jobOf(refused)).body, { outcome: 'failed', reason, code, status });
  t.match((await jobOf(await client.post(`${at}/restore`))).body, { ...done, kind: 'snapshot.restore' });
  t.match((await jobOf(await client.get(`${at}/diff`))).body, { ...done, kind: 'snapshot.compare' });
  const begun = await client.post(`${at}/verify`);
  t.match(begun, { status: 202, body: { job_id: begun.headers.get('wirefarm-job') } });
  t.match(await resultOf(client, 'POST', `${at}/verify`), { is_whole: true, faults: 0, damaged: [] });
  const copied = await client.post(`${lab.path}/duplicate`, { name: `copy of ${lab.path}` });
  t.match((await jobOf(copied)).body, { outcome: 'done', kind: 'project.duplicate' });
  const elsewhere = `/v2/projects/${String((copied.body as Json)['project_id'])}`;
  t.match(await jobOf(copied, elsewhere), { status: 404, body: { code: 'job_unknown' } });
  t.match((await jobOf(await client.get(`${at}/archive`))).body, { ...done, kind: 'project.export' });
  t.match((await jobOf(await client.delete(at))).body, { ...done, kind: 'snapshot.delete' });
  t.notOk((await client.get(lab.snapshots)).headers.has('wirefarm-job'), 'other requests have no job');
});

void t.test('the oldest are deleted by count and by age', async (t) => {
  const lab = await SnapshotLab.make(host);
  const prune = (query: string): Promise<{ status: number; body: unknown }> =>
    finished(client, 'DELETE', lab.snapshots + query);
  const taken: Json[] = [];
  for (const name of ['1', '2', '3', '4']) taken.push(await lab.take(name));
  for (const query of [
    '',
    '?keep=',
    '?keep=-1',
    '?keep=1.5',
    '?older_than=x',
    '?keeps=1',
    '?keep=12345678901',
  ])
    t.equal((await prune(query)).status, 400, query);
  t.same((await prune('?older_than=1000')).body, []);
  t.same((await prune('?keep=4')).body, []);
  t.same((await prune('?keep=0&older_than=1000')).body, [], 'both limits must name it');
  t.same((await prune('?keep=2')).body, taken.slice(0, 2));
  t.same(await lab.list(), taken.slice(2));
  t.same((await prune('?older_than=0')).body, taken.slice(2));
  t.same(await lab.list(), []);
});

void t.test('details: sizes, counts, and a digest', async (t) => {
  const lab = await SnapshotLab.make(host);
  const [near, far] = [await lab.lab.hub('H1'), await lab.lab.hub('H2')];
  await lab.lab.link([end(near, 0), end(far, 0)]);
  await client.expect(201, 'POST', `${lab.path}/drawings`, { svg: '<svg></svg>' });
  const large = Buffer.alloc(100_000, 'content ');
  await lab.write(near, 'large', large);
  await lab.write(near, 'sub/small', 'small');
  const one = await lab.take('one');
  const details = await lab.details(one);
  t.match(details, {
    ...one,
    form: 'wirefarm',
    size: 100_005,
    nodes: 2,
    links: 1,
    drawings: 1,
    files: 2,
    state: 'whole',
    digest: /^[0-9a-f]{64}$/,
  });
  const unique = Number(details['unique_size']);
  t.ok(unique > 0);
  const two = await lab.take('two');
  t.ok(Number((await lab.details(one))['unique_size']) < unique, 'what both have is of neither alone');
  t.equal((await lab.details(two))['size'], 100_005);
  await client.expect(204, 'DELETE', lab.at(two));
  t.same(await lab.details(one), details);
});

void t.test('as gns3fy and the web interface use them', async (t) => {
  const lab = await SnapshotLab.make(host);
  const node = await lab.lab.hub('H1');
  // Project.create_snapshot(name=…) looks whether there is one of that name, then sends only the name.
  t.same(await lab.list(), []);
  const made = await client.request('POST', lab.snapshots, JSON.stringify({ name: 'web' }), {
    'Content-Type': 'application/json',
  });
  t.equal(made.status, 201);
  // The web interface sends the whole of what it shows in its table.
  const { status } = await client.post(lab.snapshots, { name: 'web 2', description: '' });
  t.equal(status, 201);
  await client.expect(200, 'PUT', `${lab.path}/nodes/${String(node['node_id'])}`, { x: 77 });
  const found = (await lab.list()).find(({ name }) => name === 'web') ?? {};
  // Project.restore_snapshot(snapshot_id=…): a POST without a body, then everything is read anew.
  const restored = await client.request('POST', `${lab.at(found)}/restore`, '{}');
  t.equal(restored.status, 201);
  t.match(restored.body, { project_id: lab.lab.id, status: 'opened' });
  t.equal(
    (await client.request('POST', `${lab.at(found)}/restore`, 'no json at all')).status,
    201,
    'ignored',
  );
  t.match((await client.get(`${lab.path}/nodes`)).body, [{ node_id: node['node_id'], x: node['x'] }]);
  await client.expect(204, 'DELETE', lab.at(found));
  t.match(await client.get(`${lab.path}/stats`), { body: { nodes: 1, snapshots: 1 } });
});
