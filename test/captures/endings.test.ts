/** Captures and viewers are ended from outside while packets pass: all content is whole, and nothing is left. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { countPackets } from '../../src/engine/wire/capture-file.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import type { Json } from '../support/link-lab.js';
import { upTo } from '../support/live-engine.js';
import { LiveStream } from '../support/live-stream.js';
import { numbersIn } from '../support/numbered-packets.js';
import { descriptorsOf, noMoreDescriptors, noProjectFiles } from '../support/open-descriptors.js';
import { PacketLine } from '../support/packet-line.js';
import { pcapFile } from '../support/pcap-records.js';
import { RawConnection } from '../support/raw-client.js';
import { startServer, type ServerProcess } from '../support/server-process.js';
import { missingTshark, tsharkRows } from '../support/tshark.js';

/** Before what ends it, all of which arrive; then until it is ended. */
const BEFORE = 300;
const PORTION = 40;
const MOST_PORTIONS = 2000;

const numbersOf = (file: Buffer): number[] =>
  pcapFile(file).packets.map((packet) => numbersIn(packet).number);

/** A file without the record that a kill has cut off, as the next server mends it. */
function mended(file: Buffer): Buffer {
  const { buffer, byteOffset } = file;
  const at = (position: number, length: number): DataView =>
    new DataView(buffer, byteOffset + position, length);
  return file.subarray(0, countPackets({ size: file.length, at }).end);
}

interface Scene {
  readonly line: PacketLine;
  readonly path: string;
  readonly viewer: LiveStream;
  /** Stops sending. */
  readonly rest: () => Promise<void>;
}

/** A capture with a viewer, in the middle of traffic that goes on. */
async function scene(t: Test, server: ServerProcess, settings: Json = {}): Promise<Scene> {
  const client = new Client(server.url);
  const line = await PacketLine.make(t, { client, url: server.url });
  const { capture_file_path: path } = await client.expect(201, 'POST', `${line.at}/start_capture`, settings);
  const viewer = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
  await line.pass(BEFORE);
  let end = (): void => undefined;
  const isOver = new Promise<void>((resolve) => (end = resolve)).then(() => 'over' as const);
  const traffic = (async () => {
    for (let portions = 0; portions < MOST_PORTIONS; portions++) {
      // Packets that are sent when the link has gone never arrive.
      const arrived = line.pass(PORTION).catch(() => undefined);
      if ((await Promise.race([arrived, isOver])) === 'over') break;
    }
  })();
  return {
    line,
    path: String(path),
    viewer,
    rest: async () => {
      end();
      await traffic;
    },
  };
}

const server = await startServer(t);
const client = new Client(server.url);

void t.test('links, nodes and projects that go, and viewers that vanish', async (t) => {
  const ways: Record<string, (scene: Scene) => Promise<unknown>> = {
    'the link is deleted': ({ line }) => client.expect(204, 'DELETE', line.at),
    'the near node is deleted': ({ line: { lab, near } }) =>
      client.expect(204, 'DELETE', `${lab.path}/nodes/${String(near['node_id'])}`),
    'the far node is deleted': ({ line: { lab, far } }) =>
      client.expect(204, 'DELETE', `${lab.path}/nodes/${String(far['node_id'])}`),
    'the project is closed': ({ line: { lab } }) => client.expect(204, 'POST', `${lab.path}/close`),
  };
  const run = async (t: Test, end: (scene: Scene) => Promise<unknown>): Promise<void> => {
    const going = await scene(t, server);
    const vanishing = await RawConnection.open(server.port);
    vanishing.send('GET', `${going.line.at}/pcap`);
    await vanishing.head();
    await vanishing.chunk();
    await end(going);
    const seen = await going.viewer.ended;
    await going.rest();
    vanishing.vanish();
    const file = readFileSync(going.path);
    t.ok(seen.equals(file), 'the viewer has the whole file, and then a proper end');
    const kept = numbersOf(file);
    t.same(kept, upTo(kept.length), 'from the first packet on, without a gap');
    t.ok(kept.length >= BEFORE, `${kept.length} packets, at least those that had arrived`);
    await client.expect(204, 'DELETE', going.line.lab.path);
  };
  for (const [what, end] of Object.entries(ways)) await t.test(what, (t) => run(t, end));
  await noProjectFiles(server);
});

void t.test('a viewer that vanishes leaves nothing, and disturbs nobody', async (t) => {
  const going = await scene(t, server);
  const before = descriptorsOf(server).length;
  for (let count = 0; count < 30; count++) {
    const connection = await RawConnection.open(server.port);
    connection.send('GET', `${going.line.at}/pcap`);
    if (count % 2 === 0) await connection.head();
    if (count % 4 === 0) await connection.chunk();
    connection.socket.resetAndDestroy();
  }
  await eventually('one viewer is left', async () => {
    const { viewers } = await client.expect(200, 'GET', `${going.line.at}/capture`);
    return (viewers as unknown[]).length === 1 ? true : undefined;
  });
  await noMoreDescriptors(server, before);
  await going.rest();
  await client.expect(201, 'POST', `${going.line.at}/stop_capture`);
  t.ok((await going.viewer.ended).equals(readFileSync(going.path)));
});

void t.test('a server that is told to stop ends its captures, and their viewers', async (t) => {
  const going = await scene(t, server);
  t.equal(await server.stop('SIGTERM'), 0);
  await going.rest();
  const kept = numbersOf(readFileSync(going.path));
  t.same(kept, upTo(kept.length), 'the file is whole');
  const seen = numbersOf(await going.viewer.ended);
  t.ok(seen.length >= BEFORE);
  t.same(seen, upTo(seen.length), 'the viewer was given whole packets, and an end');
});

void t.test('after a kill the files have whole packets, from the first on', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const scenes = [await scene(t, server), await scene(t, server)];
  // More than is waiting to be written at any time.
  for (const { line } of scenes) {
    await eventually('something is written', async () => {
      const { file_bytes: written } = await client.expect(200, 'GET', `${line.at}/capture`);
      return Number(written) > BEFORE * 60 ? true : undefined;
    });
  }
  const flushed = await Promise.all(
    scenes.map(async ({ line }) =>
      Number((await client.expect(200, 'GET', `${line.at}/capture`))['file_bytes']),
    ),
  );
  await server.stop('SIGKILL');
  for (const [index, { path, rest, viewer }] of scenes.entries()) {
    await rest();
    await t.rejects(viewer.ended, 'a viewer can tell that this is no end');
    const file = mended(readFileSync(path));
    t.ok(file.length >= (flushed[index] ?? 0), 'what the server said that it had written is there');
    const kept = numbersOf(file);
    t.same(kept, upTo(kept.length));
    if (missingTshark() === false) t.equal(tsharkRows(file, ['frame.number']).length, kept.length);
  }
});

void t.test('after a kill a ring of files has whole packets, without a gap', async (t) => {
  const server = await startServer(t);
  const client = new Client(server.url);
  const settings = { files: 3, max_bytes: 3 * 65_536, capture_file_name: 'ring.pcap' };
  const going = await scene(t, server, settings);
  await eventually('the ring has turned', async () => {
    const { rotated_away: gone } = await client.expect(200, 'GET', `${going.line.at}/capture`);
    return (gone as { files: number }).files > 1 ? true : undefined;
  });
  await server.stop('SIGKILL');
  await going.rest();
  // Between two of its steps a file has no name of the ring.
  const paths = ['ring.2.pcap', 'ring.1.pcap', 'ring.pcap'].map((name) => join(going.path, '..', name));
  const files = paths.filter((path) => existsSync(path)).map((path) => mended(readFileSync(path)));
  const kept = files.flatMap(numbersOf);
  const [first = -1] = kept;
  t.ok(first > 0);
  t.same(kept, upTo(first + kept.length).slice(first));
  if (missingTshark() === false)
    for (const file of files) t.equal(tsharkRows(file, ['frame.number']).length, numbersOf(file).length);
});
