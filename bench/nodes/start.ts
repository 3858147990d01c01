/** Many virtual PCs that start at once on a fresh server: how long it takes, what it costs, and what they cost then. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { call } from '../compute-client.js';
import { figure, type Figure } from '../measurement.js';
import { cpuSecondsOf } from '../traffic/cpu-seconds.js';
import { residentMiBOf } from '../traffic/resident.js';
import { PcConsole } from './pc-console.js';
import { PcLab, type LabNode } from './pc-lab.js';

export interface StartSize {
  readonly pcs: number;
  readonly rounds: number;
  readonly idleMs: number;
}

/** Clients have left, and what they left behind is done. */
const SETTLE_MS = 2000;

interface Cpu {
  readonly server: number;
  readonly keeper: number;
  readonly programs: number;
}

interface Round {
  readonly seconds: number;
  readonly cpu: Cpu;
  readonly delay99: number;
  readonly longestDelay: number;
  readonly idleCores: number;
  readonly keeperMiB: number;
  readonly serverMiB: number;
}

export async function measureStart(size: StartSize): Promise<Figure[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < size.rounds; round++) rounds.push(await measureRound(size));
  const name = `${size.pcs} virtual PCs`;
  const of = (value: (round: Round) => number): number[] => rounds.map(value);
  return [
    figure(
      `${name}, from start until all have answered a command`,
      's',
      of(({ seconds }) => seconds),
      'at most 3',
    ),
    figure(
      `${name}, start, CPU of all`,
      's',
      of(({ cpu }) => sum(cpu)),
    ),
    figure(
      `${name}, start, CPU of the server`,
      's',
      of(({ cpu }) => cpu.server),
    ),
    figure(
      `${name}, start, CPU of the keeper`,
      's',
      of(({ cpu }) => cpu.keeper),
    ),
    figure(
      `${name}, start, CPU of the programs`,
      's',
      of(({ cpu }) => cpu.programs),
    ),
    figure(
      `${name}, start, delay of the event loop, p99`,
      'ms',
      of(({ delay99 }) => delay99),
      'at most 10',
    ),
    figure(
      `${name}, start, delay of the event loop, longest`,
      'ms',
      of(({ longestDelay }) => longestDelay),
    ),
    figure(
      `${name}, idle, CPU of all`,
      'cores',
      of(({ idleCores }) => idleCores),
      'at most 0.1',
    ),
    figure(
      `${name}, memory of the keeper`,
      'MiB',
      of(({ keeperMiB }) => keeperMiB),
    ),
    figure(
      `${name}, memory of the server`,
      'MiB',
      of(({ serverMiB }) => serverMiB),
    ),
  ];
}

async function measureRound({ pcs, idleMs }: StartSize): Promise<Round> {
  const lab = await PcLab.start();
  try {
    const nodes: LabNode[] = [];
    for (let pc = 1; pc <= pcs; pc++) nodes.push(await lab.newNode('vpcs', `PC${pc}`));
    const listening = await startedNodes(lab.url);
    await lab.delays();
    // The keeper starts with the first program, so its start is measured, too.
    const before = { server: cpuSecondsOf(lab.server.pid), keeper: 0, programs: 0 };
    const startedAt = performance.now();
    const answers = answersOf(nodes, listening.ids);
    const [consoles] = await Promise.all([answers, call(`${lab.url}/nodes/start`, 'POST', {})]);
    const seconds = (performance.now() - startedAt) / 1000;
    const keeper = keeperOf(lab.data);
    const cpu = difference(cpuOf(lab.server.pid, keeper), before);
    const { p99, max } = await lab.delays();
    const memory = { keeperMiB: residentMiBOf(keeper), serverMiB: lab.server.residentMiB() };
    for (const console of consoles) console.close();
    listening.stop();
    lab.endDelays();
    await wait(SETTLE_MS);
    const idleBefore = cpuOf(lab.server.pid, keeper);
    await wait(idleMs);
    const idle = difference(cpuOf(lab.server.pid, keeper), idleBefore);
    const idleCores = sum(idle) / (idleMs / 1000);
    return { seconds, cpu, delay99: p99, longestDelay: max, idleCores, ...memory };
  } finally {
    await lab.end();
  }
}

/** Goes to the console of each node when it is told to be started, and has it answer a command. */
async function answersOf(nodes: readonly LabNode[], started: AsyncIterable<string>): Promise<PcConsole[]> {
  const waiting = new Map(nodes.map((node) => [node.node_id, node]));
  const answers: Promise<PcConsole>[] = [];
  for await (const id of started) {
    const node = waiting.get(id);
    if (node === undefined) continue;
    waiting.delete(id);
    answers.push(answerOf(node));
    if (waiting.size === 0) return Promise.all(answers);
  }
  throw new Error(`${waiting.size} virtual PCs were not started`);
}

async function answerOf({ name, console: port }: LabNode): Promise<PcConsole> {
  const terminal = await PcConsole.open(port);
  const printed = await terminal.run(`echo this is ${name}`);
  if (!printed.includes(`\nthis is ${name}\r`))
    throw new Error(`${name} answered ${JSON.stringify(printed)}`);
  return terminal;
}

/** The nodes of a project as they are told to be started. Resolves when the server listens to this listener. */
async function startedNodes(project: string): Promise<{ ids: AsyncIterable<string>; stop: () => void }> {
  const stopping = new AbortController();
  const { body } = await fetch(`${project}/notifications`, { signal: stopping.signal });
  if (body === null) throw new Error('there are no notifications');
  const stream = Readable.fromWeb(body);
  stream.on('error', () => undefined);
  const lines = createInterface({ input: stream })[Symbol.asyncIterator]();
  await lines.next();
  async function* ids(): AsyncIterable<string> {
    for (;;) {
      const line = await lines.next();
      if (line.done === true) return;
      const told = JSON.parse(line.value) as { action: string; event: { node_id: string; status: string } };
      if (told.action === 'node.updated' && told.event.status === 'started') yield told.event.node_id;
    }
  }
  return {
    ids: ids(),
    stop: () => {
      stopping.abort();
    },
  };
}

/** The process of the keeper: it is told its folder, which no other process is. */
function keeperOf(data: string): number {
  const folder = `\0${join(data, 'run')}\0`;
  for (const pid of processes()) {
    const command = read(`/proc/${pid}/cmdline`);
    if (command?.includes(folder) === true) return pid;
  }
  throw new Error('the server has no keeper');
}

function cpuOf(server: number, keeper: number): Cpu {
  const programs = processes().filter((pid) => parentOf(pid) === keeper);
  return {
    server: cpuSecondsOf(server),
    keeper: cpuSecondsOf(keeper),
    programs: programs.reduce((seconds, pid) => seconds + cpuSecondsOf(pid), 0),
  };
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1]);
}

/** Undefined when the process has ended. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function difference(after: Cpu, before: Cpu): Cpu {
  return {
    server: after.server - before.server,
    keeper: after.keeper - before.keeper,
    programs: after.programs - before.programs,
  };
}

function sum({ server, keeper, programs }: Cpu): number {
  return server + keeper + programs;
}
