/** Reports for who looks for a fault. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { LinkLab } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';

void t.test('a local server writes reports, and shows them', async (t) => {
  const server = await startServer(t, {
    flags: ['--local', '--user', 'me'],
    environment: { WIREFARM_PASSWORD: 'a secret' },
  });
  const authorization = `Basic ${Buffer.from('me:a secret').toString('base64')}`;
  const client = new Client(server.url, { authorization });
  const lab = await LinkLab.make({ client, url: server.url });
  await lab.hub();
  t.match(await client.post('/v2/debug'), { status: 201, text: '' });
  const folder = join(server.data, 'debug');
  t.same(readdirSync(folder).sort(), ['compute_local.txt', 'controller.txt']);
  const [controller, compute] = ['controller.txt', 'compute_local.txt'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  );
  t.match(controller, 'projects: 1, of which 1 are open');
  t.match(controller, ': 1 nodes, 0 links, 0 drawings');
  t.match(compute, /kinds of node: .*ethernet_hub/);
  const shown = await client.get('/v2/compute/debug');
  t.equal(shown.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.match(shown.text, /kinds of node: .*ethernet_hub/);
  const page = await client.get('/debug');
  t.match(page.text, 'projects: 1, of which 1 are open');
  t.notMatch([controller, compute, page.text].join(), 'a secret');
  await client.expect(201, 'POST', '/v2/debug');
  t.equal(readdirSync(folder).length, 2, 'a second time');
});

void t.test('a server that is not local makes no reports', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const refusal = {
    status: 403,
    body: { code: 'debug_local_only', message: 'You can only debug a local server' },
  };
  t.match(await client.post('/v2/debug'), refusal);
  t.match(await client.get('/v2/compute/debug'), refusal);
  t.match(await client.get('/debug'), refusal);
  t.notOk(readdirSync(server.data).includes('debug'));
});
