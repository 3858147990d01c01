/** How the server starts, refuses to start, and stops. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { platformProblem } from '../../src/server/platform.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { placeGns3Project } from '../support/gns3-project.js';
import { parseGns3 } from '../support/gns3-schema.js';
import { NotificationLog } from '../support/notification-log.js';
import { scratchFolder } from '../support/scratch.js';
import { MAIN, startServer } from '../support/server-process.js';

const PASSWORD = 'correct-horse-battery';

interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** Runs the program until it ends by itself. */
async function outcomeOf(flags: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [MAIN, ...flags], { env: { ...process.env, ...environment } });
  let [out, error] = ['', ''];
  child.stdout.on('data', (bytes: Buffer) => (out += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (error += bytes.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out, error };
}

function refused(t: Test, { code, out, error }: Outcome, reason: RegExp): void {
  t.equal(code, 1, 'exit code 1');
  t.match(error, reason);
  t.equal(error.trimEnd().split('\n').length, 1, 'one line');
  t.match(error, /^wirefarm: /);
  t.equal(out, '', 'nothing on standard output');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

void t.test('a fault that prevents a start is one clear line and exit code 1', async (t) => {
  const running = await startServer(t);
  const data = scratchFolder(t);
  const file = join(data, 'file');
  writeFileSync(file, '');
  refused(
    t,
    await outcomeOf(['--port', String(running.port), '--data', join(data, 'a')]),
    new RegExp(`port ${running.port}.* in use`),
  );
  refused(t, await outcomeOf(['--port', '0', '--data', running.data]), /held by another running server/);
  // One folder in common is enough.
  for (const [folder, ...flags] of [
    [running.data, '--data', running.data, '--state', join(data, 's'), '--projects', join(data, 'p')],
    [join(running.data, 'projects'), '--data', join(data, 'b'), '--projects', join(running.data, 'projects')],
    [join(running.data, 'state'), '--data', join(data, 'd'), '--state', join(running.data, 'state')],
  ] as const) {
    const reason = new RegExp(`the folder ${folder} is held by another running server`);
    refused(t, await outcomeOf(['--port', '0', ...flags]), reason);
  }
  refused(t, await outcomeOf(['--port', '0', '--data', file]), /cannot write to the folder .*file/);
  refused(t, await outcomeOf(['--port', '0', '--data', join(file, 'below')]), /cannot write to the folder/);
  for (const name of ['state', 'symbols', 'projects/.wirefarm']) {
    const data = scratchFolder(t);
    mkdirSync(join(data, dirname(name)), { recursive: true });
    writeFileSync(join(data, name), 'a file');
    refused(t, await outcomeOf(['--port', '0', '--data', data]), new RegExp(`${name}.* is not a folder`));
  }
  refused(t, await outcomeOf(['--colour', 'blue']), /--colour/);
  refused(t, await outcomeOf(['stray']), /stray/);
  refused(t, await outcomeOf(['--port', '70000']), /--port .*65535/);
  refused(t, await outcomeOf(['--port', 'http']), /--port .*whole number/);
  refused(t, await outcomeOf(['--host', 'example.org']), /--host/);
  refused(t, await outcomeOf([], { WIREFARM_PORT: '-1' }), /WIREFARM_PORT/);
  refused(t, await outcomeOf(['--user', 'me']), /WIREFARM_PASSWORD/);
  refused(t, await outcomeOf(['--host', '0.0.0.0']), /--user .*WIREFARM_PASSWORD.* --open /);
  t.equal((await new Client(running.url).get('/v2/version')).status, 200, 'the running server is unharmed');
  t.equal(await running.stop(), 0);
});

void t.test('an unsupported Node version or platform is named', (t) => {
  t.equal(platformProblem('20.15.0', 'linux-x64'), undefined);
  t.equal(platformProblem('22.2.0', 'darwin-arm64'), undefined);
  for (const node of ['18.20.0', '20.14.1', '21.7.0', '24.0.0']) {
    t.match(platformProblem(node, 'linux-x64'), new RegExp(node.replaceAll('.', '\\.')));
  }
  t.match(platformProblem('20.15.0', 'sunos-x64'), /sunos-x64/);
  t.end();
});

void t.test('--help and --version answer and exit 0', async (t) => {
  const help = await outcomeOf(['--help']);
  t.equal(help.code, 0);
  for (const name of ['--host', '--port', '--data', 'WIREFARM_PASSWORD']) t.ok(help.out.includes(name), name);
  t.notMatch(help.out, /--password /);
  const version = await outcomeOf(['--version']);
  t.match(version, { code: 0, out: /\d+\.\d+\.\d+/, error: '' });
});

void t.test('a flag wins over its variable, a variable over the default', async (t) => {
  const environment = {
    WIREFARM_GNS3_VERSION: '2.2.10',
    WIREFARM_PORT: 'nonsense',
    WIREFARM_DATA: '/proc/none',
  };
  const byVariable = await startServer(t, { environment });
  t.match(await new Client(byVariable.url).expect(200, 'GET', '/v2/version'), { version: '2.2.10' });
  t.equal(await byVariable.stop(), 0);
  const byFlag = await startServer(t, { environment, flags: ['--gns3-version', '2.2.20'] });
  t.match(await new Client(byFlag.url).expect(200, 'GET', '/v2/version'), { version: '2.2.20' });
  t.equal(await byFlag.stop(), 0);
});

void t.test(
  'an empty data folder becomes a server, and SIGTERM ends it with everything written',
  async (t) => {
    const server = await startServer(t, { data: join(scratchFolder(t), 'not', 'there', 'yet') });
    const client = new Client(server.url);
    t.same((await client.get('/v2/projects')).body, []);
    const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
    await client.expect(201, 'POST', `/v2/projects/${String(project['project_id'])}/drawings`, { x: 17 });
    const stream = await NotificationLog.open(`${server.url}/v2/notifications`);
    t.equal(await server.stop(), 0);
    await stream.ended;
    const file = parseGns3(readFileSync(join(String(project['path']), 'lab.gns3'), 'utf8'));
    t.match(file.topology.drawings, [{ x: 17 }], 'the topology file is current');
    t.notOk(isAlive(server.child.pid ?? 0), 'no process is left');
  },
);

void t.test('two SIGINTs at once are one wish to stop', async (t) => {
  const server = await startServer(t);
  const stream = await NotificationLog.open(`${server.url}/v2/notifications`);
  server.child.kill('SIGINT');
  t.equal(await server.stop('SIGINT'), 0);
  await stream.ended;
  await server.logged(/"msg":"stopped"/);
});

void t.test('a terminal that is closed ends the server in order', async (t) => {
  const server = await startServer(t);
  const stream = await NotificationLog.open(`${server.url}/v2/notifications`);
  t.equal(await server.stop('SIGHUP'), 0);
  await stream.ended;
  await server.logged(/"msg":"stopped"/);
});

void t.test('a slow upload holds the stop back for a while, not for ever', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const project = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const path = `/v2/projects/${String(project['project_id'])}/files/slow.bin`;
  const upload = request(server.url + path, { method: 'POST', headers: { 'content-length': '1000000' } });
  const broken = once(upload, 'error');
  upload.write('the beginning');
  const temporary = join(String(project['path']), 'tmp');
  await eventually('the upload has begun', () => (existsSync(temporary) ? true : undefined));
  t.equal(await server.stop(), 0);
  await broken;
  t.throws(() => readFileSync(join(String(project['path']), 'slow.bin')), { code: 'ENOENT' });
});

void t.test('auto_open projects are open after a start, others closed', async (t) => {
  const data = scratchFolder(t);
  mkdirSync(join(data, 'projects'));
  const auto = placeGns3Project(join(data, 'projects'), 'auto', { head: { auto_open: true } });
  const other = placeGns3Project(join(data, 'projects'), 'other');
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  await eventually('it is open', async () => {
    const { status } = await client.expect(200, 'GET', `/v2/projects/${auto.id}`);
    return status === 'opened' || undefined;
  });
  t.match(await client.expect(200, 'GET', `/v2/projects/${other.id}`), { status: 'closed' });
  t.equal(await server.stop(), 0);
});

void t.test('no password reaches the log', async (t) => {
  const server = await startServer(t, {
    flags: ['--user', 'me', '--log-level', 'trace'],
    environment: { WIREFARM_PASSWORD: PASSWORD },
  });
  const encoded = Buffer.from(`me:${PASSWORD}`).toString('base64');
  const client = new Client(server.url, { authorization: `Basic ${encoded}` });
  t.equal((await client.get('/v2/version')).status, 200);
  t.equal((await new Client(server.url).get('/v2/version')).status, 401);
  const compute = { protocol: 'http', host: '192.0.2.1', port: 3080, password: PASSWORD };
  t.equal((await client.post('/v2/computes', compute)).status, 201);
  const refusal = await client.post('/v2/computes', { ...compute, port: 'x' });
  t.equal(refusal.status, 400);
  t.notOk(refusal.text.includes(PASSWORD));
  t.equal(await server.stop(), 0);
  await server.logged(/computes/);
  t.notOk(server.log().includes(PASSWORD));
  t.notOk(server.log().includes(encoded));
});
