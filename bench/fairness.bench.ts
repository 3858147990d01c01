/**
 * How an honest client fares beside a greedy one: the time of one request, alone and beside a client that takes all it
 * can get, in turn, several rounds. The greedy client works on a project of its own.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { ChildServer } from './child-server.js';
import { call } from './compute-client.js';
import { newNode } from './files/wirefarm-node.js';
import { figure, median, type Bench, type Figure } from './measurement.js';

const ROUNDS = 5;
const REQUESTS = 20;
const UNFINISHED = 1000;
const ARCHIVE_FILES = 5000;
const ARCHIVES = 4;
const SNAPSHOTS = 4;
const IMAGE = Buffer.alloc(4 * 1024 * 1024, 'image');
const NODE_FILE = Buffer.alloc(4096, 'file');

/** Takes what it can get until it is stopped; the promise resolves when it is at it. */
type Greedy = () => Promise<() => Promise<void>>;

interface Pair {
  readonly name: string;
  readonly greedy: Greedy;
  /** One request of the honest client. */
  readonly honest: (round: number) => Promise<void>;
}

export const fairness: Bench = {
  name: 'fairness',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    try {
      const figures: Figure[] = [];
      for (const pair of await pairs(server.url)) figures.push(...(await compare(pair)));
      return figures;
    } finally {
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

async function pairs(url: string): Promise<Pair[]> {
  const [honest, greedy] = [await newNode(url, 'honest'), await newNode(url, 'greedy')];
  const upload = (): Promise<void> => send(`${url}/v2/compute/qemu/images/honest.img`, IMAGE);
  const honestProject = projectOf(honest.node.url);
  const archive = await manyFiles();
  return [
    {
      name: `an upload of 4 MiB beside ${UNFINISHED} that stand still`,
      greedy: () => stalledUploads(url),
      honest: upload,
    },
    {
      name: `an upload of 4 MiB beside ${UNFINISHED} empty resumable ones`,
      greedy: () => emptyUploads(url),
      honest: upload,
    },
    {
      name: `a node file beside ${ARCHIVES} archives of ${ARCHIVE_FILES} files`,
      greedy: () => repeated(ARCHIVES, () => send(`${greedy.node.url}/files.tar`, archive)),
      honest: () => send(`${honest.node.url}/files/startup.cfg`, NODE_FILE),
    },
    {
      name: `a snapshot beside ${SNAPSHOTS} of another project`,
      greedy: () => repeated(SNAPSHOTS, () => snapshot(projectOf(greedy.node.url))),
      honest: () => snapshot(honestProject),
    },
    {
      name: 'a change of a node beside snapshots of another project',
      greedy: () => repeated(SNAPSHOTS, () => snapshot(projectOf(greedy.node.url))),
      honest: async (round) => {
        await call(honest.node.url, 'PUT', { x: round, y: 7 });
      },
    },
  ];
}

async function compare({ name, greedy, honest }: Pair): Promise<Figure[]> {
  const alone: number[] = [];
  const beside: number[] = [];
  await timed(honest);
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(await timed(honest));
    const stop = await greedy();
    beside.push(await timed(honest));
    await stop();
  }
  return [
    figure(`${name}: alone`, 'ms', alone),
    figure(`${name}: beside`, 'ms', beside),
    figure(
      `${name}: ratio`,
      '',
      beside.map((time, round) => time / (alone[round] ?? Number.NaN)),
    ),
  ];
}

/** The median of some requests, one after the other. */
async function timed(request: Pair['honest']): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < REQUESTS; count++) {
    const begun = performance.now();
    await request(Math.round(begun * 1000));
    times.push(performance.now() - begun);
  }
  return median(times);
}

/** Each has sent one byte of its image. */
async function stalledUploads(url: string): Promise<() => Promise<void>> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let count = 0; count < UNFINISHED; count++) {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    socket.write(
      `POST /v2/compute/qemu/images/greedy.img HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Length: 70000\r\n\r\nx`,
    );
    sockets.push(socket);
  }
  return async () => {
    const closed = sockets.map((socket) => once(socket, 'close'));
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  };
}

async function emptyUploads(url: string): Promise<() => Promise<void>> {
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  const metadata = `emulator ${encoded('qemu')},filename ${encoded('greedy.img')}`;
  const locations: string[] = [];
  for (let count = 0; count < UNFINISHED; count++) {
    const answer = await fetch(`${url}/v2/uploads`, {
      method: 'POST',
      headers: { 'Tus-Resumable': '1.0.0', 'Upload-Length': '1000', 'Upload-Metadata': metadata },
    });
    if (!answer.ok) throw new Error(`an upload was refused: ${answer.status} ${await answer.text()}`);
    locations.push(new URL(answer.headers.get('Location') ?? '', url).href);
  }
  return async () => {
    for (const location of locations)
      await fetch(location, { method: 'DELETE', headers: { 'Tus-Resumable': '1.0.0' } });
  };
}

/** So many requests at once, each again when it is answered. */
async function repeated(atOnce: number, request: () => Promise<void>): Promise<() => Promise<void>> {
  let isStopped = false;
  const clients = Array.from({ length: atOnce }, async () => {
    while (!isStopped) await request();
  });
  await Promise.race(clients.map(() => request()));
  return async () => {
    isStopped = true;
    await Promise.all(clients);
  };
}

async function send(url: string, body: Buffer<ArrayBuffer>): Promise<void> {
  const answer = await fetch(url, { method: 'POST', body });
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function snapshot(project: string): Promise<void> {
  const made = (await call(`${project}/snapshots`, 'POST', { name: randomUUID() })) as {
    snapshot_id: string;
  };
  await call(`${project}/snapshots/${made.snapshot_id}`, 'DELETE');
}

function projectOf(node: string): string {
  return node.slice(0, node.indexOf('/nodes/'));
}

async function manyFiles(): Promise<Buffer<ArrayBuffer>> {
  const archive = pack();
  for (let number = 0; number < ARCHIVE_FILES; number++) archive.entry({ name: `many/${number}` }, 'x');
  archive.finalize();
  return Buffer.from(await buffer(archive));
}
