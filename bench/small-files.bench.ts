/**
 * Small files of a node, as many as 16 connections can send: against nginx, which syncs nothing, and against
 * uWebSockets.js alone, with and without syncs.
 */
import { randomFillSync } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BareServer } from './files/bare-server.js';
import { syncFileSystem } from './files/command.js';
import type { FileServer } from './files/file-server.js';
import { flood } from './files/flood.js';
import { Nginx } from './files/nginx.js';
import { ratioFigures, type Ratio } from './files/ratios.js';
import { inTurn } from './files/turns.js';
import { WirefarmNode } from './files/wirefarm-node.js';
import { figure, quantile, type Bench, type Figure } from './measurement.js';

const SIZES_KIB = [1, 64];
const CONNECTIONS = 16;
const SECONDS = 4;
/** The most files of one turn. */
const MOST_FILES = 20_000;
const ROUNDS = 5;

interface Side {
  readonly name: string;
  readonly server: FileServer;
}

interface Turn {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** The server's CPU time for one file: as many milliseconds as seconds for a thousand. */
  readonly cpuMs: number;
}

const RATIOS: readonly Ratio[] = [
  { of: 'Wirefarm', to: 'bare uWebSockets.js with fsync' },
  { of: 'Wirefarm --no-file-sync', to: 'nginx' },
  { of: 'Wirefarm --no-file-sync', to: 'bare uWebSockets.js' },
];

export const smallFiles: Bench = {
  name: 'small-files',
  async run() {
    const scratch = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const sides: Side[] = [];
    try {
      sides.push({ name: 'Wirefarm', server: await WirefarmNode.start(join(scratch, 'synced')) });
      sides.push({
        name: 'bare uWebSockets.js with fsync',
        server: await BareServer.start(join(scratch, 'bare-synced'), 'sync'),
      });
      sides.push({
        name: 'Wirefarm --no-file-sync',
        server: await WirefarmNode.start(join(scratch, 'unsynced'), ['--no-file-sync']),
      });
      const nginx = await Nginx.start(join(scratch, 'nginx'));
      if (nginx !== undefined) sides.push({ name: 'nginx', server: nginx });
      sides.push({
        name: 'bare uWebSockets.js',
        server: await BareServer.start(join(scratch, 'bare'), 'none'),
      });
      const figures: Figure[] = [];
      for (const kibibytes of SIZES_KIB) {
        const body = randomFillSync(new Uint8Array(kibibytes * 1024));
        const turns = await inTurn(sides, ROUNDS, (side) => send(side.server, body, scratch));
        figures.push(...figuresOf(`files of ${kibibytes} KiB, ${CONNECTIONS} connections`, turns));
      }
      return figures;
    } finally {
      await Promise.all(sides.map(({ server }) => server.stop()));
      rmSync(scratch, { recursive: true });
    }
  },
};

/** Does not measure writes that wait for the disk from the turn before. */
async function send(server: FileServer, body: Uint8Array, scratch: string): Promise<Turn> {
  await syncFileSystem(scratch);
  let sent = 0;
  const cpu = server.cpuSeconds();
  const { seconds, latencies } = await flood({
    method: server.method,
    nextUrl: () => server.url(`f${sent++}`),
    body,
    connections: CONNECTIONS,
    seconds: SECONDS,
    most: MOST_FILES,
  });
  const cpuSeconds = server.cpuSeconds() - cpu;
  const names = readdirSync(server.folder);
  if (names.length !== latencies.length || names.length !== sent) {
    throw new Error(`${sent} files were sent, ${latencies.length} answered, ${names.length} are there`);
  }
  if (names.some((name) => statSync(join(server.folder, name)).size !== body.length)) {
    throw new Error('a file is not as long as what was sent');
  }
  await server.remove(names);
  return {
    perSecond: sent / seconds,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    cpuMs: (cpuSeconds * 1000) / sent,
  };
}

function figuresOf(name: string, turns: ReadonlyMap<Side, readonly Turn[]>): Figure[] {
  const rates = new Map(
    [...turns].map(([side, list]) => [side.name, list.map(({ perSecond }) => perSecond)]),
  );
  const bySide = [...turns].flatMap(([{ name: side }, list]) => {
    const all = (key: keyof Turn): number[] => list.map((turn) => turn[key]);
    return [
      figure(`${name}, ${side}`, 'files/s', all('perSecond')),
      figure(`${name}, ${side}, p50`, 'ms', all('p50')),
      figure(`${name}, ${side}, p99`, 'ms', all('p99')),
      figure(`${name}, ${side}, server`, 's of CPU/thousand', all('cpuMs')),
    ];
  });
  return [...bySide, ...ratioFigures(name, rates, RATIOS)];
}
