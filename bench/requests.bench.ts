/**
 * Requests per second of a read and of a stored change, with 16 connections, against uWebSockets.js alone
 * answering a constant of the same size: paired, in turn, several rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';

const CONNECTIONS = 16;
const SECONDS = 4;
const ROUNDS = 5;

interface Lab {
  readonly nodePath: string;
  readonly linkPath: string;
  readonly linkSize: number;
  readonly nodeSize: number;
}

export const requests: Bench = {
  name: 'requests',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    const lab = await makeLab(server.url);
    const bareRead = await ChildServer.start('./bare-server.js', [String(lab.linkSize)]);
    const bareWrite = await ChildServer.start('./bare-server.js', [String(lab.nodeSize)]);
    try {
      return [
        ...(await compare('read a link', 'at least 0.7', {
          ours: () => load(server.url + lab.linkPath, 'GET'),
          bare: () => load(bareRead.url + lab.linkPath, 'GET'),
        })),
        ...(await compare('change a node', 'at least 0.25', {
          ours: () => load(server.url + lab.nodePath, 'PUT'),
          bare: () => load(bareWrite.url + lab.nodePath, 'PUT'),
        })),
      ];
    } finally {
      await Promise.all([server.stop(), bareRead.stop(), bareWrite.stop()]);
      rmSync(data, { recursive: true });
    }
  },
};

async function compare(
  what: string,
  aim: string,
  sides: { ours: () => Promise<number>; bare: () => Promise<number> },
): Promise<Figure[]> {
  const ours: number[] = [];
  const bare: number[] = [];
  await sides.ours();
  await sides.bare();
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await sides.ours());
    bare.push(await sides.bare());
  }
  const ratios = ours.map((rate, round) => rate / (bare[round] ?? Number.NaN));
  return [
    figure(`${what}, Wirefarm`, 'requests/s', ours),
    figure(`${what}, bare uWebSockets.js`, 'requests/s', bare),
    figure(`${what}, ratio`, '', ratios, aim),
  ];
}

/** Every change moves the node, so none of them is without effect. */
async function load(url: string, method: 'GET' | 'PUT'): Promise<number> {
  let x = 0;
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: [
      method === 'GET'
        ? { method }
        : {
            method,
            setupRequest: (request) => ({ ...request, body: JSON.stringify({ x: x++ % 1000, y: 7 }) }),
          },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.average;
}

async function makeLab(url: string): Promise<Lab> {
  const project = await post(`${url}/v2/projects`, { name: 'bench' });
  const base = `/v2/projects/${String(project['project_id'])}`;
  const node = { node_type: 'ethernet_switch', compute_id: 'local' };
  const first = await post(`${url}${base}/nodes`, { ...node, name: 'SW1' });
  const second = await post(`${url}${base}/nodes`, { ...node, name: 'SW2' });
  const end = (id: unknown): object => ({ node_id: id, adapter_number: 0, port_number: 0 });
  const link = await post(`${url}${base}/links`, { nodes: [end(first['node_id']), end(second['node_id'])] });
  return {
    nodePath: `${base}/nodes/${String(first['node_id'])}`,
    linkPath: `${base}/links/${String(link['link_id'])}`,
    linkSize: JSON.stringify(link).length,
    nodeSize: JSON.stringify(first).length,
  };
}

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
