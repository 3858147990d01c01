/** How many requests one caller may send: counted on a clock that is set, and once by a server. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import t from 'tap';
import { WebSocket } from 'ws';
import { RateLimits, type Rates } from '../../src/http/rate-limits.js';
import { basic, firstAdmin } from '../support/accounts.js';
import { eventually } from '../support/eventually.js';
import { startServer } from '../support/server-process.js';

function rig(rates: Rates | undefined): {
  sent: (who: string | undefined, most: number, isChange?: boolean, address?: string) => number;
  wait: (milliseconds: number) => void;
} {
  let time = 1000;
  const limits = new RateLimits({ rates: () => rates, now: () => time });
  /** The requests that are let through, of so many at once. */
  const sent = (
    userId: string | undefined,
    most: number,
    isChange = false,
    address = '192.0.2.1',
  ): number => {
    for (let count = 0; count < most; count++) {
      try {
        limits.check({ userId, name: 'everybody' }, address, isChange);
      } catch (error) {
        t.match(error, { status: 429, code: 'too_many_requests', retryAfterSeconds: 1 });
        return count;
      }
    }
    return most;
  };
  return { sent, wait: (milliseconds) => (time += milliseconds) };
}

void t.test('a bucket has the requests of a second, and fills up again', (t) => {
  const { sent, wait } = rig({ reads: 100, changes: 10 });
  t.equal(sent('ann', 1000), 100);
  t.equal(sent('ann', 1000, true), 10, 'changes have their own');
  t.equal(sent('bob', 1000), 100, 'and so has each user');
  wait(50);
  t.equal(sent('ann', 1000), 5);
  wait(3_600_000);
  t.equal(sent('ann', 1000), 100, 'no more than that is saved up');
  t.end();
});

void t.test('callers without a record are told apart by their address', (t) => {
  const { sent } = rig({ reads: 10, changes: 0 });
  t.equal(sent(undefined, 100), 10);
  t.equal(sent(undefined, 100, false, '192.0.2.2'), 10);
  t.equal(sent(undefined, 100, true), 100, '0 is no limit');
  t.equal(rig(undefined).sent('ann', 100_000), 100_000);
  t.end();
});

void t.test('a server refuses the changes that are too many, once it has users', async (t) => {
  const server = await startServer(t, { flags: ['--change-rate', '1', '--read-rate', '3'] });
  const admin = await firstAdmin(server);
  const replies = await Promise.all(
    Array.from({ length: 30 }, () => admin.post('/v2/tokens', { name: 'one of many' })),
  );
  const refused = replies.filter(({ status }) => status === 429);
  t.ok(refused.length > 0 && refused.length < replies.length, `${refused.length} are refused`);
  t.equal(refused[0]?.headers.get('retry-after'), '1');
  t.match(refused[0]?.body, { code: 'too_many_requests' });
  t.equal((await admin.get('/v2/account')).status, 200, 'reads go on');

  await eventually('a handshake of a WebSocket that is one too many', async () => {
    const handshakes = Array.from({ length: 10 }, () => handshake(server.url));
    return (await Promise.all(handshakes)).find(({ status }) => status === 429);
  }).then(({ headers }) => {
    t.equal(headers['retry-after'], '1');
  });
});

/** Opens a WebSocket, and closes it; returns the head of the answer. */
function handshake(url: string): Promise<{ status: number | undefined; headers: IncomingHttpHeaders }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v2/notifications/ws`, {
    headers: basic('root'),
  });
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    const answered = ({ statusCode: status, headers }: IncomingMessage): void => {
      resolve({ status, headers });
    };
    socket.once('upgrade', answered);
    socket.once('unexpected-response', (_request, response) => {
      answered(response);
    });
    socket.once('open', () => {
      socket.terminate();
    });
  });
}
