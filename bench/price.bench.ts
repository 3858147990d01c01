/**
 * Requests per second of a server with accounts, an audit, an access log and a reader of its metrics, beside those of a
 * server with none of them: a thousand users have ten thousand tokens, and each request comes with the token of another user.
 * The access log is as it is by default: it has all changes, and no request that only reads.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StateThread } from '../src/base/store/state-thread.js';
import { TaskPool } from '../src/base/threads/task-pool.js';
import { Accounts } from '../src/lab/access/accounts.js';
import type { PasswordTasks } from '../src/lab/access/password-tasks.js';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { loadOf, makeLab, type Lab } from './request-load.js';

const USERS = 1000;
const TOKENS_OF_ONE = 10;
const ROUNDS = 5;
const BETWEEN_SCRAPES_MS = 1000;
const AIM = 'at least 0.9';

interface Side {
  readonly server: ChildServer;
  readonly lab: Lab;
  /** The headers of the next request: of one length on both sides. */
  readonly headers: () => Readonly<Record<string, string>>;
}

export const price: Bench = {
  name: 'price',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const bare = await bareSide(join(data, 'bare'));
    const full = await fullSide(join(data, 'full'));
    const scraping = scrapes(full);
    try {
      return [
        ...(await compare('read a link', 'GET', full, bare)),
        ...(await compare('change a node', 'PUT', full, bare)),
      ];
    } finally {
      await scraping.stop();
      await Promise.all([full.server.stop(), bare.server.stop()]);
      rmSync(data, { recursive: true });
    }
  },
};

async function bareSide(data: string): Promise<Side> {
  const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
  const headers = (): Record<string, string> => ({ 'X-Nothing-Of-It': `Bearer wf_${'0'.repeat(52)}` });
  return { server, headers, lab: await makeLab(server.url) };
}

async function fullSide(data: string): Promise<Side> {
  const tokens = await makeAccounts(join(data, 'state'));
  const server = await ChildServer.start('../src/server/main.js', [
    ...['--port', '0', '--data', data],
    ...['--access-log', join(data, 'access.log'), '--audit-required'],
  ]);
  let next = 0;
  const headers = (): Record<string, string> => ({
    Authorization: `Bearer ${tokens[next++ % tokens.length] ?? ''}`,
  });
  return { server, headers, lab: await makeLab(server.url, headers()) };
}

/** Fills the store of a server that has not run yet; returns a token of each user. */
async function makeAccounts(state: string): Promise<string[]> {
  mkdirSync(state, { recursive: true });
  const store = new StateThread(state);
  const worker = new URL('../workers/password-worker.js', import.meta.url);
  const threads = new TaskPool<PasswordTasks>({ worker, threads: 1, queueLimit: 1 });
  const accounts = new Accounts({ store, threads, atOnce: 1, builtIn: undefined, now: () => Date.now() });
  try {
    await store.open();
    await accounts.start();
    const secrets: string[] = [];
    for (let number = 0; number < USERS; number++) {
      const role = number === 0 ? 'admin' : 'operator';
      const password = number === 0 ? 'password of a bench' : null;
      const user = await accounts.users.create({ name: `user${number}`, role, password });
      const made = await Promise.all(
        Array.from({ length: TOKENS_OF_ONE }, (_, index) =>
          accounts.tokens.create(user.user_id, {
            ...{ name: `token${index}`, rights: null, projects: null, expires_at: null },
          }),
        ),
      );
      secrets.push(...made.slice(0, 1).map(([, secret]) => secret));
    }
    return secrets;
  } finally {
    await accounts.close();
    await store.close();
    await threads.close();
  }
}

/** Reads the metrics of a server, again and again. */
function scrapes({ server, headers }: Side): { stop(): Promise<void> } {
  const ended = new AbortController();
  const { signal } = ended;
  const reading = (async (): Promise<void> => {
    while (!signal.aborted) {
      const answer = await fetch(`${server.url}/metrics`, { headers: headers() });
      if (!answer.ok) throw new Error(`/metrics: ${answer.status} ${await answer.text()}`);
      await answer.text();
      await sleep(BETWEEN_SCRAPES_MS, undefined, { signal }).catch(() => undefined);
    }
  })();
  return {
    stop() {
      ended.abort();
      return reading;
    },
  };
}

async function compare(what: string, method: 'GET' | 'PUT', full: Side, bare: Side): Promise<Figure[]> {
  const rate = ({ server, lab, headers }: Side): Promise<number> =>
    loadOf(server.url + (method === 'GET' ? lab.linkPath : lab.nodePath), method, headers);
  const withAll: number[] = [];
  const withNone: number[] = [];
  await rate(full);
  await rate(bare);
  for (let round = 0; round < ROUNDS; round++) {
    withAll.push(await rate(full));
    withNone.push(await rate(bare));
  }
  const ratios = withAll.map((value, round) => value / (withNone[round] ?? Number.NaN));
  return [
    figure(`${what}, with all`, 'requests/s', withAll),
    figure(`${what}, with none`, 'requests/s', withNone),
    figure(`${what}, ratio`, '', ratios, AIM),
  ];
}
