/** Answers of a server, good, bad and missing, as the user is told of them. */
import type { RequestListener } from 'node:http';
import t from 'tap';
import { Refused, Server } from '../../src/cli/server.js';
import { serverAddress } from '../../src/cli/server-address.js';
import { serving } from '../support/cli.js';
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

void t.test('no server, and one that falls silent, are told', async (t) => {
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
  const [server] = await answering(t, ({ url }, response) => {
    response.flushHeaders();
    setTimeout(() => response.end(url), 2500);
  });
  const stream = await server.stream('/pcap', new URLSearchParams({ bpf: 'a & b' }));
  const chunks: unknown[] = await stream.toArray();
  t.equal(String(chunks[0]), '/pcap?bpf=a+%26+b');
});
