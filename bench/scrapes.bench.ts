/**
 * How long a scrape of the metrics holds the HTTP thread: the processor time of its longest slice, on a server with a thousand
 * labs, and where the counters of 60,000 ports are added up.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROW_LENGTH } from '../src/base/memory/port-counters.js';
import { MetricPage } from '../src/base/metrics/metric-page.js';
import { writeEngines } from '../src/engine/control/engine-metrics.js';
import { gns3Link, gns3Node, placeGns3Project } from '../test/support/gns3-project.js';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { threadMs } from './thread-clock.js';

const PROJECTS = 1000;
const LINKS = 3;
const LINKS_OF_ONE = 1000;
const PORTS = 60_000;
const ROUNDS = 20;
const AIM = 'at most 2';

export const scrapes: Bench = {
  name: 'scrapes',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const slices = join(data, 'slices');
    process.env['WIREFARM_BENCH_SLICES'] = slices;
    for (let count = 0; count < PROJECTS; count++) placeLab(data, `lab${count}`, LINKS);
    const large = placeLab(data, 'large', LINKS_OF_ONE);
    const server = await ChildServer.start('./metered-server.js', ['--port', '0', '--data', data]);
    try {
      await allOpen(server.url, PROJECTS + 1);
      const pages = {
        [`/metrics, ${PROJECTS} projects, ${2 * (PROJECTS * LINKS + LINKS_OF_ONE)} ports`]: '/metrics',
        [`/metrics/projects, ${PROJECTS} projects`]: '/metrics/projects',
        [`/metrics/links, ${LINKS_OF_ONE} links`]: `/metrics/links?project=${large}`,
      };
      const figures: Figure[] = [];
      for (const [name, path] of Object.entries(pages)) {
        // The first few warm the page up.
        for (let round = 0; round < 2 * ROUNDS; round++) await text(server.url + path);
        const longest = readFileSync(slices, 'utf8').trim().split('\n').slice(-ROUNDS).map(Number);
        figures.push(figure(`longest slice, ${name}`, 'ms', longest, AIM));
      }
      return [...figures, figure(`longest slice, counters of ${PORTS} ports`, 'ms', slicesOfPorts(), AIM)];
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

/** Puts two linked hubs into a data folder, as a project that opens with the server. Returns its id. */
function placeLab(data: string, name: string, count: number): string {
  const ports = Array.from({ length: count }, (_, index) => ({ name: `e${index}`, port_number: index }));
  const [first, second] = ['H1', 'H2'].map((name) =>
    gns3Node('ethernet_hub', { name, properties: { ports_mapping: ports } }),
  );
  if (first === undefined || second === undefined) throw new Error('two hubs were to be made');
  const links = ports.map(({ port_number: port }) => gns3Link({ node: first, port }, { node: second, port }));
  const head = { auto_open: true, auto_close: false };
  return placeGns3Project(join(data, 'projects'), name, { nodes: [first, second], links, head }).id;
}

async function allOpen(url: string, count: number): Promise<void> {
  while (!(await text(`${url}/metrics`)).includes(`wirefarm_projects{state="opened"} ${count}\n`))
    await sleep(1000);
}

async function text(url: string): Promise<string> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  return answer.text();
}

/** The longest step of each of many scrapes of an engine all of whose ports are in use. */
function slicesOfPorts(): number[] {
  const counters = new Float64Array(PORTS * ROW_LENGTH).fill(3);
  const engine = { counters, usedRows: PORTS, ports: PORTS, labs: PROJECTS, restarts: 0 };
  return Array.from({ length: ROUNDS }, () => {
    const steps = writeEngines(new MetricPage('text'), [engine])[Symbol.iterator]();
    let longest = 0;
    for (let isOver = false; !isOver;) {
      const began = threadMs();
      isOver = steps.next().done === true;
      longest = Math.max(longest, threadMs() - began);
    }
    return longest;
  });
}
