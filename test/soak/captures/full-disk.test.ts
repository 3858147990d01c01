/** A disk that fills up under a capture ends that capture, with a reason and a whole file, and nothing else. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import type { Json } from '../../support/link-lab.js';
import { upTo } from '../../support/live-engine.js';
import { LiveStream } from '../../support/live-stream.js';
import { NotificationLog } from '../../support/notification-log.js';
import { numbersIn } from '../../support/numbered-packets.js';
import { PacketLine } from '../../support/packet-line.js';
import { pcapFile } from '../../support/pcap-records.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';

const MEBIBYTE = 1024 * 1024;
const DISK_KIBIBYTES = 48 * 1024;
const PORTION = 200;
const MOST_PORTIONS = 2000;

const numbersOf = (file: Buffer): number[] =>
  pcapFile(file).packets.map((packet) => numbersIn(packet).number);

interface Case {
  readonly floorMebibytes: number;
  /** The free space when the capture has begun. */
  readonly left: number;
  /** The length of the packets. The room is looked at once a second: it must not be used up before. */
  readonly length: number;
  readonly reason: RegExp;
}

const CASES: Readonly<Record<string, Case>> = {
  'a disk that is full': {
    floorMebibytes: 0,
    left: MEBIBYTE,
    length: 1000,
    reason: /^The disk of this project is full: .* Make room on it/,
  },
  'a disk that has less than the floor': {
    floorMebibytes: 16,
    left: 12 * MEBIBYTE,
    length: 100,
    reason: /^Less than 16 MiB are free on the disk of this project/,
  },
};

async function run(t: Test, { floorMebibytes, left, length, reason }: Case, disk: string): Promise<void> {
  const server = await startServer(t, { flags: ['--capture-floor', String(floorMebibytes), '--local'] });
  const client = new Client(server.url);
  const host = { client, url: server.url };
  const path = join(disk, 'project');
  mkdirSync(path);
  const full = await PacketLine.make(t, host, undefined, { path });
  const other = await PacketLine.make(t, host, undefined, { path: scratchFolder(t) });
  const news = await NotificationLog.open(`${server.url}${full.lab.path}/notifications`);
  t.teardown(() => {
    news.close();
  });
  const link = await client.expect(201, 'POST', `${full.at}/start_capture`);
  const otherLink = await client.expect(201, 'POST', `${other.at}/start_capture`);
  const viewer = await LiveStream.open(t, `${server.url}${full.at}/pcap`);
  const otherViewer = await LiveStream.open(t, `${server.url}${other.at}/pcap`);
  const giveBack = fillDisk(disk, left);

  let ended: Json | undefined;
  void news
    .next(({ action, event }) => action === 'link.updated' && event['capturing'] === false)
    .then(({ event }) => (ended = event));
  for (let portions = 0; portions < MOST_PORTIONS && ended === undefined; portions++) {
    await full.pass(PORTION, length);
    await other.pass(PORTION, length);
  }
  t.match(ended, { capturing: false, capture_compute_id: null }, 'listeners are told');
  const status = await client.expect(200, 'GET', `${full.at}/capture`);
  t.match(status, { state: 'failed', reason });
  const file = readFileSync(String(link['capture_file_path']));
  const kept = numbersOf(file);
  t.same(kept, upTo(kept.length), 'the file has whole packets, from the first on');
  t.equal(status['file_bytes'], file.length);
  t.ok(kept.length < full.sent);
  // The viewer may have seen packets that had no room in the file; those that it saw are whole, too.
  const seen = numbersOf(await viewer.ended);
  t.same(seen, upTo(seen.length), 'and so does the viewer, up to a proper end');
  t.ok(seen.length >= kept.length);

  // The bytes that were cut from the file may be room again.
  const giveRestBack = fillDisk(disk, Math.min(left, floorMebibytes * MEBIBYTE));
  const again = await client.post(`${full.at}/start_capture`);
  t.equal(again.status, 507, 'another one is refused');
  t.same(numbersOf(readFileSync(String(link['capture_file_path']))), kept, 'and takes nothing away');
  t.match(await client.expect(200, 'GET', `${other.at}/capture`), { state: 'running' });
  await other.pass(PORTION);
  await client.expect(201, 'POST', `${other.at}/stop_capture`);
  const otherFile = readFileSync(String(otherLink['capture_file_path']));
  t.same(numbersOf(otherFile), upTo(other.sent), 'the other project has every packet');
  t.ok((await otherViewer.ended).equals(otherFile));

  giveBack();
  giveRestBack();
  const from = full.sent;
  const next = await client.expect(201, 'POST', `${full.at}/start_capture`);
  await full.pass(PORTION);
  await client.expect(201, 'POST', `${full.at}/stop_capture`);
  t.same(
    numbersOf(readFileSync(String(next['capture_file_path']))),
    upTo(full.sent).slice(from),
    'with room it goes on',
  );
  t.equal(await server.stop(), 0);
}

for (const [name, wanted] of Object.entries(CASES)) {
  void t.test(name, async (t) => {
    const disk = smallDisk(t, DISK_KIBIBYTES);
    if (disk === undefined) t.pass(`# SKIP ${NO_MOUNT}`);
    else await run(t, wanted, disk);
  });
}
