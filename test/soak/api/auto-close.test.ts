/** Projects that close by themselves: half a minute after their last listener has left, and not while they are in use. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { hubLine, type HubLine, type Json } from '../../support/link-lab.js';
import { LiveStream } from '../../support/live-stream.js';
import { NotificationLog } from '../../support/notification-log.js';
import { RawConnection } from '../../support/raw-client.js';
import { startServer } from '../../support/server-process.js';

// All at the same time: half a minute is what is tested, so they share it.
t.jobs = 3;

const server = await startServer(t);
const client = new Client(server.url);
const news = await NotificationLog.open(`${server.url}/v2/notifications`);
t.teardown(() => {
  news.close();
});

const at = (project: Json): string => `/v2/projects/${String(project['project_id'])}`;
const listen = (path: string): Promise<NotificationLog> =>
  NotificationLog.open(`${server.url}${path}/notifications`);

/** Comes and goes as a listener of a project. */
async function visit(path: string): Promise<void> {
  const listener = await listen(path);
  listener.close();
  await listener.ended;
}

function closing(projectId: unknown): Promise<{ readonly event: Json }> {
  return news.next(({ action, event }) => action === 'project.closed' && event['project_id'] === projectId);
}

async function statusOf(path: string): Promise<unknown> {
  return (await client.expect(200, 'GET', path))['status'];
}

void t.test('a project closes by itself 30 s after its last listener has left', async (t) => {
  const make = (name: string, more: Json = {}): Promise<Json> =>
    client.expect(201, 'POST', '/v2/projects', { name, ...more });
  const look = (project: Json): Promise<NotificationLog> =>
    NotificationLog.open(`${server.url}${at(project)}/notifications?observe=yes`);
  const lookBySocket = async (project: Json): Promise<WebSocket> => {
    const socket = new WebSocket(
      `${server.url.replace('http', 'ws')}${at(project)}/notifications/ws?observe=yes`,
    );
    await once(socket, 'open');
    return socket;
  };
  const never = await make('never heard');
  const looked = await make('looked at');
  const kept = await make('kept open', { auto_close: false });
  const back = await make('heard again');
  const two = await make('two listeners');
  const busy = await make('busy');
  const watched = await make('still looked at');
  const idle = await make('idle');

  const upload = request(`${server.url}${at(busy)}/files/slow.bin`, { method: 'POST' });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.write('first half, ');
  for (const project of [kept, busy, back]) await visit(at(project));
  const listeners = [await listen(at(back)), await listen(at(two))];
  await visit(at(two));
  const observers = [await look(watched), await look(back)];
  const socket = await lookBySocket(watched);
  await visit(at(watched));
  const glance = await look(looked);
  glance.close();
  await glance.ended;
  (await lookBySocket(looked)).terminate();
  await visit(at(idle));

  const [{ event }] = await Promise.all([closing(idle['project_id']), closing(watched['project_id'])]);
  t.strictSame(event, { ...idle, status: 'closed' });
  t.equal(await statusOf(at(watched)), 'closed', 'who only looks does not count');
  for (const project of [never, looked, kept, back, two, busy])
    t.equal(await statusOf(at(project)), 'opened', String(project['name']));
  socket.terminate();
  upload.end('second half');
  const [response] = await answered;
  response.resume();
  t.equal(response.statusCode, 201);
  t.equal(readFileSync(join(String(busy['path']), 'slow.bin'), 'utf8'), 'first half, second half');
  for (const listener of [...listeners, ...observers]) listener.close();
});

void t.test('a project that an upload keeps open closes by itself when that is gone', async (t) => {
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'held' });
  const path = at(project);
  const transfer = await RawConnection.open(server.port);
  transfer.send('POST', `${path}/files/slow.bin`, { headers: { 'Content-Length': '100' }, body: 'x' });
  const listener = await RawConnection.open(server.port);
  listener.send('GET', `${path}/notifications`);
  await listener.head();
  listener.vanish();
  t.equal(await statusOf(path), 'opened');
  transfer.vanish();
  await eventually('it is closed', async () => (await statusOf(path)) === 'closed' || undefined);
});

void t.test('a capture and a stream keep their project open, and nothing else does', async (t) => {
  const host = { client, url: server.url };
  const settings = { auto_close: true };
  const lines = {
    idle: await hubLine(t, host, settings),
    captured: await hubLine(t, host, settings),
    streamed: await hubLine(t, host, settings),
  };
  await client.expect(201, 'POST', `${lines.captured.at}/start_capture`);
  const stream = await LiveStream.open(t, `${server.url}${lines.streamed.lab.path}/pcap`);
  await stream.reach(28);
  for (const { lab } of Object.values(lines)) await visit(lab.path);
  const closed = (line: HubLine): Promise<unknown> => closing(line.lab.id);
  await closed(lines.idle);
  t.equal(await statusOf(lines.captured.lab.path), 'opened');
  t.equal(await statusOf(lines.streamed.lab.path), 'opened');
  await client.expect(201, 'POST', `${lines.captured.at}/stop_capture`);
  stream.close();
  await Promise.all([closed(lines.captured), closed(lines.streamed)]);
});
