/** An upload by the console that is cut thrice: the page is loaded anew, the server is killed, and the network goes away. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import t from 'tap';
import { Client } from '../../support/client.js';
import { ConsoleBrowser, missingConsoleBrowser } from '../../support/console/console-browser.js';
import { eventually } from '../../support/eventually.js';
import { patience } from '../../support/patience.js';
import { scratchFolder } from '../../support/scratch.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';

const MEBI = 1024 * 1024;
/** CONTRIBUTING.md tells how 20 GB are sent: they need as much of the disk. */
const SIZE = Number(process.env['WIREFARM_TEST_UPLOAD_GB'] ?? 2) * 1e9;
/** A port that nobody else takes while the server is away: its console ports, which no node of it needs. */
const FLAGS = ['--port', ownConsolePorts().split('-')[0] ?? ''];
/** On a busy machine it goes on for long after the server has returned. */
const LONGEST_END_MS = patience(240_000);
const NAME = 'csr1000v.qcow2';
/** One piece of the upload would fill it. */
const MOST_HEAP = 64 * MEBI;
/** The process of the page may hold a few buffers more than when it began, and no piece twice. */
const MOST_GROWTH = 128 * MEBI;
/** The browser says so of what is cut. */
const CUT =
  /ERR_(CONNECTION|EMPTY|ABORTED|FAILED|SOCKET|INTERNET)|WebSocket connection to .* failed|status of 503/;

/** Octets: scripts have those of the heap, and all else that the process of the page has resident is in the other. */
interface Memory {
  readonly heap: number;
  readonly process: number;
}

async function memoryOf(page: Page): Promise<Memory> {
  const session = await page.context().newCDPSession(page);
  const { usedSize: heap } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  const browser = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo = [] } = (await browser?.send('SystemInfo.getProcessInfo')) ?? {};
  await browser?.detach();
  const renderers = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => String(id));
  const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', renderers.join(',')]);
  const resident = stdout.trim().split(/\s+/).map(Number);
  return { heap, process: Math.max(...resident) * 1024 };
}

async function md5Of(file: string): Promise<string> {
  const hash = createHash('md5');
  await pipeline(createReadStream(file, { highWaterMark: MEBI }), hash);
  return hash.digest('hex');
}

void t.test('an upload by the console', { skip: missingConsoleBrowser() }, async (t) => {
  const source = join(scratchFolder(t), NAME);
  writeFileSync(source, 'the head of an image');
  truncateSync(source, SIZE - MEBI);
  writeFileSync(source, Buffer.alloc(MEBI, 'the end of an image'), { flag: 'a' });
  const digest = md5Of(source);
  const first = await startServer(t, { flags: FLAGS });
  const client = new Client(first.url);
  const browser = await ConsoleBrowser.start(t);
  const { page, complaints } = await browser.open(first, '#/images');
  const made: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().endsWith('/v2/uploads')) made.push(request.url());
  });
  const uploads = page.getByRole('region', { name: 'Uploads' });
  const choose = (): Promise<void> => page.getByLabel('Upload files').setInputFiles(source);
  /** The octets that the server has of it, as soon as they are more than this. */
  const beyond = (octets: number): Promise<number> =>
    eventually(`more than ${octets} octets`, async () => {
      const [upload] = (await client.get('/v2/uploads')).body as { received: number }[];
      return upload !== undefined && upload.received > octets ? upload.received : undefined;
    });

  const waits = uploads.getByText('waits for the network, goes on by itself');
  const began = performance.now();
  const memory: Memory[] = [];
  /** Awaits more octets than these, and remembers what the page has in memory then. */
  const measured = async (octets: number): Promise<number> => {
    const received = await beyond(octets);
    const now = await memoryOf(page);
    memory.push(now);
    const seconds = Math.round((performance.now() - began) / 1000);
    t.comment(`${received} octets after ${seconds} s: heap ${now.heap}, process ${now.process}`);
    return received;
  };

  await choose();
  const before = await measured(SIZE / 8);
  await page.reload();
  await choose();
  await measured(Math.max(before, (SIZE / 8) * 3));
  await page.context().setOffline(true);
  await waits.waitFor();
  await page.context().setOffline(false);
  await measured(SIZE / 2);
  await first.stop('SIGKILL');
  await waits.waitFor();
  await startServer(t, { data: first.data, flags: FLAGS });
  await measured(SIZE - SIZE / 8);
  await uploads.getByText('finished').waitFor({ timeout: LONGEST_END_MS });
  t.comment(`finished after ${Math.round((performance.now() - began) / 1000)} s`);
  memory.push(await memoryOf(page));

  t.equal(made.length, 1, 'there was one upload');
  const wanted = { filename: NAME, filesize: SIZE, md5sum: await digest };
  t.match((await client.get('/v2/compute/qemu/images')).body, [wanted]);
  await promisify(execFile)('cmp', [source, join(first.data, 'images', 'QEMU', NAME)]);
  t.comment(`the digest is right after ${Math.round((performance.now() - began) / 1000)} s`);
  const heaps = memory.map(({ heap }) => heap);
  t.ok(Math.max(...heaps) < MOST_HEAP, `the heap has ${heaps.join(', ')} octets`);
  const processes = memory.map(({ process }) => process);
  const [start = 0] = processes;
  t.ok(Math.max(...processes) < start + MOST_GROWTH, `the process has ${processes.join(', ')} octets`);
  t.same(
    complaints.filter((complaint) => !CUT.test(complaint)),
    [],
  );
});
