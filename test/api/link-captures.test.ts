/** Captures of links: start, stop, names, files, and what stock clients see of them. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { nioPath } from '../support/compute-lab.js';
import { eventually } from '../support/eventually.js';
import { libpcapLack } from '../support/libpcap.js';
import { end, frameOf, hubLine, LinkLab, type Json } from '../support/link-lab.js';
import { LiveStream } from '../support/live-stream.js';
import { NotificationLog } from '../support/notification-log.js';
import { pcapFile, type PcapFile } from '../support/pcap-records.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const refusal = (status: number, message: string | RegExp): object => ({ status, body: { message, status } });

const start = (at: string, body: Json = {}): Promise<Json> =>
  client.expect(201, 'POST', `${at}/start_capture`, body);
const stop = (at: string): Promise<Json> => client.expect(201, 'POST', `${at}/stop_capture`);
const state = (at: string): Promise<Json> => client.expect(200, 'GET', `${at}/capture`);
const fileOf = (link: Json): PcapFile => pcapFile(readFileSync(String(link['capture_file_path'])));

function stateOnce(at: string, wanted: string): Promise<Json> {
  return eventually(wanted, async () => {
    const found = await state(at);
    return found['state'] === wanted ? found : undefined;
  });
}

void t.test('a capture from its start to its stop', async (t) => {
  const line = await hubLine(t, host);
  const news = await line.lab.told(async () => {
    const link = await start(line.at);
    const folder = join(server.data, 'projects', line.lab.id, 'project-files', 'captures');
    t.strictSame(link, {
      ...line.link,
      capture_compute_id: 'local',
      capture_file_name: 'PC1_0-0_to_SW1_0-0.pcap',
      capture_file_path: join(folder, 'PC1_0-0_to_SW1_0-0.pcap'),
      capturing: true,
    });
    t.strictSame(
      fileOf(link),
      { linkType: 1, snaplen: 262_144, packets: [], lengths: [] },
      'with its header',
    );
    t.strictSame((await client.get(line.at)).body, link);
    t.match(await state(line.at), { state: 'running', reason: null, packets: 0, first_packet_at: null });
    await line.pass([frameOf(1), frameOf(2)], 2);
    await line.passBack([frameOf(3)], 1);
    const stopped = await stop(line.at);
    t.strictSame(stopped, { ...link, capturing: false, capture_compute_id: null }, 'the names stay');
    t.same(fileOf(link).packets, [frameOf(1), frameOf(2), frameOf(3)]);
    t.match(await state(line.at), {
      state: 'stopped',
      reason: null,
      packets: 3,
      octets: 180,
      file_bytes: 24 + 3 * 76,
      dropped: 0,
      unwritten_bytes: 0,
    });
    t.strictSame(await stop(line.at), stopped, 'to stop again is no fault');
  });
  t.same(
    news.map(({ action, event }) => [action, event['capturing']]),
    [
      ['link.updated', true],
      ['link.updated', false],
      ['link.updated', false],
    ],
    'an event each time',
  );
});

void t.test('a second start is refused and disturbs nothing', async (t) => {
  const line = await hubLine(t, host);
  const link = await start(line.at);
  await line.pass([frameOf(1)], 1);
  const news = await line.lab.told(async () => {
    const taken = refusal(409, 'Port 0 has already a filter applied');
    t.match(await client.post(`${line.at}/start_capture`, {}), taken);
    t.match(await client.post(`${line.at}/start_capture`, { capture_file_name: 'other' }), taken);
  });
  t.strictSame(news, []);
  t.strictSame((await client.get(line.at)).body, link);
  await line.pass([frameOf(2)], 2);
  await stop(line.at);
  t.same(fileOf(link).packets, [frameOf(1), frameOf(2)]);
});

void t.test('many starts at once make one capture', async (t) => {
  const line = await hubLine(t, host);
  const replies = await Promise.all(
    Array.from({ length: 6 }, () => client.post(`${line.at}/start_capture`, {})),
  );
  t.strictSame(replies.map(({ status }) => status).sort(), [201, 409, 409, 409, 409, 409]);
  const both = await Promise.all([stop(line.at), stop(line.at)]);
  t.strictSame(
    both.map(({ capturing }) => capturing),
    [false, false],
  );
});

void t.test('starts and stops that cross each other leave a link that tells the truth', async (t) => {
  const line = await hubLine(t, host);
  for (let round = 0; round < 5; round++) {
    await Promise.all([client.post(`${line.at}/start_capture`), stop(line.at), stop(line.at)]);
    const { capturing } = await client.expect(200, 'GET', line.at);
    t.equal((await state(line.at))['state'], capturing === true ? 'running' : 'stopped');
    await stop(line.at);
  }
});

void t.test('a capture that is started again is a new file', async (t) => {
  const line = await hubLine(t, host);
  await start(line.at);
  await line.pass([frameOf(1)], 1);
  await stop(line.at);
  const link = await start(line.at);
  await line.pass([frameOf(2)], 2);
  await stop(line.at);
  t.same(fileOf(link).packets, [frameOf(2)]);
});

void t.test('names that clients choose', async (t) => {
  const line = await hubLine(t, host);
  const taken: Json[] = [];
  for (const name of ['x', 'über den Wolken.cap', 'a b?#%.pcap', 'n'.repeat(200)]) {
    const link = await start(line.at, { capture_file_name: name });
    t.equal(link['capture_file_name'], name, 'as it is');
    t.ok(existsSync(String(link['capture_file_path'])));
    taken.push(await stop(line.at));
  }
  t.equal((await start(line.at, { capture_file_name: '' }))['capture_file_name'], 'PC1_0-0_to_SW1_0-0.pcap');
  await stop(line.at);
  const before = (await client.get(line.at)).body;
  const names = ['../x', 'a/b', '.x', '..', '.', '/etc/x', 'a\\b', 'a\0b', 'n'.repeat(201), 'ü'.repeat(101)];
  for (const name of names) {
    const reply = await client.post(`${line.at}/start_capture`, { capture_file_name: name });
    t.match(reply, refusal(400, /cannot be the name of a capture file/), JSON.stringify(name.slice(0, 20)));
  }
  t.strictSame((await client.get(line.at)).body, before);
  t.notOk(existsSync(join(server.data, 'projects', line.lab.id, 'project-files', 'x')));
});

void t.test('two captures do not write one file', async (t) => {
  const lab = await LinkLab.make(host);
  const [a, b] = [await lab.hub('PC 1'), await lab.hub('PC1')];
  const [c, d] = [await lab.hub('X 1'), await lab.hub('X1')];
  const one = lab.at(await lab.link([end(a, 0), end(c, 0)]));
  const other = lab.at(await lab.link([end(b, 0), end(d, 0)]));
  const taken = refusal(409, /^Another capture of this project is writing a\.pcap: choose another/);
  await start(one, { capture_file_name: 'a.pcap' });
  t.match(await client.post(`${other}/start_capture`, { capture_file_name: 'a.pcap' }), taken);
  t.match(await client.post(`${other}/start_capture`, { capture_file_name: 'a.pcap' }), taken, 'and again');
  t.match((await client.get(other)).body, {
    capturing: false,
    capture_compute_id: null,
    capture_file_name: null,
  });
  await stop(one);
  await start(other, { capture_file_name: 'a.pcap' });
  await stop(other);
  const replies = await Promise.all(
    [one, other].map((at) => client.post(`${at}/start_capture`, { capture_file_name: 'b.pcap' })),
  );
  t.strictSame(replies.map(({ status }) => status).sort(), [201, 409], 'at the same moment, too');
  await Promise.all([stop(one), stop(other)]);
  const [first, second] = await Promise.all([start(one), start(other)]);
  t.not(first['capture_file_path'], second['capture_file_path'], 'names of nodes differ only in a space');
  await Promise.all([stop(one), stop(other)]);
});

void t.test('settings out of range are refused', async (t) => {
  const line = await hubLine(t, host);
  const cases: Json[] = [
    { capture_file_name: null },
    { data_link_type: 'DLT_WIFI' },
    { data_link_type: null },
    { bpf: '' },
    { bpf: 'x'.repeat(4097) },
    { snaplen: 0 },
    { snaplen: 262_145 },
    { snaplen: 1.5 },
    { sample: 0 },
    { sample: 1_000_001 },
    { cells: 'yes' },
    { direction: 'up' },
    { files: 0 },
    { files: 101, max_bytes: 1e9 },
    { files: 2 },
    { files: 2, max_bytes: 131_071 },
    { format: 'erf' },
    { max_bytes: 65_535 },
    { max_packets: 0 },
    { max_seconds: 0 },
    { max_seconds: 31_536_001 },
    { colour: 'red' },
  ];
  for (const body of cases) {
    const reply = await client.post(`${line.at}/start_capture`, body);
    t.equal(reply.status, 400, `${JSON.stringify(body).slice(0, 60)} ${reply.text}`);
  }
  if (libpcapLack() === false) {
    const reply = await client.post(`${line.at}/start_capture`, { bpf: 'icmp or' });
    t.match(reply, refusal(400, /^Invalid BPF expression 'icmp or': .*syntax error/));
  }
  t.strictSame((await client.get(line.at)).body, line.link, 'nothing of it is left');
  t.equal((await client.get(`${line.at}/capture`)).status, 404);
});

void t.test('clients choose what is recorded', async (t) => {
  const line = await hubLine(t, host);
  let arrived = 0;
  let back = 0;
  const captured = async (settings: Json): Promise<PcapFile> => {
    const link = await start(line.at, settings);
    const frames = [1, 2, 3, 4, 5, 6].map((mark) => frameOf(mark, 60 + mark));
    await line.pass(frames, (arrived += frames.length));
    await line.passBack([frameOf(9)], (back += 1));
    await stop(line.at);
    return fileOf(link);
  };
  const marks = ({ packets }: PcapFile): unknown[] => packets.map((packet) => packet[20]);
  t.same(marks(await captured({ direction: 'forward' })), [1, 2, 3, 4, 5, 6]);
  t.same(marks(await captured({ direction: 'backward' })), [9]);
  t.same(marks(await captured({ direction: 'out' })), [1, 2, 3, 4, 5, 6]);
  t.same(marks(await captured({ sample: 3, direction: 'forward' })), [1, 4]);
  const cut = await captured({ snaplen: 40 });
  t.same([cut.snaplen, cut.packets[5]?.length, cut.lengths[5]], [40, 40, 66]);
  if (libpcapLack() === false) t.same(marks(await captured({ bpf: 'len >= 65' })), [5, 6]);
});

void t.test('the type of what is recorded follows the port', async (t) => {
  const lab = await LinkLab.make(host);
  const relay = (): Promise<Json> =>
    lab.node('frame_relay_switch', 'F{0}', { mappings: { '1:101': '10:102' } });
  const links = {
    ethernet: await lab.link([end(await lab.hub(), 0), end(await lab.hub(), 0)]),
    atm: await lab.link([end(await lab.atm(), 1), end(await lab.atm(), 1)]),
    relay: await lab.link([end(await relay(), 1), end(await relay(), 1)]),
  };
  const cases: [keyof typeof links, string | undefined, number, Json?][] = [
    ['ethernet', undefined, 1],
    ['ethernet', 'DLT_EN10MB', 1],
    ['atm', undefined, 123],
    ['atm', 'DLT_EN10MB', 123],
    ['atm', 'DLT_ATM_RFC1483', 123],
    ['atm', 'DLT_ATM_RFC1483', 197, { cells: true }],
    ['relay', undefined, 107],
    ['relay', 'DLT_EN10MB', 107],
    ['relay', 'DLT_FRELAY', 107],
    ['relay', 'DLT_C_HDLC', 104],
    ['relay', 'DLT_PPP_SERIAL', 50],
  ];
  for (const [which, type, number, more] of cases) {
    const at = lab.at(links[which]);
    const link = await start(at, { ...(type === undefined ? {} : { data_link_type: type }), ...more });
    t.equal(fileOf(link).linkType, number, `${which} ${String(type)}`);
    t.match(await state(at), { link_type: number });
    await stop(at);
  }
  t.match(
    await client.post(`${lab.at(links.atm)}/start_capture`, { cells: true, bpf: 'ip' }),
    refusal(400, /cells/),
  );
});

void t.test('a viewer gets everything, live, and then the end', async (t) => {
  const line = await hubLine(t, host);
  const none = refusal(409, 'This link has no active packet capture');
  t.match(await client.get(`${line.at}/pcap`), none);
  const link = await start(line.at);
  const early = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
  t.equal(early.headers.get('content-type'), 'application/vnd.tcpdump.pcap');
  t.equal((await early.reach(24)).length, 24, 'the header comes at once');
  await line.pass([frameOf(1)], 1);
  await early.reach(24 + 76);
  const late = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
  await late.reach(24 + 76);
  t.match(await state(line.at), { viewers: [{ lag_bytes: 0 }, { lag_bytes: 0 }] });
  await line.pass([frameOf(2)], 2);
  await stop(line.at);
  const file = readFileSync(String(link['capture_file_path']));
  for (const stream of [early, late]) t.same(await stream.ended, file);
  t.match(await client.get(`${line.at}/pcap`), none);
  t.strictSame((await state(line.at))['viewers'], []);
});

void t.test('wrong settings of a capture are refused', async (t) => {
  const line = await hubLine(t, host);
  const asked = ['capture', 'capture/file', 'pcap'] as const;
  const lost = line.lab.at({ link_id: UNKNOWN });
  const missing = refusal(404, `Link ID ${UNKNOWN} doesn't exist`);
  for (const what of asked) t.match(await client.get(`${lost}/${what}`), missing, what);
  for (const what of ['start', 'stop']) t.match(await client.post(`${lost}/${what}_capture`), missing, what);
  const never = refusal(404, `Link ID ${String(line.link['link_id'])} has not been captured`);
  t.match(await client.get(`${line.at}/capture`), never);
  t.match(await client.get(`${line.at}/capture/file`), never);
  await client.expect(204, 'POST', `${line.lab.path}/close`);
  const closed = refusal(403, 'The project is not opened');
  for (const what of asked) t.match(await client.get(`${line.at}/${what}`), closed, what);
  for (const what of ['start', 'stop'])
    t.match(await client.post(`${line.at}/${what}_capture`), closed, what);
});

void t.test('a link that is not connected cannot be captured', async (t) => {
  const lab = await LinkLab.make(host);
  const at = lab.at(await lab.link([end(await lab.hub(), 0)]));
  const reply = await client.post(`${at}/start_capture`);
  t.match(reply, refusal(409, 'Cannot capture because there is no running device on this link'));
  t.match((await client.get(at)).body, {
    capturing: false,
    capture_compute_id: null,
    capture_file_name: null,
  });
});

void t.test('filters and suspension do not disturb a capture, and captures show what passes', async (t) => {
  const line = await hubLine(t, host);
  const link = await start(line.at);
  const stream = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
  await line.pass([frameOf(1)], 1);
  await client.expect(201, 'PUT', line.at, { filters: { frequency_drop: [2] } });
  await line.pass([frameOf(2), frameOf(3), frameOf(4), frameOf(5)], 3);
  await client.expect(201, 'PUT', line.at, { filters: {}, suspend: true });
  await client.expect(201, 'PUT', line.at, { suspend: false });
  await line.pass([frameOf(6)], 4);
  t.match(await state(line.at), { state: 'running' });
  await stop(line.at);
  const expected = [1, 2, 4, 6].map((mark) => frameOf(mark));
  t.same(fileOf(link).packets, expected);
  t.same(pcapFile(await stream.ended).packets, expected);
});

void t.test('a capture that is ended from outside ends whole', async (t) => {
  const ways: Record<string, (line: Awaited<ReturnType<typeof hubLine>>) => Promise<unknown>> = {
    'the link is deleted': ({ at }) => client.expect(204, 'DELETE', at),
    'the near node is deleted': ({ lab, near }) =>
      client.expect(204, 'DELETE', `${lab.path}/nodes/${String(near['node_id'])}`),
    'the far node is deleted': ({ lab, far }) =>
      client.expect(204, 'DELETE', `${lab.path}/nodes/${String(far['node_id'])}`),
    'the project is closed': ({ lab }) => client.expect(204, 'POST', `${lab.path}/close`),
  };
  for (const [what, end] of Object.entries(ways)) {
    const line = await hubLine(t, host);
    const link = await start(line.at);
    const stream = await LiveStream.open(t, `${server.url}${line.at}/pcap`);
    await line.pass([frameOf(1), frameOf(2)], 2);
    await end(line);
    t.same(fileOf(link).packets, [frameOf(1), frameOf(2)], what);
    t.same(pcapFile(await stream.ended).packets.length, 2, what);
    if (what === 'the project is closed') {
      await client.expect(201, 'POST', `${line.lab.path}/open`);
      t.strictSame((await client.get(line.at)).body, line.link, 'captures are not stored');
      t.notMatch(
        readFileSync(join(server.data, 'projects', line.lab.id, `${await nameOf(line.lab)}.gns3`), 'utf8'),
        /captur/,
      );
    }
  }
});

async function nameOf(lab: LinkLab): Promise<string> {
  return String((await client.expect(200, 'GET', lab.path))['name']);
}

void t.test('a capture whose port is taken away says so', async (t) => {
  const line = await hubLine(t, host);
  const link = await start(line.at);
  await line.pass([frameOf(1)], 1);
  const news = await NotificationLog.open(`${server.url}${line.lab.path}/notifications`);
  await client.expect(204, 'DELETE', nioPath(line.lab.onCompute(line.near), 0));
  await news.next(({ action, event }) => action === 'link.updated' && event['capturing'] === false);
  news.close();
  t.match(await state(line.at), { state: 'stopped', reason: 'its port was detached', packets: 1 });
  t.match((await client.get(line.at)).body, { capturing: false, capture_compute_id: null });
  t.same(fileOf(link).packets, [frameOf(1)]);
});

void t.test('limits end a capture, and it says which', async (t) => {
  const line = await hubLine(t, host);
  let arrived = 0;
  const frames = Array.from({ length: 100 }, (_, mark) => frameOf(mark, 1000));
  const limited = async (settings: Json): Promise<{ ended: Json; link: Json }> => {
    const news = await NotificationLog.open(`${server.url}${line.lab.path}/notifications`);
    const link = await start(line.at, settings);
    await line.pass(frames.slice(0, 50), (arrived += 50));
    await line.pass(frames.slice(50), (arrived += 50));
    await news.next(({ action, event }) => action === 'link.updated' && event['capturing'] === false);
    news.close();
    return { ended: await stateOnce(line.at, 'stopped'), link };
  };
  const few = await limited({ max_packets: 3 });
  t.match(few.ended, { reason: 'max_packets was reached', packets: 3 });
  t.same(fileOf(few.link).packets, frames.slice(0, 3));
  const small = await limited({ max_bytes: 65_536 });
  t.match(small.ended, { reason: 'max_bytes was reached', packets: Math.floor((65_536 - 24) / 1016) });
  t.ok(readFileSync(String(small.link['capture_file_path'])).length <= 65_536);
  const short = await limited({ max_seconds: 1 });
  t.match(short.ended, { reason: 'max_seconds was reached', packets: 100 });
  await start(line.at);
  await stop(line.at);
});

void t.test('a ring of files keeps the youngest', async (t) => {
  const line = await hubLine(t, host);
  const link = await start(line.at, { files: 2, max_bytes: 131_072, capture_file_name: 'ring.pcap' });
  const sent = Array.from({ length: 300 }, (_, mark) => frameOf(mark % 250, 1000));
  for (let at = 0; at < sent.length; at += 30) await line.pass(sent.slice(at, at + 30), at + 30);
  await stop(line.at);
  const folder = join(String(link['capture_file_path']), '..');
  t.same(readdirSync(folder).sort(), ['ring.1.pcap', 'ring.pcap']);
  const kept = ['ring.1.pcap', 'ring.pcap'].flatMap(
    (name) => pcapFile(readFileSync(join(folder, name))).packets,
  );
  t.same(kept, sent.slice(-kept.length), 'without a gap');
  const found = await state(line.at);
  const gone = found['rotated_away'] as { files: number; bytes: number };
  t.equal(gone.bytes, (sent.length - kept.length) * 1016);
  t.ok(gone.files > 0);
});

void t.test('the file of a capture is downloaded as it is', async (t) => {
  const line = await hubLine(t, host);
  const link = await start(line.at);
  await line.pass([frameOf(1)], 1);
  await eventually('it is written', async () =>
    (await state(line.at))['file_bytes'] === 100 ? true : undefined,
  );
  const download = async (range?: string): Promise<Buffer> => {
    const headers: Record<string, string> = range === undefined ? {} : { Range: range };
    return Buffer.from(
      await (await fetch(`${server.url}${line.at}/capture/file`, { headers })).arrayBuffer(),
    );
  };
  t.same(pcapFile(await download()).packets, [frameOf(1)], 'while it runs');
  await stop(line.at);
  const whole = readFileSync(String(link['capture_file_path']));
  t.same(await download(), whole);
  t.same(await download('bytes=24-39'), whole.subarray(24, 40));
});

void t.test('a running capture is listed as such, with its link', async (t) => {
  const line = await hubLine(t, host);
  await start(line.at);
  await line.pass([frameOf(1)], 1);
  const listed = async (): Promise<unknown> => (await client.get(`${line.lab.path}/captures`)).body;
  const name = 'PC1_0-0_to_SW1_0-0.pcap';
  await eventually('the packet is counted', async () =>
    ((await listed()) as Json[])[0]?.['packets'] === 1 ? true : undefined,
  );
  t.match(await listed(), [{ name, state: 'running', link_id: line.link['link_id'] }]);
  t.equal((await client.delete(`${line.lab.path}/captures/${name}`)).status, 409);
  await stop(line.at);
  t.match(await listed(), [{ name, state: 'finished', packets: 1 }]);
  t.equal((await client.delete(`${line.lab.path}/captures/${name}`)).status, 204);
});
