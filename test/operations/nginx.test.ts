/** The site of nginx in the documents, before a real server: streams, uploads and WebSockets go through. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { buffer, json } from 'node:stream/consumers';
import type { ConnectionOptions } from 'node:tls';
import t from 'tap';
import { WebSocket } from 'ws';
import { selfSigned } from '../../src/cli/self-signed.js';
import { eventually } from '../support/eventually.js';
import { SITE_NAME, startNginx } from '../support/nginx.js';
import { RandomBytes } from '../support/random.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

/** Not trusted as a proxy, other than nginx. */
const CLIENT = '127.0.0.2';

const server = await startServer(t, {
  flags: ['--open', '--public-url', `https://${SITE_NAME}`, '--trusted-proxies', '127.0.0.1'],
  environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
});
const pair = selfSigned([SITE_NAME], new Date());
const port = await startNginx(t, server, pair);

const WAY = { host: '127.0.0.1', port, servername: SITE_NAME, ca: pair.certificate, localAddress: CLIENT };

async function ask(
  method: string,
  path: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<IncomingMessage> {
  const headers = { Host: SITE_NAME, Origin: `https://${SITE_NAME}`, ...more };
  const sent = request({ ...WAY, agent: false, method, path, headers });
  sent.end(body instanceof Buffer ? body : body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function made(path: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await ask('POST', path, body);
  t.equal(response.statusCode, 201, path);
  return (await json(response)) as Record<string, unknown>;
}

function open(path: string): WebSocket {
  const tls: ConnectionOptions = WAY;
  const said = { headers: { Host: SITE_NAME }, origin: `https://${SITE_NAME}` };
  const socket = new WebSocket(`wss://127.0.0.1:${port}${path}`, { ...tls, ...said });
  t.teardown(() => {
    socket.terminate();
  });
  return socket;
}

void t.test(
  'pages of the public URL may change labs, and the log has the client that nginx saw',
  async (t) => {
    const forged = { 'X-Forwarded-For': '203.0.113.9' };
    t.equal((await ask('POST', '/v2/projects', { name: 'page' }, forged)).statusCode, 201);
    await server.logged(/"address":"127\.0\.0\.2".*"path":"\/v2\/projects"/);
    t.notMatch(server.log(), '203.0.113.9');
    const foreign = { Origin: 'https://evil.example' };
    t.equal((await ask('POST', '/v2/projects', { name: 'other' }, foreign)).statusCode, 403);
    for (const [index, host] of [`${SITE_NAME}:8443`, '192.0.2.7:8443', '[2001:db8::7]'].entries()) {
      const own = { Host: host, Origin: `https://${host}` };
      t.equal((await ask('POST', '/v2/projects', { name: `by ${index}` }, own)).statusCode, 201, host);
      t.equal(
        (await ask('POST', '/v2/projects', { name: 'no' }, { ...foreign, Host: host })).statusCode,
        403,
      );
    }
  },
);

void t.test('an image goes in and out', async (t) => {
  const image = Buffer.from(new RandomBytes(7).next(5_000_000));
  t.equal((await ask('POST', '/v2/compute/qemu/images/through.img', image)).statusCode, 204);
  const back = await buffer(await ask('GET', '/v2/compute/qemu/images/through.img'));
  t.ok(back.equals(image));
});

void t.test('notifications come while their stream is open', async (t) => {
  const stream = await ask('GET', '/v2/notifications');
  let heard = '';
  stream.on('data', (bytes: Buffer) => (heard += bytes.toString()));
  await eventually('the stream has begun', () => heard.includes('"ping"') || undefined);
  const socket = open('/v2/notifications/ws');
  let messages = '';
  socket.on('message', (text: Buffer) => (messages += text.toString()));
  await once(socket, 'open');
  await made('/v2/projects', { name: 'announced' });
  await eventually('the event has come', () => heard.includes('"announced"') || undefined);
  await eventually('the WebSocket has it, too', () => messages.includes('"announced"') || undefined);
  t.pass();
  stream.destroy();
});

void t.test('a console answers what is typed', { skip: missingVpcs() }, async (t) => {
  const { project_id: project } = await made('/v2/projects', { name: 'console' });
  const path = `/v2/projects/${String(project)}/nodes`;
  const { node_id: node } = await made(path, { name: 'PC1', node_type: 'vpcs', compute_id: 'local' });
  t.equal((await ask('POST', `${path}/${String(node)}/start`)).statusCode, 200);
  const socket = open(`${path}/${String(node)}/console/ws`);
  let shown = '';
  socket.on('message', (text: Buffer) => (shown += text.toString()));
  await once(socket, 'open');
  socket.send('show history\r');
  await eventually('the node has answered', () => shown.includes('VPCS> show history') || undefined);
  t.pass();
});
