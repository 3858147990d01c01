/** The settings of a running server are read again, whole or not at all. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { selfSigned } from '../../src/cli/self-signed.js';
import { Client } from '../support/client.js';
import { rawRequest } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const folder = scratchFolder(t);
const file = join(folder, 'settings');
const secret = join(folder, 'password');
writeFileSync(secret, 'first');
const FIRST = [`WIREFARM_PASSWORD_FILE=${secret}`, 'WIREFARM_USER=u', 'WIREFARM_LOG_LEVEL=info'];
const write = (...lines: readonly string[]): void => {
  writeFileSync(file, [...FIRST, ...lines].join('\n'));
};
write();
const server = await startServer(t, { flags: ['--config', file, '--max-json-body', '100000'] });
const client = new Client(server.url, { authorization: `Basic ${btoa('u:first')}` });
const reload = (): ReturnType<Client['post']> => client.post('/v2/admin/reload');
const isHost = async (name: string): Promise<boolean> => {
  const answer = await rawRequest(server.port, 'GET', '/livez', { host: name });
  return answer.status === 200;
};

void t.test('a file that is the same changes nothing', async (t) => {
  t.match(await reload(), { status: 200, body: { changed: [], at_start: [] } });
});

void t.test('live settings count at once, others are named, and flags stay', async (t) => {
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const id = String(project['project_id']);
  const hub = { name: 'hub', node_type: 'ethernet_hub', compute_id: 'local' };
  const newHub = async (): Promise<number> => (await client.post(`/v2/projects/${id}/nodes`, hub)).status;
  t.equal(await newHub(), 201);
  t.equal(await isHost('labs.example'), false);
  writeFileSync(secret, 'second');
  write(
    'WIREFARM_ALLOW_HOSTS=labs.example',
    'WIREFARM_PROJECT_QUOTA=nodes=1',
    'WIREFARM_PUBLIC_URL=https://labs.example',
    'WIREFARM_MAX_JSON_BODY=2000',
    'WIREFARM_GNS3_VERSION=2.2.50',
  );
  const { status, body } = await reload();
  t.same(
    { status, body },
    {
      status: 200,
      body: {
        changed: ['allow-hosts', 'project-quota'],
        at_start: ['gns3-version', 'password', 'public-url'],
      },
    },
    'a public URL makes a server one for others, which is decided when it starts',
  );
  t.equal(await isHost('labs.example'), true);
  t.equal(await newHub(), 409);
  t.match(await client.get(`/v2/projects/${id}/quota`), { body: { usage: { nodes: { allowed: 1 } } } });
  t.match(
    (await reload()).body,
    { changed: [], at_start: ['gns3-version', 'password', 'public-url'] },
    'told again',
  );
});

void t.test('a file with a fault changes nothing, and its line is named', async (t) => {
  const before = server.log().length;
  write('WIREFARM_PROJECT_QUOTA=nodes=9', 'WIREFARM_LOG_LEVEL=loud');
  const again = `${file}:5: WIREFARM_LOG_LEVEL stands in line 3 already`;
  t.match(await reload(), {
    status: 409,
    body: { code: 'settings_refused', message: `Nothing has changed: ${again}` },
  });
  writeFileSync(file, 'WIREFARM_USER=u\nWIREFARM_ALLOW_HOSTS=a b');
  t.match(await reload(), { status: 409, body: { message: RegExp(`${file}:2: --allow-hosts`) } });
  writeFileSync(file, 'WIREFARM_USER=u');
  t.match(await reload(), { status: 409, body: { message: /needs both a user .* and a password/ } });
  const { certificate } = selfSigned(['localhost'], new Date());
  const { key } = selfSigned(['localhost'], new Date());
  writeFileSync(join(folder, 'cert'), certificate);
  writeFileSync(join(folder, 'key'), key);
  write(`WIREFARM_TLS_CERT=${join(folder, 'cert')}`, `WIREFARM_TLS_KEY=${join(folder, 'key')}`);
  t.match(await reload(), { status: 409, body: { message: /is not that of the certificate/ } });
  write('WIREFARM_PUBLIC_URL=labs');
  server.child.kill('SIGHUP');
  await server.logged(/settings cannot be used: the former ones stay/);
  await server.logged(RegExp(`${file}:4: --public-url`));
  t.equal(await isHost('labs.example'), true, 'what counted counts still');
  t.ok(server.log().length > before);
});

void t.test('SIGHUP reads them as well, and the log follows its level', async (t) => {
  writeFileSync(file, `${FIRST.slice(0, 2).join('\n')}\nWIREFARM_LOG_LEVEL=debug`);
  server.child.kill('SIGHUP');
  await server.logged(/"changed":\["allow-hosts","project-quota","log-level"\]/);
  await client.expect(200, 'GET', '/v2/projects');
  await server.logged(/"level":20.*"path":"\/v2\/projects"/);
  t.equal(await isHost('labs.example'), false);
});
