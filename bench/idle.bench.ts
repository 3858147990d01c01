/** The cost of a server that has nothing to do, and the time until it is there. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ChildServer } from './child-server.js';
import { figure, type Bench } from './measurement.js';

const ROUNDS = 5;
const SETTLE_MS = 3000;
const IDLE_MS = 10_000;

export const idle: Bench = {
  name: 'idle',
  async run() {
    const startMs: number[] = [];
    const cloneMs: number[] = [];
    const residentMiB: number[] = [];
    const cpuPercent: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
      const startedAt = performance.now();
      const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
      await fetch(`${server.url}/v2/version`);
      startMs.push(performance.now() - startedAt);
      await wait(SETTLE_MS);
      const before = server.cpuSeconds();
      await wait(IDLE_MS);
      cpuPercent.push(((server.cpuSeconds() - before) / (IDLE_MS / 1000)) * 100);
      residentMiB.push(server.residentMiB());
      await server.stop();
      rmSync(data, { recursive: true });
      cloneMs.push(await startOfClone());
    }
    return [
      figure('from the start of node to the first 200, empty data folder', 'ms', startMs, 'under 1000'),
      figure('from npm start on a clone that is built to the first 200', 'ms', cloneMs, 'at most 700'),
      figure('idle memory', 'MiB', residentMiB),
      figure('idle CPU', '% of a core', cpuPercent),
    ];
  },
};

/** Milliseconds until a clone answers in which nothing has changed since it was built. */
async function startOfClone(): Promise<number> {
  const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
  const startedAt = performance.now();
  const server = await ChildServer.startClone(['--port', '0', '--data', data]);
  await fetch(`${server.url}/v2/version`);
  const ms = performance.now() - startedAt;
  await server.stop();
  rmSync(data, { recursive: true });
  return ms;
}
