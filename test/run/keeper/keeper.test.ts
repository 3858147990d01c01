/** Programs below a keeper, with real processes. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { Keeper, Program } from '../../../src/run/keeper/keeper.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/scratch.js';
import { missingVpcs } from '../../support/vpcs.js';
import { contentOf, newRig, nothingLeft, printed, processesOf, shell, textOf } from './keeper-rig.js';

const ONE_KEEPER = newRig(t);
let keeper: Keeper;

t.before(async () => {
  keeper = ONE_KEEPER.newKeeper();
  t.same(await keeper.start(), []);
});

const isThere = (pid: number): boolean =>
  contentOf(pid, 'stat').split(' ')[2] !== 'Z' && contentOf(pid, 'stat') !== '';

void t.test('a program prints, reads what is typed, and ends with its code', async (t) => {
  const program = await keeper.spawn(
    shell('talk', 'echo ready; read line; echo "it was $line"; exit 7', { memo: { name: 'PC 1' } }),
  );
  t.same([program.id, program.memo, program.isRunning], ['talk', { name: 'PC 1' }, true]);
  let heard = '';
  await printed(program, 'ready\r\n');
  const stop = program.listen((bytes) => (heard += Buffer.from(bytes).toString()));
  program.write(Buffer.from('some words\n'));
  t.same(await program.ended, { code: 7, signal: null });
  t.equal(program.isRunning, false);
  t.equal(heard, 'some words\r\nit was some words\r\n', 'a terminal echoes');
  t.equal(textOf(program), `ready\r\n${heard}`);
  stop();
  program.write(Buffer.from('nobody reads this'));
  program.kill('SIGKILL');
});

void t.test('the terminal is the controlling one of a session, and has the size that is set', async (t) => {
  const program = await keeper.spawn(
    shell('size', 'stty size; read line; stty size; echo direct >/dev/tty; cut -d" " -f5,6,8 /proc/$$/stat'),
  );
  await printed(program, '24 80\r\n');
  program.resize(132, 43);
  program.write(Buffer.from('\n'));
  await program.ended;
  const text = textOf(program);
  t.match(text, '43 132\r\n');
  t.match(text, 'direct\r\n');
  t.match(
    text,
    `${program.pid} ${program.pid} ${program.pid}\r\n`,
    'group, session, group in the foreground',
  );
});

void t.test('pipes pass bytes both ways unchanged, and have errors in the output', async (t) => {
  const program = await keeper.spawn(shell('pipe', 'echo wrong >&2; cat', { console: 'pipes' }));
  await printed(program, 'wrong\n');
  const bytes = randomBytes(50_000);
  program.write(bytes);
  program.resize(10, 10);
  const all = await eventually('all bytes are back', () =>
    program.output.length === bytes.length + 6 ? Buffer.from(program.output) : undefined,
  );
  t.ok(all.subarray(6).equals(bytes));
  program.kill('SIGTERM');
  t.same(await program.ended, { code: null, signal: 'SIGTERM' });
});

void t.test('only the last 64 KiB of the output are kept', async (t) => {
  const program = await keeper.spawn(shell('much', 'seq 1 100000', { console: 'pipes' }));
  await program.ended;
  const text = textOf(program);
  t.equal(text.length, 65_536);
  t.ok(text.endsWith('\n99999\n100000\n'));
});

void t.test('the next server has what a program printed elsewhere, as the last one told it', async (t) => {
  const rig = newRig(t);
  const first = rig.newKeeper(30);
  await first.start();
  const talker = await first.spawn(shell('talker', 'echo here; sleep 1000'));
  await first.spawn(shell('silent', 'sleep 1000'));
  t.equal(talker.remembered.length, 0);
  const all = randomBytes(200_000);
  for (let at = 0; at < all.length; at += 70_000) talker.remember(all.subarray(at, at + 70_000));
  await first.close(true);
  const second = rig.newKeeper(30);
  const kept = await second.start();
  const rememberedOf = (programs: readonly Program[], id: string): Buffer =>
    Buffer.from(programs.find((program) => program.id === id)?.remembered ?? []);
  t.ok(rememberedOf(kept, 'talker').equals(all.subarray(-65_536)));
  t.equal(rememberedOf(kept, 'silent').length, 0);
  kept.find(({ id }) => id === 'talker')?.remember(Buffer.from('more'));
  await second.close(true);
  const last = Buffer.concat([all, Buffer.from('more')]).subarray(-65_536);
  t.ok(rememberedOf(await rig.newKeeper().start(), 'talker').equals(last));
});

void t.test('input that a program does not read holds nobody up', async (t) => {
  const deaf = await keeper.spawn(shell('deaf', 'stty raw -echo; echo deaf; sleep 1000'));
  await printed(deaf, 'deaf');
  for (let part = 0; part < 100; part++) deaf.write(Buffer.alloc(50_000, 'x'));
  deaf.write(Buffer.alloc(3_000_000, 'x'));
  deaf.resize(0, Infinity);
  const other = await keeper.spawn(shell('other', 'echo goes on'));
  await printed(other, 'goes on');
  deaf.kill('SIGKILL');
  t.same(await deaf.ended, { code: null, signal: 'SIGKILL' });
});

void t.test('the surroundings of a program', async (t) => {
  const script = `
    cat /proc/self/oom_score_adj /proc/self/timerslack_ns
    nice; echo "$WIREFARM_NODE $OWN"; pwd; grep NoNewPrivs /proc/self/status; ls /proc/self/fd`;
  const folder = scratchFolder(t);
  const environment = { PATH: '/usr/bin:/bin', OWN: 'value' };
  const order = shell('node/tpm', script, { folder, environment, niceness: 5, console: 'pipes' });
  const program = await keeper.spawn(order);
  await program.ended;
  const lines = textOf(program).trim().split('\n');
  t.same(lines.slice(0, 6), [
    '500',
    '50000000',
    '5',
    `${ONE_KEEPER.mark}/node/tpm value`,
    folder,
    'NoNewPrivs:\t1',
  ]);
  t.same(lines.slice(6), ['0', '1', '2', '3'], 'nothing is inherited; the last one is that of ls');
});

void t.test('the whole group of a program is ended with it', async (t) => {
  const script = 'sleep 1000 & echo "child $!."; [ "$1" ] || wait';
  const left = await keeper.spawn(
    shell('left', script, { args: ['-c', script, 'sh', 'leave'], console: 'pipes' }),
  );
  await left.ended;
  const killed = await keeper.spawn(shell('killed', script, { console: 'pipes' }));
  await printed(killed, '.');
  killed.kill('SIGKILL');
  t.same(await killed.ended, { code: null, signal: 'SIGKILL' });
  for (const program of [left, killed]) {
    const child = Number(/child (\d+)\./.exec(textOf(program))?.[1]);
    t.ok(child > 0);
    await eventually('the child has gone', () => !isThere(child) || undefined);
  }
});

void t.test('a child that has left the group is found by its mark', async (t) => {
  const folder = scratchFolder(t);
  const script = 'setsid sh -c "echo $$ >child; sleep 1000" & until [ -s child ]; do :; done';
  const program = await keeper.spawn(shell('daemon', script, { folder }));
  await program.ended;
  const mark = `${ONE_KEEPER.mark}/daemon`;
  await eventually('it has gone', () => processesOf(mark).length === 0 || undefined);
  t.ok(statSync(join(folder, 'child')).size > 0);
});

void t.test('a program that cannot be started says why', async (t) => {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'text'), 'no program');
  mkdirSync(join(folder, 'sub'));
  const rejects = (changes: Parameters<typeof shell>[2], message: string | RegExp): Promise<unknown> =>
    t.rejects(keeper.spawn(shell('never', 'true', { folder, ...changes })), { message });
  await rejects({ command: 'no-such-command' }, 'There is no program no-such-command on this host');
  await rejects({ command: '/no/such' }, 'There is no program /no/such');
  await rejects({ command: './sub' }, `There is no program ${folder}/sub`);
  await rejects({ command: './text' }, `There is no permission to run the program ${folder}/text`);
  await rejects({ folder: '/no/such' }, 'The working folder /no/such is not there');
  await rejects({ command: '' }, /command/);
  await rejects({ args: ['a\0b'] }, /NUL/);
  await rejects({ args: ['x'.repeat(300_000)] }, 'The arguments have more than 262144 bytes');
  await rejects({ environment: { LONG: 'x'.repeat(300_000) } }, 'The environment has more than 262144 bytes');
  await rejects({ memo: 'x'.repeat(400_000) }, 'The memo has more than 393216 bytes');
  await rejects({ id: '' }, /id/);
  const program = await keeper.spawn(shell('twice', 'sleep 1000'));
  await t.rejects(keeper.spawn(shell('twice', 'true')), {
    message: 'A program with the id twice is running',
  });
  program.kill('SIGTERM');
  await program.ended;
  const again = await keeper.spawn(shell('twice', 'true'));
  t.same(await again.ended, { code: 0, signal: null });
});

void t.test('a file that is no program of this machine ends at once, and says so', async (t) => {
  const folder = scratchFolder(t);
  writeFileSync(join(folder, 'foreign'), Buffer.from('\x7fELF of another machine\0'), { mode: 0o700 });
  const program = await keeper.spawn(shell('foreign', '', { command: './foreign', folder }));
  const { code } = await program.ended;
  t.ok(code !== 0);
  t.match(textOf(program), /foreign/);
});

void t.test('fifty programs start at once, and end', async (t) => {
  const programs = await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      keeper.spawn(shell(`many/${index}`, `echo "I am ${index}."; read line; exit ${index}`)),
    ),
  );
  t.equal(new Set(programs.map(({ pid }) => pid)).size, 50);
  await Promise.all(
    programs.map(async (program, index) => {
      await printed(program, `I am ${index}.`);
      program.write(Buffer.from('\n'));
      t.same(await program.ended, { code: index, signal: null });
    }),
  );
});

void t.test('a virtual PC runs in its terminal', { skip: missingVpcs() }, async (t) => {
  const folder = scratchFolder(t);
  const args = ['-i', '1', '-m', '1', '-s', '0', '-c', '9', '-t', '127.0.0.1'];
  const pc: Program = await keeper.spawn(shell('vpcs', '', { command: 'vpcs', args, folder }));
  await printed(pc, 'VPCS> ');
  pc.write(Buffer.from('version\n'));
  await printed(pc, 'Copyright');
  pc.kill('SIGTERM');
  await pc.ended;
});

void t.test('the end of the keeper leaves nothing', async (t) => {
  const stubborn = await keeper.spawn(
    shell('stubborn', 'trap "" TERM HUP; echo here; while :; do sleep 1; done'),
  );
  await printed(stubborn, 'here');
  await keeper.close();
  t.same(await stubborn.ended, { code: null, signal: 'SIGKILL' });
  t.equal(stubborn.isRunning, false);
  t.same(processesOf(ONE_KEEPER.mark), []);
  await t.rejects(keeper.spawn(shell('late', 'true')), /ended/);
  await nothingLeft(ONE_KEEPER.mark);
});
