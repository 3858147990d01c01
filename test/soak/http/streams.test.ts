/** Slow clients, held long enough for the library to have dropped them had the streams not been kept alive. */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../../support/client.js';
import { patience } from '../../support/patience.js';
import { RandomBytes } from '../../support/random.js';
import { headerOf, jsonOf, RawConnection, requestBytes } from '../../support/raw-client.js';
import { startServer, type ServerProcess } from '../../support/server-process.js';

const HELD_SECONDS = 32;
const SEED = 7;
const MEGABYTE = 1024 * 1024;

interface Event {
  readonly action: string;
  readonly event: Readonly<Record<string, unknown>>;
}

// All at the same time: each takes half a minute because slowness is what is tested.
t.jobs = 16;
const LIMIT_MS = patience(100_000);

const server: ServerProcess = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);

async function makeProject(name: string): Promise<string> {
  const project = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
  return String(project['project_id']);
}

function folderOf(project: string): string {
  return join(server.data, 'projects', project);
}

function digest(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Sends the bytes one piece a second. */
async function trickle(connection: RawConnection, bytes: Buffer, piece: number): Promise<void> {
  for (let offset = 0; offset < bytes.length && !connection.isClosed; offset += piece) {
    connection.write(bytes.subarray(offset, offset + piece));
    await wait(1000);
  }
}

void t.test('an upload at 1 kB/s arrives whole', { timeout: LIMIT_MS }, async (t) => {
  const project = await makeProject('slow upload');
  const content = new RandomBytes(SEED).next(HELD_SECONDS * 1000);
  const connection = await RawConnection.open(server.port);
  const path = `/v2/projects/${project}/files/slow.bin`;
  connection.write(requestBytes('POST', path, { headers: { 'Content-Length': String(content.length) } }));
  await trickle(connection, content, 1000);
  t.equal((await connection.reply('POST')).status, 201);
  t.ok(readFileSync(join(folderOf(project), 'slow.bin')).equals(content));
  connection.close();
});

void t.test(
  'an upload in chunks that pauses for 15 s, twice, arrives whole',
  { timeout: LIMIT_MS },
  async (t) => {
    const project = await makeProject('paused upload');
    const content = new RandomBytes(SEED).next(3 * MEGABYTE);
    const connection = await RawConnection.open(server.port);
    const path = `/v2/projects/${project}/files/paused.bin`;
    connection.write(requestBytes('POST', path, { headers: { 'Transfer-Encoding': 'chunked' } }));
    for (let third = 0; third < 3; third++) {
      if (third > 0) await wait(15_500);
      connection.write(`${MEGABYTE.toString(16)}\r\n`);
      connection.write(content.subarray(third * MEGABYTE, (third + 1) * MEGABYTE));
      connection.write('\r\n');
    }
    connection.write('0\r\n\r\n');
    t.equal((await connection.reply('POST')).status, 201);
    t.ok(readFileSync(join(folderOf(project), 'paused.bin')).equals(content));
    connection.close();
  },
);

void t.test('a download read at 1 kB/s, and then quickly, is whole', { timeout: LIMIT_MS }, async (t) => {
  const project = await makeProject('slow download');
  const content = new RandomBytes(SEED).next(24 * MEGABYTE);
  writeFileSync(join(folderOf(project), 'large.bin'), content);
  const connection = await RawConnection.open(server.port);
  const { socket } = connection;
  socket.pause();
  connection.send('GET', `/v2/projects/${project}/files/large.bin`);
  for (let second = 0; second < HELD_SECONDS; second++) {
    // The connection hears of what is read by hand, too; the rest backs up to the server.
    socket.read(1000);
    await wait(1000);
  }
  socket.resume();
  const reply = await connection.reply('GET', 30_000);
  t.equal(headerOf(reply, 'Content-Length'), String(content.length));
  t.equal(digest(reply.body), digest(content));
  connection.close();
});

void t.test(
  'a download that is not read at all for half a minute goes on where it stood',
  { timeout: LIMIT_MS },
  async (t) => {
    const project = await makeProject('stalled download');
    const content = new RandomBytes(SEED + 1).next(24 * MEGABYTE);
    writeFileSync(join(folderOf(project), 'large.bin'), content);
    const connection = await RawConnection.open(server.port);
    connection.socket.pause();
    connection.send('GET', `/v2/projects/${project}/files/large.bin`);
    await wait(HELD_SECONDS * 1000);
    connection.socket.resume();
    t.equal(digest((await connection.reply('GET', 30_000)).body), digest(content));
    connection.close();
  },
);

/** Changes the drawing so often, each time to another place; the events are about this many bytes each. */
async function makeEvents(project: string, count: number, size: number): Promise<void> {
  const path = `/v2/projects/${project}/drawings`;
  // An event carries a picture only when it is another one.
  const svg = (x: number): string => `<svg id="${x}">${'x'.repeat(size)}</svg>`;
  const drawing = await client.expect(201, 'POST', path, { svg: svg(0), x: 0 });
  for (let x = 1; x <= count; x++)
    await client.expect(201, 'PUT', `${path}/${String(drawing['drawing_id'])}`, { x, svg: svg(x) });
}

/** The drawing's places in the events up to the last that is expected. */
async function places(next: () => Promise<Event>, last: number): Promise<unknown[]> {
  const found: unknown[] = [];
  while (found.at(-1) !== last) {
    const { action, event } = await next();
    if (action.startsWith('drawing.')) found.push(event['x']);
  }
  return found;
}

function* upTo(last: number): Iterable<number> {
  for (let x = 0; x <= last; x++) yield x;
}

/** Reads a notification stream line by line. */
function lines(connection: RawConnection): () => Promise<Event> {
  let text = '';
  return async () => {
    while (!text.includes('\n')) text += (await connection.chunk()).toString();
    const end = text.indexOf('\n');
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return JSON.parse(line) as Event;
  };
}

const EVENTS = 150;
const EVENT_SIZE = 5000;

void t.test(
  'a notification client that does not read for 15 s, twice, misses nothing',
  { timeout: LIMIT_MS },
  async (t) => {
    const project = await makeProject('idle reader');
    const connection = await RawConnection.open(server.port);
    connection.send('GET', `/v2/projects/${project}/notifications`);
    const next = lines(connection);
    await connection.head();
    t.equal((await next()).action, 'ping');
    for (let round = 0; round < 2; round++) {
      connection.socket.pause();
      // Less than the backlog that is granted, more than the system takes for a client that does not read.
      await makeEvents(project, EVENTS, EVENT_SIZE);
      await wait(15_500);
      connection.socket.resume();
      t.strictSame(await places(next, EVENTS), [...upTo(EVENTS)]);
    }
    connection.close();
  },
);

void t.test(
  'a WebSocket client that does not read for 15 s, twice, misses nothing',
  { timeout: LIMIT_MS },
  async (t) => {
    const project = await makeProject('idle socket');
    const { socket, next } = await openSocket(`/v2/projects/${project}/notifications/ws`);
    t.equal((await next()).action, 'ping');
    for (let round = 0; round < 2; round++) {
      socket.pause();
      await makeEvents(project, EVENTS, EVENT_SIZE);
      await wait(15_500);
      socket.resume();
      t.strictSame(await places(next, EVENTS), [...upTo(EVENTS)]);
    }
    socket.terminate();
  },
);

interface Frames {
  readonly socket: WebSocket;
  readonly next: () => Promise<Event>;
  readonly closed: Promise<number>;
}

async function openSocket(path: string): Promise<Frames> {
  const socket = new WebSocket(server.url.replace('http', 'ws') + path);
  const frames: string[] = [];
  let wake: () => void = () => undefined;
  socket.on('message', (frame: Buffer) => {
    frames.push(frame.toString());
    wake();
  });
  const closed = new Promise<number>((resolve) => {
    socket.on('close', (code) => {
      resolve(code);
      wake();
    });
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve);
    socket.on('error', reject);
  });
  const next = async (): Promise<Event> => {
    while (frames.length === 0) {
      if (socket.readyState !== WebSocket.OPEN) throw new Error('the socket was closed');
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    return JSON.parse(frames.shift() ?? '') as Event;
  };
  return { socket, next, closed };
}

void t.test('streams with nothing but pings stay alive', { timeout: LIMIT_MS }, async (t) => {
  const project = await makeProject('silence');
  const connection = await RawConnection.open(server.port);
  connection.send('GET', `/v2/projects/${project}/notifications`);
  await connection.head();
  const nextLine = lines(connection);
  const { socket, next: nextFrame } = await openSocket(`/v2/projects/${project}/notifications/ws`);
  // One at once, then one every five seconds.
  for (let ping = 0; ping <= HELD_SECONDS / 5; ping++) {
    t.match(await nextLine(), { action: 'ping', event: { cpu_usage_percent: Number } });
    t.match(await nextFrame(), { action: 'ping', event: { memory_usage_percent: Number } });
  }
  await client.expect(201, 'POST', `/v2/projects/${project}/drawings`, {});
  t.equal((await nextLine()).action, 'drawing.created');
  t.equal((await nextFrame()).action, 'drawing.created');
  connection.close();
  socket.terminate();
});

void t.test(
  'notification clients that never read are dropped, and nobody else',
  { timeout: LIMIT_MS },
  async (t) => {
    const project = await makeProject('deaf');
    const path = `/v2/projects/${project}/notifications`;
    const deaf = await RawConnection.open(server.port);
    deaf.send('GET', path);
    await deaf.head();
    deaf.socket.pause();
    const deafSocket = await openSocket(`${path}/ws`);
    deafSocket.socket.pause();
    const reader = await RawConnection.open(server.port);
    reader.send('GET', path);
    await reader.head();
    const { socket, next } = await openSocket(`${path}/ws`);

    const last = 150;
    const received = Promise.all([places(lines(reader), last), places(next, last)]);
    await makeEvents(project, last, 60_000);
    t.strictSame(await received, [[...upTo(last)], [...upTo(last)]], 'those who read have it all');

    deaf.socket.resume();
    await deaf.closed();
    deafSocket.socket.resume();
    t.not(await deafSocket.closed, 1000, 'the connection was cut');
    await client.expect(201, 'POST', `/v2/projects/${project}/drawings`, { x: -7 });
    t.strictSame((await places(next, -7)).at(-1), -7, 'the stream goes on');
    reader.close();
    socket.terminate();
  },
);

void t.test('a JSON body that trickles in within 30 s is taken', { timeout: LIMIT_MS }, async (t) => {
  const connection = await RawConnection.open(server.port);
  const body = Buffer.from(JSON.stringify({ name: 'a trickled name' }));
  connection.send('POST', '/v2/projects', { headers: { 'Content-Length': String(body.length) } });
  await trickle(connection, body, Math.ceil(body.length / 26));
  const reply = await connection.reply('POST');
  t.equal(reply.status, 201);
  t.equal(jsonOf(reply)['name'], 'a trickled name');
  connection.close();
});

for (const [what, interval] of [
  ['trickles on', 1000],
  ['stops coming', 60_000],
] as const) {
  void t.test(
    `a JSON body that ${what} for more than 30 s is answered 408`,
    { timeout: LIMIT_MS },
    async (t) => {
      const connection = await RawConnection.open(server.port);
      const begun = Date.now();
      connection.send('POST', '/v2/projects', { headers: { 'Content-Length': '5000' }, body: '{"name":"' });
      const timer = setInterval(() => {
        connection.write('x');
      }, interval);
      const reply = await connection.reply('POST', 60_000);
      clearInterval(timer);
      t.ok(Date.now() - begun >= 29_900);
      t.equal(reply.status, 408);
      t.equal(headerOf(reply, 'Content-Type'), 'application/json');
      t.strictSame(jsonOf(reply), {
        code: 'request_too_slow',
        message: 'The request body was not complete within 30 s',
        status: 408,
      });
      await connection.closed();
      connection.close();
    },
  );
}
