/** Answers of a server, good, bad and missing, as the user is told of them. */
import type { RequestListener } from 'node:http';
import t, { type Test } from 'tap';
import { CommandError } from '../../src/cli/command-error.js';
import { Refused, Server } from '../../src/cli/server.js';
import { serverAddress } from '../../src/cli/server-address.js';
import { serving } from '../support/cli.js';
import { eventually } from '../support/eventually.js';
import type { Teardown } from '../support/scratch.js';

async function answering(t: Teardown, listener: RequestListener): Promise<[server: Server, origin: string]> {
  const origin = await serving(t, listener);
  const environment = { WIREFARM_USER: 'ann', WIREFARM_PASSWORD: 'secret' };
  return [new Server(serverAddress(origin, environment)), origin];
}

void t.test('a list comes with the credentials that were given', async (t) => {
  const seen: (string | undefined)[] = [];
  const [server] = await answering(t, ({ url, headers }, response) => {
    seen.push(url, headers.authorization);
    response.end('[{"a": 1}, 2, {"b": "ü"}]');
  });
  t.strictSame(await server.list('/v2/projects'), [{ a: 1 }, { b: 'ü' }]);
  t.strictSame(seen, ['/v2/projects', `Basic ${Buffer.from('ann:secret').toString('base64')}`]);
});

void t.test('a refusal is what the server says, and where it says nothing, that', async (t) => {
  const answers = new Map([
    ['/message', [403, '{"message": "The project is not opened"}']],
    ['/401', [401, '{"message": "no"}']],
    ['/other', [404, '<html>']],
    ['/null', [404, 'null']],
  ] as const);
  const [server, origin] = await answering(t, ({ url }, response) => {
    const [status, body] = answers.get(url as '/null') ?? [200, ''];
    response.writeHead(status).end(body);
  });
  await t.rejects(server.list('/message'), new Refused('The project is not opened'));
  await t.rejects(
    server.list('/401'),
    new Refused(`${origin} wants a user: set WIREFARM_USER and WIREFARM_PASSWORD`),
  );
  for (const path of ['/other', '/null']) {
    await t.rejects(server.list(path), new Refused(`${origin} answered 404: is that a Wirefarm server?`));
  }
});

/** Makes limits by the clock come after a tenth of their time. */
function shortLimits(t: Test): void {
  const [begin, signal] = [setTimeout, AbortSignal.timeout.bind(AbortSignal)];
  t.intercept(globalThis, 'setTimeout', {
    value: (callback: () => void, ms: number): NodeJS.Timeout => begin(callback, ms / 10),
  });
  t.intercept(AbortSignal, 'timeout', { value: (ms: number): AbortSignal => signal(ms / 10) });
}

void t.test('no server, and one that falls silent, are told', async (t) => {
  shortLimits(t);
  const [silent] = await answering(t, () => undefined);
  await t.rejects(silent.list('/'), /no server answers at .* \(no answer in time\): start it/);
  await t.rejects(silent.stream('/', new URLSearchParams()), { name: 'Unreachable' });
  const [halfWay] = await answering(t, (_request, response) => {
    response.write('[');
  });
  await t.rejects(halfWay.list('/'), /\(no answer in time\)/);
  await t.rejects(new Server(serverAddress('http://127.0.0.1:1', {})).list('/'), /\(ECONNREFUSED\)/);
});

void t.test('something else that answers there is no server of ours', async (t) => {
  const [server, origin] = await answering(t, ({ url = '' }, response) => response.end(url.slice(1)));
  for (const path of ['/<html>', '/{}', '/']) {
    await t.rejects(server.list(path), new Refused(`${origin} answered no list: is that a Wirefarm server?`));
  }
});

void t.test('a stream may be silent for longer than an answer may take', async (t) => {
  shortLimits(t);
  const [server] = await answering(t, ({ url }, response) => {
    response.flushHeaders();
    setTimeout(() => response.end(url), 2500);
  });
  const stream = await server.stream('/pcap', new URLSearchParams({ bpf: 'a & b' }));
  const chunks: unknown[] = await stream.toArray();
  t.equal(String(chunks[0]), '/pcap?bpf=a+%26+b');
});

void t.test('an answer before the end of a body ends its sending', async (t) => {
  const [server, origin] = await answering(t, (_request, response) => {
    response.writeHead(507).end('{"message": "The disk is full"}');
  });
  const counts = { pieces: 0, isOver: false };
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        counts.pieces++;
        yield await Promise.resolve(new Uint8Array(65_536));
      }
    } finally {
      counts.isOver = true;
    }
  }
  const { signal } = new AbortController();
  const response = await server.ask('/upload', { method: 'POST', body: endless(), signal });
  t.strictSame(await server.refusal(response), new Refused('The disk is full'));
  await eventually('the body is let go', () => (counts.isOver ? true : undefined));
  t.equal(server.origin, origin);
});

void t.test('an error of the body, a stop and a broken answer are told apart', async (t) => {
  const [server] = await answering(t, ({ method }, response) => {
    if (method === 'GET')
      response.writeHead(200, { 'Content-Length': 10 }).write('half', () => response.destroy());
  });
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(new Uint8Array(10));
    throw new CommandError('the disk is broken');
  }
  const stop = new AbortController();
  const question = { method: 'POST', body: broken(), signal: stop.signal };
  await t.rejects(server.ask('/', question), new CommandError('the disk is broken'));
  const half = await server.ask('/', { method: 'GET', signal: stop.signal });
  await t.rejects(server.textOf(half), { name: 'Unreachable', reason: 'ECONNRESET' });
  const silent = server.ask('/', { method: 'HEAD', signal: stop.signal });
  stop.abort();
  await t.rejects(silent, { name: 'Unreachable', reason: 'ABORT_ERR' });
});
