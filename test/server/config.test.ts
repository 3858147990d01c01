import { networkInterfaces } from 'node:os';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import type { ConsoleReach } from '../../src/run/consoles/console-port.js';
import { ConfigError } from '../../src/server/config-error.js';
import { helpText, readCommand, type Config } from '../../src/server/config.js';
import { consoleReach } from '../../src/server/console-reach.js';
import { checkGuarded } from '../../src/server/reach.js';
import { scratchFolder } from '../support/scratch.js';

function configOf(args: readonly string[] = [], environment: NodeJS.ProcessEnv = {}): Config {
  const command = readCommand(args, environment);
  if (command.run !== 'serve') throw new Error(`it would ${command.run}`);
  return command.config;
}

function refuses(t: Test, args: readonly string[], environment: NodeJS.ProcessEnv, message: RegExp): void {
  try {
    readCommand(args, environment);
    t.fail(`accepted ${args.join(' ')} ${JSON.stringify(environment)}`);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    t.match(error.message, message);
    t.notMatch(error.message, '\n', 'one line');
  }
}

void t.test('without flags and variables everything has its default', (t) => {
  t.match(configOf(), {
    host: '127.0.0.1',
    port: 3080,
    data: resolve('data'),
    projects: resolve('data/projects'),
    state: resolve('data/state'),
    groupAccess: false,
    local: false,
    gns3Version: '2.2.60',
    credentials: undefined,
    maxJsonBody: 1_048_576,
    udpPorts: [20_000, 30_000],
    nioNetworks: undefined,
    tunnelAddress: undefined,
    refusesBadHec: false,
    logLevel: 'info',
  });
  t.end();
});

void t.test('a variable wins over the default, a flag over the variable', (t) => {
  const environment = { WIREFARM_PORT: '4000', WIREFARM_HOST: '::1', WIREFARM_GNS3_VERSION: '2.2.54' };
  t.match(configOf([], environment), { port: 4000, host: '::1', gns3Version: '2.2.54' });
  t.match(configOf(['--port', '5000', '--host=localhost'], environment), { port: 5000, host: 'localhost' });
  t.equal(configOf(['--local'], { WIREFARM_LOCAL: '0' }).local, true);
  t.end();
});

void t.test('the parts of the data folder follow it, unless they lie elsewhere', (t) => {
  t.match(configOf(['--data', '/d']), { data: '/d', projects: '/d/projects', state: '/d/state' });
  t.match(configOf(['--data', '/d', '--projects', '/p'], { WIREFARM_STATE: 's' }), {
    projects: '/p',
    state: resolve('s'),
  });
  t.end();
});

void t.test('a switch is on or off', (t) => {
  for (const on of ['1', 'true']) t.equal(configOf([], { WIREFARM_LOCAL: on }).local, true);
  for (const off of ['', '0', 'false']) t.equal(configOf([], { WIREFARM_LOCAL: off }).local, false);
  refuses(t, [], { WIREFARM_LOCAL: 'yes' }, /^--local \(WIREFARM_LOCAL\): /);
  t.end();
});

void t.test(
  'sockets that systemd hands over are refused, and what is for another process is not read',
  (t) => {
    refuses(
      t,
      [],
      { LISTEN_FDS: '1', LISTEN_PID: String(process.pid) },
      /takes none: remove the \.socket unit/,
    );
    t.equal(configOf([], { LISTEN_FDS: '1', LISTEN_PID: '1' }).port, 3080);
    t.end();
  },
);

void t.test('the ways into the etcd of a farm are whole, or refused', (t) => {
  const farm = ['--farm', 'etcds://10.0.0.1,[::1]:2390/labs'];
  const { farm: address } = configOf(farm);
  t.match(address, { servers: ['https://10.0.0.1:2379', 'https://[::1]:2390'], prefix: '/labs' });
  const given = [
    '--farm-ca=/c',
    '--farm-cert=/d',
    '--farm-key=/e',
    '--farm-user=f',
    '--farm-password-file=/g',
  ];
  const login = { user: 'f', passwordFile: '/g' };
  const whole = { authority: '/c', certificate: '/d', key: '/e', login };
  t.same(configOf([...farm, ...given]).farmAccess, whole);
  refuses(t, [...farm, '--farm-cert=/d'], {}, /needs both --farm-cert and --farm-key/);
  refuses(t, [...farm, '--farm-user=f'], {}, /needs both --farm-user and --farm-password-file/);
  refuses(t, ['--farm', 'etcd://10.0.0.1', '--farm-ca=/c'], {}, /are for TLS: --farm etcds:/);
  refuses(t, given.slice(3), {}, /--farm-user needs --farm/);
  refuses(t, ['--farm', 'etcd://f:secret@10.0.0.1'], {}, /must look like etcd:[^@]*$/);
  t.end();
});

void t.test('a value that cannot be used is refused in one line that names flag and variable', (t) => {
  const wrong: readonly (readonly [string, string])[] = [
    ['port', '65536'],
    ['port', '-0'],
    ['port', '80x'],
    ['port', ''],
    ['host', 'example.org'],
    ['host', ''],
    ['data', ''],
    ['gns3-version', '3.0.0'],
    ['max-json-body', '1023'],
    ['max-json-body', '1e6'],
    ['log-level', 'loud'],
    ['udp-ports', '20000'],
    ['udp-ports', '0-10'],
    ['udp-ports', '30000-20000'],
    ['udp-ports', '20000-65536'],
    ['udp-ports', '20000-30000-40000'],
    ['tunnel-address', 'host.example'],
    ['tunnel-address', '127.0.0.1'],
    ['tunnel-address', '192.0.2.77'],
    ['nio-networks', ''],
    ['console-host', 'lab.example.org'],
    ['console-networks', '10.0.0.0/33'],
    ['nio-networks', '10.0.0.0/33'],
    ['nio-networks', '10.0.0.0/x'],
    ['nio-networks', '10.0.0.0/8/8'],
    ['nio-networks', '10.0.0/8'],
    ['nio-networks', '10.0.0.0/8,example.org'],
    ['nio-networks', 'fe80::1%eth0'],
    ['nio-networks', '::/129'],
    ['public-url', 'labs.example.org'],
    ['public-url', 'https://labs.example.org/labs'],
    ['public-url', 'https://ann:x@labs.example.org'],
    ['public-url', 'ftp://labs.example.org'],
    ['trusted-proxies', 'proxy.example.org'],
    ['trusted-proxies', '10.0.0.0/33'],
    ['server-quota', 'nodes=5G'],
    ['user-quota', 'cats=5'],
    ['nio-interfaces', 'lo'],
    ['nio-interfaces', 'eth0, lo'],
    ['nio-interfaces', 'a/b'],
    ['nio-interfaces', 'eth0:1'],
    ['nio-interfaces', 'x'.repeat(16)],
  ];
  for (const [name, value] of wrong) {
    const variable = `WIREFARM_${name.toUpperCase().replaceAll('-', '_')}`;
    const message = new RegExp(`^--${name} \\(${variable}\\): .`);
    refuses(t, [`--${name}=${value}`], {}, message);
    refuses(t, [], { [variable]: value }, message);
  }
  t.end();
});

void t.test('unknown flags, missing values and stray words are refused', (t) => {
  for (const args of [
    ['--prot', '1'],
    ['--port'],
    ['serve'],
    ['-p', '1'],
    ['--local=yes'],
    ['--help', '--x'],
  ]) {
    refuses(t, args, {}, /\(--help lists the flags\)$/);
  }
  t.end();
});

void t.test('a password comes from the environment only, and needs a user', (t) => {
  t.same(configOf(['--user', 'u'], { WIREFARM_PASSWORD: ' p ' }).credentials, { user: 'u', password: 'p' });
  refuses(t, ['--password', 'p'], {}, /--help lists the flags/);
  refuses(t, ['--user', 'u'], {}, /^authentication needs both/);
  refuses(t, [], { WIREFARM_PASSWORD: 'secret' }, /^authentication needs both(?!.*secret)/);
  t.end();
});

void t.test(
  'a password comes from a file, whose first line is all of it, and from nowhere else then',
  (t) => {
    const file = join(scratchFolder(t), 'password');
    const given = { WIREFARM_USER: 'u', WIREFARM_PASSWORD_FILE: file };
    for (const text of ['from a file', 'from a file\n', 'from a file\r\n']) {
      writeFileSync(file, text);
      t.same(configOf([], given).credentials, { user: 'u', password: 'from a file' });
    }
    refuses(t, [], { ...given, WIREFARM_PASSWORD: 'other' }, /^both WIREFARM_PASSWORD and --password-file/);
    for (const text of ['', '\n', 'secret\nlines\n', 'x'.repeat(1025)]) {
      writeFileSync(file, text);
      refuses(t, [], given, /WIREFARM_PASSWORD_FILE\): \/.* cannot be used \(it is (?!.*secret)/);
    }
    refuses(t, [], { ...given, WIREFARM_PASSWORD_FILE: `${file}s` }, /cannot be used \(ENOENT/);
    t.end();
  },
);

void t.test('a server that others can reach needs a password or users, or to be meant to have none', (t) => {
  const password = { WIREFARM_PASSWORD: 'p' };
  for (const host of ['0.0.0.0', '::', '192.0.2.1', '::ffff:127.0.0.1', '128.0.0.1']) {
    const { isForOthers, isOpen } = configOf(['--host', host]);
    t.match({ isForOthers, isOpen }, { isForOthers: true, isOpen: false });
    t.throws(() => {
      checkGuarded(configOf(['--host', host]), false);
    }, /wirefarm user add NAME --admin.* --user .*WIREFARM_PASSWORD.* --open /);
    checkGuarded(configOf(['--host', host]), true);
    refuses(t, ['--host', host, '--local'], {}, /^--local .* loopback/);
    refuses(t, ['--host', host, '--local', '--open'], {}, /^--local .* loopback/);
    refuses(t, ['--host', host, '--local', '--user', 'u'], password, /^--local .* loopback/);
    t.match(configOf(['--host', host, '--open']), { host, isOpen: true });
    t.match(configOf(['--host', host], { WIREFARM_OPEN: '1' }), { host, isOpen: true });
    t.match(configOf(['--host', host, '--user', 'u'], password), { host, isOpen: false });
  }
  for (const way of [
    ['--public-url', 'https://labs.example.org'],
    ['--trusted-proxies', '127.0.0.1'],
  ]) {
    t.throws(() => {
      checkGuarded(configOf(way), false);
    }, /^everybody .* --open /);
    refuses(t, [...way, '--local', '--open'], {}, /^--local .* without --public-url/);
    t.match(configOf([...way, '--open']), { isForOthers: true, isOpen: true });
    t.not(configOf([...way, '--open']).nioNetworks, undefined, 'UDP leads to this host only');
  }
  t.equal(configOf().isForOthers, false);
  for (const host of ['127.0.0.1', '127.3.2.1', '::1', 'localhost'])
    t.match(configOf(['--host', host, '--local']), { host, local: true });
  t.end();
});

void t.test('names of the server are a list', (t) => {
  t.same(configOf().allowedHosts, []);
  t.same(configOf(['--allow-hosts', 'lab.example, 2001:db8::7,']).allowedHosts, [
    'lab.example',
    '2001:db8::7',
  ]);
  for (const name of ['lab.example:80', 'http://lab', 'a b', 'x'.repeat(254)])
    refuses(t, ['--allow-hosts', name], {}, /^--allow-hosts \(WIREFARM_ALLOW_HOSTS\): /);
  t.end();
});

void t.test('origins are a list', (t) => {
  t.same(configOf(['--allow-origins', 'http://a,,http://b']).allowedOrigins, ['http://a', 'http://b']);
  t.same(configOf(['--allow-origins', '']).allowedOrigins, []);
  t.ok(configOf().allowedOrigins.includes('https://gns3.github.io'));
  t.notOk(configOf().allowedOrigins.includes('http://gns3.github.io'), 'anybody on the way can be that page');
  t.end();
});

void t.test('UDP ports are a range', (t) => {
  t.same(configOf(['--udp-ports', '1-65535']).udpPorts, [1, 65_535]);
  t.same(configOf([], { WIREFARM_UDP_PORTS: '7-7' }).udpPorts, [7, 7]);
  t.end();
});

void t.test('networks are a list of either version, with or without a length', (t) => {
  const networks = configOf(['--nio-networks', '10.0.0.0/8, 192.0.2.7,2001:db8::/32']).nioNetworks;
  const has = (address: string): boolean | undefined =>
    networks?.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
  for (const inside of ['10.1.2.3', '192.0.2.7', '2001:db8::1']) t.equal(has(inside), true, inside);
  for (const outside of ['11.0.0.1', '192.0.2.8', '2001:db9::1', '::1'])
    t.equal(has(outside), false, outside);
  t.equal(configOf(['--nio-networks', 'any']).nioNetworks, undefined);
  t.equal(configOf(['--nio-networks', '0.0.0.0/0']).nioNetworks?.check('8.8.8.8'), true);
  t.end();
});

void t.test('UDP leads anywhere, from a server that is open to this host only', (t) => {
  const open = ['--host', '0.0.0.0', '--open'];
  t.equal(configOf().nioNetworks, undefined);
  t.equal(configOf(['--open']).nioNetworks, undefined, 'on loopback nobody else can use it');
  t.equal(configOf([...open, '--nio-networks', 'any']).nioNetworks, undefined);
  t.equal(configOf([...open, '--user', 'u'], { WIREFARM_PASSWORD: 'p' }).nioNetworks, undefined);
  const { nioNetworks } = configOf(open);
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', ...addresses.map((own) => own.address)])
    t.equal(nioNetworks?.check(address, address.includes(':') ? 'ipv6' : 'ipv4'), true, address);
  for (const address of ['192.0.2.1', '2001:db8::1'])
    t.equal(nioNetworks?.check(address, address.includes(':') ? 'ipv6' : 'ipv4'), false, address);
  t.end();
});

void t.test('consoles are on loopback as soon as there are users, and serve whom they are told to', (t) => {
  let hasUsers = false;
  const reachOf = (...args: readonly string[]): ConsoleReach =>
    consoleReach({ config: configOf(args) }, () => hasUsers);
  const local = reachOf();
  const open = reachOf('--host', '0.0.0.0', '--open');
  t.equal(local.host, '127.0.0.1');
  t.equal(open.host, '0.0.0.0');
  t.ok(open.serves('192.0.2.7'), 'as with GNS3');
  const told = reachOf('--console-host', '10.1.2.3', '--console-networks', '10.1.0.0/16,2001:db8::/32');
  t.equal(told.host, '10.1.2.3');
  const served = ['10.1.9.9', '::ffff:10.1.9.9', '2001:db8::1', '127.0.0.1', '::1', '::ffff:127.0.0.1'];
  for (const address of served) t.ok(told.serves(address), address);
  for (const address of ['10.2.0.1', '::ffff:10.2.0.1', '2001:db9::1', 'nonsense'])
    t.notOk(told.serves(address), address);
  const alone = reachOf('--console-host', '0.0.0.0');
  t.notOk(alone.serves('192.0.2.7'), 'nobody said who else');
  t.ok(alone.serves('127.0.0.9'));
  hasUsers = true;
  t.equal(local.host, '127.0.0.1');
  t.equal(open.host, '127.0.0.1');
  t.notOk(open.serves('192.0.2.7'), 'nor are clients served that reach a port from before');
  t.equal(reachOf('--host', '::1').host, '::1');
  t.ok(reachOf('--console-host', '::', '--console-networks', 'any').serves('192.0.2.7'));
  t.end();
});

void t.test('interfaces are a list', (t) => {
  t.same(configOf().nioInterfaces, new Set());
  t.same(configOf(['--nio-interfaces', 'eth1, br0,']).nioInterfaces, new Set(['eth1', 'br0']));
  t.end();
});

void t.test('help and version win over everything that is wrong otherwise', (t) => {
  t.same(readCommand(['--help'], { WIREFARM_PORT: 'x' }), { run: 'help' });
  t.same(readCommand(['--version', '--port', 'x'], {}), { run: 'version' });
  t.end();
});

void t.test('the help names every flag that is accepted, with its variable', (t) => {
  const text = helpText();
  for (const name of Object.keys({ host: 1, port: 1, data: 1, local: 1, projects: 1, state: 1 })) {
    t.match(text, new RegExp(`--${name}\\b.*WIREFARM_${name.toUpperCase()}\\b`));
  }
  t.notMatch(text, /--password /);
  t.match(text, 'WIREFARM_PASSWORD');
  t.end();
});

void t.test('the settings cannot be changed afterwards', (t) => {
  t.ok(Object.isFrozen(configOf()));
  t.end();
});

void t.test('a file of settings loses against variables and flags', (t) => {
  const path = join(scratchFolder(t), 'settings');
  writeFileSync(
    path,
    '# of the lab\n\n  WIREFARM_PORT = 4000 # as before\r\nexport WIREFARM_HOST="::1"\nWIREFARM_USER=u\nWIREFARM_PASSWORD=\' p\'\n',
  );
  t.match(configOf(['--config', path]), {
    port: 4000,
    host: '::1',
    credentials: { user: 'u', password: 'p' },
  });
  t.match(configOf([], { WIREFARM_CONFIG: path, WIREFARM_PORT: '5000' }), { port: 5000, host: '::1' });
  t.match(configOf(['--config', path, '--port', '6000'], { WIREFARM_PORT: '5000' }), { port: 6000 });
  t.end();
});

void t.test('a file with a fault is refused with its line', (t) => {
  const folder = scratchFolder(t);
  const path = join(folder, 'settings');
  const faults: readonly (readonly [text: string, line: number, message: RegExp])[] = [
    ['WIREFARM_PORT=1\nhello', 2, /this is no line like WIREFARM_/],
    ['WIREFARM_DATA="a\nb"', 1, /this is no line/],
    ['WIREFARM_DATA=a\0b', 1, /this is no line/],
    ['\nWIREFARM_PROT=1', 2, /WIREFARM_PROT is no setting/],
    ['WIREFARM_CONFIG=other', 1, /WIREFARM_CONFIG is no setting/],
    ['__proto__=1', 1, /this is no line|is no setting/],
    ['WIREFARM_PORT=1\n#\nWIREFARM_PORT=2', 3, /WIREFARM_PORT stands in line 1 already/],
    ['WIREFARM_HOST=::1\nWIREFARM_PORT=x', 2, /--port \(WIREFARM_PORT\): must be a whole number/],
  ];
  for (const [text, line, message] of faults) {
    writeFileSync(path, text);
    refuses(t, ['--config', path], {}, new RegExp(`^${path}:${line}: .*${message.source}`));
  }
  refuses(t, ['--config', path, '--port', 'y'], {}, /^--port /);
  refuses(
    t,
    ['--config', join(folder, 'none')],
    {},
    /^--config \(WIREFARM_CONFIG\): .*none cannot be read \(ENOENT/,
  );
  refuses(t, ['--config', folder], {}, /cannot be read/);
  writeFileSync(path, '#'.repeat(64 * 1024 + 1));
  refuses(t, ['--config', path], {}, /cannot be read \(it has more than 65536 bytes/);
  t.end();
});
