/** Captures of ATM and Frame Relay links, with cells and frames that a real server has carried. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { aal5Cells } from '../support/aal5-cells.js';
import { Client } from '../support/client.js';
import { end, LinkLab, type Json } from '../support/link-lab.js';
import { startServer } from '../support/server-process.js';
import { missingTshark, tsharkRows } from '../support/tshark.js';

const server = await startServer(t);
const client = new Client(server.url);
const host = { client, url: server.url };
const skip = missingTshark();

/** A ping from 10.0.0.1 to 10.0.0.2 with so many octets. */
function ping(length: number): Buffer {
  const packet = Buffer.alloc(28 + length, 0x61);
  packet.set([0x45, 0, 0, 0, 0, 1, 0, 0, 64, 1, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
  packet.writeUInt16BE(packet.length, 2);
  packet.writeUInt16BE(checksum(packet.subarray(0, 20)), 10);
  packet.set([8, 0, 0, 0, 0, 7, 0, 1], 20);
  packet.writeUInt16BE(checksum(packet.subarray(20)), 22);
  return packet;
}

function checksum(octets: Buffer): number {
  let sum = 0;
  for (let at = 0; at < octets.length; at += 2) sum += (octets[at] ?? 0) * 256 + (octets[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

const LLC_SNAP_IP = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

interface Line {
  readonly at: string;
  pass(frames: readonly Buffer[], arrived: number): Promise<unknown>;
  record(settings?: Json): Promise<() => Promise<Buffer>>;
}

/** Two switches with a link between their ports 2 and 1, and a socket at the port 1 of the near one. */
async function line(
  t: Parameters<LinkLab['peer']>[0],
  kind: string,
  mappings: readonly [Json, Json],
): Promise<Line> {
  const lab = await LinkLab.make(host);
  t.teardown(() => client.post(`${lab.path}/close`).catch(() => undefined));
  const near = await lab.node(kind, 'near', { mappings: mappings[0] });
  const far = await lab.node(kind, 'far', { mappings: mappings[1] });
  const at = lab.at(await lab.link([end(near, 2), end(far, 1)]));
  const [left, right] = [await lab.peer(t, near, 1), await lab.peer(t, far, 2)];
  return {
    at,
    pass: async (frames, arrived) => {
      await left.peer.send(left.near, frames);
      return right.peer.receive(arrived);
    },
    record: async (settings = {}) => {
      const { capture_file_path: path } = await client.expect(201, 'POST', `${at}/start_capture`, settings);
      return async () => {
        await client.expect(201, 'POST', `${at}/stop_capture`);
        return readFileSync(String(path));
      };
    },
  };
}

const ATM = [
  { '1:0:100': '2:3:200', '1:7': '2:8' },
  { '1:3:200': '2:0:50', '1:8': '2:9' },
] as const;

void t.test('cells are recorded as the frames that they make, with their connection', { skip }, async (t) => {
  const atm = await line(t, 'atm_switch', ATM);
  const stop = await atm.record({ data_link_type: 'DLT_ATM_RFC1483' });
  const [one, other] = [ping(56), ping(1000)];
  const cells = [
    ...aal5Cells(0, 100, Buffer.concat([Buffer.from(LLC_SNAP_IP), one])),
    ...aal5Cells(7, 33, Buffer.concat([Buffer.from(LLC_SNAP_IP), other])),
  ];
  await atm.pass(cells, cells.length);
  const fields = ['atm.vpi', 'atm.vci', 'ip.src', 'ip.dst', 'icmp.type', 'ip.len'];
  t.same(tsharkRows(await stop(), fields), [
    ['3', '200', '10.0.0.1', '10.0.0.2', '8', String(one.length)],
    ['8', '33', '10.0.0.1', '10.0.0.2', '8', String(other.length)],
  ]);
  const whole = await client.expect(200, 'GET', `${atm.at}/capture`);
  t.match(whole, { packets: 2, link_type: 123, aal5: { faulty: 0, no_room: 0 } });
});

void t.test('a frame with a wrong checksum is kept, and counted as faulty', { skip }, async (t) => {
  const atm = await line(t, 'atm_switch', ATM);
  const stop = await atm.record({});
  const cells = aal5Cells(0, 100, Buffer.concat([Buffer.from(LLC_SNAP_IP), ping(100)]));
  const spoilt = cells.map((cell, index) => {
    const copy = Buffer.from(cell);
    if (index === 0) copy[52] = (copy[52] ?? 0) ^ 1;
    return copy;
  });
  await atm.pass([...spoilt, ...cells], 2 * cells.length);
  t.equal(tsharkRows(await stop(), ['atm.vci']).length, 2);
  t.match(await client.expect(200, 'GET', `${atm.at}/capture`), {
    packets: 2,
    aal5: { faulty: 1, no_room: 0 },
  });
});

void t.test('cells as they are, on request', { skip }, async (t) => {
  const atm = await line(t, 'atm_switch', ATM);
  const stop = await atm.record({ cells: true });
  const cells = aal5Cells(0, 100, Buffer.concat([Buffer.from(LLC_SNAP_IP), ping(100)]));
  await atm.pass(cells, cells.length);
  const rows = tsharkRows(await stop(), ['atm.vpi', 'atm.vci']);
  t.same(rows, Array<string[]>(cells.length).fill(['3', '200']));
});

void t.test('Frame Relay is recorded with its connection', { skip }, async (t) => {
  const relay = await line(t, 'frame_relay_switch', [{ '1:101': '2:102' }, { '1:102': '2:103' }]);
  const stop = await relay.record({ data_link_type: 'DLT_EN10MB' });
  const packet = ping(64);
  const address = Buffer.from([(101 >> 4) << 2, ((101 & 0xf) << 4) | 1, 3, 0xcc]);
  await relay.pass([Buffer.concat([address, packet])], 1);
  t.same(tsharkRows(await stop(), ['fr.dlci', 'ip.src', 'icmp.type']), [['102', '10.0.0.1', '8']]);
});

void t.test('filters of ATM and Frame Relay links do what they say', async (t) => {
  const atm = await line(t, 'atm_switch', ATM);
  await client.expect(201, 'PUT', atm.at, { filters: { frequency_drop: [2] } });
  const cells = aal5Cells(0, 100, Buffer.alloc(300));
  await atm.pass(cells, Math.ceil(cells.length / 2));
  await client.expect(201, 'PUT', atm.at, { filters: {}, suspend: true });
  await client.expect(201, 'PUT', atm.at, { suspend: false });
  await atm.pass(cells, Math.ceil(cells.length / 2) + cells.length);
  const relay = await line(t, 'frame_relay_switch', [{ '1:101': '2:102' }, { '1:102': '2:103' }]);
  await client.expect(201, 'PUT', relay.at, { filters: { duplicate: [100] } });
  await relay.pass([Buffer.from([(101 >> 4) << 2, ((101 & 0xf) << 4) | 1, 3, 0xcc, 1])], 2);
  t.pass('all came that were to come');
});
