/**
 * Large files, up and down, in one stream and in eight, by curl: against nginx and against uWebSockets.js alone, on
 * the same disk and with the same durability. nginx syncs nothing, so that where a side syncs, its clients do that
 * for it: until then nothing counts as uploaded.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BareServer } from './files/bare-server.js';
import { sha256Of, syncFile, syncFileSystem } from './files/command.js';
import { curlDownload, curlUpload } from './files/curl.js';
import type { FileServer } from './files/file-server.js';
import { Nginx } from './files/nginx.js';
import { makeRandomFile, MEBI } from './files/random-file.js';
import { ratioFigures, type Ratio } from './files/ratios.js';
import { inTurn } from './files/turns.js';
import { WirefarmImages } from './files/wirefarm-images.js';
import { figure, type Bench, type Figure } from './measurement.js';

/** The size of all streams together. */
const TOTAL_MIB = 1024;
const TOTAL_GIB = TOTAL_MIB / 1024;
const STREAMS = [1, 8];
const ROUNDS = 5;

interface Source {
  readonly name: string;
  readonly path: string;
  readonly octets: number;
  /** In Base64. */
  readonly md5: string;
}

interface Side {
  readonly name: string;
  readonly server: FileServer;
  /** The server has the MD5 in its path. */
  readonly sendsMd5?: boolean;
  /** The client does what makes the file durable. */
  readonly syncs?: boolean;
}

interface Turn {
  readonly gibibytesPerSecond: number;
  /** The server's CPU time for each GiB: until the answers, and with the work behind them. */
  readonly cpuSeconds: number;
  readonly cpuSecondsInAll?: number;
}

const WIREFARM = 'Wirefarm';
const WITH_MD5 = 'Wirefarm, Content-MD5 sent';
const UNSYNCED = 'Wirefarm --no-file-sync';
const NGINX = 'nginx';
const NGINX_SYNCED = 'nginx, then sync';
const BARE = 'bare uWebSockets.js';
const BARE_SYNCED = 'bare uWebSockets.js with fsync';

const UPLOAD_RATIOS: readonly Ratio[] = [
  { of: WIREFARM, to: NGINX_SYNCED, aim: 'at least 0.9' },
  { of: WITH_MD5, to: NGINX_SYNCED },
  { of: UNSYNCED, to: NGINX },
  { of: WIREFARM, to: BARE_SYNCED },
  { of: UNSYNCED, to: BARE },
];
const DOWNLOAD_RATIOS: readonly Ratio[] = [
  { of: WIREFARM, to: NGINX, aim: 'at least 1.2' },
  { of: WIREFARM, to: BARE },
];

export const transfers: Bench = {
  name: 'transfers',
  async run() {
    const scratch = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    try {
      const folder = join(scratch, 'images', 'QEMU');
      mkdirSync(folder, { recursive: true });
      const batches = STREAMS.map((streams) => makeSources(folder, streams));
      return [...(await uploads(scratch, batches)), ...(await downloads(scratch, batches))];
    } finally {
      rmSync(scratch, { recursive: true });
    }
  },
};

function makeSources(folder: string, streams: number): Source[] {
  const mebibytes = TOTAL_MIB / streams;
  return Array.from({ length: streams }, (_, index) => {
    const name = `${index + 1}-of-${streams}.img`;
    const path = join(folder, name);
    return { name, path, octets: mebibytes * MEBI, md5: makeRandomFile(path, { mebibytes }) };
  });
}

async function uploads(scratch: string, batches: readonly (readonly Source[])[]): Promise<Figure[]> {
  const servers: FileServer[] = [];
  const started = <Server extends FileServer>(server: Server): Server => {
    servers.push(server);
    return server;
  };
  try {
    const synced = started(await WirefarmImages.start(join(scratch, 'synced')));
    const unsynced = started(
      await WirefarmImages.start(join(scratch, 'unsynced'), { args: ['--no-file-sync'] }),
    );
    const bareSynced = started(await BareServer.start(join(scratch, 'bare-synced'), 'sync'));
    const bare = started(await BareServer.start(join(scratch, 'bare'), 'none'));
    const nginx = await Nginx.start(join(scratch, 'nginx'));
    const sides: readonly Side[] = [
      { name: WIREFARM, server: synced },
      { name: WITH_MD5, server: synced, sendsMd5: true },
      ...(nginx === undefined ? [] : [{ name: NGINX_SYNCED, server: started(nginx), syncs: true }]),
      { name: BARE_SYNCED, server: bareSynced },
      { name: UNSYNCED, server: unsynced },
      ...(nginx === undefined ? [] : [{ name: NGINX, server: nginx }]),
      { name: BARE, server: bare },
    ];
    return await compared('upload', sides, batches, UPLOAD_RATIOS, (side, sources, round) =>
      upload(side, sources, round, scratch),
    );
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** All serve the very same files. */
async function downloads(scratch: string, batches: readonly (readonly Source[])[]): Promise<Figure[]> {
  const images = join(scratch, 'images');
  const servers: FileServer[] = [];
  try {
    const wirefarm = await WirefarmImages.start(join(scratch, 'downloads'), { images });
    servers.push(wirefarm);
    await wirefarm.settled(batches.flat().map(({ name }) => name));
    const bare = await BareServer.start(wirefarm.folder, 'none');
    servers.push(bare);
    const nginx = await Nginx.start(join(scratch, 'nginx-downloads'), wirefarm.folder);
    if (nginx !== undefined) servers.push(nginx);
    const sides = [
      { name: WIREFARM, server: wirefarm },
      ...(nginx === undefined ? [] : [{ name: NGINX, server: nginx }]),
      { name: BARE, server: bare },
    ];
    return await compared('download', sides, batches, DOWNLOAD_RATIOS, (side, sources, round) =>
      download(side, sources, round, scratch),
    );
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function compared(
  what: string,
  sides: readonly Side[],
  batches: readonly (readonly Source[])[],
  ratios: readonly Ratio[],
  transfer: (side: Side, sources: readonly Source[], round: number) => Promise<Turn>,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const sources of batches) {
    const turns = await inTurn(sides, ROUNDS, (side, round) => transfer(side, sources, round));
    const name = `${what}, ${sources.length} x ${TOTAL_MIB / sources.length} MiB`;
    figures.push(...figuresOf(name, turns, ratios));
  }
  return figures;
}

/** Does not measure writes that wait for the disk from the turn before. */
async function upload(
  { server, sendsMd5 = false, syncs = false }: Side,
  sources: readonly Source[],
  round: number,
  scratch: string,
): Promise<Turn> {
  await syncFileSystem(scratch);
  const send = async ({ name, path, md5 }: Source): Promise<number> => {
    const headers = sendsMd5 ? [`Content-MD5: ${md5}`] : [];
    const sent = await curlUpload({ file: path, url: server.url(name), method: server.method, headers });
    if (syncs) await syncFile(join(server.folder, name));
    return sent;
  };
  const cpu = server.cpuSeconds();
  const start = performance.now();
  await Promise.all(sources.map(send));
  const seconds = (performance.now() - start) / 1000;
  const cpuSeconds = server.cpuSeconds() - cpu;
  const names = sources.map(({ name }) => name);
  await server.settled(names);
  const cpuSecondsInAll = (server.cpuSeconds() - cpu) / TOTAL_GIB;
  for (const source of sources) await checkCopy(source, join(server.folder, source.name), round === 0);
  await server.remove(names);
  const digestsLater = server instanceof WirefarmImages && !sendsMd5;
  return { ...turnOf(seconds, cpuSeconds), ...(digestsLater ? { cpuSecondsInAll } : {}) };
}

async function download(
  { server }: Side,
  sources: readonly Source[],
  round: number,
  scratch: string,
): Promise<Turn> {
  const cpu = server.cpuSeconds();
  const start = performance.now();
  const came = await Promise.all(sources.map(({ name }) => curlDownload(server.url(name))));
  const seconds = (performance.now() - start) / 1000;
  const cpuSeconds = server.cpuSeconds() - cpu;
  if (sources.some(({ octets }, index) => came[index] !== octets)) throw new Error('a download is short');
  if (round === 0) {
    const copy = join(scratch, 'copy');
    for (const source of sources) {
      await curlDownload(server.url(source.name), copy);
      await checkCopy(source, copy, true);
      rmSync(copy);
    }
  }
  return turnOf(seconds, cpuSeconds);
}

async function checkCopy({ path, octets }: Source, copy: string, looksInside: boolean): Promise<void> {
  if (statSync(copy).size !== octets) throw new Error(`${copy} is not as long as what was sent`);
  if (looksInside && (await sha256Of(copy)) !== (await sha256Of(path))) {
    throw new Error(`${copy} is not what was sent`);
  }
}

function turnOf(seconds: number, cpuSeconds: number): Turn {
  return { gibibytesPerSecond: TOTAL_GIB / seconds, cpuSeconds: cpuSeconds / TOTAL_GIB };
}

function figuresOf(
  name: string,
  turns: ReadonlyMap<Side, readonly Turn[]>,
  ratios: readonly Ratio[],
): Figure[] {
  const ratesBySide = new Map(
    [...turns].map(([side, list]) => [side.name, list.map(({ gibibytesPerSecond }) => gibibytesPerSecond)]),
  );
  const rates = [...ratesBySide].map(([side, values]) => figure(`${name}, ${side}`, 'GiB/s', values));
  const costs = [...turns].flatMap(([{ name: side }, list]) => {
    const cost = `${name}, ${side}, server`;
    const inAll = list.flatMap(({ cpuSecondsInAll }) => cpuSecondsInAll ?? []);
    return [
      figure(
        cost,
        's of CPU/GiB',
        list.map(({ cpuSeconds }) => cpuSeconds),
      ),
      ...(inAll.length === 0 ? [] : [figure(`${cost}, and the MD5 afterwards`, 's of CPU/GiB', inAll)]),
    ];
  });
  return [...rates, ...costs, ...ratioFigures(name, ratesBySide, ratios)];
}
