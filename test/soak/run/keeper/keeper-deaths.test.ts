/** Servers and keepers that die: nothing outlives its owner, and what is to live on does. */
import { once } from 'node:events';
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import t from 'tap';
import { libc } from '../../../../src/engine/sockets/linux/libc.js';
import { eventually } from '../../../support/eventually.js';
import { scratchFolder } from '../../../support/scratch.js';
import { seededRandom } from '../../../support/seeded-random.js';
import {
  keeperOf,
  newRig,
  nothingLeft,
  printed,
  processesOf,
  said,
  shell,
  startServer,
  textOf,
} from '../../../run/keeper/keeper-rig.js';

const PROGRAMS = 4;
const SEED = 14;
const MOMENTS = 20;
const LATEST_MS = 400;

void t.test('when the server is killed, all ends', async (t) => {
  const rig = newRig(t);
  const server = startServer(t, rig, 0, PROGRAMS);
  await said(server, 'spawned all');
  // A process shows no environment at the moment when it becomes another program.
  await eventually('all are there', () => processesOf(rig.mark).length > PROGRAMS || undefined);
  server.child.kill('SIGKILL');
  await nothingLeft(rig.mark);
});

void t.test('with a grace, the next server has all programs', async (t) => {
  const rig = newRig(t);
  const server = startServer(t, rig, 30, PROGRAMS);
  await said(server, 'spawned all');
  const keeper = keeperOf(rig.mark);
  // As from the terminal of the server.
  if (keeper !== undefined) process.kill(keeper, 'SIGINT');
  server.child.kill('SIGKILL');
  await once(server.child, 'exit');
  if (keeper !== undefined) process.kill(-(processesOf(`${rig.mark}/3`)[0] ?? 0), 'SIGKILL');
  const next = rig.newKeeper(30);
  const programs = [...(await next.start())].sort((a, b) => a.id.localeCompare(b.id));
  t.same(
    programs.map(({ id, memo }) => ({ id, memo })),
    [0, 1, 2, 3].map((index) => ({ id: String(index), memo: { index, name: `PC ${index}` } })),
  );
  t.equal(keeperOf(rig.mark), keeper);
  const [first, second, , last] = programs;
  if (first === undefined || second === undefined || last === undefined) return;
  t.match(textOf(first), 'hello 0');
  t.same(await last.ended, { code: null, signal: 'SIGKILL' }, 'it ended while there was no server');
  t.match(textOf(last), 'hello 3');
  for (const program of [first, second]) {
    program.write(Buffer.from('more\n'));
    await printed(program, 'got more');
  }
  first.kill('SIGKILL');
  t.same(await first.ended, { code: null, signal: 'SIGKILL' });
  await next.close();
  t.same(await second.ended, { code: null, signal: 'SIGTERM' });
  t.same(processesOf(rig.mark), []);
});

void t.test('programs of no use to the next server end with theirs, whatever the grace is', async (t) => {
  const rig = newRig(t);
  const one = rig.newKeeper(30);
  await one.start();
  await one.spawn(shell('left', 'echo here; sleep 1000'));
  await one.spawn(shell('helper', 'echo here; sleep 1000', { endsWithServer: true }));
  const [helper] = processesOf(`${rig.mark}/helper`);
  t.ok(helper);
  await one.close(true);
  await eventually('it has ended', () => processesOf(`${rig.mark}/helper`).length === 0 || undefined);
  t.not(processesOf(`${rig.mark}/left`).length, 0);
  const two = rig.newKeeper(0);
  t.match(await two.start(), [{ id: 'left' }, { id: 'helper', isRunning: false }]);
});

void t.test('a server that closes may leave its programs for the grace', async (t) => {
  const rig = newRig(t);
  const one = rig.newKeeper(30);
  await one.start();
  await one.spawn(shell('left', 'echo here; sleep 1000'));
  await one.close(true);
  const two = rig.newKeeper(1);
  t.same(
    (await two.start()).map(({ id }) => id),
    ['left'],
  );
  await two.close(true);
  await nothingLeft(rig.mark);
});

void t.test('a keeper does not keep the process of its server running', async (t) => {
  const rig = newRig(t);
  const server = startServer(t, rig, 0, 1, 'leave');
  const [code] = (await once(server.child, 'exit')) as [number];
  t.equal(code, 0);
  await nothingLeft(rig.mark);
});

void t.test('when the keeper is killed, its programs end, and the next one is started', async (t) => {
  const rig = newRig(t);
  const keeper = rig.newKeeper(30);
  await keeper.start();
  const programs = await Promise.all([
    keeper.spawn(shell('terminal', 'trap "" HUP; sleep 1000')),
    keeper.spawn(shell('pipes', 'sleep 1000 & wait', { console: 'pipes' })),
    keeper.spawn(shell('daemon', 'setsid sleep 1000 & echo on its way; wait')),
  ]);
  const first = keeperOf(rig.mark);
  process.kill(first ?? 0, 'SIGKILL');
  for (const { ended } of programs) t.same(await ended, { code: null, signal: 'SIGKILL' });
  for (const { id } of programs) t.same(processesOf(`${rig.mark}/${id}`), [], `${id} has gone`);
  await eventually('it is told', () => rig.lost.length > 0 || undefined);
  t.same(rig.lost, [['terminal', 'pipes', 'daemon']]);
  const again = await keeper.spawn(shell('terminal', 'echo back; sleep 1000'));
  await printed(again, 'back');
  t.not(keeperOf(rig.mark), first);
});

void t.test('when the keeper is killed and there is no server, the kernel ends its programs', async (t) => {
  const rig = newRig(t);
  const keeper = rig.newKeeper(30);
  await keeper.start();
  const script = 'trap "" HUP; echo here; exec sleep 1000';
  for (const console of ['terminal', 'pipes'] as const)
    await printed(await keeper.spawn(shell(console, script, { console })), 'here');
  await keeper.close(true);
  process.kill(keeperOf(rig.mark) ?? 0, 'SIGKILL');
  await nothingLeft(rig.mark);
});

void t.test('a spawn that the keeper does not live to answer is rejected', async (t) => {
  const rig = newRig(t);
  const keeper = rig.newKeeper();
  await keeper.start();
  const pid = keeperOf(rig.mark) ?? 0;
  process.kill(pid, 'SIGSTOP');
  const asked = keeper.spawn(shell('asked', 'sleep 1000'));
  process.kill(pid, 'SIGKILL');
  await t.rejects(asked, /ended before it had started the program/);
  const again = await keeper.spawn(shell('asked', 'sleep 1000'));
  t.ok(again.isRunning);
});

void t.test('left-overs without a keeper are ended at start', async (t) => {
  const rig = newRig(t);
  const one = rig.newKeeper(30);
  await one.start();
  const program = await one.spawn(shell('nested', 'setsid sleep 1000 & echo "$!."; wait'));
  await printed(program, '.');
  await one.close(true);
  process.kill(keeperOf(rig.mark) ?? 0, 'SIGKILL');
  await eventually('the program is gone', () => processesOf(rig.mark).length === 1 || undefined);
  const two = rig.newKeeper();
  t.same(await two.start(), []);
  t.same(processesOf(`${rig.mark}/`), []);
});

void t.test('a keeper of another mark is ended first', async (t) => {
  const rig = newRig(t);
  const one = rig.newKeeper(30);
  await one.start();
  await one.spawn(shell('old', 'sleep 1000'));
  await one.close(true);
  const other = newRig(t);
  const two = rig.newKeeper(0, other.mark);
  t.same(await two.start(), []);
  await nothingLeft(rig.mark);
  t.ok((await two.spawn(shell('new', 'sleep 1000'))).isRunning);
});

void t.test('a second server on the folder is refused', async (t) => {
  const rig = newRig(t);
  const one = rig.newKeeper();
  await one.start();
  const program = await one.spawn(shell('own', 'echo here; read line; echo "got $line"; sleep 1000'));
  await t.rejects(rig.newKeeper().start(), /Another server uses the folder/);
  program.write(Buffer.from('still\n'));
  await printed(program, 'got still');
});

void t.test('the path of the folder may be longer than the address of a socket', async (t) => {
  const rig = newRig(t, 'x'.repeat(200));
  const keeper = rig.newKeeper();
  await keeper.start();
  const program = await keeper.spawn(shell('far', 'echo here; sleep 1000'));
  await printed(program, 'here');
});

void t.test('no descriptor of the server goes to the keeper or a program', async (t) => {
  const rig = newRig(t);
  const file = `${scratchFolder(t)}/open`;
  writeFileSync(file, '');
  // Without close-on-exec, unlike all that Node.js opens.
  const fd = libc.open(file, 0);
  t.teardown(() => libc.close(fd));
  const keeper = rig.newKeeper();
  await keeper.start();
  await keeper.spawn(shell('own', 'sleep 1000'));
  for (const pid of processesOf(rig.mark)) {
    const names = readdirSync(`/proc/${pid}/fd`).map((name) => `/proc/${pid}/fd/${name}`);
    t.notOk(names.some((name) => readlinkSync(name, 'utf8') === file));
  }
});

void t.test('a keeper that ends slowly does not end programs of the next one', async (t) => {
  const rig = newRig(t);
  const one = rig.newKeeper();
  await one.start();
  const stubborn = await one.spawn(
    shell('stubborn', 'trap "" TERM HUP; echo here; while :; do sleep 1; done'),
  );
  await printed(stubborn, 'here');
  const first = keeperOf(rig.mark);
  const closed = one.close();
  const two = rig.newKeeper();
  t.same(await two.start(), []);
  const program = await two.spawn(shell('next', 'echo here; sleep 1000'));
  await closed;
  await eventually('the first keeper has gone', () => keeperOf(rig.mark) !== first || undefined);
  await printed(program, 'here');
  t.ok(program.isRunning);
});

void t.test('other systems have no programs', async (t) => {
  const { platform } = process;
  t.teardown(() => Object.defineProperty(process, 'platform', { value: platform }));
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  const keeper = newRig(t).newKeeper();
  t.same(await keeper.start(), []);
  await t.rejects(keeper.spawn(shell('never', 'true')), { message: 'Programs run on Linux only' });
});

void t.test('whenever the server or the keeper is killed, nothing is left', async (t) => {
  const random = seededRandom(SEED);
  for (let moment = 0; moment < MOMENTS; moment++) {
    const rig = newRig(t);
    const server = startServer(t, rig, 0, 10);
    await said(server, moment % 3 === 0 ? 'starts' : 'started');
    const diesFirst = ['server', 'both', 'keeper'][Math.floor(random() * 3)];
    await setTimeout(random() * LATEST_MS);
    const keeper = keeperOf(rig.mark);
    if (diesFirst !== 'server' && keeper !== undefined) process.kill(keeper, 'SIGKILL');
    if (diesFirst === 'keeper') await setTimeout(random() * LATEST_MS);
    server.child.kill('SIGKILL');
    await nothingLeft(rig.mark);
  }
  t.pass(`${MOMENTS} moments`);
});
