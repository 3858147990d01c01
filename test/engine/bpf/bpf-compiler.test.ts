import t from 'tap';
import { BpfCompiler } from '../../../src/engine/bpf/bpf-compiler.js';
import type { BpfTasks } from '../../../src/engine/bpf/bpf-tasks.js';
import { refusals } from '../../../src/base/errors/errors.js';
import { TaskPool } from '../../../src/base/threads/task-pool.js';
import { matcherOf } from '../../../src/engine/wire/bpf.js';
import { libpcapLack } from '../../support/libpcap.js';

const ASKER = { projectId: 'one' };

/** A pool that notes what it is asked, and answers a new program unless there is something to refuse. */
class NotedJobs {
  readonly asked: string[] = [];
  hasLibrary = true;
  isRefusing = false;
  readonly #tasks: BpfTasks = {
    compileBpf: ({ expression, linkType }) => {
      this.asked.push(`${linkType} ${expression}`);
      if (this.isRefusing) throw refusals.bpfRefused(expression, 'syntax error');
      return { instructions: Uint32Array.of(6, 0, 0, 1) };
    },
    hasLibpcap: () => {
      this.asked.push('library');
      return this.hasLibrary;
    },
  };

  readonly run: TaskPool<BpfTasks>['run'] = async (task, input) => {
    await Promise.resolve();
    const perform = this.#tasks[task] as (input: unknown) => never;
    return perform(input);
  };
}

void t.test('equal expressions are compiled once, also at the same time', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  const [first, second, other] = await Promise.all([
    compiler.compile('tcp', 1, ASKER),
    compiler.compile('tcp', 1, ASKER),
    compiler.compile('tcp', 107, ASKER),
  ]);
  t.equal(first, second);
  t.not(first, other);
  t.equal(await compiler.compile('tcp', 1, ASKER), first);
  t.same(jobs.asked, ['1 tcp', '107 tcp']);
});

void t.test('a refusal is answered to all who asked, and not kept', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  jobs.isRefusing = true;
  const refused = { status: 400, message: "Invalid BPF expression 'tcp': syntax error" };
  await Promise.all([
    t.rejects(compiler.compile('tcp', 1, ASKER), refused),
    t.rejects(compiler.compile('tcp', 1, ASKER), refused),
  ]);
  t.equal(jobs.asked.length, 1);
  jobs.isRefusing = false;
  await compiler.compile('tcp', 1, ASKER);
  await compiler.compile('tcp', 1, ASKER);
  t.equal(jobs.asked.length, 2);
});

void t.test('the program that was not asked for the longest is forgotten', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  for (let port = 0; port < 128; port++) await compiler.compile(`port ${port}`, 1, ASKER);
  await compiler.compile('port 0', 1, ASKER);
  await compiler.compile('udp', 1, ASKER);
  jobs.asked.length = 0;
  for (const expression of ['port 0', 'port 2', 'port 127', 'udp', 'port 1'])
    await compiler.compile(expression, 1, ASKER);
  t.same(jobs.asked, ['1 port 1']);
});

void t.test('a library that is installed later is found, and then not looked for again', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  jobs.hasLibrary = false;
  t.equal(await compiler.isAvailable, false);
  jobs.hasLibrary = true;
  t.equal(await compiler.isAvailable, true);
  t.equal(await compiler.isAvailable, true);
  t.same(jobs.asked, ['library', 'library']);
});

void t.test('the process compiles', async (t) => {
  const jobs = new TaskPool<BpfTasks>({
    worker: new URL('../../../workers/expression-worker.js', import.meta.url),
    threads: 1,
    queueLimit: 10,
    readyThreads: 0,
  });
  t.teardown(() => jobs.close());
  const compiler = new BpfCompiler(jobs);
  const isThere = libpcapLack() === false;
  t.equal(await compiler.isAvailable, isThere);
  const program = compiler.compile('ether[0] = 7', 1, ASKER);
  if (!isThere) {
    await t.rejects(program, { status: 409, message: /libpcap0\.8/ });
    return;
  }
  t.ok(matcherOf(await program)(Uint8Array.of(7), 0, 1));
  await t.rejects(compiler.compile('ether[', 1, ASKER), { status: 400, message: /: syntax error$/ });
});

void t.test('projects take turns: one expression of each other is compiled before the next', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  const ask = (projectId: string, expression: string): Promise<unknown> =>
    compiler.compile(expression, 1, { projectId });
  const greedy = Array.from({ length: 20 }, (_, index) => ask('greedy', `port ${index}`));
  const honest = [ask('honest', 'icmp'), ask('honest', 'arp'), ask('other', 'port 19')];
  await Promise.all(honest);
  const first = ['1 port 0', '1 port 1', '1 icmp', '1 port 19', '1 port 2', '1 arp'];
  t.same(jobs.asked.slice(0, first.length), first);
  await Promise.all(greedy);
  t.equal(jobs.asked.length, 22, 'what another project has had compiled meanwhile is not compiled again');
});

void t.test('nothing is compiled for a client that has gone', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  const client = { isGone: false };
  const first = compiler.compile('icmp', 1, ASKER);
  const left = compiler.compile('arp', 1, { ...ASKER, client });
  const wanted = [
    compiler.compile('tcp', 1, { ...ASKER, client }),
    compiler.compile('tcp', 1, { ...ASKER, client: { isGone: false } }),
  ];
  client.isGone = true;
  await first;
  await t.rejects(left, { status: 503, message: /has gone/ });
  await Promise.all(wanted);
  t.same(jobs.asked, ['1 icmp', '1 tcp']);
});

void t.test('expressions that wait at the close are refused', async (t) => {
  const jobs = new NotedJobs();
  const compiler = new BpfCompiler(jobs);
  const running = compiler.compile('icmp', 1, ASKER);
  const waiting = compiler.compile('arp', 1, ASKER);
  compiler.close();
  await t.rejects(waiting, { name: 'Refusal', message: /^(Too many|The server)/ });
  await t.rejects(compiler.compile('tcp', 1, ASKER), { name: 'Refusal', message: /^(Too many|The server)/ });
  await running;
  t.same(jobs.asked, ['1 icmp']);
});
