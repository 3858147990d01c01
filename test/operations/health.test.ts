/** `/livez` and `/readyz`, asked while the server works and while something is broken that all new work needs. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, type Reply } from '../support/client.js';
import { withEngineKiller } from '../support/engine-killer.js';
import { eventually } from '../support/eventually.js';
import { FaultServer } from '../support/fault-server.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../support/small-disk.js';

const PASSWORD = { WIREFARM_USER: 'admin', WIREFARM_PASSWORD: 'secret' };
const LET_IN = { authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` };
const READY = { status: 200, body: { status: 200, message: 'The server takes new work' } };

/** The answer of `/readyz` when it has become one of this status. */
function readiness(client: Client, status: number): Promise<Reply> {
  return eventually(`/readyz answers ${status}`, async () => {
    const reply = await client.get('/readyz');
    return reply.status === status ? reply : undefined;
  });
}

void t.test('both need no credentials, but refuse wrong ones', async (t) => {
  const server = await startServer(t, { environment: PASSWORD });
  const stranger = new Client(server.url);
  t.hasStrict(await stranger.get('/readyz'), READY);
  t.hasStrict(await stranger.get('/livez'), { status: 200, body: { message: 'The server answers' } });
  t.equal((await stranger.request('HEAD', '/livez')).status, 200);
  t.equal((await stranger.get('/v2/version')).status, 401);
  t.equal((await stranger.post('/livez')).status, 401);
  t.hasStrict(await new Client(server.url, LET_IN).get('/readyz'), READY);
  const wrong = new Client(server.url, { authorization: 'Basic d3Jvbmc6d3Jvbmc=' });
  t.equal((await wrong.get('/readyz')).status, 401);
});

void t.test('a store that does not come round is told, and the server still lives', async (t) => {
  const server = new FaultServer(t, scratchFolder(t));
  await server.start();
  const held = server.hold('/state/');
  const { body } = await readiness(server.client, 503);
  t.match(body, { code: 'not_ready', status: 503, failing: [/^state: no commit for \d+ s$/] });
  t.equal((await server.client.get('/livez')).status, 200);
  held.release();
  t.hasStrict(await readiness(server.client, 200), READY);
});

void t.test('a full disk is told, the reasons only to those who are let in', async (t) => {
  const disk = smallDisk(t, 8 * 1024);
  if (disk === undefined) {
    t.pass(`# SKIP ${NO_MOUNT}`);
    return;
  }
  const server = await startServer(t, { data: join(disk, 'data'), environment: PASSWORD });
  const client = new Client(server.url, LET_IN);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'first' });
  const drawings = `/v2/projects/${String(project['project_id'])}/drawings`;
  const empty = fillDisk(disk, 0);
  // The journal has some room of its own.
  for (const length of [20_000, 2000, 1]) {
    const svg = `<svg>${'x'.repeat(length)}</svg>`;
    while ((await client.post(drawings, { svg })).status === 201);
  }
  const { body } = await readiness(client, 503);
  // The audit has no room either, and says so as soon as it has tried.
  t.hasStrict(body, {
    code: 'not_ready',
    failing: ['disk state: full'],
    message: 'The server takes no new work',
    status: 503,
  });
  const { body: told } = await new Client(server.url).get('/readyz');
  t.strictSame(told, { code: 'not_ready', message: 'The server takes no new work', status: 503 });
  empty();
  t.hasStrict(await readiness(client, 200), READY);
});

void t.test('a server without an engine takes no new work', async (t) => {
  const file = join(scratchFolder(t), 'no engines');
  const server = await startServer(t, { environment: withEngineKiller(file) });
  const client = new Client(server.url);
  t.hasStrict(await client.get('/readyz'), READY);
  writeFileSync(file, '');
  server.child.kill('SIGUSR2');
  t.match((await readiness(client, 503)).body, { failing: ['engines: none runs'] });
  rmSync(file);
  t.hasStrict(await readiness(client, 200), READY);
});
