/** The examination of a host: planted faults are found, each with the command that repairs it. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { crc32, gunzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { encodeHead } from '../../src/base/store/journal-format.js';
import { exitCodeOf, examinationOf, type Diagnosis } from '../../src/operations/doctor/diagnosis.js';
import { cli, Program, PROGRAM } from '../support/cli.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { descriptorsOf } from '../support/open-descriptors.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const VPCS = '/usr/bin/vpcs';
const CLOCK = '/sys/devices/system/clocksource/clocksource0/current_clocksource';
const skip =
  process.getuid?.() === 0 && existsSync(VPCS) && existsSync(CLOCK)
    ? false
    : 'it hides files of the host from the program, as root';

/** The checks of what was printed, by their ids. */
function checksIn(output: string): Map<string, Diagnosis> {
  const { checks } = JSON.parse(output) as { readonly checks: readonly Diagnosis[] };
  return new Map(checks.map((check) => [check.id, check]));
}

function newerJournal(): Buffer {
  const head = encodeHead({ salt: 1, base: 0, baseEnd: 8192, marked: 0 });
  head.writeUInt32LE(99, 8);
  head.writeUInt32LE(crc32(head.subarray(0, 40)), 40);
  return head;
}

async function takenUdpPort(t: Test): Promise<number> {
  const socket = createSocket('udp4');
  t.teardown(() => socket.close());
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return socket.address().port;
}

async function takenTcpPort(t: Test): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  t.teardown(() => listener.close());
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

void t.test('planted faults are found, and each has a command that repairs it', { skip }, async (t) => {
  const folder = scratchFolder(t);
  const data = join(folder, 'data');
  for (const part of ['projects', 'images', 'state']) mkdirSync(join(data, part), { recursive: true });
  writeFileSync(join(data, 'state/journal'), newerJournal());
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
  const swap = ['MemTotal: 9 kB', 'MemAvailable: 9 kB', 'SwapTotal: 100 kB', 'SwapFree: 10 kB', ''].join(
    '\n',
  );
  const mounts = {
    '/proc/sys/kernel/pid_max': file('pid_max', '4096\n'),
    [CLOCK]: file('clock', 'hpet\n'),
    '/proc/meminfo': file('meminfo', swap),
    [VPCS]: '/bin/false',
    [join(data, 'projects')]: join(data, 'projects'),
  };
  const script = [
    ...Object.entries(mounts).map(([place, content]) => `mount --bind ${content} ${place}`),
    `mount -o remount,ro,bind ${data}/projects`,
    `mount -t tmpfs -o size=64m,nr_inodes=200 tmpfs ${data}/images`,
    `head -c 63m /dev/zero > ${data}/images/full`,
    `chown 54321 ${data}/state`,
    'ulimit -n 300',
    'exec "$@"',
  ].join(' && ');
  const [udp, tcp] = [await takenUdpPort(t), await takenTcpPort(t)];
  const settings = {
    'udp-ports': `${udp}-${udp}`,
    'console-ports': `${tcp}-${tcp}`,
    'docker-socket': file('docker.sock', ''),
    'public-url': 'https://labs.invalid',
    'tls-cert': join(folder, 'nowhere.pem'),
    'tls-key': join(folder, 'nowhere.key'),
    'console-host': '0.0.0.0',
    'console-networks': 'any',
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const command = [process.execPath, PROGRAM, 'doctor', '--json', '--data', data, ...flags];
  const words = ['--mount', '/bin/sh', '-c', script, 'sh', ...command];
  const { code, output, errors } = await new Program(t, 'unshare', words).ended;
  t.equal(errors, '');
  t.equal(code, 2);
  const checks = checksIn(output);
  const planted = {
    'limits.descriptors': 'failure',
    'kernel.pid_max': 'warning',
    'kernel.clock': 'warning',
    'memory.swap': 'warning',
    'rights.projects': 'failure',
    'rights.state': 'warning',
    'state.format': 'failure',
    'disk.images.free': 'failure',
    'disk.images.inodes': 'failure',
    'ports.udp': 'failure',
    'ports.consoles': 'failure',
    'ports.ephemeral': 'warning',
    'tool.vpcs': 'warning',
    'tool.docker': 'warning',
    'tls.certificate': 'failure',
    'name.public_url': 'warning',
    consoles: 'warning',
  };
  for (const [id, level] of Object.entries(planted)) {
    const check = checks.get(id);
    t.match(check, { level, means: /./, repair: /./ }, `${id}: ${check?.found ?? 'it was not found'}`);
  }
});

void t.test('a running server examines its host, and none of these faults is there', async (t) => {
  const data = scratchFolder(t);
  const left = join(data, '.doctor-5b2b7f0e-0000-4000-8000-000000000000');
  writeFileSync(left, 'of an examination that was killed');
  utimesSync(left, 1, 1);
  const server = await startServer(t, { data });
  const { body } = await new Client(server.url).get('/v2/admin/doctor');
  const checks = checksIn(JSON.stringify(body));
  t.match(checks.get('state.holder'), { level: 'ok', found: new RegExp(`process ${server.child.pid}$`) });
  t.notOk(existsSync(left));
  const sound = [
    'projects.edited',
    'rights.data',
    'rights.projects',
    'rights.state',
    'state.format',
    'ports.udp',
    'ports.consoles',
  ];
  for (const id of [...sound, 'tls.certificate', 'name.public_url', 'kernel.udp'])
    t.match(checks.get(id), { level: 'ok' }, id);
  const { code, output } = await cli(t, ['doctor', '--url', server.url]);
  t.match(output, /^ok +state\.holder: /m);
  const kept = descriptorsOf(server).filter((target) => /^(net|mnt):/.test(target));
  t.same(kept, [], 'the threads that tried namespaces have let them go');
  const [, count, warnings, failures] = /^(\d+) checks, (\d+) warnings, (\d+) failures$/m.exec(output) ?? [];
  t.equal(Number(count), checks.size);
  t.equal(code, failures !== '0' ? 2 : warnings !== '0' ? 1 : 0, 'the host of the test may have faults');
});

void t.test('the exit code is that of the worst check', (t) => {
  const levels = [
    ['ok', 'note'],
    ['note', 'warning', 'ok'],
    ['failure', 'warning'],
  ] as const;
  const codes = levels.map((some) =>
    exitCodeOf(examinationOf(some.map((level) => ({ id: '', level, found: '' })))),
  );
  t.same(codes, [0, 1, 2]);
  t.end();
});

void t.test('settings with which no server starts are a failure', async (t) => {
  const { code, errors } = await cli(t, ['doctor', '--udp-ports', 'all']);
  t.match({ code, errors }, { code: 2, errors: /--udp-ports/ });
  t.match(await cli(t, ['doctor', '--url', 'http://127.0.0.1:9', '--data', 'x']), {
    code: 2,
    errors: /--data/,
  });
});

void t.test('old backups and files that somebody edited are told', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name: 'lab' });
  const file = join(server.data, 'projects', String(id), 'lab.gns3');
  await client.expect(204, 'POST', `/v2/projects/${String(id)}/close`);
  await client.expect(202, 'POST', '/v2/admin/backups');
  const examined = async (): Promise<Map<string, Diagnosis>> =>
    checksIn((await cli(t, ['doctor', '--json', '--data', server.data])).output);
  const folder = join(server.data, 'backups');
  const manifest = await eventually('a backup', () =>
    existsSync(folder) ? readdirSync(folder).find((name) => name.endsWith('.json')) : undefined,
  );
  const before = await examined();
  t.match(before.get('backups.age'), { level: 'ok' });
  t.match(before.get('projects.edited'), { level: 'ok', found: /no file/ });
  const month = Date.now() / 1000 - 30 * 24 * 3600;
  utimesSync(join(folder, manifest), month, month);
  writeFileSync(file, readFileSync(file, 'utf8').replace('"lab"', '"edited"'));
  const after = await examined();
  t.match(after.get('backups.age'), { level: 'warning', found: /30 days/ });
  t.match(after.get('projects.edited'), { level: 'warning', found: new RegExp(`1 files.*${file}`) });
});

void t.test('a bundle has what helps and no secret, and is bounded', async (t) => {
  const folder = scratchFolder(t);
  const data = join(folder, 'data');
  const password = 'correct "horse" é';
  const token = `wf_0123abcd_${'A1b2C3d4E5'.repeat(4)}xyz`;
  const [cookie, ticket] = ['s3ssion'.repeat(6), 't1cket'.repeat(7)];
  const body = 'MIIBVQIBADANBgkqhkiG9w0BAQEFAASCAT8wggE7AgEAAkEAq7BFUpkGp3LQmlQm';
  const key = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
  const basic = Buffer.from(`ann:${password}`).toString('base64');
  const hash = '$scrypt$ln=15,r=8,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNo';
  const planted = [
    { msg: 'a request', headers: { authorization: `Basic ${basic}`, cookie: `wf_session=${cookie}` } },
    {
      msg: `Authorization: Bearer ${token}`,
      body: JSON.stringify({ user: 'ann', password: 'battery staple' }),
    },
    { msg: `GET /v2/projects/p/pcap?ticket=${ticket}&x=1`, key },
    { msg: 'enable secret 5 hunter2hunter2', also: 'username ann password 0 swordfish77', hash },
    { msg: 'https://ann:urlsecret9@labs.example.org/', password, text: `it was ${password}` },
  ].map((line) => JSON.stringify(line));
  mkdirSync(join(data, 'history'), { recursive: true });
  writeFileSync(join(data, 'history/server.jsonl'), `${planted.join('\n')}\n`);
  writeFileSync(join(folder, 'tls.key'), key);
  writeFileSync(join(folder, 'secret'), password);
  const long = `${'a line that nobody needs any more\n'.repeat(300_000)}${planted.join('\n')}\nthe last line\n`;
  const log = join(folder, 'server.log');
  writeFileSync(log, long);
  const bundle = join(folder, 'bundle.tar.gz');
  const flags = ['--data', data, '--tls-cert', join(folder, 'tls.pem'), '--tls-key', join(folder, 'tls.key')];
  const own = [
    '--bundle',
    bundle,
    `--log=${log}`,
    '--user',
    'ann',
    '--password-file',
    join(folder, 'secret'),
  ];
  const { code, output, errors } = await cli(t, ['doctor', ...own, ...flags, '--port', '9']);
  t.match({ code, errors }, { code: 0, errors: '' });
  t.match(output, /without metrics\.txt: /);
  const archive = gunzipSync(readFileSync(bundle));
  const text = archive.toString('latin1');
  const secrets = [
    password,
    token,
    cookie,
    ticket,
    body,
    basic,
    hash,
    'battery staple',
    'hunter2',
    'swordfish77',
  ];
  for (const secret of [...secrets, 'urlsecret9', JSON.stringify(password).slice(1, -1)])
    t.notOk(text.includes(Buffer.from(secret).toString('latin1')), secret);
  const members = [
    'examination.json',
    'settings.env',
    'metrics.txt.missing',
    'server.log',
    'history/server.jsonl',
  ];
  for (const name of members) t.match(text, `wirefarm-doctor/${name}`);
  t.match(text, /WIREFARM_PASSWORD=\*\*\*[^]*WIREFARM_TLS_KEY=\/.*tls\.key\n/);
  t.match(text, /the last line\n/, 'the end of the log');
  t.match(text, /"user\\":\\"ann/, 'which stays readable');
  t.ok(archive.length < 6 * 1024 * 1024);
  t.equal(statSync(bundle).mode & 0o777, 0o600);

  const server = await startServer(t, { data: join(folder, 'other') });
  const running = ['--bundle', join(folder, 'running.tar.gz'), '--url', server.url, '--data', server.data];
  t.equal((await cli(t, ['doctor', ...running])).code, 0);
  t.match(gunzipSync(readFileSync(join(folder, 'running.tar.gz'))).toString(), /^wirefarm_projects/m);
});
