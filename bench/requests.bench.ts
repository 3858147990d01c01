/**
 * Requests per second of a read and of a stored change, with 16 connections, against uWebSockets.js alone
 * answering a constant of the same size: paired, in turn, several rounds.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from './child-server.js';
import { figure, type Bench, type Figure } from './measurement.js';
import { loadOf, makeLab } from './request-load.js';

const ROUNDS = 5;

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
          ours: () => loadOf(server.url + lab.linkPath, 'GET'),
          bare: () => loadOf(bareRead.url + lab.linkPath, 'GET'),
        })),
        ...(await compare('change a node', 'at least 0.25', {
          ours: () => loadOf(server.url + lab.nodePath, 'PUT'),
          bare: () => loadOf(bareWrite.url + lab.nodePath, 'PUT'),
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
