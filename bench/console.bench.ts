/**
 * The console in a browser without a GPU: the frames of large maps beside the same pictures as SVG, what opens a lab and
 * moves its nodes, the cost of a packet, its way to its row, and whether a fast flow is held whole.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { ChildServer } from './child-server.js';
import { decoding } from './console/decoding.js';
import { makeLargeLab } from './console/large-lab.js';
import { mapFrames, openMap } from './console/map-frames.js';
import { packetFlow } from './console/packet-flow.js';
import { figure, type Bench, type Figure } from './measurement.js';

const SIZES = [500, 2000];
const MOVED = 200;
const PROGRAM = '/usr/bin/chromium';
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'];

export const consolePages: Bench = {
  name: 'console',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    const browser = await chromium.launch({ executablePath: PROGRAM, args: FLAGS });
    try {
      const figures: Figure[] = [];
      for (const count of SIZES) {
        const id = await makeLargeLab(server.url, count);
        const page = await (await browser.newContext()).newPage();
        figures.push(
          ...(await openingOf(page, server.url, id, count)),
          ...(await moveOf(page, count)),
          ...(await mapFrames(browser, page, count)),
        );
        await page.context().close();
      }
      const page = await (await browser.newContext()).newPage();
      return [...figures, ...decoding(), ...(await packetFlow(page, server.url))];
    } finally {
      await browser.close();
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

/** The requests for the lab, without those for files of the console and for pictures. */
async function openingOf(page: Page, url: string, id: string, count: number): Promise<Figure[]> {
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    if (new URL(response.url()).pathname === `/v2/projects/${id}/map`)
      sizes.push(response.body().then(({ length }) => length));
  });
  const startedAt = performance.now();
  await openMap(page, url, id);
  const took = performance.now() - startedAt;
  const all = await Promise.all(sizes);
  const title = `${count} nodes`;
  return [
    figure(`${title}: requests for nodes and links`, '', [all.length], 'at most 1'),
    figure(`${title}: their answer`, 'MB', [all.reduce((sum, size) => sum + size, 0) / 1e6], 'less than 1'),
    figure(`${title}: from the address to the map`, 'ms', [took]),
  ];
}

/** Moves nodes by an arrow, and counts what is asked of the server. */
async function moveOf(page: Page, count: number): Promise<Figure[]> {
  let requests = 0;
  page.on('request', (request) => {
    if (request.method() !== 'GET') requests++;
  });
  await page.evaluate(
    `globalThis.wirefarmMap.lab.select(globalThis.wirefarmMap.lab.scene.nodes.slice(0, ${MOVED}).map(({ id }) => id))`,
  );
  const answered = page.waitForResponse((response) => response.url().endsWith('/nodes/batch'));
  await page.getByRole('application').press('Shift+ArrowRight');
  await answered;
  return [figure(`${count} nodes: requests to move ${MOVED} of them`, '', [requests], 'at most 1')];
}
