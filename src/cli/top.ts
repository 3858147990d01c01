/** `wirefarm top`: how a server is doing now, from its metrics: rates, CPU, disks, and the labs with most nodes. */
import { setTimeout as pause } from 'node:timers/promises';
import { LAB_OPTIONS, parseLabWords, wrong } from './lab-command.js';
import { MetricSample } from './metric-sample.js';
import { amount } from './quantities.js';
import { Server } from './server.js';
import { serverAddress, type Environment } from './server-address.js';
import { tableOf } from './table.js';

const BETWEEN_LOOKS_MS = 2000;
const USUAL_ROWS = 24;
/** The lines above the labs are shown in any terminal. */
const LEAST_ROWS = 8;
const CLEAR_SCREEN = '\u001b[H\u001b[2J';

const HELP = [
  'Usage:',
  '  wirefarm top [--json] [--url URL] [--ca FILE]',
  '      Shows requests, frames and drops a second, CPU, disks, and the open labs, until Ctrl-C.',
  '      Into a pipe, or with --json, it tells the figures of two seconds, once.',
  '',
].join('\n');

export async function top(args: readonly string[], environment: Environment): Promise<void> {
  const { values, words } = parseLabWords('top', args, LAB_OPTIONS);
  if (values.help === true) {
    process.stdout.write(HELP);
    return;
  }
  if (words.length > 0) throw wrong('top', 'it takes no other words');
  const server = new Server(serverAddress(values.url, environment, values.ca));
  const isOnce = values.json === true || !process.stdout.isTTY;
  let before = await MetricSample.of(server);
  do {
    await pause(BETWEEN_LOOKS_MS);
    const now = await MetricSample.of(server);
    const view = viewOf(now, before);
    if (values.json === true) process.stdout.write(`${JSON.stringify(view)}\n`);
    else process.stdout.write(isOnce ? textOf(view) : `${CLEAR_SCREEN}${shortened(textOf(view))}`);
    before = now;
  } while (!isOnce);
}

interface LabFigures {
  readonly name: string;
  readonly running: number;
  readonly nodes: number;
  readonly links: number;
  readonly captures: number;
}

interface View {
  readonly requests_per_second: number;
  readonly frames_per_second: { readonly in: number; readonly out: number };
  /** By cause; only what is dropped now. */
  readonly drops_per_second: Readonly<Record<string, number>>;
  /** In cores. */
  readonly cpu: number;
  /** The share of the time in which the thread that answers requests has work. */
  readonly loop_busy: number;
  readonly disks: Readonly<Record<string, { readonly free: number; readonly size: number }>>;
  readonly closed_labs: number;
  readonly labs: readonly LabFigures[];
}

function viewOf(now: MetricSample, before: MetricSample): View {
  const rates = (name: string, label: string): Record<string, number> => now.ratesSince(before, name, label);
  const frames = rates('engine_frames_total', 'direction');
  const free = now.sums('disk_free_bytes', 'part');
  const sizes = now.sums('disk_size_bytes', 'part');
  const drops = Object.entries(rates('drops_total', 'cause')).filter(([, rate]) => rate > 0);
  return {
    requests_per_second: total(rates('http_requests_total', 'method')),
    frames_per_second: { in: frames['in'] ?? 0, out: frames['out'] ?? 0 },
    drops_per_second: Object.fromEntries(drops),
    cpu: total(rates('process_cpu_seconds_total', 'none')),
    loop_busy: total(rates('event_loop_busy_seconds_total', 'none')),
    disks: Object.fromEntries(
      Object.entries(sizes).map(([part, size]) => [part, { free: free[part] ?? 0, size }]),
    ),
    closed_labs: now.sums('projects', 'state')['closed'] ?? 0,
    labs: labsOf(now),
  };
}

/** The labs with most running nodes come first. */
function labsOf(now: MetricSample): LabFigures[] {
  const links = now.sums('project_links', 'project');
  const captures = now.sums('project_captures', 'project');
  const nodes = now.sums('project_nodes', 'project');
  const running = now.sums('project_nodes', 'project', ({ status }) => status === 'started');
  return now
    .labels('project_info')
    .map(({ project: id = '', name = '' }) => ({
      ...{ name, running: running[id] ?? 0, nodes: nodes[id] ?? 0 },
      ...{ links: links[id] ?? 0, captures: captures[id] ?? 0 },
    }))
    .toSorted((a, b) => b.running - a.running || a.name.localeCompare(b.name));
}

function textOf(view: View): string {
  const { frames_per_second: frames, drops_per_second: drops } = view;
  const dropped = Object.entries(drops).map(([cause, rate]) => `${cause} ${count(rate)}/s`);
  const disks = Object.entries(view.disks).map(
    ([part, { free, size }]) => `${part} ${amount(free)} of ${amount(size)}`,
  );
  const header = [
    `labs     ${view.labs.length} open, ${view.closed_labs} closed`,
    `requests ${count(view.requests_per_second)}/s`,
    `frames   ${count(frames.in)}/s in, ${count(frames.out)}/s out`,
    `dropped  ${dropped.join(', ') || 'nothing'}`,
    `cpu      ${view.cpu.toFixed(2)} cores, the loop is busy for ${Math.round(view.loop_busy * 100)} % of the time`,
    `free     ${disks.join(', ')}`,
  ];
  const rows = view.labs.map(({ name, running, nodes, links, captures }) => [
    ...[name, `${running} of ${nodes}`, String(links), String(captures)],
  ]);
  const labs = rows.length === 0 ? '' : tableOf([['LAB', 'RUNNING', 'LINKS', 'CAPTURES'], ...rows]);
  return `${header.join('\n')}\n${labs}`;
}

const count = (rate: number): string => (rate < 10 ? rate.toFixed(1) : rate.toFixed(0));
const total = (rates: Readonly<Record<string, number>>): number =>
  Object.values(rates).reduce((sum, rate) => sum + rate, 0);

/** As many lines as the terminal has, none longer than it is wide. */
function shortened(text: string): string {
  const { rows, columns } = process.stdout;
  const most = Math.max(LEAST_ROWS, (rows > 0 ? rows : USUAL_ROWS) - 1);
  const lines = text.trimEnd().split('\n');
  return `${lines
    .slice(0, most)
    .map((line) => (columns > 0 ? line.slice(0, columns) : line))
    .join('\n')}\n`;
}
