/** One stream has the packets of many links of a project. */
import { once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { libpcapLack } from '../support/libpcap.js';
import { end, frameOf, LinkLab, type Json } from '../support/link-lab.js';
import { LiveStream } from '../support/live-stream.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { missingTshark, tsharkRows } from '../support/tshark.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };
const UNKNOWN = '11111111-2222-3333-4444-555555555555';
const skip = missingTshark();
const refusal = (status: number, message: string | RegExp): object => ({ status, body: { message, status } });

/** A hub with three links to another, and sockets to send through all of them. */
interface Star {
  readonly lab: LinkLab;
  readonly url: string;
  readonly name: string;
  readonly links: Json[];
  /** Links the next port, with a socket behind; returns its index. */
  add(): Promise<number>;
  /** Sends so many frames through a link. */
  send(index: number, count: number, length?: number): Promise<void>;
  close(): Promise<unknown>;
}

async function star(t: Teardown, links = 3): Promise<Star> {
  const lab = await LinkLab.make(host);
  const { name } = await client.expect(200, 'GET', lab.path);
  const made: Star = {
    lab,
    url: `${server.url}${lab.path}/pcap`,
    name: String(name),
    links: [],
    add: async () => {
      const [near, far] = [await lab.hub(`N${made.links.length}-{0}`), await lab.hub('F{0}')];
      made.links.push(await lab.link([end(near, 0), end(far, 0)]));
      ways.push([await lab.peer(t, near, 1), await lab.peer(t, far, 1)]);
      return made.links.length - 1;
    },
    send: async (index, count, length = 60) => {
      const [from, to] = ways[index] ?? [];
      const before = to?.peer.received.length ?? 0;
      await from?.peer.send(
        from.near,
        Array.from({ length: count }, (_, mark) => frameOf(mark, length)),
      );
      await to?.peer.receive(before + count);
    },
    close: () => client.expect(204, 'POST', `${lab.path}/close`),
  };
  type Way = Awaited<ReturnType<LinkLab['peer']>>;
  const ways: (readonly [Way, Way])[] = [];
  for (let link = 0; link < links; link++) await made.add();
  t.teardown(() => client.post(`${lab.path}/close`).catch(() => undefined));
  return made;
}

/** How many packets each interface has, by the name of its near node. */
function counts(file: Buffer): Json {
  const found: Record<string, number> = {};
  for (const [name = ''] of tsharkRows(file, ['frame.interface_name'])) {
    const node = /N\d+/.exec(name)?.[0] ?? name;
    found[node] = (found[node] ?? 0) + 1;
  }
  return found;
}

void t.test('all links of a project, in one stream that ends with it', { skip }, async (t) => {
  const lab = await star(t);
  const stream = await LiveStream.open(t, lab.url);
  t.equal(stream.headers.get('content-type'), 'application/x-pcapng');
  await lab.send(0, 3);
  await lab.send(1, 5);
  await lab.send(2, 7);
  await lab.close();
  const file = await stream.ended;
  t.same(counts(file), { N0: 3, N1: 5, N2: 7 });
  const [row] = tsharkRows(file, [
    'frame.interface_name',
    'frame.interface_description',
    'frame.packet_flags_direction',
  ]);
  t.match(row?.[0], new RegExp(`^${lab.name} N0-\\S+ port 0$`));
  t.match(row?.[1], `link ${String(lab.links[0]?.['link_id'])} to F`);
});

void t.test('links join and leave while it runs', { skip }, async (t) => {
  const lab = await star(t, 2);
  const stream = await LiveStream.open(t, lab.url);
  await stream.reach(28);
  await lab.send(0, 2);
  await lab.add();
  await lab.send(2, 4);
  await client.expect(204, 'DELETE', lab.lab.at(lab.links[0] ?? {}));
  await lab.send(1, 1);
  await lab.add();
  await lab.send(3, 6);
  await lab.close();
  t.same(counts(await stream.ended), { N0: 2, N1: 1, N2: 4, N3: 6 });
});

void t.test('links that are named, and no others', { skip }, async (t) => {
  const lab = await star(t);
  const ids = [lab.links[0], lab.links[2]].map((link) => String(link?.['link_id']));
  const stream = await LiveStream.open(t, `${lab.url}?links=${ids.join(',')}`);
  for (const index of [0, 1, 2]) await lab.send(index, index + 1);
  await lab.add();
  await lab.send(3, 2);
  await lab.close();
  t.same(counts(await stream.ended), { N0: 1, N2: 3 });
});

void t.test('the stream has the links that are being captured, as long as they are', { skip }, async (t) => {
  const lab = await star(t);
  const [one = '', other = ''] = lab.links.map((link) => lab.lab.at(link));
  await client.expect(201, 'POST', `${one}/start_capture`);
  const stream = await LiveStream.open(t, `${lab.url}?links=capturing`);
  await stream.reach(28);
  const all = async (count: number): Promise<void> => {
    for (const index of [0, 1, 2]) await lab.send(index, count);
  };
  await all(1);
  await client.expect(201, 'POST', `${other}/start_capture`);
  const joined = stream.bytes.length;
  await eventually('it has joined', async () => {
    await lab.send(1, 1);
    return stream.bytes.length > joined + 200 ? true : undefined;
  });
  await client.expect(201, 'POST', `${one}/stop_capture`);
  await lab.close();
  const found = counts(await stream.ended);
  t.equal(found['N0'], 1);
  t.ok(Number(found['N1']) >= 1);
  t.equal(found['N2'], undefined);
});

void t.test('packets are chosen and cut', { skip: skip === false ? libpcapLack() : skip }, async (t) => {
  const lab = await star(t, 1);
  const stream = await LiveStream.open(t, `${lab.url}?bpf=len%20%3E%3D%20100&snaplen=30&sample=2`);
  await lab.send(0, 10, 60);
  await lab.send(0, 10, 100);
  await lab.close();
  const rows = tsharkRows(await stream.ended, ['frame.len', 'frame.cap_len']);
  t.same(rows, Array<string[]>(5).fill(['100', '30']));
});

void t.test('wrong requests for streams are refused', async (t) => {
  const lab = await star(t, 1);
  const empty = await LinkLab.make(host);
  const get = (path: string, query = ''): Promise<object> => client.get(`${path}/pcap${query}`);
  t.match(
    await get(empty.path),
    refusal(409, 'Cannot capture because there is no running device on this link'),
  );
  t.match(await get(lab.lab.path, `?links=${UNKNOWN}`), refusal(404, `Link ID ${UNKNOWN} doesn't exist`));
  t.match(await get(`/v2/projects/${UNKNOWN}`), { status: 404 });
  for (const query of ['?snaplen=0', '?snaplen=x', '?sample=0', '?cells=1', '?bpf=', '?colour=red']) {
    t.match(await get(lab.lab.path, query), { status: 400 }, query);
  }
  t.match(await get(lab.lab.path, '?cells=true&bpf=ip'), { status: 400 });
  if (libpcapLack() === false)
    t.match(await get(lab.lab.path, '?bpf=icmp%20or'), refusal(400, /syntax error/));
  await lab.close();
  t.match(await get(lab.lab.path), refusal(403, 'The project is not opened'));
});

void t.test('the same over a WebSocket, of a project and of a link', { skip }, async (t) => {
  const lab = await star(t, 2);
  const at = lab.lab.at(lab.links[0] ?? {});
  await client.expect(201, 'POST', `${at}/start_capture`);
  const open = async (path: string): Promise<{ bytes: () => Buffer; closed: Promise<unknown[]> }> => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}/pcap/ws`);
    const pieces: Buffer[] = [];
    socket.on('message', (data: Buffer) => pieces.push(data));
    const closed = once(socket, 'close');
    await once(socket, 'message');
    return { bytes: () => Buffer.concat(pieces), closed };
  };
  const [ofProject, ofLink] = [await open(lab.lab.path), await open(at)];
  await lab.send(0, 2);
  await lab.send(1, 3);
  await lab.close();
  t.equal((await ofProject.closed)[0], 1000);
  t.equal((await ofLink.closed)[0], 1000);
  t.same(counts(ofProject.bytes()), { N0: 2, N1: 3 });
  t.equal(tsharkRows(ofLink.bytes(), ['frame.len']).length, 2);
});

void t.test('a stream that has gone leaves nothing behind', async (t) => {
  const lab = await star(t, 1);
  for (let round = 0; round < 20; round++) {
    const stream = await LiveStream.open(t, lab.url);
    await stream.reach(28);
    stream.close();
  }
  await client.expect(201, 'POST', `${lab.lab.at(lab.links[0] ?? {})}/start_capture`);
  await lab.send(0, 3);
  t.match(await client.expect(200, 'GET', `${lab.lab.at(lab.links[0] ?? {})}/capture`), { state: 'running' });
});
