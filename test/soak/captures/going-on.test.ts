/** Captures that go on after the death of the server: damaged files, pcapng, limits, rings. */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { LINK_TYPE, pcapHeader } from '../../../src/engine/wire/pcap.js';
import { after, CapturedLine, numbersOf } from '../../support/captured-line.js';
import { eventually } from '../../support/eventually.js';
import { LiveStream } from '../../support/live-stream.js';
import { startServer } from '../../support/server-process.js';
import { missingTshark, tsharkRows } from '../../support/tshark.js';

const PCAP_HEADER = 24;
/** Far more than a server reads at its start. */
const LARGE = 200 * 1024 * 1024;
/** A file of another link type has come into the place of a capture's. */
const DAMAGE = Buffer.concat([pcapHeader(LINK_TYPE.FRELAY, 100), Buffer.alloc(16)]);

void t.test('a torn record is cut off, and a damaged or missing file gets a successor', async (t) => {
  const server = await startServer(t);
  const lines: CapturedLine[] = [];
  const paths: string[] = [];
  for (const name of ['torn.pcap', 'damaged.pcap', 'missing.pcap']) {
    const line = await CapturedLine.make(t, server);
    lines.push(line);
    paths.push(await line.capture({ capture_file_name: name }));
    await line.pass(1, 2);
    await line.hasWritten(2);
  }
  const [torn = '', damaged = '', missing = ''] = paths;
  await server.stop('SIGKILL');
  truncateSync(torn, readFileSync(torn).length - 5);
  writeFileSync(damaged, DAMAGE);
  rmSync(missing);

  const next = await startServer(t, { data: server.data });
  for (const line of lines.map((each) => each.on(next))) {
    await line.isCapturing();
    await line.pass(3);
    await line.stop();
    t.equal((await line.gaps()).length, 1);
  }
  t.same(numbersOf(torn), [1, 3]);
  t.same([numbersOf(damaged), numbersOf(missing)], [[3], [3]]);
  t.same(readFileSync(join(dirname(damaged), 'damaged.1.pcap')), DAMAGE, 'the damaged file is kept');
  t.notOk(existsSync(join(dirname(missing), 'missing.1.pcap')));
  t.equal(await next.stop(), 0);
});

void t.test('a pcapng file tells of the gap in itself', { skip: missingTshark() }, async (t) => {
  const first = await CapturedLine.make(t, await startServer(t));
  const path = await first.capture({ format: 'pcapng' });
  await first.pass(1);
  await first.hasWritten(1);
  const second = first.on(await after(t, first.server, 'SIGKILL'));
  await second.isCapturing();
  const [gap] = await second.gaps();
  await second.pass(2);
  await second.hasWritten(2);
  const viewer = await LiveStream.open(t, `${second.server.url}${second.at}/pcap`);
  await second.stop();
  const file = readFileSync(path);
  t.ok((await viewer.ended).equals(file), 'a viewer is given all of the file');
  t.same(numbersOf(path), [1, 2]);
  const [before, later] = tsharkRows(file, ['frame.interface_name']);
  t.match(before, [/ port 0$/]);
  t.same(later, before, 'both sections name the link');
  const { stdout: facts } = spawnSync('capinfos', ['-k', path], { encoding: 'utf8' });
  t.match(facts, `Packets between ${gap?.from} and ${gap?.to} may be missing: the server had ended`);
  t.equal(await second.server.stop(), 0);
});

void t.test('limits count what was before the gap', async (t) => {
  const server = await startServer(t);
  const counted = await CapturedLine.make(t, server);
  const full = await CapturedLine.make(t, server);
  const timed = await CapturedLine.make(t, server);
  const countedFile = await counted.capture({ max_packets: 3 });
  const fullFile = await full.capture({ max_bytes: 65_536 });
  await timed.capture({ max_seconds: 1 });
  await counted.pass(1, 2);
  await counted.hasWritten(2);
  await full.pass(1);
  await full.hasWritten(1);
  await server.stop('SIGKILL');
  // All the records that fit but one.
  const file = readFileSync(fullFile);
  const record = file.subarray(PCAP_HEADER);
  const most = Math.floor((65_536 - PCAP_HEADER) / record.length);
  writeFileSync(fullFile, Buffer.concat([file, ...Array<Buffer>(most - 2).fill(record)]));

  const next = await startServer(t, { data: server.data });
  const [countedNext, fullNext, timedNext] = [counted.on(next), full.on(next), timed.on(next)];
  for (const line of [countedNext, fullNext]) {
    await line.isCapturing();
    await line.pass(7, 8);
    await eventually(
      'its limit ends it',
      async () => (await line.status())['state'] === 'stopped' || undefined,
    );
  }
  t.match(await countedNext.status(), { packets: 3, reason: 'max_packets was reached' });
  t.same(numbersOf(countedFile), [1, 2, 7]);
  t.match(await fullNext.status(), { packets: most, reason: 'max_bytes was reached' });
  t.equal(readFileSync(fullFile).length, PCAP_HEADER + most * record.length);
  await timedNext.isOpen();
  await next.logged(/max_seconds was reached/);
  t.match(await timedNext.show(), { capturing: false });

  const last = counted.on(await after(t, next, 'SIGKILL'));
  await last.isOpen();
  t.match(await last.show(), { capturing: false }, 'a capture that its limit has ended does not go on');
  t.equal(await last.server.stop(), 0);
});

void t.test('a ring goes on in its next file', async (t) => {
  const first = await CapturedLine.make(t, await startServer(t));
  const settings = { files: 3, max_bytes: 3 * 65_536, max_packets: 3, capture_file_name: 'ring.pcap' };
  const path = await first.capture(settings);
  await first.pass(1);
  await first.hasWritten(1);
  const second = first.on(await after(t, first.server, 'SIGKILL'));
  await second.isCapturing();
  await second.pass(2);
  await second.hasWritten(2);
  const third = second.on(await after(t, second.server, 'SIGKILL'));
  await third.isCapturing();
  await third.pass(3, 4);
  await eventually(
    'its limit ends it',
    async () => (await third.status())['state'] === 'stopped' || undefined,
  );
  const paths = ['ring.2.pcap', 'ring.1.pcap', 'ring.pcap'].map((name) => join(dirname(path), name));
  t.same(paths.map(numbersOf), [[1], [2], [3]]);
  t.equal(await third.server.stop(), 0);
});

void t.test('a large file is read to its end once before its capture goes on', async (t) => {
  const first = await CapturedLine.make(t, await startServer(t));
  const path = await first.capture();
  await first.pass(1);
  await first.hasWritten(1);
  await first.server.stop('SIGKILL');
  const record = readFileSync(path).subarray(PCAP_HEADER);
  const part = Buffer.concat(Array<Buffer>(10_000).fill(record));
  let size = PCAP_HEADER + record.length;
  for (; size < LARGE; size += part.length) appendFileSync(path, part);

  const second = first.on(await startServer(t, { data: first.server.data }));
  await second.isCapturing();
  const [, read] = /rchar: (\d+)/.exec(readFileSync(`/proc/${second.server.child.pid}/io`, 'utf8')) ?? [];
  t.ok(Number(read) > size);
  t.ok(Number(read) < 1.5 * size, `${read} of ${size} bytes`);
  await second.pass(2);
  await second.stop();
  t.match(await second.status(), { packets: (size - PCAP_HEADER) / record.length + 1 });
  t.equal(await second.server.stop(), 0);
});

void t.test('a link that is gone when the server comes back is not captured', async (t) => {
  const first = await CapturedLine.make(t, await startServer(t));
  const path = await first.capture();
  await first.pass(1);
  await first.hasWritten(1);
  const { path: folder, filename } = await first.client.expect(200, 'GET', first.lab.path);
  const file = join(String(folder), String(filename));
  await eventually(
    'the topology file has the link',
    () => readFileSync(file).includes('link_id') || undefined,
  );
  await first.server.stop('SIGKILL');
  const content = JSON.parse(readFileSync(file, 'utf8')) as { topology: { links: unknown[] } };
  content.topology.links = [];
  writeFileSync(file, JSON.stringify(content));

  const second = first.on(await startServer(t, { data: first.server.data }));
  await eventually('the project is open', async () => {
    const { status } = await second.client.expect(200, 'GET', second.lab.path);
    return status === 'opened' || undefined;
  });
  t.same(await second.lab.list(), []);
  t.same(numbersOf(path), [1]);
  const files = await second.client.get(`${second.lab.path}/captures`);
  t.match(files.body, [{ state: 'finished', packets: 1 }]);
  t.equal(await second.server.stop(), 0);
  t.notMatch(second.server.log(), /capture/i);
});

void t.test('a capture that the restore of a snapshot has ended does not go on', async (t) => {
  const first = await CapturedLine.make(t, await startServer(t));
  const made = await first.client.expect(201, 'POST', `${first.lab.path}/snapshots`, { name: 'before' });
  await first.capture();
  await first.client.expect(
    201,
    'POST',
    `${first.lab.path}/snapshots/${String(made['snapshot_id'])}/restore`,
  );
  t.match(await first.show(), { capturing: false });
  const second = first.on(await after(t, first.server, 'SIGKILL'));
  await second.isOpen();
  t.equal(await second.server.stop(), 0);
  t.notMatch(second.server.log(), /capture/i);
});
