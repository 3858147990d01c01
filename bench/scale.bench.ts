/** 1,000 ATM switches with 8 attached ports each on one host: what they take, and what they cost when idle. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { ChildServer } from './child-server.js';
import { ComputeClient } from './compute-client.js';
import { figure, type Bench } from './measurement.js';

const SWITCHES = 1000;
const PORTS = 8;
const AT_ONCE = 16;
const SETTLE_MS = 1000;
const IDLE_SECONDS = 10;

export const scale: Bench = {
  name: 'scale',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      const client = await ComputeClient.withProject(server.url);
      const before = server.residentMiB();
      const start = performance.now();
      const numbers = Array.from({ length: SWITCHES }, (_, index) => index);
      await Promise.all(
        Array.from({ length: AT_ONCE }, async () => {
          for (let index = numbers.pop(); index !== undefined; index = numbers.pop()) {
            await makeSwitch(client, index);
          }
        }),
      );
      const seconds = (performance.now() - start) / 1000;
      const added = server.residentMiB() - before;
      await setTimeout(SETTLE_MS);
      const cpu = server.cpuSeconds();
      await setTimeout(IDLE_SECONDS * 1000);
      const idle = ((server.cpuSeconds() - cpu) / IDLE_SECONDS) * 100;
      const name = `${SWITCHES} switches with ${PORTS} ports`;
      return [
        figure(`${name}, made over HTTP`, 's', [seconds]),
        figure(`${name}, memory added`, 'MiB', [added]),
        figure(`${name}, idle`, '% of a core', [idle], 'less than 1'),
      ];
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

/** Its ports wait for peers that never come. */
async function makeSwitch(client: ComputeClient, index: number): Promise<void> {
  const mappings = Object.fromEntries(
    Array.from({ length: PORTS / 2 }, (_, pair) => [`${pair * 2}:1:100`, `${pair * 2 + 1}:2:200`]),
  );
  const node = await client.newNode('atm_switch', { name: `A${index}`, mappings });
  for (let port = 0; port < PORTS; port++) {
    await client.attach(node, port, await client.newUdpPort(), 40_000 + port);
  }
}
