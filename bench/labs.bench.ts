/**
 * A lab of 2,000 nodes from its file, as `wirefarm up` makes it, and a farm of labs of 20 switches, 60 links and one
 * capture: what they take, what they cost when idle, and how long a start takes that opens all of them again. There are
 * 400 labs, or as many as this user may have descriptors for: each end of a link takes one.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';

const CLI = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
const SERVER = '../src/server/main.js';
const ROUNDS = 3;
const LARGE = { nodes: 2000, links: 3000 };
const MOST_LABS = 400;
const AT_ONCE = 8;
const SMALL = { nodes: 20, links: 60 };
/** Descriptors that are left to the rest of the server. */
const SPARE_DESCRIPTORS = 1000;
/** The range that servers have by default is too small. */
const UDP_PORTS = '2000-65000';
const SETTLE_MS = 3000;
const IDLE_SECONDS = 10;
const LOOK_MS = 20;

export const labs: Bench = {
  name: 'labs',
  async run() {
    return [...(await largeLab()), ...(await manyLabs())];
  },
};

async function largeLab(): Promise<Figure[]> {
  const seconds: number[] = [];
  const plans: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await withServer(async ({ url }, data) => {
      const path = join(data, 'large.json');
      writeFileSync(path, JSON.stringify(labOf('large', LARGE)));
      seconds.push(secondsOf(['up', path, '--url', url, '--quiet']));
      plans.push(secondsOf(['plan', path, '--url', url]));
      return Promise.resolve();
    });
  }
  const name = `${LARGE.nodes} nodes and ${LARGE.links} links`;
  return [
    figure(`${name}, wirefarm up`, 's', seconds, 'less than 60'),
    figure(`${name}, the empty plan afterwards`, 's', plans),
  ];
}

function secondsOf(args: readonly string[]): number {
  const begun = performance.now();
  const { status, stderr } = spawnSync(process.execPath, [CLI, ...args], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`wirefarm ${args.join(' ')}: ${stderr}`);
  return (performance.now() - begun) / 1000;
}

async function manyLabs(): Promise<Figure[]> {
  const count = labsThatFit();
  let figures: Figure[] = [];
  await withServer(async (server, data) => {
    const before = server.residentMiB();
    const begun = performance.now();
    const numbers = Array.from({ length: count }, (_, index) => index);
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let index = numbers.pop(); index !== undefined; index = numbers.pop())
          await makeLab(server.url, `lab-${index}`);
      }),
    );
    const made = (performance.now() - begun) / 1000;
    const added = server.residentMiB() - before;
    const idle = await idleOf(server);
    await server.stop();
    const again = performance.now();
    const later = await startServer(data);
    try {
      while (!(await areOpen(later.url, count))) await setTimeout(LOOK_MS);
      const opened = (performance.now() - again) / 1000;
      const name = `labs of ${SMALL.nodes} switches, ${SMALL.links} links and a capture`;
      figures = [
        figure(name, 'labs', [count]),
        figure(`${name}, made over HTTP`, 'ms a lab', [(made / count) * 1000]),
        figure(`${name}, memory`, 'MiB a lab', [added / count]),
        figure(`${name}, all idle`, '% of a core', [idle]),
        figure(`${name}, from the start of the server until all run again`, 's', [opened]),
        figure(`${name}, all idle after that`, '% of a core', [await idleOf(later)]),
      ];
    } finally {
      await later.stop();
    }
  });
  return figures;
}

function labsThatFit(): number {
  const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
  const descriptors = limit === undefined ? Infinity : Number(limit);
  return Math.min(MOST_LABS, Math.floor((descriptors - SPARE_DESCRIPTORS) / (2 * SMALL.links + 1)));
}

async function makeLab(url: string, name: string): Promise<void> {
  const { project_id: id } = await call(url, 'POST', '/v2/projects', { name });
  const path = `/v2/projects/${String(id)}`;
  const { job_id: job } = await call(url, 'PUT', `${path}/lab-file`, labOf(name, SMALL, true));
  for (;;) {
    const { outcome, reason } = await call(url, 'GET', `${path}/jobs/${String(job)}`);
    if (outcome === 'failed') throw new Error(`${name}: ${String(reason)}`);
    if (outcome === 'done') break;
    await setTimeout(LOOK_MS);
  }
  await call(url, 'PUT', path, { auto_open: true, auto_close: false });
}

async function areOpen(url: string, count: number): Promise<boolean> {
  const projects = (await call(url, 'GET', '/v2/projects')) as unknown as { status: string }[];
  return projects.length === count && projects.every(({ status }) => status === 'opened');
}

async function idleOf(server: ChildServer): Promise<number> {
  await setTimeout(SETTLE_MS);
  const cpu = server.cpuSeconds();
  await setTimeout(IDLE_SECONDS * 1000);
  return ((server.cpuSeconds() - cpu) / IDLE_SECONDS) * 100;
}

/** Switches in a ring, with links across it; the first link has a capture if it is asked for. */
function labOf(name: string, { nodes, links }: typeof LARGE, isCaptured = false): object {
  const numbers = Array.from({ length: nodes }, (_, index) => `S${index}`);
  const wires = Array.from({ length: links }, (_, index) => {
    const far = Math.floor(index / nodes);
    const from = index % nodes;
    return {
      ends: [`S${from}:e${far * 2}`, `S${(from + far + 1) % nodes}:e${far * 2 + 1}`],
      ...(isCaptured && index === 0 && { capture: {} }),
    };
  });
  const kind = { kind: 'ethernet_switch', ports: 6 };
  return { name, nodes: Object.fromEntries(numbers.map((number) => [number, kind])), links: wires };
}

async function call(
  url: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const response = await fetch(url + path, {
    method,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

function startServer(data: string): Promise<ChildServer> {
  return ChildServer.start(SERVER, ['--port', '0', '--data', data, '--udp-ports', UDP_PORTS]);
}

async function withServer(work: (server: ChildServer, data: string) => Promise<void>): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
  const server = await startServer(data);
  try {
    await work(server, data);
  } finally {
    await server.stop();
    rmSync(data, { recursive: true });
  }
}
