/** Control groups of programs, on the host's own tree of cgroup v2. */
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlGroups, ownControlGroup } from '../../../src/run/keeper/control-groups.js';
import { NO_LIMITS } from '../../../src/run/keeper/messages.js';
import { eventually } from '../../support/eventually.js';
import { scratchFolder } from '../../support/scratch.js';
import { contentOf, keeperOf, newRig, printed, shell } from './keeper-rig.js';

const base = (await ownControlGroup()) ?? '';
const skip = canWrite() ? false : 'the host has no tree of cgroup v2 that can be written';

function canWrite(): boolean {
  const folder = join(base, `try-${randomUUID()}`);
  try {
    mkdirSync(folder);
    rmdirSync(folder);
    return base !== '';
  } catch {
    return false;
  }
}

const groupOf = (pid: number): string => /^0::(.*)$/m.exec(contentOf(pid, 'cgroup'))?.[1] ?? '';
const hasGone = (pid: number): boolean => contentOf(pid, 'stat') === '';

void t.test('a program has a group of its own, and all in it ends with it', { skip }, async (t) => {
  const rig = newRig(t);
  const keeper = rig.newKeeper();
  const folder = scratchFolder(t);
  const script = `echo ready; read line
    setsid env -i sh -c 'echo $$ >child; exec sleep 1000' & until [ -s child ]; do :; done`;
  const program = await keeper.spawn(shell('one/tpm', script, { folder, project: 'lab' }));
  const other = await keeper.spawn(shell('two', 'sleep 1000', { project: 'lab' }));
  const group = `/wirefarm-${rig.mark}/of-lab/of-one.tpm`;
  await eventually('it is in its group', () => groupOf(program.pid).endsWith(group) || undefined);
  await eventually('so is the other', () => groupOf(other.pid).endsWith('/of-lab/of-two') || undefined);
  await printed(program, 'ready');
  program.write(Buffer.from('\n'));
  t.same(await program.ended, { code: 0, signal: null });
  const child = Number(readFileSync(join(folder, 'child'), 'utf8'));
  await eventually('its child has gone', () => hasGone(child) || undefined);
  const root = join(base, `wirefarm-${rig.mark}`);
  await eventually('its group has gone', () => !existsSync(join(root, 'of-lab/of-one.tpm')) || undefined);
  t.ok(other.isRunning);
  await keeper.close();
  t.notOk(existsSync(root));
});

void t.test(
  'a keeper finds the groups of one that was killed, and kills what is in them',
  { skip },
  async (t) => {
    const rig = newRig(t);
    const keeper = rig.newKeeper();
    const program = await keeper.spawn(shell('one', 'sleep 1000'));
    const root = join(base, `wirefarm-${rig.mark}`);
    await eventually('it is in its group', () => groupOf(program.pid).includes('/of-one') || undefined);
    const left = spawn('sleep', ['1000'], { stdio: 'ignore' });
    t.teardown(() => left.kill('SIGKILL'));
    writeFileSync(join(root, 'of-others/of-one/cgroup.procs'), String(left.pid));
    process.kill(keeperOf(rig.mark) ?? 0, 'SIGKILL');
    await eventually('it was killed', () => left.signalCode === 'SIGKILL' || undefined);
    await keeper.close();
    t.notOk(existsSync(root));
  },
);

void t.test('a delegated group lends its controllers to the groups of projects', { skip }, async (t) => {
  const [controller] = readFileSync(join(base, 'cgroup.controllers'), 'utf8').trim().split(' ');
  const own = join(base, `try-${randomUUID()}`);
  mkdirSync(own);
  const resident = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const newcomer = spawn('sleep', ['1000'], { stdio: 'ignore' });
  const controllers = controller === undefined || controller === '' ? [] : [controller];
  const lent = (group: string): string => readFileSync(join(group, 'cgroup.subtree_control'), 'utf8').trim();
  const before = lent(base);
  t.teardown(async () => {
    resident.kill('SIGKILL');
    newcomer.kill('SIGKILL');
    await eventually('nothing is left in it', () => {
      for (const group of [join(own, 'server'), own])
        if (existsSync(group) && isBusy(group)) return undefined;
      return true;
    });
    if (controllers.length > 0 && before === '')
      writeFileSync(join(base, 'cgroup.subtree_control'), `-${controllers.join()}`);
  });
  for (const name of controllers) writeFileSync(join(base, 'cgroup.subtree_control'), `+${name}`);
  writeFileSync(join(own, 'cgroup.procs'), String(resident.pid));
  execFileSync('python3', ['-c', 'import os, sys; os.setxattr(sys.argv[1], "trusted.delegate", b"1")', own]);
  const groups = await ControlGroups.open({ base: own, mark: 'mark', controllers });
  if (groups === undefined) throw new Error('there are no groups');
  await groups.add('node', newcomer.pid ?? 0, 'lab');
  t.match(groupOf(newcomer.pid ?? 0), /\/wirefarm-mark\/of-lab\/of-node$/);
  for (const name of controllers) {
    t.match(groupOf(resident.pid ?? 0), /\/server$/, 'a group with controllers has no processes');
    for (const group of [own, join(own, 'wirefarm-mark'), join(own, 'wirefarm-mark/of-lab')])
      t.match(lent(group), name);
  }
  await groups.close();
  await eventually('the newcomer was killed', () => newcomer.signalCode === 'SIGKILL' || undefined);
  t.equal(resident.signalCode, null);
  t.notOk(existsSync(join(own, 'wirefarm-mark')));
});

function isBusy(group: string): boolean {
  try {
    rmdirSync(group);
    return false;
  } catch {
    return true;
  }
}

void t.test('the tree of a killed keeper is removed by any other', { skip }, async (t) => {
  const dead = newRig(t);
  const program = await dead.newKeeper().spawn(shell('one', 'sleep 1000'));
  const tree = join(base, `wirefarm-${dead.mark}`);
  await eventually('it is in its group', () => groupOf(program.pid).includes(dead.mark) || undefined);
  const living = newRig(t);
  const other = await living.newKeeper().spawn(shell('one', 'sleep 1000'));
  t.ok(existsSync(tree), 'one that lives keeps its tree');
  // The server of the first starts another for that folder, unless it has no programs.
  program.kill('SIGKILL');
  await program.ended;
  process.kill(keeperOf(dead.mark) ?? 0, 'SIGKILL');
  await eventually('it has gone', () => keeperOf(dead.mark) === undefined || undefined);
  t.ok(existsSync(tree));
  await newRig(t).newKeeper().spawn(shell('one', 'sleep 1000'));
  t.notOk(existsSync(tree));
  t.ok(other.isRunning);
});

/** A tree of ordinary files: what is written into it can be read on every host, and no kernel acts on it. */
async function writtenTree(
  t: Test,
  controllers: string,
  limits = NO_LIMITS,
  cpuPercent?: number,
): Promise<string> {
  const tree = scratchFolder(t);
  writeFileSync(join(tree, 'cgroup.controllers'), `${controllers}\n`);
  const groups = await ControlGroups.open({ base: tree, mark: 'mark' });
  if (groups === undefined) throw new Error('there are no groups');
  groups.limits = limits;
  await groups.add('node', 4_000_000, 'lab', cpuPercent);
  return join(tree, 'wirefarm-mark/of-lab');
}

void t.test('a project has its bound of processes where the controller is there', async (t) => {
  const whole = await writtenTree(t, 'cpuset cpu memory pids');
  t.equal(readFileSync(join(whole, 'pids.max'), 'utf8'), '8192');
  for (const group of [whole, join(whole, '..'), join(whole, '../..')])
    t.ok(existsSync(join(group, 'cgroup.subtree_control')), 'controllers are lent to what is below');
  t.equal(readFileSync(join(whole, 'of-node/cgroup.procs'), 'utf8'), '4000000');
  const lesser = await writtenTree(t, 'cpu memory');
  t.notOk(existsSync(join(lesser, 'pids.max')));
  t.equal(readFileSync(join(lesser, 'cgroup.subtree_control'), 'utf8'), '+memory');
});

void t.test('a project has the bounds of the settings', async (t) => {
  const limits = { memoryBytes: 64 * 1024 * 1024, cpuPercent: 150 };
  const bounded = await writtenTree(t, 'cpu memory', limits);
  t.equal(readFileSync(join(bounded, 'memory.max'), 'utf8'), '67108864');
  t.equal(readFileSync(join(bounded, 'cpu.max'), 'utf8'), '150000 100000');
  const free = await writtenTree(t, 'cpu memory');
  t.equal(readFileSync(join(free, 'memory.max'), 'utf8'), 'max');
  t.equal(readFileSync(join(free, 'cpu.max'), 'utf8'), 'max 100000');
});

void t.test('a program has a bound of processors of its own', async (t) => {
  const bounded = await writtenTree(t, 'cpu', NO_LIMITS, 50);
  t.equal(readFileSync(join(bounded, 'of-node/cpu.max'), 'utf8'), '50000 100000');
  t.equal(readFileSync(join(bounded, 'cpu.max'), 'utf8'), 'max 100000');
  const free = await writtenTree(t, 'cpu');
  t.notOk(existsSync(join(free, 'of-node/cpu.max')));
  const lesser = await writtenTree(t, 'memory', NO_LIMITS, 50);
  t.notOk(existsSync(join(lesser, 'of-node/cpu.max')), 'it is left to others without the controller');
});

void t.test('a host without a tree that can be written has no groups', async (t) => {
  t.equal(await ControlGroups.open({ base: '/proc/nowhere', mark: 'mark' }), undefined);
});
