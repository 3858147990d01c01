/**
 * Changes under load: 50,000 cells a second through one connection of an ATM switch, while its other ports and
 * mappings are changed 10,000 times over HTTP. Not one cell of the steady flow may be lost.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from './child-server.js';
import { ComputeClient } from './compute-client.js';
import { figure, type Bench } from './measurement.js';
import { freePorts, offer } from './traffic/forwarder.js';
import { ATM } from './traffic/setting.js';

const CHANGES = 10_000;
const CELLS_A_SECOND = 50_000;
const STEADY = { '1:1:100': '2:2:200' };
const OTHERS: readonly Readonly<Record<string, string>>[] = [
  { '3:5:50': '4:6:60', '3:7': '4:8' },
  { '3:5:51': '4:6:61' },
  {},
];

export const control: Bench = {
  name: 'control',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      const client = await ComputeClient.withProject(server.url);
      const node = await client.newNode('atm_switch', { name: 'A', mappings: STEADY });
      const [near = 0, nearPeer = 0, far = 0, farPeer = 0, third = 0, fourth = 0] = await freePorts(6);
      await client.attach(node, 1, near, nearPeer);
      await client.attach(node, 2, far, farPeer);
      const ports = [
        { port: 3, lport: third },
        { port: 4, lport: fourth },
      ];
      // Warms up, and tells how long the changes take.
      const warmUp = await change(client, node, ports, CHANGES / 10);
      const seconds = Math.ceil((sum(warmUp) / 1000) * 10 * 2) + 2;
      const load = { ...ATM.frame, localPort: nearPeer, toPort: near, receivePort: farPeer, gathers: false };
      const start = performance.now();
      const flow = offer({ ...load, rate: CELLS_A_SECOND, seconds, segments: 1 });
      const calls = await change(client, node, ports, CHANGES);
      const took = (performance.now() - start) / 1000;
      const { sent, received } = await flow;
      const name = `${CHANGES} changes at ${CELLS_A_SECOND} cells/s`;
      return [
        figure(`${name}, cells lost`, `of ${sent}`, [sent - received], 'at most 0'),
        figure(`${name}, one call`, 'ms', calls, 'at most 50'),
        figure(`${name}, all calls (the flow went on for ${seconds} s)`, 's', [took]),
      ];
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

/** Attaches, maps anew and detaches in turn, on other ports than those of the steady flow; milliseconds of each. */
async function change(
  client: ComputeClient,
  node: string,
  ports: readonly { readonly port: number; readonly lport: number }[],
  count: number,
): Promise<number[]> {
  const calls: number[] = [];
  const timed = async (call: Promise<void>): Promise<void> => {
    const start = performance.now();
    await call;
    calls.push(performance.now() - start);
  };
  for (let turn = 0; calls.length < count; turn++) {
    for (const { port, lport } of ports) await timed(client.attach(node, port, lport, lport + 1));
    await timed(client.setMappings(node, { ...STEADY, ...OTHERS[turn % OTHERS.length] }));
    for (const { port } of ports) await timed(client.detach(node, port));
  }
  return calls;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
