/** Requests for what another server of a farm owns: what goes there, what comes back, and what happens when an end goes. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import t from 'tap';
import { WebSocket } from 'ws';
import type { Caller, Identification, Pass } from '../../src/http/caller.js';
import type { Exchange } from '../../src/http/exchange.js';
import { HopCredential } from '../../src/http/forwarding/hop-credential.js';
import type { DuplexConnection, DuplexReceiver } from '../../src/http/streams/duplex-socket.js';
import type { TailSource } from '../../src/http/streams/tail-flow.js';
import {
  bytesOf,
  CREDENTIAL,
  FixedOwners,
  startFarmServer,
  type Behaviour,
} from '../support/farm-servers.js';
import { eventually } from '../support/eventually.js';
import { headerOf, jsonOf, rawRequest } from '../support/raw-client.js';

const PROJECT = '11111111-2222-4333-8444-555555555555';
const OTHERS = '11111111-2222-4333-8444-666666666666';
const NOBODYS = '11111111-2222-4333-8444-777777777777';
const LOST = '11111111-2222-4333-8444-888888888888';
const path = `/v2/projects/${PROJECT}`;
const MEBIBYTE = 1024 * 1024;

/** A user with this name, whom `credentials` stand for. */
function userOf(pass: Pick<Pass, 'name' | 'userId' | 'tokenId'>): Caller {
  return {
    ...{ name: pass.name, userId: pass.userId, tokenId: pass.tokenId, sessionId: undefined },
    ...{ isForSomeProjects: false, counts: () => true, has: () => true, grantOn: () => 'owner' as const },
  };
}

/** Users whose header is `User NAME`, and whose ids are `id-NAME`. The user `new` is known where he comes in, and nowhere else. */
const identification: Identification = {
  everybody: undefined,
  identify: (header) => {
    const [, name] = /^User (\w+)$/.exec(header) ?? [];
    return name === undefined ? undefined : userOf({ name, userId: `id-${name}`, tokenId: 'token-1' });
  },
  ofSession: () => undefined,
  withSession: () => undefined,
  catchUp: () => undefined,
  checkHeard: () => undefined,
  ofPass: (pass) => (pass.as === 'user' && pass.name !== 'new' ? userOf(pass) : undefined),
};

/** A source to which the test adds. */
class OpenTail implements TailSource {
  readonly #texts: Buffer[] = [];
  #ready: () => void = () => undefined;
  isClosed = false;
  isOver = false;
  given = 0;
  endless = false;

  add(text: string): void {
    this.#texts.push(Buffer.from(text));
    this.#ready();
  }

  end(): void {
    this.isOver = true;
    this.#ready();
  }

  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' {
    const text = this.endless ? Buffer.alloc(64 * 1024) : this.#texts.shift();
    if (text === undefined) return this.isOver ? 'over' : 'nothing';
    this.given += text.length;
    use(text);
    return 'given';
  }

  onReady(callback: () => void): void {
    this.#ready = callback;
  }

  close(): void {
    this.isClosed = true;
  }
}

const owners = new FixedOwners();
let tails: OpenTail[] = [];
const hung: Exchange[] = [];
const behaviour = {
  tail: () => {
    const tail = new OpenTail();
    tail.add('first\n');
    tails.push(tail);
    return tail;
  },
  hang: (exchange: Exchange) => {
    hung.push(exchange);
  },
  duplex: (connection: DuplexConnection): DuplexReceiver => ({
    received: (bytes, isText) => {
      const text = Buffer.from(bytes).toString();
      if (text.startsWith('close ')) connection.end(Number(text.slice(6)), 'as you wish');
      else if (isText) connection.sendText(text);
      else connection.send(bytes);
    },
    closed: () => {
      closed++;
    },
  }),
};
let closed = 0;
const entrance = await startFarmServer(t, { id: 'entrance', owners, identification });
const owner = await startFarmServer(t, { id: 'owner', owners, identification, behaviour });
const third = await startFarmServer(t, { id: 'third', owners, identification });
owners.table.set(PROJECT, owner);
owners.table.set(OTHERS, third);
owners.table.set(LOST, { id: 'lost', address: 'http://127.0.0.1:9', life: 'of the lost' });
owners.table.set('@farm', owner);
const credentials = { Authorization: 'User ada' };
/** A server takes only so many new connections at a time. */
const agent = new Agent({ keepAlive: true, maxSockets: 200 });
t.teardown(() => {
  agent.destroy();
});

async function ask(
  target: string,
  { method = 'GET', body, port = entrance.port }: { method?: string; body?: Buffer; port?: number } = {},
): Promise<IncomingMessage> {
  const asked = request({ port, host: '127.0.0.1', path: target, method, headers: credentials, agent });
  asked.on('error', () => undefined);
  asked.end(body);
  const [reply] = (await once(asked, 'response')) as [IncomingMessage];
  return reply;
}

void t.test('the owner learns who asks and from where, and nothing else of that', async (t) => {
  const headers = {
    ...credentials,
    ...{
      Cookie: 'wf_session=abc',
      'X-Odd': 'y\xe4',
      'X-Private': 'p',
      Connection: 'x-private',
      TE: 'trailers',
    },
    ...{ Range: 'bytes=0-1', 'X-Forwarded-For': '10.1.1.1', Host: `127.0.0.1:${entrance.port}` },
  };
  const reply = await rawRequest(entrance.port, 'GET', `${path}?a=b&c=%20`, { headers });
  t.equal(reply.status, 200, reply.text);
  const told = jsonOf(reply);
  t.match(told, {
    ...{ server: 'owner', address: '127.0.0.1', scheme: 'http', host: `127.0.0.1:${entrance.port}`, path },
    ...{ query: 'a=b&c=%20', name: 'ada', userId: 'id-ada', tokenId: 'token-1' },
    headers: { range: 'bytes=0-1', te: '', 'x-forwarded-for': '' },
  });
  t.equal(headerOf(reply, 'X-Request-Id'), told['id'], 'one id in both logs');
  t.equal(reply.headers.filter(([name]) => /^(server|date|x-route)$/i.test(name)).length, 3);
  const line = { user: 'ada', token: 'token-1', req: told['id'], address: '127.0.0.1' };
  for (const [server, at] of [
    [entrance, { owner: 'owner' }],
    [owner, {}],
  ] as const) {
    const found = await eventually('the access log has the request', () =>
      server.lines
        .map((text) => JSON.parse(text) as object)
        .find((entry) => 'req' in entry && entry.req === told['id']),
    );
    t.match(found, { ...line, ...at });
  }
});

void t.test('a scope of the farm, one of this server, and one of nobody', async (t) => {
  const of = async (target: string, port = entrance.port): Promise<unknown> =>
    JSON.parse((await buffer(await ask(target, { port }))).toString());
  t.match(await of('/v2/templates'), { server: 'owner' });
  t.match(await of(path, owner.port), { server: 'owner' });
  t.match(await of(`/v2/projects/${OTHERS}`), { server: 'third' });
  t.match(await of('/v2/projects/no-id'), { server: 'entrance' }, 'an id that is none is nobody’s');
  const nobodys = await rawRequest(entrance.port, 'GET', `/v2/projects/${NOBODYS}`, { headers: credentials });
  t.match(jsonOf(nobodys), { status: 503, code: 'owner_missing' });
  t.equal(headerOf(nobodys, 'Retry-After'), '1');
});

void t.test('an owner that may have lost a scope without knowing it', async (t) => {
  owners.staleMs = 1500;
  const read = await ask(path, { port: owner.port });
  t.same([read.statusCode, read.headers['wirefarm-stale']], [200, '2']);
  const change = await ask(path, { method: 'PUT', port: owner.port, body: Buffer.from('{}') });
  t.same([change.statusCode, change.headers['retry-after']], [503, '1']);
  const forwarded = await ask(path);
  t.equal(forwarded.headers['wirefarm-stale'], '2', 'the entrance tells it, too');
  owners.staleMs = undefined;
  for (const reply of [read, change, forwarded]) reply.resume();
});

void t.test('a server that cannot be reached is 503 at once, whatever was asked', async (t) => {
  for (const method of ['GET', 'PUT']) {
    const reply = await rawRequest(entrance.port, method, `/v2/projects/${LOST}`, {
      headers: credentials,
      ...(method === 'PUT' ? { body: '{}' } : {}),
    });
    t.match(jsonOf(reply), { status: 503, code: 'owner_unreachable' });
    t.equal(headerOf(reply, 'Retry-After'), '1');
  }
  const body = Buffer.alloc(MEBIBYTE);
  const large = await rawRequest(entrance.port, 'POST', `/v2/projects/${LOST}/body`, {
    headers: credentials,
    body,
  });
  t.match(jsonOf(large), { code: 'owner_unreachable' });
});

void t.test('a client can be none of the servers', async (t) => {
  const hop = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const sealed = (told: string, to: string): Record<string, string> => ({
    'X-Wirefarm-Hop': told,
    'X-Wirefarm-Signature': CREDENTIAL.sign([to, 'GET', path, told]),
  });
  const word = {
    ...{ id: 'forged', address: '10.0.0.1', scheme: 'https' },
    pass: { as: 'user', name: 'root', userId: 'id-root' },
  };
  let number = 0;
  const stamped = ({ life }: { life: string }, more: object = {}): string =>
    hop({ ...word, stamp: { life, from: 'another', start: 7, number: number++, ...more } });
  const forged = stamped(owner);
  const genuine = sealed(forged, owner.id);
  const other = new HopCredential('another secret, which is as long as that of the tests');
  for (const headers of [
    { 'X-Wirefarm-Hop': forged },
    { 'X-Wirefarm-Signature': 'x' },
    { ...genuine, 'X-Wirefarm-Signature': genuine['X-Wirefarm-Signature']?.slice(1) ?? '' },
    { ...genuine, 'X-Wirefarm-Signature': other.sign([owner.id, 'GET', path, forged]) },
    { ...genuine, 'X-Wirefarm-Signature': CREDENTIAL.sign([owner.id, 'PUT', path, forged]) },
    { ...genuine, 'X-Wirefarm-Signature': CREDENTIAL.sign([owner.id, 'GET', `${path}?a`, forged]) },
    sealed(forged, third.id),
    ...['', '%', hop({}), hop(word), stamped(owner, { number: -1 }), stamped(owner, { from: '' })].map(
      (told) => sealed(told, owner.id),
    ),
  ])
    for (const port of [owner.port, entrance.port])
      for (const known of [{}, credentials]) {
        const reply = await rawRequest(port, 'GET', path, { headers: { ...headers, ...known } });
        t.match(jsonOf(reply), { status: 400, code: 'hop_malformed' });
      }
  const real = await rawRequest(owner.port, 'GET', path, { headers: genuine });
  t.match(
    jsonOf(real),
    { name: 'root', address: '10.0.0.1', scheme: 'https', id: 'forged' },
    'the signature is what counts',
  );
  const onward = await rawRequest(entrance.port, 'GET', path, {
    headers: sealed(stamped(entrance), entrance.id),
  });
  t.match(jsonOf(onward), { status: 503, code: 'owner_elsewhere' }, 'a hop is made once');
  t.equal(headerOf(onward, 'Retry-After'), '1');
  const unknown = await rawRequest(entrance.port, 'GET', path, { headers: { Authorization: 'User new' } });
  t.match(jsonOf(unknown), { status: 503, code: 'caller_unknown_here' });
});

void t.test('the word of one server to another counts once', async (t) => {
  const recorded = await startFarmServer(t, { id: 'recorded', owners, identification });
  owners.table.set(PROJECT, recorded);
  const body = Buffer.from('{"to": "be stored"}');
  const first = await ask(path, { method: 'PUT', body });
  t.equal((await buffer(first)).toString(), '{"to":"be stored"}');
  await ask(path, { method: 'PUT', body });
  const pieces = Buffer.concat(recorded.received()).toString('latin1').split('PUT ').slice(1);
  t.equal(pieces.length, 2);
  const replayed = async (piece: string | undefined, port: number): Promise<object> => {
    const [head = '', text = ''] = `PUT ${piece ?? ''}`.split('\r\n\r\n');
    const lines = head.split('\r\n').slice(1);
    const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
    const { 'content-length': _length, connection: _connection, ...others } = headers;
    return jsonOf(await rawRequest(port, 'PUT', path, { headers: others, body: text }));
  };
  const used = { status: 400, code: 'hop_used' };
  for (const piece of [pieces[0], pieces[1], pieces[0]])
    t.match(await replayed(piece, recorded.port), used, 'a recording is no hop');
  // It is the same server after a restart, which remembers nothing.
  const restarted = await startFarmServer(t, {
    id: 'recorded',
    owners,
    identification,
    life: 'the next life',
  });
  t.match(await replayed(pieces[0], restarted.port), { status: 503, code: 'hop_outdated' });
  owners.table.set(PROJECT, { ...restarted, life: recorded.life });
  const stale = await ask(path, { method: 'PUT', body });
  t.same([stale.statusCode, stale.headers['retry-after']], [503, '1'], 'nobody has told of the restart yet');
  owners.table.set(PROJECT, restarted);
  t.equal((await ask(path, { method: 'PUT', body })).statusCode, 200);
  owners.table.set(PROJECT, owner);
});

void t.test('bodies of requests, short and long, of known length and not', async (t) => {
  for (const length of [0, 1, 65_536, 65_537, 5 * MEBIBYTE]) {
    const bytes = bytesOf(0, length);
    const digest = createHash('sha256').update(bytes).digest('hex');
    const known = await ask(`${path}/body`, { method: 'POST', body: bytes });
    t.match(JSON.parse((await buffer(known)).toString()), { octets: length, announced: length, digest });
    const asked = request({
      ...{ port: entrance.port, host: '127.0.0.1', path: `${path}/body`, method: 'POST', agent },
      headers: { ...credentials, 'Transfer-Encoding': 'chunked' },
    });
    const replied = once(asked, 'response') as Promise<[IncomingMessage]>;
    await pipeline(Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)]), asked);
    const [chunked] = await replied;
    t.match(JSON.parse((await buffer(chunked)).toString()), { octets: length, digest });
  }
  const text = JSON.stringify({ text: 'ä'.repeat(1000) });
  const echoed = await ask(path, { method: 'PUT', body: Buffer.from(text) });
  t.equal((await buffer(echoed)).toString(), text);
  const malformed = await ask(path, { method: 'PUT', body: Buffer.from('{') });
  t.equal(malformed.statusCode, 400);
  t.match(JSON.parse((await buffer(malformed)).toString()), {
    code: 'json_malformed',
    request: { malformed_json: '{' },
  });
});

void t.test('answers of every length, and their heads', async (t) => {
  for (const size of [0, 1, 65_536, 65_537, 3 * MEBIBYTE]) {
    const reply = await ask(`${path}/bytes?size=${size}`);
    t.match(reply.headers, {
      etag: '"odd"',
      'content-type': 'application/x-test',
      'content-length': String(size),
    });
    t.ok((await buffer(reply)).equals(bytesOf(0, size)), `${size} octets`);
    const head = await ask(`${path}/bytes?size=${size}`, { method: 'HEAD' });
    t.equal(head.headers['content-length'], String(size));
    t.equal((await buffer(head)).length, 0);
  }
  const tail = await ask(`${path}/tail`);
  tails.at(-1)?.add('second\n');
  tails.at(-1)?.end();
  t.equal((await buffer(tail)).toString(), 'first\nsecond\n');
  tails = [];
});

void t.test('a client that goes ends its request at the owner', async (t) => {
  for (const [method, target] of [
    ['GET', 'hang'],
    ['POST', 'hang'],
  ] as const) {
    const asked = request({
      port: entrance.port,
      host: '127.0.0.1',
      path: `${path}/${target}`,
      method,
      headers: credentials,
    });
    asked.on('error', () => undefined);
    asked.end();
    const exchange = await eventually('the owner has the request', () => hung.at(-1));
    t.notOk(exchange.isGone);
    asked.destroy();
    await eventually('the owner sees that', () => exchange.isGone || undefined);
    hung.length = 0;
  }
  const reply = await ask(`${path}/tail`);
  const tail = await eventually('the stream is open', () => tails.at(-1));
  reply.destroy();
  await eventually('the stream has ended', () => tail.isClosed || undefined);
  tails = [];
  t.pass('and so do streams');
});

void t.test('a client that does not read holds nothing but its own chain', async (t) => {
  const reply = await ask(`${path}/tail`);
  const tail = await eventually('the stream is open', () => tails.at(-1));
  reply.pause();
  tail.endless = true;
  tail.add('x');
  let before = -1;
  await eventually('the source is asked for no more', () => {
    const isStill = tail.given === before;
    before = tail.given;
    return isStill || undefined;
  });
  t.ok(tail.given < 40 * MEBIBYTE, `${tail.given} octets wait in the sockets`);
  t.equal((await ask(path)).statusCode, 200, 'others are served');
  t.equal((await buffer(await ask(`${path}/bytes?size=100000`))).length, 100_000);
  reply.destroy();
  await eventually('the stream has ended', () => tail.isClosed || undefined);
  tails = [];
});

void t.test('hundreds of requests at once', async (t) => {
  const replies = await Promise.all(
    Array.from({ length: 400 }, async (_none, index) => {
      const reply = await ask(`${path}?number=${index}`);
      const told = JSON.parse((await buffer(reply)).toString()) as { query: string };
      return told.query === `number=${index}`;
    }),
  );
  t.equal(replies.filter(Boolean).length, 400);
});

void t.test('WebSockets: frames both ways, and how they end', async (t) => {
  const open = async (): Promise<WebSocket> => {
    const socket = new WebSocket(`ws://127.0.0.1:${entrance.port}${path}/duplex`, { headers: credentials });
    await once(socket, 'open');
    return socket;
  };
  const socket = await open();
  for (const [frame, isBinary] of [
    ['text ä', false],
    [Buffer.alloc(60_000, 7), true],
  ] as const) {
    socket.send(frame);
    const [answer, binary] = (await once(socket, 'message')) as [Buffer, boolean];
    t.ok(answer.equals(Buffer.from(frame)));
    t.equal(binary, isBinary);
  }
  socket.ping('p');
  t.equal(String((await once(socket, 'pong'))[0]), 'p');
  socket.send('close 4321');
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  t.same([code, reason.toString()], [4321, 'as you wish']);
  await eventually('the owner knows', () => closed === 1 || undefined);
  for (const end of ['close', 'terminate'] as const) {
    const other = await open();
    other[end]();
    await eventually('the owner knows', () => closed === (end === 'close' ? 2 : 3) || undefined);
  }
  const refusal = async (target: string, user: string): Promise<unknown> => {
    const headers = { Authorization: `User ${user}` };
    const refused = new WebSocket(`ws://127.0.0.1:${entrance.port}${target}`, { headers });
    refused.on('error', () => undefined);
    const [, answer] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
    return { status: answer.statusCode, body: JSON.parse((await buffer(answer)).toString()) as unknown };
  };
  t.match(await refusal(`/v2/projects/${LOST}/duplex`, 'ada'), {
    status: 503,
    body: { code: 'owner_unreachable' },
  });
  t.match(
    await refusal(`${path}/duplex`, 'new'),
    { status: 503, body: { code: 'caller_unknown_here' } },
    'the owner’s word',
  );
});

void t.test('when the owner goes, answers are cut, and a change has no known outcome', async (t) => {
  const dying = await startFarmServer(t, { id: 'dying', owners, identification, behaviour });
  owners.table.set(PROJECT, dying);
  const failures: Promise<unknown>[] = [];
  const read = ask(`${path}/hang`);
  const change = ask(`${path}/hang`, { method: 'POST' });
  await eventually('both wait', () => hung.length === 2 || undefined);
  const tail = await ask(`${path}/tail`);
  const download = await ask(`${path}/bytes?size=${100 * MEBIBYTE}`);
  await once(download, 'readable');
  const socket = new WebSocket(`ws://127.0.0.1:${entrance.port}${path}/duplex`, { headers: credentials });
  await once(socket, 'open');
  failures.push(buffer(tail), buffer(download));
  const outcomes = Promise.allSettled(failures);
  const ended = once(socket, 'close');
  dying.kill();
  t.same(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'rejected'],
    'never a well-formed end',
  );
  t.equal((await ended)[0], 1006);
  const [reading, changing] = await Promise.all([read, change]);
  t.same([reading.statusCode, reading.headers['retry-after']], [503, '1']);
  t.same([changing.statusCode, changing.headers['retry-after']], [502, undefined]);
  t.match(JSON.parse((await buffer(changing)).toString()), { code: 'outcome_unknown' });
  owners.table.set(PROJECT, owner);
  hung.length = 0;
  tails = [];
});

void t.test('the events of a project go on with the next owner', async (t) => {
  const opened: string[] = [];
  const gone: string[] = [];
  const eventsOf = (id: string): Behaviour => ({
    ...behaviour,
    frames: (send) => {
      opened.push(id);
      send(`from ${id}`);
      return () => gone.push(id);
    },
  });
  const own = new FixedOwners();
  const start = (id: string): ReturnType<typeof startFarmServer> =>
    startFarmServer(t, { id, owners: own, identification, behaviour: eventsOf(id) });
  const [one, two, door] = await Promise.all([start('one'), start('two'), start('door')]);
  own.table.set(PROJECT, one);
  const reply = await ask(`${path}/events`, { port: door.port });
  let lines = '';
  reply.on('data', (bytes: Buffer) => (lines += bytes.toString()));
  const frames: string[] = [];
  const socket = new WebSocket(`ws://127.0.0.1:${door.port}${path}/events/ws`, { headers: credentials });
  socket.on('message', (data: Buffer) => frames.push(data.toString()));
  await once(socket, 'open');
  const told = async (count: number): Promise<void> => {
    await eventually(
      'both clients know',
      () => (lines.split('first').length > count && frames.length >= 2 * count - 1) || undefined,
    );
  };
  await told(1);
  tails.at(-1)?.add('whole\npart of a line');
  await eventually('the line has come', () => lines.endsWith('whole\n') || undefined);
  one.kill();
  own.table.set(PROJECT, two);
  await told(2);
  const warning = /^\{"action": ?"log.warning".*taken over"\}\}$/;
  const [first, whole, changed, again] = lines.split('\n');
  t.same([first, whole, again], ['first', 'whole', 'first'], 'no part of a line');
  t.match(changed, warning);
  t.match(frames, ['from one', warning, 'from two']);
  // The second one is not told that it has lost the project.
  own.table.set(PROJECT, door);
  await told(3);
  t.match(frames.slice(3), [warning, 'from door'], 'the entrance may be the next owner');
  await eventually('the second one sends no more', () => gone.includes('two') || undefined);
  t.same(opened, ['one', 'two', 'door']);
  own.table.set(PROJECT, { id: 'none', address: 'http://127.0.0.1:9', life: 'of none' });
  reply.destroy();
  socket.close();
  await eventually('nobody sends any more', () => gone.includes('door') || undefined);
  tails = [];
});
