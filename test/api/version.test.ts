/** The version of the server, its reload and its end. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { placeGns3Project } from '../support/gns3-project.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const projects = join(server.data, 'projects');
const refusal = (status: number, message: string): object => ({ status, body: { message, status } });

async function listed(): Promise<Record<string, unknown>[]> {
  return (await client.get('/v2/projects')).body as Record<string, unknown>[];
}

void t.test('tells its GNS3 version and that it is not local, and no more', async (t) => {
  const reply = await client.get('/v2/version');
  t.equal(reply.status, 200);
  t.equal(reply.text, '{"local":false,"version":"2.2.60"}');
  t.equal(reply.headers.get('content-type'), 'application/json', 'without a charset');
  t.equal(reply.headers.get('x-route'), '/v2/version');
});

void t.test('tells its version to clients that look for an older interface', async (t) => {
  t.equal((await client.get('/v1/version')).text, '{"version":"2.2.60"}');
});

void t.test('agrees with a client of the same version, whatever the client says of local', async (t) => {
  for (const body of [{ version: '2.2.60' }, { version: '2.2.60', local: true }]) {
    const reply = await client.post('/v2/version', body);
    t.equal(reply.status, 200);
    t.strictSame(reply.body, { version: '2.2.60' });
  }
});

void t.test('refuses a client of another version', async (t) => {
  t.hasStrict(
    await client.post('/v2/version', { version: '2.2.5' }),
    refusal(409, 'Client version 2.2.5 is not the same as server version 2.2.60'),
  );
});

void t.test('refuses a comparison that is none', async (t) => {
  for (const body of [
    {},
    { version: 22 },
    { version: '2.2.60', local: 'yes' },
    { version: '2.2.60', os: '' },
  ]) {
    const reply = await client.post('/v2/version', body);
    t.hasStrict(reply, {
      status: 400,
      body: { method: 'POST', path: '/v2/version', request: body, status: 400 },
    });
  }
});

void t.test('is told a version of the user’s choice', async (t) => {
  const other = await startServer(t, { flags: ['--gns3-version', '2.2.54'] });
  t.hasStrict(await new Client(other.url).get('/v2/version'), { body: { version: '2.2.54' } });
});

void t.test('a reload finds a project folder that was put there, closed', async (t) => {
  const { id, folder } = placeGns3Project(projects, 'came');
  t.strictSame(await listed(), []);
  const reply = await client.post('/v2/reload');
  t.equal(reply.status, 200);
  t.equal(reply.text, '');
  t.equal(reply.headers.get('content-length'), '0');
  t.hasStrict(await listed(), [
    { project_id: id, name: 'came', status: 'closed', path: folder, filename: 'came.gns3' },
  ]);
  t.hasStrict(await client.post(`/v2/projects/${id}/open`), { status: 201, body: { status: 'opened' } });
});

void t.test('a reload keeps what it knows and forgets a closed project whose folder is gone', async (t) => {
  const gone = placeGns3Project(projects, 'goes');
  await client.expect(200, 'POST', '/v2/reload');
  t.strictSame(
    (await listed()).map(({ name }) => name),
    ['came', 'goes'],
  );
  rmSync(gone.folder, { recursive: true });
  await client.expect(200, 'POST', '/v2/reload');
  t.hasStrict(await listed(), [{ name: 'came', status: 'opened' }]);
  t.equal((await listed()).length, 1);
  t.hasStrict(
    await client.get(`/v2/projects/${gone.id}`),
    refusal(404, `Project ID ${gone.id} doesn't exist`),
  );
});

void t.test('only a local server ends at a client’s wish', async (t) => {
  const refused = await client.post('/v2/shutdown');
  t.hasStrict(refused, { status: 403, body: { status: 403 } });
  t.equal((await client.get('/v2/version')).status, 200, 'the server is still there');
  t.equal((refused.body as Record<string, unknown>)['message'], 'You can only stop a local server');
});

void t.test('a local server says so, and ends cleanly when it is told to', async (t) => {
  const local = await startServer(t, { flags: ['--local'] });
  const its = new Client(local.url);
  t.strictSame((await its.get('/v2/version')).body, { local: true, version: '2.2.60' });
  const reply = await its.post('/v2/shutdown');
  t.equal(reply.status, 201);
  t.equal(reply.text, '');
  const code = local.child.exitCode ?? (await new Promise((resolve) => local.child.once('exit', resolve)));
  t.equal(code, 0);
});
