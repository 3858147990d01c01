/** `wirefarm user`: accounts that are made and repaired while no server runs. */
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { user } from '../../src/cli/user.js';
import { PASSWORD, signedIn } from '../support/accounts.js';
import { cli, PROGRAM } from '../support/cli.js';
import { Client } from '../support/client.js';
import { python } from '../support/python.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

const OTHER = 'another horse';

void t.test(
  'the first admin is made before the first start, and opens a server beyond loopback',
  async (t) => {
    const folder = scratchFolder(t);
    const data = join(folder, 'data');
    const file = join(folder, 'password');
    const add = ['user', 'add', 'ann', '--admin', '--data', data];
    const refused = await cli(t, ['user', 'add', 'bob', '--data', data], {}, PASSWORD);
    t.match(refused, { code: 1, output: '', errors: /^wirefarm: The first user must be an admin/ });
    t.match(await cli(t, add, {}, `${PASSWORD}\n`), { code: 0, output: 'ann can sign in.\n', errors: '' });
    t.equal(statSync(join(data, 'state')).mode & 0o777, 0o700);
    t.match(await cli(t, add, {}, PASSWORD), { code: 1, errors: /A user is called ann already/ });
    writeFileSync(file, `${OTHER}\n`);
    const bob = ['user', 'add', 'bob', '--role', 'auditor', '--password-file', file];
    t.match(await cli(t, bob, { WIREFARM_DATA: data }), { code: 0 });

    const server = await startServer(t, { data, flags: ['--host', '0.0.0.0'] });
    const { port } = server;
    const url = `http://127.0.0.1:${port}`;
    t.equal((await new Client(url).get('/v2/projects')).status, 401);
    const { body } = await signedIn({ ...server, url }, 'ann').get('/v2/users');
    t.match(body, [
      { name: 'ann', role: 'admin' },
      { name: 'bob', role: 'auditor' },
    ]);
    t.equal((await signedIn({ ...server, url }, 'bob', OTHER).get('/v2/projects')).status, 200);
    for (const args of [add, ['user', 'reset', 'ann', '--data', data]])
      t.match(await cli(t, args, {}, OTHER), {
        code: 1,
        errors:
          /^wirefarm: the folder .* is held by another running server: stop that one first, or change .*\/v2\/users/,
      });
    const more = join(folder, 'more.csv');
    writeFileSync(more, 'group,name\r\nclass,BOB\r\nclass,"dan"\r\n');
    const onServer = ['user', 'add', '--file', more, '--url', url];
    const who = { WIREFARM_USER: 'ann', WIREFARM_PASSWORD: PASSWORD };
    const added = await cli(t, onServer, who);
    t.match(added, { code: 0, output: /^dan,[a-z2-9]{12}\n$/, errors: /^1 of 2 users were added/ });
    const dans = added.output.trim().split(',')[1] ?? '';
    t.equal((await signedIn({ ...server, url }, 'dan', dans).get('/v2/projects')).status, 200);
    t.match(await cli(t, onServer, who), { code: 0, output: '', errors: /^0 of 2/ });
    t.match((await signedIn({ ...server, url }, 'ann').get('/v2/groups')).body, [
      { name: 'class', members: ['bob', 'dan'] },
    ]);
    await server.stop();
    const lines = ['name,role,password,group', 'ann,,,class', `zoe,auditor,"${OTHER}, ""2""",tutors`];
    writeFileSync(more, lines.join('\n'));
    const stopped = await cli(t, ['user', 'add', '--file', more, '--data', data]);
    t.match(stopped, { code: 0, output: '', errors: /^1 of 2 users were added/ });

    const reset = ['user', 'reset', 'ANN', '--state', join(data, 'state'), '--password-file', file];
    t.match(await cli(t, reset), { code: 0, output: 'ANN has another password.\n', errors: '' });
    const again = await startServer(t, { data });
    t.equal((await signedIn(again, 'ann').get('/v2/projects')).status, 401);
    t.equal((await signedIn(again, 'ann', OTHER).get('/v2/projects')).status, 200);
    t.equal((await signedIn(again, 'zoe', `${OTHER}, "2"`).get('/v2/projects')).status, 200);
    t.match((await signedIn(again, 'ann', OTHER).get('/v2/groups')).body, [
      { name: 'class', members: ['bob', 'dan', 'ann'] },
      { name: 'tutors', members: ['zoe'] },
    ]);
  },
);

/** Runs a command at a terminal, types a line after each question, and prints all that the terminal has shown. */
const TERMINAL = `
import os, pty, sys
lines = sys.argv[1].split('|')
pid, terminal = pty.fork()
if pid == 0:
    os.environ.pop('NODE_OPTIONS', None)
    os.execvp(sys.argv[2], sys.argv[2:])
shown = b''
asked = 0
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    shown += part
    while asked < len(lines) and shown.count(b': ') > asked:
        os.write(terminal, lines[asked].encode() + b'\\r')
        asked += 1
sys.stdout.buffer.write(shown + b'exit %d' % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

void t.test('a password that is typed is asked for twice, and not shown', async (t) => {
  const data = join(scratchFolder(t), 'data');
  const type = (...typed: string[]): string => {
    const command = [process.execPath, PROGRAM, 'user', 'add', 'ann', '--admin', '--data', data];
    return python(TERMINAL, [typed.join('|'), ...command]).toString();
  };
  t.equal(
    type(PASSWORD, OTHER),
    'Password: \r\nThe same again: \r\nwirefarm: these were two different passwords\r\nexit 1',
  );
  t.equal(type('\x03'), 'Password: \r\nwirefarm: no password was typed\r\nexit 1');
  t.equal(type(PASSWORD, PASSWORD), 'Password: \r\nThe same again: \r\nann can sign in.\r\nexit 0');
  const server = await startServer(t, { data });
  t.equal((await signedIn(server, 'ann').get('/v2/projects')).status, 200);
});

void t.test('a command that cannot be done tells so in one line, and changes nothing', async (t) => {
  const folder = scratchFolder(t);
  const data = ['--data', folder];
  const wrong: readonly (readonly [RegExp, readonly string[]])[] = [
    [/say whom to add or to reset \(wirefarm user --help\)/, []],
    [/say whom/, ['drop', 'ann', ...data]],
    [/say whom/, ['add', 'ann', 'bob', ...data]],
    [/Unknown option '--password'/, ['add', 'ann', '--password', PASSWORD, ...data]],
    [/not both/, ['add', 'ann', '--admin', '--role', 'user', ...data]],
    [/password only/, ['reset', 'ann', '--admin', ...data]],
    [/say --data/, ['add', 'ann', '--admin']],
  ];
  for (const [errors, args] of wrong) {
    await t.rejects(user(args, {}), { name: 'UsageError', message: errors }, args.join(' '));
  }
  const failing: readonly (readonly [RegExp, readonly string[], string])[] = [
    [/no server has kept its state in /, ['reset', 'ann'], PASSWORD],
    [/the password must have at least 8 characters/, ['add', 'ann', '--admin'], 'short'],
    [/from the standard input: it is empty/, ['add', 'ann', '--admin'], ''],
    [/from the standard input: it is more than one line/, ['add', 'ann', '--admin'], `${PASSWORD}\n\n`],
    [/the name is the name that tokens come with/, ['add', 'token', '--admin'], PASSWORD],
    [/the role Invalid option: expected one of "admin"/, ['add', 'ann', '--role', 'king'], PASSWORD],
  ];
  for (const [errors, args, input] of failing) {
    const ended = await cli(t, ['user', ...args, ...data], {}, input);
    t.match(ended, { code: 1, output: '', errors }, args.join(' '));
    t.equal(ended.errors.split('\n').length, 2, ended.errors);
  }
  const file = join(folder, 'class.csv');
  const files: readonly (readonly [RegExp, string])[] = [
    [/class.csv:1: the first line names the columns/, 'ann,bob\n'],
    [/class.csv:2: the name must be letters/, 'name\nan:n\n'],
    [/class.csv:3: the password must have at least 8/, 'name,password\nann,\nbob,short\n'],
    [/class.csv:3: Ann is there twice/, 'name\nann\nAnn\n'],
    [/class.csv:2: 1 values for 2 columns/, 'name,group\nann\n'],
    [/class.csv:2: 0 values for 1 columns/, 'name\n"ann\n'],
  ];
  for (const [errors, content] of files) {
    writeFileSync(file, content);
    await t.rejects(user(['add', '--file', file, ...data], {}), { message: errors }, content);
  }
  await t.rejects(user(['add', '--file', join(folder, 'no.csv'), ...data], {}), {
    message: /cannot be read/,
  });
  await t.rejects(user(['add', 'ann', '--file', file, ...data], {}), { name: 'UsageError' });
  t.throws(() => statSync(join(folder, 'state')), { code: 'ENOENT' });
  mkdirSync(join(folder, 'state'));
  t.match(await cli(t, ['user', 'reset', 'ann', ...data], {}, PASSWORD), { errors: /there is no user ann/ });
  if (process.geteuid?.() !== 0) return;
  chownSync(join(folder, 'state'), 12_345, 12_345);
  t.match(await cli(t, ['user', 'reset', 'ann', ...data], {}, PASSWORD), {
    code: 1,
    errors: /is of another user of this machine \(12345\): run this as that user/,
  });
});
