/**
 * How other clients and the event loop of the server fare beside large transfers, and how much memory the
 * server needs for a file that is far larger than that.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { makeCold } from './files/cold-file.js';
import { syncFileSystem } from './files/command.js';
import { curlDownloads, curlUpload } from './files/curl.js';
import { delayOptions, delaysSince, type Delay } from './files/loop-delay.js';
import { makeRandomFile, MEBI } from './files/random-file.js';
import { SteadyCalls } from './files/steady-calls.js';
import { WirefarmImages } from './files/wirefarm-images.js';
import { newNode } from './files/wirefarm-node.js';
import { figure, quantile, type Bench, type Figure } from './measurement.js';

const ROUNDS = 5;
const UPLOADS = { count: 4, mebibytes: 1024 };
const DOWNLOADS = { count: 64, mebibytes: 32 };
const LARGE = { mebibytes: 5 * 1024, randomMebibytes: 64 };
const QUIET_MS = 5000;
const READS_A_SECOND = 200;
const COMMITS_A_SECOND = 50;
const MEMORY_EVERY_MS = 50;

/** The work that goes on beside the probes. */
interface Load {
  readonly name: string;
  readonly hasAims: boolean;
  /** Before each round; not measured. */
  readonly prepare: () => Promise<void>;
  /** Returns how many octets were moved. */
  readonly run: () => Promise<number>;
  readonly tidy: () => Promise<void>;
}

interface Noticed {
  readonly loop: Delay;
  /** Milliseconds of calls. */
  readonly reads: readonly number[];
  readonly commits: readonly number[];
  readonly gibibytesPerSecond: number;
  /** The MiB that the server has read from the disk itself. */
  readonly diskMiB: number;
}

const nothing = (): Promise<void> => Promise.resolve();

export const transferLoad: Bench = {
  name: 'transfer-load',
  async run() {
    const scratch = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    try {
      return [...(await noticed(scratch)), ...(await memory(scratch))];
    } finally {
      rmSync(scratch, { recursive: true });
    }
  },
};

async function noticed(scratch: string): Promise<Figure[]> {
  const data = join(scratch, 'data');
  const folder = join(data, 'images', 'QEMU');
  mkdirSync(folder, { recursive: true });
  const names = Array.from({ length: DOWNLOADS.count }, (_, index) => `cold-${index}.img`);
  for (const name of names) makeRandomFile(join(folder, name), DOWNLOADS);
  const source = join(scratch, 'source.img');
  makeRandomFile(source, UPLOADS);
  const delayFile = join(scratch, 'delay.json');
  const wirefarm = await WirefarmImages.start(data, { nodeOptions: delayOptions(delayFile) });
  try {
    await wirefarm.settled(names);
    const { node } = await newNode(wirefarm.server.url);
    const loads = [
      quiet(),
      uploadLoad(wirefarm, source, scratch),
      downloadLoad(wirefarm, names, folder, scratch),
    ];
    const figures: Figure[] = [];
    for (const load of loads) {
      const rounds: Noticed[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        await load.prepare();
        rounds.push(await probe(wirefarm, node.url, delayFile, load));
        await load.tidy();
      }
      figures.push(...figuresOf(load, rounds));
    }
    return figures;
  } finally {
    await wirefarm.stop();
  }
}

/** No load: the probes alone. */
function quiet(): Load {
  return {
    name: 'nothing else',
    hasAims: false,
    prepare: nothing,
    run: () => setTimeout(QUIET_MS, 0),
    tidy: nothing,
  };
}

function uploadLoad(wirefarm: WirefarmImages, source: string, scratch: string): Load {
  const names = Array.from({ length: UPLOADS.count }, (_, index) => `upload-${index}.img`);
  return {
    name: `${UPLOADS.count} uploads of ${UPLOADS.mebibytes} MiB at once`,
    hasAims: true,
    prepare: () => syncFileSystem(scratch),
    run: async () => {
      const { method } = wirefarm;
      const sent = await Promise.all(
        names.map((name) => curlUpload({ file: source, url: wirefarm.url(name), method })),
      );
      return sent.reduce((sum, octets) => sum + octets, 0);
    },
    tidy: async () => {
      await wirefarm.settled(names);
      await wirefarm.remove(names);
    },
  };
}

function downloadLoad(
  wirefarm: WirefarmImages,
  names: readonly string[],
  folder: string,
  scratch: string,
): Load {
  return {
    name: `${DOWNLOADS.count} cold downloads of ${DOWNLOADS.mebibytes} MiB at once`,
    hasAims: true,
    prepare: async () => {
      await syncFileSystem(scratch);
      for (const name of names) makeCold(join(folder, name));
    },
    run: async () => {
      const came = await curlDownloads(names.map((name) => wirefarm.url(name)));
      if (came !== DOWNLOADS.count * DOWNLOADS.mebibytes * MEBI) throw new Error('downloads are short');
      return came;
    },
    tidy: nothing,
  };
}

async function probe(
  { server }: WirefarmImages,
  node: string,
  delayFile: string,
  load: Load,
): Promise<Noticed> {
  const diskBefore = readFromDisk(server.pid);
  await delaysSince(server.pid, delayFile);
  const reads = new SteadyCalls({
    url: `${server.url}/v2/version`,
    method: 'GET',
    perSecond: READS_A_SECOND,
  });
  const commits = new SteadyCalls({
    url: node,
    method: 'PUT',
    bodyOf: (call) => ({ name: `SW${call % 2}` }),
    perSecond: COMMITS_A_SECOND,
  });
  try {
    const start = performance.now();
    const octets = await load.run();
    const seconds = (performance.now() - start) / 1000;
    return {
      loop: await delaysSince(server.pid, delayFile),
      reads: await reads.stop(),
      commits: await commits.stop(),
      gibibytesPerSecond: octets / MEBI / 1024 / seconds,
      diskMiB: (readFromDisk(server.pid) - diskBefore) / MEBI,
    };
  } finally {
    reads.end();
    commits.end();
  }
}

/** Octets, as the system counts them for the process. */
function readFromDisk(pid: number): number {
  return Number(/^read_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1]);
}

function figuresOf({ name, hasAims }: Load, rounds: readonly Noticed[]): Figure[] {
  const ms = (what: string, values: readonly number[], aim?: string): Figure =>
    figure(`${name}, ${what}`, 'ms', values, hasAims ? aim : undefined);
  const each = (value: (round: Noticed) => number): number[] => rounds.map(value);
  const moved = each(({ gibibytesPerSecond }) => gibibytesPerSecond);
  return [
    ...(moved.some((rate) => rate > 0) ? [figure(`${name}, together`, 'GiB/s', moved)] : []),
    figure(
      `${name}, read from the disk by the server`,
      'MiB',
      each(({ diskMiB }) => diskMiB),
    ),
    ms(
      'delay of the event loop, p50',
      each(({ loop }) => loop.p50),
    ),
    ms(
      'delay of the event loop, p99',
      each(({ loop }) => loop.p99),
      'less than 10',
    ),
    ms(
      'delay of the event loop, longest',
      each(({ loop }) => loop.max),
    ),
    ms(
      'reading the version, p50',
      each(({ reads }) => quantile(reads, 0.5)),
    ),
    ms(
      'reading the version, p99',
      each(({ reads }) => quantile(reads, 0.99)),
    ),
    ms(
      'reading the version, longest',
      each(({ reads }) => Math.max(...reads)),
    ),
    ms(
      'a commit, p50',
      each(({ commits }) => quantile(commits, 0.5)),
    ),
    ms(
      'a commit, p99',
      each(({ commits }) => quantile(commits, 0.99)),
      'less than 20',
    ),
  ];
}

/** From a fresh server: the threads and the memory for transfers come with the first of them. */
async function memory(scratch: string): Promise<Figure[]> {
  const source = join(scratch, 'large.img');
  makeRandomFile(source, LARGE);
  const wirefarm = await WirefarmImages.start(join(scratch, 'fresh'));
  try {
    const { server, method } = wirefarm;
    const start = server.residentMiB();
    const samples = [start];
    const sampling = setInterval(() => samples.push(server.residentMiB()), MEMORY_EVERY_MS);
    try {
      await curlUpload({ file: source, url: wirefarm.url('large.img'), method });
      await wirefarm.settled(['large.img']);
    } finally {
      clearInterval(sampling);
    }
    const most = Math.max(...samples);
    const name = `one upload of ${LARGE.mebibytes} MiB`;
    return [
      figure(`${name}, memory at the start`, 'MiB', [start]),
      figure(`${name}, most memory`, 'MiB', [most]),
      figure(`${name}, memory at the end`, 'MiB', [server.residentMiB()]),
      figure(`${name}, growth of memory`, 'MiB', [most - start], 'less than 64'),
    ];
  } finally {
    await wirefarm.stop();
  }
}
