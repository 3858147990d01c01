/**
 * Requests that are small for a client and would be much for the server. The watch of the HTTP thread (turn-watch.ts)
 * fails a test when one of them holds it; work of other threads is measured as CPU time of the process.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client, type Reply } from './support/client.js';
import { libpcapLack } from './support/libpcap.js';
import { end, LinkLab, type Json } from './support/link-lab.js';
import { NotificationLog } from './support/notification-log.js';
import { cpuMsOf } from './support/process-time.js';
import { rawRequest } from './support/raw-client.js';
import { startServer } from './support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };

/** For each space, an expression that looks for the end of the text would look at all spaces behind it. */
const SPACES = ` x${' '.repeat(65_532)}x `;

void t.test('a long text of a packet filter is refused at once', async (t) => {
  const lab = await LinkLab.make(host);
  const [near, far] = [await lab.hub(), await lab.hub()];
  const link = await lab.link([end(near, 0), end(far, 0)]);
  const refused = { status: 400, body: { message: /bpf: Filters is longer than 4096 characters/ } };
  const filters = { bpf: [SPACES] };
  t.match(await client.put(lab.at(link), { filters }), refused);
  t.match(await client.put(`${lab.at(link)}/directed_filters`, { forward: filters }), refused);
  const create = Array.from({ length: 15 }, (_, index) => ({
    nodes: [end(near, index + 1), end(far, index + 1)],
    filters,
  }));
  const { results } = await client.expect(200, 'POST', `${lab.links}/batch`, { create });
  t.same(
    (results as Json[]).map(({ status }) => status),
    create.map(() => 400),
  );
  t.equal((await lab.list()).length, 1);
});

void t.test('a long text of a packet filter in a file does not keep its project from opening', async (t) => {
  const lab = await LinkLab.make(host);
  const [near, far] = [await lab.hub(), await lab.hub()];
  for (const port of [0, 1, 2, 3]) await lab.link([end(near, port), end(far, port)]);
  const { name } = await client.expect(200, 'GET', lab.path);
  await client.expect(204, 'POST', `${lab.path}/close`);
  const file = join(server.data, 'projects', lab.id, `${String(name)}.gns3`);
  const text = JSON.parse(readFileSync(file, 'utf8')) as { topology: { links: Json[] } };
  for (const link of text.topology.links) link['filters'] = { bpf: [SPACES], delay: [1] };
  writeFileSync(file, JSON.stringify(text));
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.equal((await lab.list()).length, 4);
});

void t.test('headers that expressions would look at again and again are read at once', async (t) => {
  const symbol = '/v2/symbols/greedy.svg/raw';
  const body = '<svg width="3" height="4"/>';
  const put = (headers: Record<string, string>): ReturnType<typeof rawRequest> =>
    rawRequest(server.port, 'POST', symbol, { headers, body });
  t.equal((await put({})).status, 204);
  const spaces = ' '.repeat(15_000);
  const padding = '='.repeat(15_000);
  for (const range of [
    `bytes=${spaces}x`,
    `bytes=${spaces}1${spaces.slice(0, 500)}-x`,
    `${spaces.slice(0, 99)}x`,
  ]) {
    t.equal((await rawRequest(server.port, 'GET', symbol, { headers: { Range: range } })).status, 200);
  }
  for (const headers of [
    { 'Content-MD5': `${padding}x` },
    { 'Content-Digest': `md5=:${padding}A:` },
    { 'Repr-Digest': `sha-256=:${padding}A:` },
    { 'Content-Digest': `a${spaces}=:` },
  ]) {
    t.equal((await put(headers)).status, 400, Object.keys(headers).join());
  }
});

void t.test('a name that ends in many digits and is taken is numbered at once', async (t) => {
  const lab = await LinkLab.make(host);
  const name = `${'1'.repeat(250)}x`;
  t.equal((await lab.hub(name))['name'], name);
  t.equal((await lab.hub(name))['name'], `${name}1`);
});

const LARGEST_SYMBOL = 1024 * 1024;
/** Much less than one look at all of a symbol for each of its tags, much more than one look. */
const FEW_MS = 2000;

void t.test('a symbol that begins again and again is looked at once, beside other work', async (t) => {
  const evil = Buffer.from('<svg '.repeat(LARGEST_SYMBOL / 5));
  const before = cpuMsOf(server.child.pid);
  const replies = await Promise.all([
    client.request('POST', '/v2/symbols/one.svg/raw', evil),
    client.request('POST', '/v2/symbols/two.svg/raw', evil),
    client.post('/v2/projects', { name: 'honest' }),
  ]);
  t.same(
    replies.map(({ status }) => status),
    [204, 204, 201],
  );
  for (const name of ['one', 'two'])
    t.equal((await client.get(`/v2/symbols/${name}.svg/dimensions`)).status, 404);
  if (process.platform === 'linux') t.ok(cpuMsOf(server.child.pid) - before < FEW_MS, 'it was little work');
});

void t.test('a symbol has at most 1 MiB', async (t) => {
  const picture = (length: number): Buffer => {
    const bytes = Buffer.alloc(length, ' ');
    bytes.write('<svg width="3" height="4"/>');
    return bytes;
  };
  const path = '/v2/symbols/large.svg';
  const tooLarge = { status: 413, body: { message: 'Maximum request body size 1048576 exceeded.' } };
  t.match(await client.request('POST', `${path}/raw`, picture(LARGEST_SYMBOL + 1)), tooLarge);
  const pieces = [...Array.from({ length: 16 }, () => picture(65_536)), Buffer.from(' ')];
  const chunks = Buffer.concat([
    ...pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from('\r\n'),
    ]),
    Buffer.from('0\r\n\r\n'),
  ]);
  const headers = { 'Transfer-Encoding': 'chunked' };
  t.match(
    (await rawRequest(server.port, 'POST', `${path}/raw`, { headers, body: chunks })).text,
    /size 1048576 exceeded/,
  );
  t.hasStrict(
    await client.get(`${path}/dimensions`),
    { body: { width: 65, height: 59 } },
    'nothing was kept',
  );
  t.equal((await client.request('POST', `${path}/raw`, picture(LARGEST_SYMBOL))).status, 204);
  t.hasStrict(await client.get(`${path}/dimensions`), { body: { width: 3, height: 4 } });
});

/** An expression that is short enough, and takes libpcap several times its budget. */
const slowExpression = (mark: number): string =>
  Array.from(
    { length: 90 },
    (_, index) => `portrange ${index * 9 + mark + 1}-${index * 9 + mark + 5} and not host 1.2.3.${index}`,
  ).join(' or ');

void t.test(
  'expressions that take long are given up, in turn with those of others',
  { skip: libpcapLack() },
  async (t) => {
    const labs = await Promise.all([LinkLab.make(host), LinkLab.make(host)]);
    const [greedy = '', honest = ''] = await Promise.all(
      labs.map(async (lab) => lab.at(await lab.link([end(await lab.hub(), 0), end(await lab.hub(), 0)]))),
    );
    const order: string[] = [];
    const put = async (name: string, at: string, expression: string): Promise<Reply> => {
      const reply = await client.put(at, { filters: { bpf: [expression] } });
      order.push(name);
      return reply;
    };
    const slow = Array.from({ length: 5 }, (_, mark) => put('slow', greedy, slowExpression(mark)));
    t.hasStrict(await put('honest', honest, 'icmp'), { status: 201 });
    t.ok(order.length <= 3, 'it waited for one that ran, and for one that had its turn');
    for (const reply of await Promise.all(slow))
      t.match(reply, { status: 400, body: { message: /takes too long to compile, make it simpler$/ } });
    t.match(await put('name', honest, 'host some.name.example'), {
      status: 400,
      body: { message: /unknown host .*give the address/ },
    });
  },
);

void t.test('a large event is told to many listeners between other work', async (t) => {
  const lab = await LinkLab.make(host);
  const logs = await Promise.all(
    Array.from({ length: 100 }, () => NotificationLog.open(`${server.url}${lab.path}/notifications`)),
  );
  const svg = `<svg width="1" height="1"><!--${'x'.repeat(900_000)}--></svg>`;
  await client.expect(201, 'POST', `${lab.path}/drawings`, { svg });
  await Promise.all(logs.map((log) => log.next(({ action }) => action === 'drawing.created')));
  for (const log of logs) log.close();
  t.pass('all have heard of it');
});

void t.test('nothing of this has held the HTTP thread', async () => {
  await server.stop();
});

void t.test('a stop does not wait for expressions', { skip: libpcapLack() }, async (t) => {
  const own = await startServer(t);
  const at = { client: new Client(own.url), url: own.url };
  const lab = await LinkLab.make(at);
  const link = lab.at(await lab.link([end(await lab.hub(), 0), end(await lab.hub(), 0)]));
  const waiting = Array.from({ length: 50 }, (_, mark) =>
    at.client.put(link, { filters: { bpf: [slowExpression(mark)] } }).catch(() => undefined),
  );
  await Promise.race(waiting);
  t.equal(await own.stop(), 0);
  t.notMatch(own.log(), /Close operation timed out/);
  await Promise.all(waiting);
});
