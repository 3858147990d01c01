/** A thousand wrong passwords at once: who is in goes on, who comes with the right one gets in, and the rest is held and refused. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { availableParallelism } from 'node:os';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { addUser, basic, firstAdmin } from '../../support/accounts.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { meanwhile } from '../../support/meanwhile.js';
import { startServer } from '../../support/server-process.js';

/** Each address may have so many that wait. */
const OF_AN_ADDRESS = 100;
const ADDRESSES = 10;
/** So many cores check hundreds of them before the first is refused. */
const FEW_CORES = 8;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly code: unknown;
}

/** On a connection of its own, from an address of the loopback. */
async function ask(url: string, localAddress: string, name: string, password?: string): Promise<Answer> {
  const exchange = request(url, { localAddress, headers: basic(name, password) });
  exchange.end();
  const [response] = (await once(exchange, 'response')) as [IncomingMessage];
  const body = JSON.parse(await text(response)) as { code?: unknown };
  const { statusCode: status = 0, headers } = response;
  return { status, retryAfter: headers['retry-after'], code: body.code };
}

const skip = process.platform !== 'linux' && 'the loopback has one address';

void t.test('a thousand wrong passwords are held, and keep nobody out', { skip }, async (t) => {
  const server = await startServer(t);
  const admin = await firstAdmin(server);
  await addUser(admin, server, 'late', 'user');
  const { token } = await admin.expect(201, 'POST', '/v2/tokens', { name: 'key' });
  const client = new Client(server.url, { Authorization: `Bearer ${String(token)}` });
  const url = `${server.url}/v2/projects`;

  let answered = 0;
  const wrong = Array.from({ length: OF_AN_ADDRESS * ADDRESSES }, async (_, index) => {
    const name = index % 2 === 0 ? `user${index}` : 'late';
    const answer = await ask(url, `127.0.9.${1 + (index % ADDRESSES)}`, name, `guess ${index}`);
    answered++;
    return answer;
  });
  const all = Promise.all(wrong);
  let beside = 0;
  const load = meanwhile(all, async () => {
    const replies = await Promise.all([
      client.get('/v2/projects'),
      admin.get('/v2/version'),
      client.post('/v2/projects', { name: `made meanwhile ${beside}` }),
    ]);
    t.strictSame(
      replies.map(({ status }) => status),
      [200, 200, 201],
    );
    if (answered < wrong.length) beside++;
  });
  const served = await eventually('the right password lets in', async () => {
    const answer = await ask(url, '127.0.8.1', 'late');
    return answer.status === 200 ? { heldThen: wrong.length - answered } : undefined;
  });
  t.ok(served.heldThen > 0, `while ${served.heldThen} wrong ones wait`);

  const answers = await all;
  await load;
  t.ok(beside > 0, `${beside} rounds of others were served`);
  t.same(
    answers.filter(({ status }) => ![401, 429, 503].includes(status)),
    [],
    'none gets in',
  );
  const late = answers.filter(({ status }) => status === 503);
  for (const answer of late) t.match(answer, { retryAfter: /^\d+$/, code: 'too_many_sign_ins' });
  if (availableParallelism() <= FEW_CORES)
    t.ok(late.length > answers.length / 4, `${late.length} were refused after ten seconds`);
  t.ok(
    answers.some(({ status }) => status === 401),
    'and some were checked',
  );
  t.equal((await client.get('/v2/version')).status, 200);
});
