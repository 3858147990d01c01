/** Requests reach their routes, and requests that fit no route are refused. */
import t from 'tap';
import { Client } from '../support/client.js';
import { headerOf, jsonOf, RawConnection, rawRequest } from '../support/raw-client.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
const client = new Client(server.url);
const MEBIBYTE = 1024 * 1024;

void t.test('an unknown path is 404 in JSON', async (t) => {
  for (const path of ['/v2', '/v2/nothing', '/v2/version/', '/V2/version', '/v2/%76ersion', '/index.html'])
    t.strictSame((await client.get(path)).body, {
      code: 'path_unknown',
      message: `No such path: ${path}`,
      status: 404,
    });
});

void t.test('another method on a known path is 405 in JSON, with those that are allowed', async (t) => {
  for (const [method, path, allow] of [
    ['PATCH', '/v2/version', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '/v2/version', 'GET, HEAD, POST, OPTIONS'],
    ['OPTIONS', '/v2/version', 'GET, HEAD, POST, OPTIONS'],
    ['GET', '/v2/reload', 'POST, OPTIONS'],
    ['POST', '/v2/computes/local', 'GET, HEAD, PUT, DELETE, OPTIONS'],
  ] as const) {
    const reply = await rawRequest(server.port, method, path);
    t.equal(reply.status, 405);
    t.equal(headerOf(reply, 'Allow')?.split(', ').sort().join(), allow.split(', ').sort().join());
    t.strictSame(jsonOf(reply), {
      code: 'method_not_allowed',
      message: `Method ${method} is not allowed on ${path}`,
      status: 405,
    });
  }
});

void t.test('a plain GET on a WebSocket path is told so', async (t) => {
  t.match((await client.get('/v2/notifications/ws')).body, { status: 400, message: /WebSocket/ });
});

void t.test('a path that is no UTF-8 is refused', async (t) => {
  for (const id of ['%ff', '%', '%c0%af', '%ed%a0%80'])
    t.match(jsonOf(await rawRequest(server.port, 'GET', `/v2/projects/${id}`)), { status: 400 });
  t.equal((await rawRequest(server.port, 'GET', '/v2/projects/\xff\xfe')).status, 404);
});

void t.test('a body is JSON whatever its type says', async (t) => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'x',
  ]) {
    const reply = await client.request('POST', '/v2/version', '{"version":"2.2.60"}', {
      'Content-Type': type,
    });
    t.strictSame(reply.body, { version: '2.2.60' });
  }
});

void t.test('no body is an empty object', async (t) => {
  t.match((await client.post('/v2/projects')).body, { status: 400, request: {}, message: /name/ });
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'defaults' });
  const path = `/v2/projects/${String(project['project_id'])}`;
  t.equal((await client.put(path)).status, 200);
  t.equal((await client.post(`${path}/drawings`)).status, 201);
});

void t.test('a body that does not fit is refused with the field and the reason', async (t) => {
  for (const [body, message] of [
    [{ name: 1 }, /name: .*expected string/],
    [{ name: 'x', zoom: '5' }, /zoom: .*expected number/],
    [{ name: 'x', zoom: 1.5 }, /zoom: /],
    [{ name: 'x', auto_open: 1 }, /auto_open: .*expected boolean/],
    [{ name: 'x', other: 1 }, /other/],
    [[], /expected object/],
    [null, /expected object/],
    [5, /expected object/],
  ] as const) {
    const { status, body: error } = await client.post('/v2/projects', JSON.stringify(body));
    t.equal(status, 400);
    t.match(error, {
      code: 'schema_violated',
      method: 'POST',
      path: '/v2/projects',
      status: 400,
      message,
    });
    t.match(error, { message: /^JSON schema error with API request '\/v2\/projects' and JSON data '/ });
    t.strictSame((error as { request: unknown }).request, body ?? {});
  }
  t.strictSame((await client.get('/v2/projects')).text.includes('"x"'), false);
});

void t.test('a body that is no JSON is refused, and shown', async (t) => {
  for (const body of ['{', '{"name": NaN}', 'x', '{"a":1}}', '\0']) {
    const reply = await client.post('/v2/projects', body);
    t.match(reply.body, {
      code: 'json_malformed',
      message: /^Invalid JSON /,
      method: 'POST',
      path: '/v2/projects',
      status: 400,
    });
    t.strictSame((reply.body as { request: unknown }).request, { malformed_json: body });
  }
});

void t.test('a body that nests too deeply is refused', async (t) => {
  for (const depth of [65, 100_000]) {
    const reply = await client.post('/v2/templates', '{"a":'.repeat(depth) + '1' + '}'.repeat(depth));
    t.match(reply.body, { message: /nested deeper than 64 levels/, status: 400 });
    t.ok(reply.text.length < 8192, 'the echo is bounded');
  }
});

void t.test('a body of 1 MiB is read, and one byte more is 413', async (t) => {
  const fits = await client.post('/v2/projects', `"${'x'.repeat(MEBIBYTE - 2)}"`);
  t.equal(fits.status, 400);
  t.ok(fits.text.length < 8192);
  const connection = await RawConnection.open(server.port);
  for (const length of [MEBIBYTE + 1, 3 * MEBIBYTE]) {
    connection.send('POST', '/v2/projects', { body: 'x'.repeat(length) });
    const reply = await connection.reply('POST');
    t.equal(
      reply.text,
      '{"code":"body_too_large","message":"Maximum request body size 1048576 exceeded.","status":413}',
    );
    connection.send('GET', '/v2/version');
    t.equal((await connection.reply()).status, 200, 'the connection goes on');
  }
  connection.close();
});

void t.test('the largest body is a setting', async (t) => {
  const small = await startServer(t, { flags: ['--max-json-body', '2000'] });
  const post = (length: number): Promise<string> =>
    rawRequest(small.port, 'POST', '/v2/projects', { body: ' '.repeat(length - 2) + '{}' }).then(
      ({ text }) => text,
    );
  t.match(await post(2000), /"status":400/);
  t.equal(
    await post(2001),
    '{"code":"body_too_large","message":"Maximum request body size 2000 exceeded.","status":413}',
  );
  t.equal((await rawRequest(small.port, 'GET', '/v2/version')).status, 200);
});

void t.test('a query is no part of the body', async (t) => {
  t.match((await client.post('/v2/projects?name=merged')).body, { status: 400, message: /name/ });
  const reply = await client.post('/v2/projects?zoom=x', { name: 'with a query' });
  t.equal(reply.status, 201);
});
