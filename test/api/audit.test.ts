/** The audit: a line for each change, refusal and sign-in; who reads it; what becomes of it when it cannot be written. */
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { addUser, basic, firstAdmin, PASSWORD, signedIn } from '../support/accounts.js';
import { cli } from '../support/cli.js';
import { Client, type Reply } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { RawConnection, requestBytes } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

interface Line {
  readonly sequence: number;
  readonly req: string;
  readonly kind: string;
  readonly user: string | null;
  readonly status: number | null;
  readonly body: string | null;
}

const whole = t;
/** The beginning of each line. */
const SEQUENCE = '{"sequence"';
const data = scratchFolder(t);
const folder = join(data, 'audit');
const log = join(scratchFolder(t), 'log');
let server = await startServer(t, { data });
let admin = await firstAdmin(server);
const { client: ann, id: annId } = await addUser(admin, server, 'ann', 'user');
const { client: auditor } = await addUser(admin, server, 'eve', 'auditor');

/** The last line may be on its way to the disk. */
const linesIn = (text: string): Line[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

function lines(): Line[] {
  return linesIn(
    readdirSync(folder)
      .sort()
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join(''),
  );
}

/** The line of the request that was answered so. */
function lineOf({ headers }: Reply): Promise<Line> {
  const req = headers.get('x-request-id');
  return eventually(`the audit has ${req}`, () => lines().find((line) => line.req === req));
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

void t.test('a change has a line with who made it, and what', async (t) => {
  const body = { name: 'lab', auto_close: false };
  const made = await ann.post('/v2/projects', body);
  const id = (made.body as { project_id: string }).project_id;
  t.match(await lineOf(made), {
    kind: 'change',
    user: 'ann',
    user_id: annId,
    token: null,
    address: '127.0.0.1',
    method: 'POST',
    route: '/v2/projects',
    ids: { project_id: id },
    status: 201,
    body: sha256(JSON.stringify(body)),
  });
  const key = await ann.expect(201, 'POST', '/v2/tokens', { name: 'script' });
  const script = new Client(server.url, { Authorization: `Bearer ${String(key['token'])}` });
  const hub = { name: 'HUB', node_type: 'ethernet_hub', compute_id: 'local' };
  const node = await script.post(`/v2/projects/${id}/nodes`, hub);
  const ids = { project_id: id, node_id: (node.body as { node_id: string }).node_id };
  t.match(await lineOf(node), { user: 'ann', token: key['token_id'], ids });
  const started = await ann.post(`/v2/projects/${id}/nodes/${ids.node_id}/start`);
  t.match(await lineOf(started), { ids, status: started.status });
  const gone = await ann.delete(`/v2/projects/${id}/nodes/${ids.node_id}`);
  t.match(await lineOf(gone), { method: 'DELETE', ids, status: 204, body: null });
  t.match(await lineOf(await ann.delete(`/v2/projects/${id}/nodes/${ids.node_id}`)), { status: 404 });
  const file = await ann.request('POST', `/v2/projects/${id}/files/notes.txt`, 'some text');
  t.match(await lineOf(file), { status: 201, body: null });
});

void t.test('no secret is in the digest of a body', async (t) => {
  const changed = await admin.put(`/v2/users/${annId}`, { password: PASSWORD });
  t.equal((await lineOf(changed)).body, sha256('{"password":"***"}'));
  const text = String.raw`{"p\u0061ssword":"correct horse"}`;
  const escaped = await admin.request('PUT', `/v2/users/${annId}`, text);
  t.match(await lineOf(escaped), { status: 200, body: sha256('{"password":"***"}') });
  const quiet = String.raw`{ "r\u006fle": "user" }`;
  const same = await admin.request('PUT', `/v2/users/${annId}`, quiet);
  t.match(await lineOf(same), { status: 200, body: sha256(quiet) }, 'one without a secret is as it came');
});

void t.test('a large body with a secret is digested whole, and holds nobody up', async (t) => {
  const pad = Array.from({ length: 20_000 }, (_, at) => ({ at, a: 'b'.repeat(32) }));
  const large = (password: string): string => JSON.stringify({ supplier: { pad, password } });
  t.ok(large('').length > 1_000_000);
  const { project_id } = await admin.expect(201, 'POST', '/v2/projects', { name: 'large bodies' });
  const path = `/v2/projects/${String(project_id)}`;
  const sent = await admin.request('PUT', path, large('p'));
  t.match(await lineOf(sent), { status: 200, body: sha256(large('***')) });
  await admin.expect(204, 'DELETE', path);
});

void t.test('refusals and sign-ins have lines', async (t) => {
  t.match(await lineOf(await ann.get('/v2/users')), { kind: 'refused', user: 'ann', status: 403 });
  const wrong = await new Client(server.url, basic('ann', 'wrong')).get('/v2/version');
  t.match(await lineOf(wrong), { kind: 'refused', user: 'anyone', status: 401 });
  const page = new Client(server.url);
  const session = await page.post('/v2/session', { user: 'ann', password: PASSWORD });
  t.match(await lineOf(session), { kind: 'sign_in', user: 'ann', user_id: annId, status: 201 });
  const failed = await page.post('/v2/session', { user: 'ann', password: 'no' });
  t.match(await lineOf(failed), { kind: 'refused', user: 'anyone', status: 401 });
  t.ok(
    lines().some(({ kind, user }) => kind === 'sign_in' && user === 'root'),
    'by Basic, once',
  );
});

void t.test('auditors read it, by user, project and time', async (t) => {
  const [project] = (await ann.get('/v2/projects')).body as { project_id: string }[];
  const id = project?.project_id ?? '';
  await lineOf(await ann.put(`/v2/projects/${id}`, { name: 'renamed' }));
  const read = async (query: string): Promise<Line[]> => {
    const reply = await auditor.get(`/v2/admin/audit?${query}`);
    t.equal(reply.status, 200);
    return linesIn(reply.text);
  };
  const all = await read('');
  t.same(
    all.map(({ sequence }) => sequence),
    all.map((_, index) => index + 1),
  );
  t.equal(new Set((await read(`user=${annId}`)).map(({ user }) => user)).size, 1);
  t.same(await read('user=ann'), await read(`user=${annId}`));
  const ofProject = await read(`project=${id}`);
  t.ok(ofProject.length >= 6 && ofProject.every((line) => JSON.stringify(line).includes(id)));
  t.equal((await read('limit=3')).length, 3);
  t.same(await read(`since=${new Date(Date.now() + 60_000).toISOString()}`), []);
  t.equal((await ann.get('/v2/admin/audit')).status, 403);
});

void t.test('auditors verify all of it on the running server', async (t) => {
  const path = '/v2/admin/audit/verification';
  const verdict = async (): Promise<unknown> => {
    const { job_id: id } = await auditor.expect(202, 'POST', path);
    return eventually('the audit is verified', async () => {
      const { job_id: last, found } = await auditor.expect(200, 'GET', path);
      t.equal(last, id);
      return found ?? undefined;
    });
  };
  t.equal((await auditor.get(path)).body, null, 'nobody has asked yet');
  t.match(await verdict(), { range: /^1 to \d+$/, faults: 0, first: [] });
  const file = openSync(join(folder, readdirSync(folder).sort()[0] ?? ''), 'r+');
  t.teardown(() => {
    closeSync(file);
  });
  const before = Buffer.alloc(SEQUENCE.length);
  readSync(file, before, 0, before.length, 0);
  t.equal(before.toString(), SEQUENCE);
  writeSync(file, SEQUENCE.toUpperCase(), 0);
  t.match(await verdict(), {
    faults: 2,
    first: [/:1: this is no line of the audit$/, /:1: line 1 was changed$/],
  });
  writeSync(file, SEQUENCE, 0);
  t.match(await verdict(), { faults: 0 });
  t.equal((await ann.get(path)).status, 403);
  t.equal((await ann.post(path)).status, 403);
});

void t.test('while it cannot be written, readyz says so, and the lines wait', async (t) => {
  renameSync(folder, `${folder}.aside`);
  writeFileSync(folder, 'no folder');
  const made = await ann.post('/v2/projects', { name: 'unseen' });
  t.equal(made.status, 201);
  const failing = await eventually('readyz tells of the audit', async () => {
    const { status, body } = await admin.get('/readyz');
    return status === 503 ? body : undefined;
  });
  t.match(failing, { failing: [/^audit: /] });
  t.equal((await ann.get('/v2/projects')).status, 200);
  rmSync(folder);
  renameSync(`${folder}.aside`, folder);
  t.match(await lineOf(made), { user: 'ann', status: 201 });
  await eventually('readyz is well again', async () =>
    (await admin.get('/readyz')).status === 200 ? true : undefined,
  );
});

void t.test('a change that was answered before the server was killed has its line', async (t) => {
  // Its note is stored with those of others, and stays when these have their lines.
  const [project] = (await ann.get('/v2/projects')).body as { project_id: string }[];
  const upload = await RawConnection.open(server.port);
  t.teardown(() => {
    upload.close();
  });
  const { Authorization: key } = basic('ann');
  const head = { Authorization: key, 'Content-Length': '1000' };
  upload.write(
    requestBytes('POST', `/v2/projects/${project?.project_id ?? ''}/files/big`, { headers: head }),
  );
  await eventually('the upload has begun', async () =>
    /^wirefarm_http_in_flight 2$/m.test((await admin.get('/metrics')).text) ? true : undefined,
  );
  const first = await ann.post('/v2/projects', { name: 'beside it' });
  await lineOf(first);
  const names = Array.from({ length: 8 }, (_, index) => `killed ${index}`);
  const made = await Promise.all(names.map((name) => ann.post('/v2/projects', { name })));
  await server.stop('SIGKILL');
  writeFileSync(log, server.log());
  server = await startServer(whole, { data, flags: ['--audit-required'] });
  admin = signedIn(server, 'root');
  for (const reply of made) t.match(await lineOf(reply), { user: 'ann', route: '/v2/projects' });
  const cut = lines().filter((line) =>
    JSON.stringify(line).includes('"route":"/v2/projects/{project_id}/files/{'),
  );
  t.match(cut.at(-1), { kind: 'change', user: 'ann', status: null });
  const numbers = lines().map(({ sequence }) => sequence);
  t.same(
    numbers,
    numbers.map((_, index) => index + 1),
    'no line twice',
  );
  t.equal(new Set(lines().map(({ req, kind }) => `${req} ${kind}`)).size, numbers.length, 'no entry twice');
});

void t.test('with --audit-required nothing is changed without it', async (t) => {
  renameSync(folder, `${folder}.aside`);
  writeFileSync(folder, 'no folder');
  await eventually('changes are refused', async () => {
    const { status, body } = await admin.put('/v2/users/' + annId, { role: 'user' });
    if (status === 507) t.match(body, { code: 'audit_failing' });
    return status === 507 ? true : undefined;
  });
  t.equal((await admin.get('/v2/projects')).status, 200);
  rmSync(folder);
  renameSync(`${folder}.aside`, folder);
  await eventually('changes are made again', async () =>
    (await admin.post('/v2/projects', { name: 'again' })).status === 201 ? true : undefined,
  );
});

void t.test('wirefarm audit verify finds what was removed, changed, moved and cut', async (t) => {
  t.equal(await server.stop(), 0);
  await server.logged(/"msg":"stopped"/);
  writeFileSync(log, server.log(), { flag: 'a' });
  const { code, output } = await cli(t, ['audit', 'verify', '--data', data, '--log', log]);
  t.match({ code, output }, { code: 0, output: /^\d+ lines of the audit, 1 to \d+: whole\n$/ });
  const name = readdirSync(folder).sort().at(-1) ?? '';
  const copy = join(scratchFolder(t), name);
  const text = readFileSync(join(folder, name), 'utf8').split('\n');
  const [first = '', second = '', third = '', ...rest] = text;
  const damages: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['removed', [first, third, ...rest], /were removed/],
    [
      'changed',
      [first, second.replace(/"status":\d+/, '"status":418'), third, ...rest],
      /:2: line \d+ was changed/,
    ],
    ['moved', [first, third, second, ...rest], /moved/],
    ['cut', [...text.slice(0, -2), ''], /the end is cut off/],
    ['no line', [first, 'nothing', third, ...rest], /this is no line/],
  ];
  for (const [what, damaged, told] of damages) {
    copyFileSync(join(folder, name), copy);
    writeFileSync(copy, damaged.join('\n'));
    t.match(await cli(t, ['audit', 'verify', copy, '--log', log]), { code: 1, output: told }, what);
  }
  t.match(await cli(t, ['audit', 'verify', '--data', scratchFolder(t)]), { code: 1, errors: /no audit/ });
  t.match(await cli(t, ['audit']), { code: 2 });
});
