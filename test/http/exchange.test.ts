/** Requests and their answers as bytes: framing, header sets, limits. */
import t from 'tap';
import { Client } from '../support/client.js';
import { chunked, headerOf, jsonOf, RawConnection, rawRequest, requestBytes } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const KIB = 1024;

void t.test('an answer has exactly the headers that it needs', async (t) => {
  const names = async (method: string, path: string, body?: string): Promise<[number, string[]]> => {
    const reply = await rawRequest(server.port, method, path, body === undefined ? {} : { body });
    t.match(headerOf(reply, 'Server'), /^Wirefarm\/\d/);
    // The library adds these by itself.
    const added = new Set(['Date', 'uWebSockets']);
    return [reply.status, reply.headers.map(([name]) => name).filter((name) => !added.has(name))];
  };
  const common = ['X-Route', 'X-Request-Id', 'Server'];
  const ofJson = ['Content-Type', ...common, 'Content-Length'];
  t.strictSame(await names('GET', '/v2/version'), [200, ofJson]);
  t.strictSame(await names('POST', '/v2/projects', '{"name":"headers"}'), [201, ofJson]);
  t.strictSame(await names('DELETE', '/v2/computes/unknown'), [204, common]);
  t.strictSame(await names('POST', '/v2/reload'), [200, [...common, 'Content-Length']]);
  t.strictSame(await names('GET', '/v2/projects/unknown'), [404, ofJson]);
  t.strictSame(await names('PATCH', '/v2/projects'), [
    405,
    [...ofJson.slice(0, -1), 'Allow', 'Content-Length'],
  ]);
  t.strictSame(await names('GET', '/nowhere'), [404, ofJson.filter((name) => name !== 'X-Route')]);
});

void t.test('the media type of JSON has no parameter, and the route is named by its template', async (t) => {
  for (const path of ['/v2/projects/unknown', '/v2/projects/other']) {
    const reply = await rawRequest(server.port, 'GET', path);
    t.equal(headerOf(reply, 'Content-Type'), 'application/json');
    t.equal(headerOf(reply, 'X-Route'), '/v2/projects/{project_id}');
  }
});

void t.test('a file is created with an empty 201, and 204 has nothing at all', async (t) => {
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'empty answers' });
  const path = `/v2/projects/${String(project['project_id'])}`;
  const connection = await RawConnection.open(server.port);
  connection.send('POST', `${path}/files/a.txt`, { body: 'content' });
  const created = await connection.reply('POST');
  t.equal(created.status, 201);
  t.equal(headerOf(created, 'Content-Length'), '0');
  t.equal(headerOf(created, 'Content-Type'), undefined);
  connection.send('POST', `${path}/close`);
  const closed = await connection.head();
  t.equal(closed.status, 204);
  t.equal(headerOf(closed, 'Content-Length'), undefined);
  connection.send('GET', '/v2/version');
  t.equal((await connection.reply()).status, 200, 'the next byte is of the next answer');
  connection.close();
});

void t.test('HEAD is answered like GET without the body', async (t) => {
  const connection = await RawConnection.open(server.port);
  for (const path of [
    '/v2/version',
    '/v2/projects',
    '/v2/symbols/:%2Fsymbols%2Fhub.svg/raw',
    '/v2/projects/x',
    '/x',
  ]) {
    connection.send('GET', path);
    const full = await connection.reply('GET');
    connection.send('HEAD', path);
    const head = await connection.reply('HEAD');
    t.equal(head.status, full.status, path);
    const shown = (headers: typeof full.headers): string[] =>
      headers
        .filter(([name]) => name !== 'X-Request-Id' && name !== 'Date')
        .map((header) => header.join(': '))
        .sort();
    t.strictSame(shown(head.headers), shown(full.headers));
    t.equal(headerOf(head, 'Content-Length'), String(full.body.length));
  }
  connection.send('HEAD', '/v2/notifications');
  t.equal((await connection.reply('HEAD')).status, 200, 'a stream has a head, too');
  connection.send('HEAD', '/v2/reload');
  t.equal((await connection.reply('HEAD')).status, 405);
  connection.close();
});

void t.test('pipelined requests are answered in order', async (t) => {
  const connection = await RawConnection.open(server.port);
  const requests: [string, string, string | undefined, number][] = [
    ['GET', '/v2/version', undefined, 200],
    ['GET', '/nowhere', undefined, 404],
    ['HEAD', '/v2/version', undefined, 200],
    ['PATCH', '/v2/version', undefined, 405],
    ['GET', '/v2/version', 'a body that nobody reads', 200],
    ['OPTIONS', '/v2/version', undefined, 405],
    ['GET', '/v2/projects', undefined, 200],
  ];
  connection.write(
    Buffer.concat(
      requests.map(([method, path, body]) => requestBytes(method, path, body === undefined ? {} : { body })),
    ),
  );
  for (const [method, path, , status] of requests)
    t.equal((await connection.reply(method)).status, status, `${method} ${path}`);
  connection.close();
});

void t.test(
  'a request on the heels of one that is still worked on ends the connection, unmixed',
  async (t) => {
    const connection = await RawConnection.open(server.port);
    const made = requestBytes('POST', '/v2/projects', { body: '{"name":"pipelined"}' });
    connection.write(Buffer.concat([made, requestBytes('GET', '/v2/version')]));
    t.equal((await connection.rest()).toString(), '', 'the library refuses it');
    t.equal((await client.get('/v2/version')).status, 200);
    connection.close();
  },
);

void t.test('a connection is kept for hundreds of requests', async (t) => {
  const connection = await RawConnection.open(server.port);
  for (let request = 0; request < 300; request++) {
    connection.send('GET', request % 2 === 0 ? '/v2/version' : '/v2/projects/unknown');
    await connection.reply();
  }
  t.notOk(connection.isClosed);
  connection.send('GET', '/v2/version', { headers: { Connection: 'close' } });
  t.equal((await connection.reply()).status, 200);
  await connection.closed();
});

void t.test('a body may come in chunks, and cut anywhere', async (t) => {
  const body = '{"version": "2.2.60"}';
  const connection = await RawConnection.open(server.port);
  for (const pieces of [[body], Array.from(body), [body.slice(0, 5), body.slice(5)]]) {
    connection.send('POST', '/v2/version', {
      headers: { 'Transfer-Encoding': 'chunked' },
      body: chunked(...pieces),
    });
    t.strictSame(jsonOf(await connection.reply('POST')), { version: '2.2.60' });
  }
  const [line = '', ...rest] = requestBytes('POST', '/v2/version', { body }).toString().split('\r\n');
  // The library takes a request line that comes in pieces for another version of HTTP.
  connection.write(`${line}\r\n`);
  for (const byte of Buffer.from(rest.join('\r\n'))) {
    connection.write(Uint8Array.of(byte));
    await new Promise(setImmediate);
  }
  t.equal((await connection.reply('POST')).status, 200);
  connection.close();
});

void t.test('a client that waits for 100 Continue gets it', async (t) => {
  const connection = await RawConnection.open(server.port);
  const body = '{"version":"2.2.60"}';
  connection.send('POST', '/v2/version', {
    headers: { Expect: '100-continue', 'Content-Length': String(body.length) },
  });
  t.equal((await connection.head()).status, 100);
  connection.write(body);
  t.equal((await connection.reply('POST')).status, 200);
  connection.close();
});

void t.test('headers of 15 KiB are taken, and more than 16 KiB are not', async (t) => {
  const long = await rawRequest(server.port, 'GET', '/v2/version', { headers: { A: 'x'.repeat(15 * KIB) } });
  t.equal(long.status, 200);
  const path = await rawRequest(server.port, 'GET', `/v2/projects/${'x'.repeat(15 * KIB)}`);
  t.equal(path.status, 404);
  t.match(jsonOf(path), { status: 404 });
  const tooLong = await rawRequest(server.port, 'GET', '/v2/version', {
    headers: { A: 'x'.repeat(17 * KIB) },
  });
  t.equal(tooLong.status, 431);
});

void t.test('an answer of the library itself ends its connection, and nothing else', async (t) => {
  const lines: [string, number][] = [
    ['GET /v2/version HTTP/1.0\r\nHost: localhost\r\n\r\n', 505],
    ['GET http://localhost/v2/version HTTP/1.1\r\nHost: localhost\r\n\r\n', 505],
    ['POST /v2/version HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n', 400],
    ['POST /v2/version HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
    [
      'POST /v2/version HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
  ];
  for (const [text, status] of lines) {
    const connection = await RawConnection.open(server.port);
    connection.write(text);
    const answer = (await connection.rest()).toString();
    t.match(answer, new RegExp(`^HTTP/1.1 ${status} `), text.slice(0, 40));
    connection.close();
  }
  t.equal((await client.get('/v2/version')).status, 200);
});

void t.test(
  'every answer has a request id of its own, which begins with the mark of this start',
  async (t) => {
    const ids = new Set<string | undefined>();
    for (let request = 0; request < 20; request++)
      ids.add(headerOf(await rawRequest(server.port, 'GET', '/v2/version'), 'X-Request-Id'));
    t.equal(ids.size, 20);
    for (const id of ids) t.match(id, /^[0-9a-z]{4}-[0-9a-z]+$/);
    const marks = [...ids].map((id) => id?.slice(0, 4));
    t.equal(new Set(marks).size, 1);
    const other = await startServer(t);
    const id = headerOf(await rawRequest(other.port, 'GET', '/v2/version'), 'X-Request-Id');
    t.not(id?.slice(0, 4), marks[0]);
  },
);
