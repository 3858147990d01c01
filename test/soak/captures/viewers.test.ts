/** Viewers that pause, come over WebSocket, or come again: none of them misses anything. */
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { Client } from '../../support/client.js';
import { upTo } from '../../support/live-engine.js';
import { LiveStream } from '../../support/live-stream.js';
import { numbersIn } from '../../support/numbered-packets.js';
import { PacketLine } from '../../support/packet-line.js';
import { pcapFile } from '../../support/pcap-records.js';
import { RawConnection } from '../../support/raw-client.js';
import { startServer } from '../../support/server-process.js';
import { WebSocketView } from '../../support/web-socket-view.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };

/** Longer than the HTTP library keeps a connection that takes nothing, many times. */
const PAUSE_MS = 65_000;
const FRAME_LENGTH = 1400;
/** More than a log has memory for, and connections beside it. */
const FRAMES = 9000;
const RESTARTS = 100;

const numbersOf = (file: Buffer): number[] =>
  pcapFile(file).packets.map((packet) => numbersIn(packet).number);

void t.test('a viewer that is paused for a minute goes on without a gap', async (t) => {
  const line = await PacketLine.make(t, host);
  const { capture_file_path: path } = await client.expect(201, 'POST', `${line.at}/start_capture`);
  const plain = await RawConnection.open(server.port);
  t.teardown(() => {
    plain.close();
  });
  plain.send('GET', `${line.at}/pcap`);
  await line.pass(10);
  t.equal((await plain.head()).status, 200);
  const socket = await WebSocketView.open(t, server.port, `${line.at}/pcap/ws`);
  plain.socket.pause();
  socket.pause();
  const isOver = wait(PAUSE_MS);
  await line.pass(FRAMES, FRAME_LENGTH);
  await isOver;
  const { viewers } = await client.expect(200, 'GET', `${line.at}/capture`);
  const lags = (viewers as { lag_bytes: number }[]).map(({ lag_bytes: lag }) => lag);
  t.equal(lags.length, 2, 'both are still there');
  t.ok(
    lags.every((lag) => lag > 4 * 1024 * 1024),
    'and behind what is in memory',
  );
  await line.pass(10);
  plain.socket.resume();
  socket.resume();
  await client.expect(201, 'POST', `${line.at}/stop_capture`);

  const pieces: Buffer[] = [];
  for (let piece = await plain.chunk(); piece.length > 0; piece = await plain.chunk()) pieces.push(piece);
  const file = readFileSync(String(path));
  t.ok(Buffer.concat(pieces).equals(file));
  const { code, bytes } = await socket.ended;
  t.equal(code, 1000);
  t.ok(bytes.equals(file));
  t.same(numbersOf(file), upTo(line.sent));
});

void t.test('over WebSocket come the same octets', async (t) => {
  const line = await PacketLine.make(t, host);
  for (const format of ['pcap', 'pcapng']) {
    await client.expect(201, 'POST', `${line.at}/start_capture`, { format });
    const [early, plain] = [
      await WebSocketView.open(t, server.port, `${line.at}/pcap/ws`),
      await LiveStream.open(t, `${server.url}${line.at}/pcap`),
    ];
    await line.pass(500, 500);
    const late = await WebSocketView.open(t, server.port, `${line.at}/pcap/ws`);
    await line.pass(500, 500);
    await client.expect(201, 'POST', `${line.at}/stop_capture`);
    const expected = await plain.ended;
    for (const view of [early, late]) {
      const { code, bytes } = await view.ended;
      t.equal(code, 1000);
      t.ok(bytes.equals(expected), format);
    }
  }
});

void t.test(
  'a hundred captures of one link, one after the other: each has its own packets, all of them',
  async (t) => {
    const line = await PacketLine.make(t, host);
    const wrong: string[] = [];
    for (let round = 0; round < RESTARTS; round++) {
      const from = line.sent;
      const { capture_file_path: path } = await client.expect(201, 'POST', `${line.at}/start_capture`);
      const viewer = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
      await line.pass(7);
      const stopped = client.expect(201, 'POST', `${line.at}/stop_capture`);
      const seen = numbersOf(await viewer.ended);
      await stopped;
      const expected = upTo(line.sent).slice(from).join();
      if (seen.join() !== expected) wrong.push(`viewer ${round}: ${seen.join()}`);
      const kept = numbersOf(readFileSync(String(path))).join();
      if (kept !== expected) wrong.push(`file ${round}: ${kept}`);
    }
    t.same(wrong, []);
  },
);
