/** How long other requests take while the server holds a thousand wrong passwords, from ten addresses of the loopback. */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChildServer } from './child-server.js';
import { figure, quantile, type Bench } from './measurement.js';
import { makeLab } from './request-load.js';

const ADDRESSES = 10;
/** As many as may wait from one address. */
const OF_AN_ADDRESS = 100;
const REQUESTS = 800;
const BETWEEN_MS = 10;
const ROUNDS = 3;
/** Then the last wrong password has been refused, and addresses have paid for theirs. */
const PAUSE_MS = 20_000;
const AIM = 'under 10';
const ADMIN = { name: 'root', role: 'admin', password: 'password of a bench' };

export const passwords: Bench = {
  name: 'passwords',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      await fetch(`${server.url}/v2/users`, { method: 'POST', body: JSON.stringify(ADMIN) });
      const headers = credentials(ADMIN.name, ADMIN.password);
      const { linkPath } = await makeLab(server.url, headers);
      const url = server.url + linkPath;
      const alone: number[] = [];
      const beside: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        if (round > 0) await sleep(PAUSE_MS);
        alone.push(quantile(await latencies(url, headers), 0.99));
        const held = wrongOnes(url, round);
        beside.push(quantile(await latencies(url, headers), 0.99));
        await held;
      }
      return [
        figure('read a link, p99', 'ms', alone),
        figure('read a link beside 1,000 wrong passwords, p99', 'ms', beside, AIM),
      ];
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

function credentials(name: string, password: string): { Authorization: string } {
  return { Authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

/** Milliseconds of each of many requests, one after the other on one connection. */
async function latencies(url: string, headers: Readonly<Record<string, string>>): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const found: number[] = [];
  for (let count = 0; count < REQUESTS; count++) {
    const begun = performance.now();
    const status = await ask(url, { agent, headers });
    found.push(performance.now() - begun);
    if (status !== 200) throw new Error(`${url}: ${status}`);
    await sleep(BETWEEN_MS);
  }
  agent.destroy();
  return found;
}

async function wrongOnes(url: string, round: number): Promise<void> {
  await Promise.all(
    Array.from({ length: ADDRESSES * OF_AN_ADDRESS }, async (_, index) => {
      const localAddress = `127.0.9.${1 + (index % ADDRESSES)}`;
      const status = await ask(url, { localAddress, headers: credentials(ADMIN.name, `${round} ${index}`) });
      if (status === 200) throw new Error('a wrong password was taken');
    }),
  );
}

function ask(
  url: string,
  options: { agent?: Agent; localAddress?: string; headers: Readonly<Record<string, string>> },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const exchange = request(url, options, (response) => {
      response.resume().once('end', () => {
        resolve(response.statusCode ?? 0);
      });
    });
    exchange.once('error', reject);
    exchange.end();
  });
}
