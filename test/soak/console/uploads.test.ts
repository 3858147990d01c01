/** An upload of 2 GiB by the console that is cut twice: the page is loaded anew, and the server is killed. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import t from 'tap';
import { Client } from '../../support/client.js';
import { ConsoleBrowser, missingConsoleBrowser } from '../../support/console/console-browser.js';
import { eventually } from '../../support/eventually.js';
import { patience } from '../../support/patience.js';
import { scratchFolder } from '../../support/scratch.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';

const MEBI = 1024 * 1024;
const SIZE = 2048 * MEBI;
/** A port that nobody else takes while the server is away: its console ports, which no node of it needs. */
const FLAGS = ['--port', ownConsolePorts().split('-')[0] ?? ''];
/** On a busy machine it goes on for long after the server has returned. */
const LONGEST_END_MS = patience(240_000);
const NAME = 'csr1000v.qcow2';
/** One piece of the upload would fill it. */
const MOST_HEAP = 64 * MEBI;
/** The browser says so of what is cut. */
const CUT = /ERR_(CONNECTION|EMPTY|ABORTED|FAILED|SOCKET)|WebSocket connection to .* failed|status of 503/;

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

  await choose();
  const before = await beyond(SIZE / 8);
  await page.reload();
  await choose();
  const after = await beyond(Math.max(before, SIZE / 2));
  t.comment(`loaded anew after ${before} octets, the server is killed after ${after}`);
  await first.stop('SIGKILL');
  await uploads.getByText('waits for the network, goes on by itself').waitFor();
  await startServer(t, { data: first.data, flags: FLAGS });
  await beyond(SIZE - SIZE / 8);
  await uploads.getByText('finished').waitFor({ timeout: LONGEST_END_MS });

  t.equal(made.length, 1, 'there was one upload');
  const wanted = { filename: NAME, filesize: SIZE, md5sum: await digest };
  t.match((await client.get('/v2/compute/qemu/images')).body, [wanted]);
  await promisify(execFile)('cmp', [source, join(first.data, 'images', 'QEMU', NAME)]);
  const session = await page.context().newCDPSession(page);
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  t.ok(usedSize < MOST_HEAP, `the page holds ${usedSize} octets`);
  t.same(
    complaints.filter((complaint) => !CUT.test(complaint)),
    [],
  );
});
