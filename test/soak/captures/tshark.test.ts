/** tshark reads every kind of capture without a complaint, and counts exactly the packets that were sent. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import type { Json } from '../../support/link-lab.js';
import { upTo } from '../../support/live-engine.js';
import { LiveStream } from '../../support/live-stream.js';
import { LinkFan } from '../../support/link-fan.js';
import { meanwhile } from '../../support/meanwhile.js';
import { shownPayload } from '../../support/numbered-packets.js';
import { MEDIA, PacketLine, type Medium } from '../../support/packet-line.js';
import { manyUdpPorts, startServer } from '../../support/server-process.js';
import { missingTshark, tsharkRows } from '../../support/tshark.js';

const skip = missingTshark();
const server = await startServer(t, { environment: { WIREFARM_UDP_PORTS: manyUdpPorts() } });
const client = new Client(server.url);
const host = { client, url: server.url };
const COUNT = 1500;
const LENGTH = 300;
const MOST_COPIES = 40;
/** How many of them tshark reads, besides the file at the end. */
const LOOKED_AT = 2;

interface Kind {
  readonly medium: Medium;
  readonly settings: Json;
}

const KINDS: Readonly<Record<string, Kind>> = {
  Ethernet: { medium: MEDIA.ethernet, settings: {} },
  'Ethernet as pcapng': { medium: MEDIA.ethernet, settings: { format: 'pcapng' } },
  'Ethernet, cut': { medium: MEDIA.ethernet, settings: { snaplen: 60 } },
  'Ethernet as pcapng, cut': { medium: MEDIA.ethernet, settings: { snaplen: 61, format: 'pcapng' } },
  'Frame Relay': { medium: MEDIA.frameRelay, settings: {} },
  'Frame Relay as pcapng': { medium: MEDIA.frameRelay, settings: { format: 'pcapng' } },
  ATM: { medium: MEDIA.atm, settings: {} },
  'ATM as pcapng': { medium: MEDIA.atm, settings: { format: 'pcapng' } },
};

/** The payloads in a capture, which has no packet that tshark could not take apart. */
function payloads(t: Test, file: Uint8Array): string[] {
  const rows = tsharkRows(file, ['udp.payload', '_ws.malformed']);
  t.ok(
    rows.every(([, malformed]) => malformed === ''),
    'no packet is malformed',
  );
  return rows.map(([payload = '']) => payload.slice(0, 16));
}

const expected = (from: number, to: number): string[] =>
  upTo(to)
    .slice(from)
    .map((number) => shownPayload(0, number));

async function download(at: string): Promise<Buffer> {
  const response = await fetch(`${server.url}${at}/capture/file`);
  return Buffer.from(await response.arrayBuffer());
}

/**
 * The file of a capture while packets pass: copied up to where the server says that it is written, for beyond that a
 * packet may be cut, and downloaded, which ends there by itself.
 */
async function copies(at: string, path: string, traffic: Promise<unknown>): Promise<Buffer[]> {
  const all: Buffer[] = [];
  await meanwhile(traffic, async () => {
    if (all.length >= MOST_COPIES) {
      await traffic;
      return;
    }
    const { file_bytes: written } = await client.expect(200, 'GET', `${at}/capture`);
    all.push(readFileSync(path).subarray(0, Number(written)), await download(at));
  });
  return all;
}

for (const [name, { medium, settings }] of Object.entries(KINDS)) {
  void t.test(name, { skip }, async (t) => {
    const line = await PacketLine.make(t, host, medium);
    const { capture_file_path: path } = await client.expect(
      201,
      'POST',
      `${line.at}/start_capture`,
      settings,
    );
    const viewer = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
    const seen = await copies(line.at, String(path), line.pass(COUNT, LENGTH));
    await client.expect(201, 'POST', `${line.at}/stop_capture`);

    const file = readFileSync(String(path));
    t.same(payloads(t, file), expected(0, COUNT), 'at the end there is every packet');
    t.ok((await viewer.ended).equals(file), 'for the viewer, too');
    for (const copy of seen) t.ok(file.subarray(0, copy.length).equals(copy));
    // A copy or a download, or both; those in the middle are the likeliest to be of the time of the traffic.
    const middle = Math.floor(seen.length / 2);
    for (const copy of seen.slice(middle, middle + LOOKED_AT)) {
      const found = payloads(t, copy);
      t.same(found, expected(0, found.length), `of ${copy.length} octets, in the middle, every packet`);
    }
    const { snaplen } = settings;
    if (typeof snaplen !== 'number') return;
    const lengths = tsharkRows(file, ['frame.cap_len', 'frame.len']);
    t.same(
      lengths,
      lengths.map(() => [String(snaplen), String(LENGTH + medium.headerLength)]),
      'cut where it should be',
    );
  });
}

void t.test('ATM, cell by cell', { skip }, async (t) => {
  const line = await PacketLine.make(t, host, MEDIA.atm);
  const { capture_file_path: path } = await client.expect(201, 'POST', `${line.at}/start_capture`, {
    cells: true,
  });
  await line.pass(COUNT, LENGTH);
  await client.expect(201, 'POST', `${line.at}/stop_capture`);
  const rows = tsharkRows(readFileSync(String(path)), ['atm.vpi', 'atm.vci', '_ws.malformed']);
  t.same(
    rows,
    Array.from({ length: line.passed }, () => ['5', '500', '']),
  );
});

for (const format of ['pcap', 'pcapng']) {
  void t.test(`a ring of three files, ${format}`, { skip }, async (t) => {
    const line = await PacketLine.make(t, host);
    const { capture_file_path: path } = await client.expect(201, 'POST', `${line.at}/start_capture`, {
      files: 3,
      max_bytes: 3 * 65_536,
      capture_file_name: `ring.${format}`,
      format,
    });
    await line.pass(COUNT, LENGTH);
    await client.expect(201, 'POST', `${line.at}/stop_capture`);
    const names = [`ring.2.${format}`, `ring.1.${format}`, `ring.${format}`];
    const found = names.map((name) => payloads(t, readFileSync(join(String(path), '..', name))));
    const kept = found.flat();
    t.same(kept, expected(COUNT - kept.length, COUNT), 'the youngest packets, without a gap');
    t.ok(
      found.every(({ length }) => length > 0),
      'in every file',
    );
  });
}

void t.test('one stream of many links', { skip }, async (t) => {
  const fan = await LinkFan.make(t, host, 5);
  const stream = await LiveStream.open(t, `${server.url}${fan.lab.path}/pcap`);
  await fan.passAll(COUNT / 5, LENGTH);
  await client.expect(204, 'POST', `${fan.lab.path}/close`);
  const rows = tsharkRows(await stream.ended, ['frame.interface_id', 'udp.payload', '_ws.malformed']);
  t.equal(rows.length, COUNT);
  for (const flow of upTo(5)) {
    const found = rows.filter(([, payload = '']) => payload.startsWith(shownPayload(flow, 0).slice(0, 8)));
    t.equal(new Set(found.map(([id]) => id)).size, 1, 'a link is one interface');
    t.same(
      found.map(([, payload = '', malformed]) => [payload.slice(0, 16), malformed]),
      upTo(COUNT / 5).map((number) => [shownPayload(flow, number), '']),
      'and has all its packets in order',
    );
  }
});
