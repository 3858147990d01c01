/**
 * The pages of metrics of a server with a thousand labs, and those of 60,000 ports, for which no host of a test has the
 * descriptors: they are made from counters in memory. How long a slice takes is a figure (`npm run bench scrapes`); no turn of a
 * server that a test starts is long (`test/support/turn-watch.ts`).
 */
import { join } from 'node:path';
import t from 'tap';
import { COUNTER, COUNTER_NAMES, ROW_LENGTH } from '../../../src/base/memory/port-counters.js';
import { metricText } from '../../../src/base/metrics/metric-page.js';
import { writeEngines } from '../../../src/engine/control/engine-metrics.js';
import type { PortCounters } from '../../../src/engine/control/running-device.js';
import { writeLinks } from '../../../src/operations/link-metrics.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { gns3Link, gns3Node, placeGns3Project } from '../../support/gns3-project.js';
import { complaintsOf, samplesOf, scrape, type Samples } from '../../support/metric-samples.js';
import { scratchFolder } from '../../support/scratch.js';
import { manyUdpPorts, startServer } from '../../support/server-process.js';

const PROJECTS = 1000;
const PORTS = 60_000;
/** A step of a page writes so much text at most: some dozens of series. */
const LONGEST_STEP = 16 * 1024;

/** Puts two linked hubs into a data folder, as a project that opens with the server. */
function placeLab(data: string, name: string): string {
  const [first, second] = [
    gns3Node('ethernet_hub', { name: 'H1' }),
    gns3Node('ethernet_hub', { name: 'H2' }),
  ];
  const links = [gns3Link({ node: first }, { node: second })];
  const head = { auto_open: true, auto_close: false };
  return placeGns3Project(join(data, 'projects'), name, { nodes: [first, second], links, head }).id;
}

/** The series of a page but those of threads, which are started when they are needed, and of requests. */
function ownSeries(samples: Samples): string[] {
  return [...samples.keys()].filter((series) => !/thread=|^wirefarm_http_|pool=/.test(series));
}

function opened(client: Client, count: number): Promise<Samples> {
  return eventually(`${count} projects are open, and the disks have been measured`, async () => {
    const samples = await scrape(client);
    const hasDisks = samples.has('wirefarm_disk_free_bytes{part="uploads"}');
    return hasDisks && samples.get('wirefarm_projects{state="opened"}') === count ? samples : undefined;
  });
}

void t.test(
  'a thousand labs add no series to the page of the server, and have a page of their own',
  async (t) => {
    const data = scratchFolder(t);
    const environment = { WIREFARM_UDP_PORTS: manyUdpPorts() };
    const ids = [placeLab(data, 'lab0')];
    const small = await startServer(t, { data, environment });
    const before = await opened(new Client(small.url), 1);
    await small.stop();
    for (let count = 1; count < PROJECTS; count++) ids.push(placeLab(data, `lab${count}`));
    const { url } = await startServer(t, { data, environment });
    const client = new Client(url);
    const after = await opened(client, PROJECTS);
    t.strictSame(ownSeries(after), ownSeries(before));
    t.equal(after.get('wirefarm_links'), PROJECTS);
    t.equal(after.get('wirefarm_nodes{kind="ethernet_hub",status="started"}'), 2 * PROJECTS);
    t.ok(after.size < 4000, `${after.size} series`);
    const { text } = await client.get('/metrics/projects');
    const complaints = await complaintsOf(text);
    if (complaints !== undefined) t.equal(complaints, '');
    const page = samplesOf(text);
    t.equal(page.size, 6 * PROJECTS);
    for (const [index, id] of ids.entries()) {
      if (page.get(`wirefarm_project_info{project="${id}",name="lab${index}"}`) !== 1) t.fail(`lab${index}`);
      if (page.get(`wirefarm_project_links{project="${id}"}`) !== 1) t.fail(`the link of lab${index}`);
    }
  },
);

void t.test('the counters of 60,000 ports are added up in steps, each port once', (t) => {
  const counters = new Float64Array(PORTS * ROW_LENGTH);
  for (let port = 0; port < PORTS; port++) counters[port * ROW_LENGTH + COUNTER.frames_in] = port;
  const engine = { counters, usedRows: PORTS, ports: PORTS, labs: 1, restarts: 0 };
  const steps = [...metricText([(page) => writeEngines(page, [engine])], 'text')];
  const samples = samplesOf(steps.join(''));
  t.equal(samples.get('wirefarm_engine_frames_total{engine="0",direction="in"}'), (PORTS * (PORTS - 1)) / 2);
  t.ok(samples.size < 100, 'its series do not depend on the number of ports');
  t.ok(steps.length > PORTS / 2048, `${steps.length} steps`);
  t.end();
});

void t.test('a page of 30,000 links is made in short steps, each link once', (t) => {
  const counts = Object.fromEntries(COUNTER_NAMES.map((name) => [name, 7])) as PortCounters;
  let looks = 0;
  let looksOfStep = 0;
  let mostLooks = 0;
  const device = {
    counters(): PortCounters {
      looks++;
      mostLooks = Math.max(mostLooks, ++looksOfStep);
      return counts;
    },
  };
  const end = { node: { device }, port: 0 };
  const wires = Array.from({ length: PORTS / 2 }, (_, index) => ({
    ...{ linkId: `link${index}`, near: end, far: end, isReversed: false },
  }));
  let page = '';
  let longest = 0;
  for (const text of metricText([(page) => writeLinks(page, wires)], 'text')) {
    looksOfStep = 0;
    longest = Math.max(longest, text.length);
    page += text;
  }
  t.equal(looks, PORTS);
  t.ok(mostLooks <= 100, `a step looks at ${mostLooks} ports`);
  t.ok(longest <= LONGEST_STEP, `the longest step writes ${longest} characters`);
  t.equal(samplesOf(page).size, (5 * PORTS) / 2);
  t.end();
});
