/** Guests that leave checksums and the cutting of segments to others: to each other, or to the engine. */
import t, { type Test } from 'tap';
import { LINK_TYPE, pcapHeader, writeRecordHeader } from '../../../../../src/engine/wire/pcap.js';
import type { EthernetPort } from '../../../../../src/engine/devices/ethernet-switch.js';
import type { DeviceSettings } from '../../../../../src/engine/forwarding/orders.js';
import { ALL_OFFLOADS, GuestLab, USUAL_FEATURES } from '../../../../support/guest-lab.js';
import { DESCRIPTOR, GUEST_AT } from '../../../../support/guest-peer.js';
import { frames } from '../../../../support/guest-rig.js';
import { longFrame, partialUdp, wishOf, type Wish } from '../../../../support/offloaded-frames.js';
import { planOf } from '../../../../support/tap-rig.js';
import { missingTshark, tsharkRows } from '../../../../support/tshark.js';

const skip = missingTshark();
const SNAPLEN = 262_144;
const HUB: DeviceSettings = { kind: 'ethernet_hub', settings: null };
const PATCH: DeviceSettings = { kind: 'patch', settings: null };

const switchOf = (...ports: readonly Partial<EthernetPort>[]): DeviceSettings => ({
  kind: 'ethernet_switch',
  settings: {
    ports: ports.map((each, port) => ({
      ...({ port, type: 'access', vlan: 1, ethertype: 0x8100 } as const),
      ...each,
    })),
  },
});

interface Segment {
  readonly number: number;
  readonly id: string;
  readonly flags: string;
  readonly payload: Buffer;
}

/** The segments as tshark reads them, of which it finds all checksums right. */
function segmentsOf(t: Test, file: Uint8Array, version: 4 | 6): Segment[] {
  const fields = [
    'ip.checksum.status',
    'tcp.checksum.status',
    'tcp.seq_raw',
    'ip.id',
    'tcp.flags',
    'tcp.payload',
  ];
  const checks = ['ip.check_checksum:TRUE', 'tcp.check_checksum:TRUE', 'tcp.desegment_tcp_streams:FALSE'];
  return tsharkRows(file, fields, 'tcp', checks).map(
    ([ip, tcp, number, id = '', flags = '', payload = '']) => {
      t.same([ip, tcp], [version === 4 ? '1' : '', '1'], 'both checksums are right');
      return { number: Number(number), id, flags, payload: Buffer.from(payload, 'hex') };
    },
  );
}

function pcapOf(packets: readonly Buffer[]): Buffer {
  const records = packets.map((packet) => {
    const header = Buffer.alloc(16);
    writeRecordHeader(
      new DataView(header.buffer, header.byteOffset, 16),
      0,
      0,
      0,
      packet.length,
      packet.length,
    );
    return Buffer.concat([header, packet]);
  });
  return Buffer.concat([pcapHeader(LINK_TYPE.EN10MB, SNAPLEN), ...records]);
}

for (const version of [4, 6] as const) {
  void t.test(`a long frame over IPv${version} goes from guest to guest as it is`, async (t) => {
    const lab = new GuestLab(t);
    lab.add(1, switchOf({}, {}));
    const [one, two] = [await lab.guest(1, 0), await lab.guest(1, 1)];
    const { header, frame } = longFrame(version, 60_000, 1448);
    one.postLong(header, frame);
    one.post(frames(1));
    one.kick(1);
    await lab.turnUntil('both are taken', () => one.taken === 2);
    const [long, short] = two.receiveWhole();
    t.same(long?.frame, frame);
    t.equal(long?.header.readUInt16LE(10), 30, 'it lies in 30 buffers');
    t.same(long?.header.subarray(0, 10), header.subarray(0, 10));
    t.same(short?.header.subarray(0, 10), Buffer.alloc(10), 'and the next one has nothing left to do');
    t.match(lab.books.totals(), { frames_in: 2, frames_out: 2 });
  });

  void t.test(
    `a long frame over IPv${version} leaves in segments to whoever takes none`,
    { skip },
    async (t) => {
      const lab = new GuestLab(t);
      lab.add(1, HUB);
      const one = await lab.guest(1, 0);
      const plain = await lab.guest(1, 1, USUAL_FEATURES);
      const socket = await lab.socket(1, 2);
      const { header, frame, payload } = longFrame(version, 10_000, 1448);
      one.postLong(header, frame);
      one.kick(1);
      await lab.turnUntil('it is taken', () => one.taken === 1);
      const received = plain.receive();
      t.same(await socket.receive(7), received, 'the socket has the same');
      const segments = segmentsOf(t, pcapOf(received), version);
      t.same(Buffer.concat(segments.map((segment) => segment.payload)), payload);
      t.same(
        segments.map(({ number }) => number),
        [0, 1, 2, 3, 4, 5, 6].map((index) => (0xffff_fff0 + index * 1448) % 2 ** 32),
      );
      t.same(
        segments.map(({ flags }) => flags),
        ['0x0090', ...Array<string>(5).fill('0x0010'), '0x0019'],
        'the first one tells that less is sent, the last one ends the stream',
      );
      const ids = Array.from({ length: 7 }, (_, index) => `0x${(0x1234 + index).toString(16)}`);
      t.same(
        segments.map(({ id }) => id),
        version === 4 ? ids : Array<string>(7).fill(''),
      );
      t.match(lab.books.totals(), { frames_in: 1, copies: 1 + 6 + 6, frames_out: 14 });
      t.equal(lab.books.unaccounted, 0);
    },
  );
}

void t.test('a capture has the segments, and so has everybody behind it', { skip }, async (t) => {
  for (const [port, direction] of [
    [0, 'in'],
    [1, 'out'],
  ] as const) {
    const lab = new GuestLab(t);
    lab.add(1, switchOf({}, {}));
    const [one, two] = [await lab.guest(1, 0), await lab.guest(1, 1)];
    lab.taps.prepare(0);
    lab.engine.perform({ do: 'tap', device: 1, tap: { port, tap: 1, plan: planOf({ direction }) } });
    const { header, frame, payload } = longFrame(4, 9000, 1000);
    one.postLong(header, frame);
    one.kick(1);
    await lab.turnUntil('it is taken', () => one.taken === 1);
    const file = Buffer.concat([pcapHeader(LINK_TYPE.EN10MB, SNAPLEN), lab.taps.drain(0)]);
    const segments = segmentsOf(t, file, 4);
    t.equal(segments.length, 9);
    t.same(Buffer.concat(segments.map((segment) => segment.payload)), payload);
    t.equal(two.receive().length, 9);
    t.equal(lab.books.unaccounted, 0);
  }
});

void t.test('filters see segments', async (t) => {
  const filters = { seed: 1, outward: [{ type: 'frequency_drop', every: 3 }], inward: [] } as const;
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const one = await lab.guest(1, 0);
  const socket = await lab.socket(1, 1, { suspended: false, filters });
  const { header, frame } = longFrame(4, 9000, 1000);
  one.postLong(header, frame);
  one.kick(1);
  await receiveAll(lab, () => socket.received, 6);
  t.match(lab.books.totals(), { filter_frequency: 3, frames_out: 6, copies: 8 });
  t.equal(lab.books.unaccounted, 0);
});

void t.test('a long frame passes patches and switches of one engine whole', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, PATCH);
  lab.add(2, switchOf({}, {}));
  const one = await lab.guest(1, 0);
  const two = await lab.guest(2, 1);
  await lab.cable([1, 1], [2, 0]);
  const { header, frame } = longFrame(4, 30_000, 1448);
  one.postLong(header, frame);
  one.kick(1);
  await lab.turnUntil('it is taken', () => one.taken === 1);
  t.same(two.receive(), [frame]);
});

void t.test('a device that knows no offloads gets segments', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, PATCH);
  lab.add(2, { kind: 'netio_bridge', settings: { image: 1, bridge: 2 } });
  const one = await lab.guest(1, 0);
  const image = await lab.socket(2, 0);
  await lab.cable([1, 1], [2, 1]);
  const { header, frame } = longFrame(4, 3000, 1000);
  one.postLong(header, frame);
  one.kick(1);
  t.same(
    (await receiveAll(lab, () => image.received, 3)).map(({ length }) => length),
    [1, 2, 3].map(() => 8 + frame.length - 2000),
  );
});

void t.test('a tag moves what is left to be done', { skip }, async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, switchOf({ vlan: 10 }, { type: 'dot1q' }, { type: 'dot1q' }));
  const [one, two] = [await lab.guest(1, 0), await lab.guest(1, 1)];
  const socket = await lab.socket(1, 2);
  const untagged = longFrame(4, 5000, 1448);
  const tagged = longFrame(4, 5000, 1448, 10);
  one.postLong(untagged.header, untagged.frame);
  one.kick(1);
  await lab.turnUntil('it is taken', () => one.taken === 1);
  const [whole] = two.receiveWhole();
  t.same(whole?.frame, tagged.frame);
  t.same(whole?.header.subarray(0, 10), tagged.header.subarray(0, 10));
  const segments = segmentsOf(t, pcapOf(await socket.receive(4)), 4);
  t.same(Buffer.concat(segments.map(({ payload }) => payload)), untagged.payload);
  two.postLong(tagged.header, tagged.frame);
  two.kick(1);
  await lab.turnUntil('it is taken', () => two.taken === 1);
  const [back] = one.receiveWhole();
  t.same(back?.frame, untagged.frame);
  t.same(back?.header.subarray(0, 10), untagged.header.subarray(0, 10));
});

void t.test('a checksum that is left out is computed for whoever needs it', { skip }, async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const [one, two] = [await lab.guest(1, 0), await lab.guest(1, 1)];
  const socket = await lab.socket(1, 2);
  for (const length of [0, 1, 2, 3, 1471]) {
    const { header, frame } = partialUdp(Buffer.alloc(length, 0xa5));
    one.postLong(header, frame);
    one.kick(1);
    await lab.turnUntil('it arrives', () => socket.received.length > 0);
    const [whole] = two.receiveWhole();
    t.same(whole?.frame, frame, 'the guest has it as it was');
    t.same(whole?.header.subarray(0, 10), header.subarray(0, 10));
    const rows = tsharkRows(pcapOf(socket.received.splice(0)), ['udp.checksum.status'], '', [
      'udp.check_checksum:TRUE',
    ]);
    t.same(rows, [['1']]);
  }
});

void t.test('a checksum of UDP is never 0, which would be none', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const one = await lab.guest(1, 0);
  const socket = await lab.socket(1, 1);
  // The sum of the rest is 0xffff with this payload.
  const { header, frame } = partialUdp(Buffer.alloc(2));
  let sum = 0;
  for (let at = 34; at < frame.length; at += 2) sum += frame.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  frame.writeUInt16BE(0xffff - sum, 42);
  one.postLong(header, frame);
  one.kick(1);
  const [received] = await receiveAll(lab, () => socket.received, 1);
  t.equal(received?.readUInt16BE(40), 0xffff);
});

void t.test('many small segments arrive, all of them', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const one = await lab.guest(1, 0);
  const socket = await lab.socket(1, 1);
  const { header, frame, payload } = longFrame(4, 60_000, 60);
  for (let count = 1; count <= 3; count++) one.postLong(header, frame);
  one.kick(1);
  const received = await receiveAll(lab, () => socket.received, 3000);
  t.same(
    Buffer.concat(received.slice(2000).map((each) => each.subarray(frame.length - payload.length))),
    payload,
  );
  t.equal(lab.books.unaccounted, 0);
});

async function receiveAll(lab: GuestLab, received: () => Buffer[], count: number): Promise<Buffer[]> {
  await lab.turnUntil('all arrive', () => received().length === count);
  return received();
}

/** Wishes that no honest guest has; without one, the header is that of `longFrame`. */
const HOSTILE: Readonly<Record<string, Wish | { readonly at: number; readonly value: number }>> = {
  'segments of nothing': { type: 1, segment: 0, covered: 34 },
  'more segments than anybody has time for': { type: 1, segment: 1, covered: 34 },
  'an unknown way of cutting': { type: 3, segment: 1000, covered: 34 },
  'a way of cutting that was not offered': { type: 0x81, segment: 1000, covered: 34 },
  'segments without checksums': { flags: 0, type: 1, segment: 1000, covered: 34 },
  'a checksum behind the end': { covered: 9000 },
  'a checksum of which only a half is there': { covered: 34, checksum: 4053 - 34 - 1 },
  'a checksum far outside': { covered: 0xffff, checksum: 0xffff },
  'a checksum in the addresses': { covered: 4 },
  'segments of another protocol': { type: 4, segment: 1000, covered: 34 },
  'TCP where IP is': { type: 1, segment: 1000, covered: 18 },
  'TCP behind the end': { type: 1, segment: 1000, covered: 4060 },
  'TCP at an odd place': { type: 1, segment: 1000, covered: 35 },
  'segments whose checksum is elsewhere': { type: 1, segment: 1000, covered: 34, checksum: 6 },
  'a header of TCP that is too short': { at: 46, value: 0x40 },
  'an IP header of another length': { at: 14, value: 0x46 },
  'a fragment': { at: 20, value: 0x20 },
  'segments of what is not TCP': { at: 23, value: 17 },
  'segments of what is not IP': { at: 12, value: 0x09 },
};

for (const [title, attack] of Object.entries(HOSTILE)) {
  void t.test(`a frame is dropped that asks for ${title}, and the guest goes on`, async (t) => {
    const lab = new GuestLab(t);
    lab.add(1, HUB);
    const one = await lab.guest(1, 0);
    const socket = await lab.socket(1, 1);
    const { header, frame } = longFrame(4, 4000 - 13, 1000);
    if ('at' in attack) frame[attack.at] = attack.value;
    one.postLong('at' in attack ? header : wishOf(attack), frame);
    const [honest = Buffer.alloc(0)] = frames(1);
    one.post([honest]);
    one.kick(1);
    t.same(await receiveAll(lab, () => socket.received, 1), [honest]);
    t.equal(lab.books.total('malformed'), 1);
    t.equal(lab.books.unaccounted, 0);
  });
}

void t.test('a header of TCP that reaches behind the end is dropped', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const one = await lab.guest(1, 0);
  const { header, frame } = longFrame(4, 0, 1000);
  frame[46] = 0xf0;
  one.postLong(header, frame);
  one.kick(1);
  await lab.turnUntil('it is taken', () => one.taken === 1);
  t.equal(lab.books.total('malformed'), 1);
});

void t.test('a header may come in pieces, and lie at odd places', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const [one, two] = [await lab.guest(1, 0), await lab.guest(1, 1)];
  const { header, frame } = longFrame(4, 3000, 1000);
  const at = 0x20_0001;
  one.bytes.set(header, at);
  one.bytes.set(frame, at + header.length);
  one.describe(1, 0, GUEST_AT + at, 5, DESCRIPTOR.next, 1);
  one.describe(1, 1, GUEST_AT + at + 5, 100, DESCRIPTOR.next, 2);
  one.describe(1, 2, GUEST_AT + at + 105, header.length + frame.length - 105, 0);
  one.offer(1, 0);
  one.kick(1);
  await lab.turnUntil('it is taken', () => one.taken === 1);
  const [whole] = two.receiveWhole();
  t.same(whole?.frame, frame);
  t.same(whole?.header.subarray(0, 10), header.subarray(0, 10));
});

void t.test('headers mean nothing when the guest has agreed to nothing', async (t) => {
  const lab = new GuestLab(t);
  lab.add(1, HUB);
  const one = await lab.guest(1, 0, USUAL_FEATURES);
  const two = await lab.guest(1, 1, ALL_OFFLOADS);
  const { header, frame } = longFrame(4, 3000, 1000);
  one.postLong(header, frame);
  one.kick(1);
  await lab.turnUntil('it is taken', () => one.taken === 1);
  const [whole] = two.receiveWhole();
  t.same(whole?.frame, frame);
  t.same(whole?.header.subarray(0, 10), Buffer.alloc(10));
});
