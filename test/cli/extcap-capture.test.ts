/** A capture through the process, with a reader of the test at the other end of the FIFO. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { cli, LinkedLab, startCli } from '../support/cli.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { startServer, type ServerProcess } from '../support/server-process.js';

const SECTION_HEADER = '0a0d0d0a';

interface Bench {
  readonly server: ServerProcess;
  readonly client: Client;
  readonly lab: LinkedLab;
}

async function bench(t: Teardown): Promise<Bench> {
  const server = await startServer(t);
  const client = new Client(server.url);
  return { server, client, lab: await LinkedLab.open(t, client, 'lab', ['S', 'H']) };
}

function fifoOf(t: Teardown): string {
  const path = join(scratchFolder(t), 'fifo');
  execFileSync('mkfifo', [path]);
  return path;
}

/** A capture whose stream has begun to arrive at the reader, which is a process of its own. */
async function capturing(
  t: Teardown,
  { server, lab }: Bench,
): Promise<{
  program: ReturnType<typeof startCli>;
  reader: ChildProcess;
  read: () => Buffer;
}> {
  const fifo = fifoOf(t);
  const args = ['extcap', '--capture', '--extcap-interface', lab.interfaceName, '--fifo', fifo];
  const program = startCli(t, [...args, '--url', server.url]);
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => reader.kill('SIGKILL'));
  const chunks: Buffer[] = [];
  reader.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(reader.stdout, 'data');
  return { program, reader, read: () => Buffer.concat(chunks) };
}

void t.test('frames of the link come through the FIFO until Wireshark asks to stop', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const place = await bench(t);
    const { program, read } = await capturing(t, place);
    t.equal(read().toString('hex', 0, 4), SECTION_HEADER);
    await place.lab.send(1);
    await eventually('a frame', () => (read().includes('ffffffffffff02000000000188b50000', 0, 'hex') ? true : undefined)); // oxfmt-ignore
    program.child.kill(signal);
    t.same(await program.ended, { code: 0, output: '', errors: '' }, signal);
  }
});

void t.test('a reader that goes ends it, on a silent link, too', async (t) => {
  const { program, reader } = await capturing(t, await bench(t));
  reader.kill('SIGKILL');
  t.same(await program.ended, { code: 0, output: '', errors: '' });
});

void t.test('the end of the stream is the end; a server that is gone is an error', async (t) => {
  const place = await bench(t);
  const first = await capturing(t, place);
  await place.client.expect(204, 'POST', `/v2/projects/${place.lab.projectId}/close`);
  t.same(await first.program.ended, { code: 0, output: '', errors: '' });
  await place.client.expect(201, 'POST', `/v2/projects/${place.lab.projectId}/open`);
  const second = await capturing(t, place);
  await place.server.stop('SIGKILL');
  const { code, errors } = await second.program.ended;
  t.match({ code, errors }, { code: 1, errors: /^wirefarm: the connection to the server broke/ });
});

void t.test('an impossible capture is reported, and the stream of the reader ends', async (t) => {
  const { server, client, lab } = await bench(t);
  const capture = (...more: string[]): ReturnType<typeof cli> =>
    cli(t, ['extcap', '--capture', '--extcap-interface', lab.interfaceName, '--url', server.url, ...more]);
  t.same(await capture(), { code: 2, output: '', errors: 'wirefarm: --capture needs --fifo\n' });
  t.match(await capture('--fifo', '/nowhere'), {
    code: 1,
    errors: /cannot open the FIFO \/nowhere \(ENOENT\)/,
  });
  const refused = async (...more: string[]): Promise<unknown> => {
    const fifo = fifoOf(t);
    const reading = readFile(fifo);
    const ended = await capture('--fifo', fifo, ...more);
    t.equal((await reading).length, 0);
    return ended;
  };
  t.match(await refused('--snaplen', 'x'), { code: 1, errors: /^wirefarm: .*snaplen/ });
  await client.expect(204, 'POST', `/v2/projects/${lab.projectId}/close`);
  t.match(await refused(), { code: 1, errors: 'wirefarm: The project is not opened\n' });
});
