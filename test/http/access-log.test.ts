/** The line of each request in the log: who asked for what, and what came of it. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { metricText } from '../../src/base/metrics/metric-page.js';
import { shownTarget } from '../../src/http/access-log.js';
import { AccessLogFile } from '../../src/operations/access-log-file.js';
import { firstAdmin } from '../support/accounts.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { rawRequest } from '../support/raw-client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

type Line = Readonly<Record<string, unknown>>;

const linesOf = (server: ServerProcess): Line[] =>
  server
    .log()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"'))
    .map((line) => JSON.parse(line) as Line);

const line = (server: ServerProcess, path: string): Promise<Line> =>
  eventually(`a line about ${path}`, () => linesOf(server).find((found) => found['path'] === path));

const quiet = await startServer(t);

void t.test('a change and a refusal have a line with user, address, route and octets', async (t) => {
  const server = await startServer(t, {
    environment: { WIREFARM_USER: 'admin', WIREFARM_PASSWORD: 'hush' },
  });
  const authorization = `Basic ${Buffer.from('admin:hush').toString('base64')}`;
  const client = new Client(server.url, { authorization });
  const made = await client.post('/v2/projects', { name: 'line' });
  const told = await line(server, '/v2/projects');
  t.match(told, { user: 'admin', address: '127.0.0.1', method: 'POST', route: '/v2/projects', status: 201 });
  t.equal(told['req'], made.headers.get('x-request-id'));
  t.equal(told['in'], '{"name":"line"}'.length);
  t.equal(told['out'], Buffer.byteLength(made.text));
  t.type(told['ms'], 'number');
  await client.get('/v2/projects/unknown');
  t.match(await line(server, '/v2/projects/unknown'), { route: '/v2/projects/{project_id}', status: 404 });
  await new Client(server.url).get('/v2/version?ask=1');
  t.match(await line(server, '/v2/version?ask=1'), { user: 'anyone', status: 401 });
  t.notMatch(server.log(), /hush|YWRtaW/);
});

void t.test('reads are told one in so many, streams with their octets', async (t) => {
  const sampled = await startServer(t, { flags: ['--access-log-sample', '3'] });
  for (const server of [quiet, sampled]) {
    const client = new Client(server.url);
    for (let read = 0; read < 7; read++) await client.get('/v2/version');
    await client.post('/v2/projects', { name: 'last' });
    await line(server, '/v2/projects');
  }
  const reads = (server: ServerProcess): number =>
    linesOf(server).filter(({ path }) => path === '/v2/version').length;
  t.equal(reads(quiet), 0);
  t.equal(reads(sampled), 3);
  const all = await startServer(t, { flags: ['--log-level', 'debug'] });
  const { text } = await new Client(all.url).get('/metrics');
  t.equal((await line(all, '/metrics'))['out'], Buffer.byteLength(text));
  const document = await new Client(all.url).get('/v2/openapi.json');
  t.equal((await line(all, '/v2/openapi.json'))['out'], Buffer.byteLength(document.text));
});

void t.test('a request that nobody meant well is told without secrets and control characters', async (t) => {
  await rawRequest(quiet.port, 'GET', `/nowhere?a=b&to%6ben=hush&x=${'y'.repeat(3000)}`);
  const told = await eventually('a line', () => linesOf(quiet).find(({ method }) => method === 'GET'));
  t.match(told['path'], /^\/nowhere\?a=b&to%6ben=\*\*\*&x=y+$/);
  t.equal(String(told['path']).length, 1000);
  t.equal(
    shownTarget('/a\u001b[2J\u009b', 'my_password=1&%zz=2'),
    '/a\\u001b[2J\\u009b?my_password=***&%zz=2',
  );
});

void t.test('a file of its own has tokens and traces, and is made anew when it is gone', async (t) => {
  const file = join(scratchFolder(t), 'access.log');
  const server = await startServer(t, { flags: ['--access-log', file] });
  const admin = await firstAdmin(server);
  const { token, token_id: id } = await admin.expect(201, 'POST', '/v2/tokens', { name: 'script' });
  const script = new Client(server.url, { Authorization: `Bearer ${String(token)}` });
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  /** The line of a request, when the file has it. */
  const change = async (): Promise<Line> => {
    const traceparent = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
    const reply = await script.request('POST', '/v2/projects', { name: `p${Math.random()}` }, traceparent);
    const req = `"req":"${reply.headers.get('x-request-id')}"`;
    return eventually('its line', () => {
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
      const found = lines.find((line) => line.includes(req));
      return found === undefined ? undefined : (JSON.parse(found) as Line);
    });
  };
  t.match(await change(), { msg: 'request', user: 'root', token: id, trace, status: 201 });
  renameSync(file, `${file}.1`);
  server.child.kill('SIGHUP');
  t.match(await change(), { token: id });
  t.notMatch(server.log(), /"msg":"request"/);

  renameSync(file, `${file}.2`);
  mkdirSync(file);
  t.equal((await script.post('/v2/projects', { name: 'untold' })).status, 201);
  await server.logged(/the access log loses lines/);
  t.match((await script.get('/metrics')).text, /^wirefarm_access_log_lost_total [1-9]/m);
  rmdirSync(file);
  t.match(await change(), { token: id });
});

void t.test('lines for which the disk is too slow are counted, and nobody waits', (t) => {
  const hanging = { run: () => new Promise<never>(() => undefined) };
  const file = new AccessLogFile({ path: '/nowhere', threads: hanging, log: pino({ enabled: false }) });
  for (let line = 0; line < 5; line++) file.write('x'.repeat(1024 * 1024));
  t.match([...metricText([file.writeMetrics], 'text')].join(''), /^wirefarm_access_log_lost_total 1$/m);
  t.end();
});
