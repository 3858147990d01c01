import t from 'tap';
import type { CounterName } from '../../../src/base/memory/port-counters.js';
import { AtmSwitch, type AtmConnection, type AtmSettings } from '../../../src/engine/devices/atm-switch.js';
import { DeviceRig, type Sent } from '../../support/device-rig.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

const CELL = 53;
const LOSS_PRIORITY = 1;
const SEGMENT_OAM = 4 << 1;
const END_TO_END_OAM = 5 << 1;

/** A register that is shifted a bit at a time: slow, and of another build than what is tested. */
function hecBitByBit(header: Uint8Array): number {
  let register = 0;
  for (let index = 0; index < 4; index++) {
    const octet = header[index] ?? 0;
    for (let mask = 0x80; mask > 0; mask >>= 1) {
      const carry = register >= 0x80 !== ((octet & mask) !== 0);
      register = (register * 2) % 256;
      if (carry) register ^= 0x07;
    }
  }
  return register ^ 0x55;
}

function writeLabel(cell: Buffer, vpi: number, vci: number, bits: number): void {
  cell[0] = Math.floor(vpi / 16);
  cell[1] = (vpi % 16) * 16 + Math.floor(vci / 4096);
  cell[2] = Math.floor(vci / 16) % 256;
  cell[3] = (vci % 16) * 16 + bits;
  cell[4] = hecBitByBit(cell);
}

/** A right cell; `bits` are the payload type and the loss priority. */
function cell(vpi: number, vci: number, bits = 0, fill = 0x6a): Buffer {
  const made = Buffer.alloc(CELL, fill);
  writeLabel(made, vpi, vci, bits);
  return made;
}

function withBadHec(good: Buffer, change = 0x10): Buffer {
  const bad = Buffer.from(good);
  bad.writeUInt8(bad.readUInt8(4) ^ change, 4);
  return bad;
}

const channel = (
  [port, vpi, vci]: readonly [port: number, vpi: number, vci: number],
  [toPort, toVpi, toVci]: readonly [port: number, vpi: number, vci: number],
  counter = 0,
): AtmConnection => ({ port, vpi, vci, toPort, toVpi, toVci, counter });

const path = (
  [port, vpi]: readonly [port: number, vpi: number],
  [toPort, toVpi]: readonly [port: number, vpi: number],
  counter = 0,
): AtmConnection => ({ port, vpi, vci: undefined, toPort, toVpi, toVci: undefined, counter });

function rigOf(connections: readonly AtmConnection[], refusesBadHec = false): DeviceRig<AtmSettings> {
  const rig = new DeviceRig((fabric) => new AtmSwitch(fabric));
  rig.device.configure({ connections, refusesBadHec });
  return rig;
}

/** The frames that are sent, as text that a failing test can show. */
const shown = (sent: readonly Sent[]): string[] =>
  sent.map(({ port, bytes }) => `${port} ${bytes.toString('hex')}`);
const shownAs = (...expected: readonly (readonly [port: number, bytes: Buffer])[]): string[] =>
  expected.map(([port, bytes]) => `${port} ${bytes.toString('hex')}`);

void t.test('a cell of a channel leaves with the label of the other end, and the same payload', (t) => {
  const rig = rigOf([channel([1, 0, 100], [2, 5, 200], 7)]);
  rig.attach(1, 2);
  const payload = Array.from({ length: 48 }, (_, index) => (index * 5).toString(16).padStart(2, '0')).join(
    '',
  );
  const sent = rig.receive(1, [Buffer.from(`00000640ec${payload}`, 'hex')]);
  t.same(shown(sent), [`2 00500c8004${payload}`]);
  t.same(rig.counters(1), { frames_in: 1, octets_in: 53 });
  t.same(rig.counters(2), { frames_out: 1, octets_out: 53 });
  t.equal(rig.fabric.connectionCounters[7], 1);
  t.equal(rig.device.inspect(), null, 'nothing is learnt');
  t.end();
});

void t.test('a path rewrites the VPI and keeps every VCI', (t) => {
  const rig = rigOf([path([1, 9], [2, 4095], 3)]);
  rig.attach(1, 2);
  const vcis = [0, 1, 3, 4, 5, 31, 32, 4096, 65_535];
  t.same(
    shown(
      rig.receive(
        1,
        vcis.map((vci) => cell(9, vci)),
      ),
    ),
    shownAs(...vcis.map((vci) => [2, cell(4095, vci)] as const)),
  );
  t.equal(rig.fabric.connectionCounters[3], vcis.length);
  t.end();
});

void t.test('a path comes before a channel of its VPI, at its port only', (t) => {
  const rig = rigOf([
    channel([1, 5, 50], [2, 6, 60], 1),
    path([1, 5], [2, 7], 2),
    channel([3, 5, 50], [2, 8, 80], 3),
  ]);
  rig.attach(1, 2, 3);
  t.same(shown(rig.receive(1, [cell(5, 50)])), shownAs([2, cell(7, 50)]));
  t.same(shown(rig.receive(3, [cell(5, 50)])), shownAs([2, cell(8, 80)]));
  t.same(Array.from(rig.fabric.connectionCounters.slice(0, 4)), [0, 0, 1, 1]);
  rig.device.configure({ connections: [channel([1, 5, 50], [2, 6, 60], 1)], refusesBadHec: false });
  t.same(shown(rig.receive(1, [cell(5, 50)])), shownAs([2, cell(6, 60)]), 'without the path, the channel');
  t.end();
});

void t.test('the VPI has twelve bits: a flow control field is none', (t) => {
  const rig = rigOf([channel([1, 1, 32], [2, 4095, 65_535]), channel([1, 4095, 65_535], [2, 256, 0])]);
  rig.attach(1, 2);
  t.same(
    shown(rig.receive(1, [cell(1, 32), cell(4095, 65_535), cell(1 + 5 * 256, 32)])),
    shownAs([2, cell(4095, 65_535)], [2, cell(256, 0)]),
  );
  t.equal(rig.counter(1, 'no_connection'), 1, 'VPI 1281 is not VPI 1');
  t.end();
});

void t.test('payload type and loss priority are kept', (t) => {
  const rig = rigOf([channel([1, 0, 100], [2, 5, 200]), path([1, 7], [2, 8])]);
  rig.attach(1, 2);
  const all = Array.from({ length: 16 }, (_, bits) => bits);
  const frames = all.flatMap((bits) => [cell(0, 100, bits), cell(7, 99, bits)]);
  const expected = all.flatMap((bits) => [[2, cell(5, 200, bits)] as const, [2, cell(8, 99, bits)] as const]);
  t.same(shown(rig.receive(1, frames)), shownAs(...expected));
  t.equal(rig.counter(1, 'bad_hec'), 0);
  t.end();
});

void t.test('cells of operation and maintenance follow their connection', (t) => {
  const rig = rigOf([
    channel([1, 0, 100], [2, 5, 200]),
    path([1, 7], [2, 8]),
    channel([1, 9, 4], [2, 10, 4]),
  ]);
  rig.attach(1, 2);
  t.same(
    shown(
      rig.receive(1, [
        cell(0, 100, SEGMENT_OAM),
        cell(0, 100, END_TO_END_OAM | LOSS_PRIORITY),
        cell(7, 3),
        cell(7, 4),
        cell(7, 55, END_TO_END_OAM),
        cell(9, 4),
        cell(0, 3),
        cell(0, 4),
      ]),
    ),
    shownAs(
      [2, cell(5, 200, SEGMENT_OAM)],
      [2, cell(5, 200, END_TO_END_OAM | LOSS_PRIORITY)],
      [2, cell(8, 3)],
      [2, cell(8, 4)],
      [2, cell(8, 55, END_TO_END_OAM)],
      [2, cell(10, 4)],
    ),
  );
  t.equal(rig.counter(1, 'no_connection'), 2, 'a VPI that is no path has no cells of a path');
  t.end();
});

void t.test('a wrong header error control is counted, and mended', (t) => {
  const rig = rigOf([channel([1, 0, 100], [2, 5, 200])]);
  rig.attach(1, 2);
  const frames = [cell(0, 100), withBadHec(cell(0, 100, 3)), withBadHec(cell(0, 100), 0x55), cell(0, 100, 1)];
  t.same(
    shown(rig.receive(1, frames)),
    shownAs([2, cell(5, 200)], [2, cell(5, 200, 3)], [2, cell(5, 200)], [2, cell(5, 200, 1)]),
  );
  t.same(rig.counters(1), { frames_in: 4, octets_in: 212, bad_hec: 2 });
  rig.receive(1, [withBadHec(cell(1, 1))]);
  t.equal(rig.counter(1, 'bad_hec'), 3, 'whether or not it has a connection');
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('cells with a wrong header error control can be refused, and accepted again', (t) => {
  const connections = [channel([1, 0, 100], [2, 5, 200], 4)];
  const rig = rigOf(connections, true);
  rig.attach(1, 2);
  const frames = [withBadHec(cell(0, 100)), cell(0, 100), withBadHec(cell(1, 1), 0xff)];
  t.same(shown(rig.receive(1, frames)), shownAs([2, cell(5, 200)]));
  t.same(rig.counters(1), { frames_in: 3, octets_in: 159, bad_hec: 2, bad_hec_refused: 2 });
  t.equal(rig.fabric.connectionCounters[4], 1);
  rig.device.configure({ connections, refusesBadHec: false });
  t.equal(rig.receive(1, frames).length, 2);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('datagrams that are not one cell are dropped', (t) => {
  const rig = rigOf([channel([1, 0, 100], [2, 5, 200])]);
  rig.attach(1, 2);
  const two = Buffer.concat([cell(0, 100), cell(0, 100)]);
  const frames = [0, 1, 52, 54, 106].map((length) => two.subarray(0, length));
  t.same(shown(rig.receive(1, [...frames, cell(0, 100)])), shownAs([2, cell(5, 200)]));
  t.equal(rig.counter(1, 'malformed'), 5);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a connection to a port that is attached later carries from then on', (t) => {
  const rig = rigOf([channel([1, 0, 100], [2, 5, 200], 1)]);
  rig.attach(1);
  t.same(rig.receive(1, [cell(0, 100)]), []);
  t.same(rig.counters(1), { frames_in: 1, octets_in: 53, no_output: 1 });
  rig.attach(2);
  t.same(shown(rig.receive(1, [cell(0, 100)])), shownAs([2, cell(5, 200)]));
  rig.detach(2);
  t.same(rig.receive(1, [cell(0, 100)]), []);
  t.equal(rig.counter(1, 'no_output'), 2);
  rig.attach(2);
  t.equal(rig.receive(1, [cell(0, 100)]).length, 1);
  t.equal(rig.fabric.connectionCounters[1], 2, 'what was dropped was not carried');
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a port that is attached before anything is configured works once it is', (t) => {
  const rig = new DeviceRig((fabric) => new AtmSwitch(fabric));
  rig.attach(1, 2);
  t.same(rig.receive(1, [cell(0, 100)]), []);
  t.equal(rig.counter(1, 'no_connection'), 1);
  rig.device.configure({ connections: [channel([1, 0, 100], [2, 5, 200])], refusesBadHec: false });
  t.equal(rig.receive(1, [cell(0, 100)]).length, 1);
  t.end();
});

void t.test('two inputs may share an output, and an output may be the input', (t) => {
  const rig = rigOf([
    channel([1, 0, 100], [3, 5, 200], 1),
    channel([2, 0, 101], [3, 5, 200], 2),
    channel([1, 0, 7], [1, 0, 8], 3),
  ]);
  rig.attach(1, 2, 3);
  t.same(
    shown(rig.receive(1, [cell(0, 100, 0, 1), cell(0, 7)])),
    shownAs([3, cell(5, 200, 0, 1)], [1, cell(0, 8)]),
  );
  t.same(shown(rig.receive(2, [cell(0, 101, 0, 2)])), shownAs([3, cell(5, 200, 0, 2)]));
  t.same(Array.from(rig.fabric.connectionCounters.slice(1, 4)), [1, 1, 1]);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('cells of several connections keep their order', (t) => {
  const rig = rigOf([channel([1, 0, 1], [2, 0, 11]), channel([1, 0, 2], [2, 0, 12]), path([1, 3], [3, 4])]);
  rig.attach(1, 2, 3);
  const random = new Random(testSeed(20_031));
  const inputs = Array.from({ length: 700 }, (_, index) => ({ which: random.below(3), fill: index % 251 }));
  const sent = rig.receive(
    1,
    inputs.map(({ which, fill }) => (which === 2 ? cell(3, fill, 0, fill) : cell(0, which + 1, 0, fill))),
  );
  const to = (port: number): string[] => shown(sent.filter((one) => one.port === port));
  const some = inputs.filter(({ which }) => which < 2);
  t.same(to(2), shownAs(...some.map(({ which, fill }) => [2, cell(0, which + 11, 0, fill)] as const)));
  const others = inputs.filter(({ which }) => which === 2);
  t.same(to(3), shownAs(...others.map(({ fill }) => [3, cell(4, fill, 0, fill)] as const)));
  t.end();
});

void t.test('a change of the connections changes them and nothing else', (t) => {
  const kept = [channel([1, 0, 100], [2, 5, 200], 1), path([1, 3], [2, 4], 2)];
  const rig = rigOf([...kept, channel([1, 0, 101], [2, 5, 201], 3), path([1, 6], [2, 7], 4)]);
  rig.attach(1, 2, 3);
  const frames = [cell(0, 100), cell(3, 9), cell(0, 101), cell(6, 9)];
  t.equal(rig.receive(1, frames).length, 4);
  rig.device.configure({
    connections: [channel([1, 0, 101], [3, 8, 8], 3), channel([1, 6, 9], [3, 9, 9], 5), ...kept],
    refusesBadHec: false,
  });
  t.same(
    shown(rig.receive(1, frames)),
    shownAs([2, cell(5, 200)], [2, cell(4, 9)], [3, cell(8, 8)], [3, cell(9, 9)]),
    'one goes elsewhere, a path made room for a channel',
  );
  t.same(Array.from(rig.fabric.connectionCounters.slice(1, 6)), [2, 2, 2, 1, 1]);
  rig.device.configure({ connections: kept, refusesBadHec: false });
  t.equal(rig.receive(1, frames).length, 2);
  rig.device.configure({ connections: [], refusesBadHec: false });
  t.equal(rig.receive(1, frames).length, 0);
  t.equal(rig.counter(1, 'no_connection'), 6);
  t.equal(rig.unaccounted, 0);
  t.end();
});

void t.test('a connection of which one number is changed is another', (t) => {
  const rig = rigOf([]);
  rig.attach(1, 2, 3);
  for (const [to, counter] of [
    [[2, 5, 200], 1],
    [[2, 5, 201], 1],
    [[2, 6, 201], 1],
    [[3, 6, 201], 1],
    [[3, 6, 201], 2],
  ] as const) {
    rig.device.configure({ connections: [channel([1, 0, 100], to, counter)], refusesBadHec: false });
    t.same(shown(rig.receive(1, [cell(0, 100)])), shownAs([to[0], cell(to[1], to[2])]));
  }
  t.same(Array.from(rig.fabric.connectionCounters.slice(1, 3)), [4, 1]);
  t.end();
});

void t.test('ten thousand connections are found, and after half of them went, the other half', (t) => {
  const connections = Array.from({ length: 10_000 }, (_, index) =>
    channel([1, index % 100, 32 + Math.floor(index / 100)], [2, index % 4096, index], index),
  );
  const rig = rigOf(connections);
  rig.attach(1, 2);
  const frames = connections.map(({ vpi, vci }) => cell(vpi, vci ?? 0));
  const expected = connections.map(({ toVpi, toVci }) => cell(toVpi, toVci ?? 0));
  t.ok(rig.receive(1, frames).every(({ bytes }, index) => bytes.equals(expected[index] ?? Buffer.alloc(0))));
  t.equal(rig.counter(2, 'frames_out'), 10_000);
  const half = connections.filter((_, index) => index % 2 === 1);
  rig.device.configure({ connections: half, refusesBadHec: false });
  t.equal(rig.receive(1, frames).length, 5000);
  t.ok(rig.fabric.connectionCounters.slice(0, 10_000).every((cells, index) => cells === 1 + (index % 2)));
  t.end();
});

/** A model of an ATM switch, without any thought of speed. */
class AtmModel {
  readonly #connections = new Map<string, AtmConnection>();
  readonly #counted = new Map<string, number>();
  readonly carried = new Map<number, number>();
  readonly attached = new Set<number>();
  #refusesBadHec = false;

  configure({ connections, refusesBadHec }: AtmSettings): void {
    this.#connections.clear();
    for (const connection of connections) {
      const { port, vpi, vci } = connection;
      this.#connections.set(vci === undefined ? `${port} ${vpi}` : `${port} ${vpi} ${vci}`, connection);
    }
    this.#refusesBadHec = refusesBadHec;
  }

  counter(port: number, name: CounterName): number {
    return this.#counted.get(`${port} ${name}`) ?? 0;
  }

  receive(port: number, frames: readonly Buffer[]): Sent[] {
    const leaving = new Map<number, Sent[]>();
    for (const frame of frames) {
      const sent = this.#switch(port, frame);
      if (typeof sent === 'string') {
        this.#count(port, sent);
        continue;
      }
      const others = leaving.get(sent.port);
      if (others === undefined) leaving.set(sent.port, [sent]);
      else others.push(sent);
      this.#count(sent.port, 'frames_out');
    }
    return [...leaving.values()].flat();
  }

  /** Where the cell goes, or why it goes nowhere. */
  #switch(port: number, frame: Buffer): Sent | CounterName {
    this.#count(port, 'frames_in');
    if (frame.length !== CELL) return 'malformed';
    const header = frame.readUInt32BE();
    const [vpi, vci, bits] = [Math.floor(header / 2 ** 20), Math.floor(header / 16) % 65_536, header % 16];
    if (frame[4] !== hecBitByBit(frame)) {
      this.#count(port, 'bad_hec');
      if (this.#refusesBadHec) return 'bad_hec_refused';
    }
    const found = this.#connections.get(`${port} ${vpi}`) ?? this.#connections.get(`${port} ${vpi} ${vci}`);
    if (found === undefined) return 'no_connection';
    if (!this.attached.has(found.toPort)) return 'no_output';
    this.carried.set(found.counter, (this.carried.get(found.counter) ?? 0) + 1);
    const bytes = Buffer.from(frame);
    writeLabel(bytes, found.toVpi, found.toVci ?? vci, bits);
    return { port: found.toPort, bytes };
  }

  #count(port: number, name: CounterName): void {
    this.#counted.set(`${port} ${name}`, this.counter(port, name) + 1);
  }
}

const PORTS = [1, 2, 3, 4, 5, 6, 7];
const VPIS = [0, 1, 2, 15, 16, 255, 256, 2047, 2048, 4095];
const VCIS = [0, 3, 4, 5, 31, 32, 33, 255, 256, 4095, 4096, 32_768, 65_535];
const ODD_LENGTHS = [0, 1, 3, 4, 5, 48, 52, 54, 106];
const MODELLED: readonly CounterName[] = [
  'frames_in',
  'frames_out',
  'bad_hec',
  'bad_hec_refused',
  'malformed',
  'no_connection',
  'no_output',
];

/** Two in ten are paths, which may hide channels here. */
function randomConnection(random: Random, counter: number): AtmConnection {
  const [port, vpi, vci] = [random.pick(PORTS), random.pick(VPIS), random.pick(VCIS)];
  const [toPort, toVpi, toVci] = [random.pick(PORTS), random.below(4096), random.below(65_536)];
  return random.chance(0.2)
    ? path([port, vpi], [toPort, toVpi], counter)
    : channel([port, vpi, vci], [toPort, toVpi, toVci], counter);
}

const inputOf = ({ port, vpi, vci }: AtmConnection): string => `${port} ${vpi} ${vci ?? ''}`;

/** Some go, some come, some lead elsewhere than before. */
function changed(random: Random, before: readonly AtmConnection[], counter: () => number): AtmConnection[] {
  const byInput = new Map<string, AtmConnection>();
  const lost = random.pick([0, 0.02, 0.3, 1]);
  for (const connection of before) if (!random.chance(lost)) byInput.set(inputOf(connection), connection);
  for (let left = random.below(200); left > 0; left--) {
    const connection = randomConnection(random, counter());
    byInput.set(inputOf(connection), connection);
  }
  return [...byInput.values()];
}

/** Datagrams of one batch: rows of cells of the same connection, strays, damaged ones and noise. */
function randomFrames(random: Random, noise: RandomBytes): Buffer[] {
  const bytes = noise.next(256 * 106);
  let [vpi, vci] = [random.pick(VPIS), random.pick(VCIS)];
  return Array.from({ length: 1 + random.below(256) }, (_, index) => {
    const datagram = bytes.subarray(index * 106, index * 106 + 106);
    const kind = random.below(100);
    if (kind < 3) return datagram.subarray(0, random.pick(ODD_LENGTHS));
    const made = datagram.subarray(0, CELL);
    if (kind < 5) return made;
    if (kind < 50) [vpi, vci] = [random.pick(VPIS), random.pick(VCIS)];
    writeLabel(made, vpi, vci, random.below(16));
    if (kind % 12 === 11) made.writeUInt8(random.below(256), 4);
    return made;
  });
}

void t.test('two million cells fare as in a model, whatever is changed between them', (t) => {
  const random = new Random(testSeed(20_032));
  const noise = new RandomBytes(testSeed(20_032));
  const rig = rigOf([]);
  const model = new AtmModel();
  let connections: AtmConnection[] = [];
  let [cells, changes, wrong] = [0, 0, 0];
  let counters = 0;
  while (cells < 2_000_000) {
    if (random.chance(0.05)) {
      connections = changed(random, connections, () => counters++ % 65_536);
      const settings = { connections, refusesBadHec: random.chance(0.3) };
      rig.device.configure(settings);
      model.configure(settings);
      changes++;
    }
    const number = random.pick(PORTS);
    if (!model.attached.has(number)) {
      rig.attach(number);
      model.attached.add(number);
    } else if (random.chance(0.1)) {
      rig.detach(number);
      model.attached.delete(number);
      continue;
    }
    const frames = randomFrames(random, noise);
    const expected = model.receive(number, frames);
    const sent = rig.receive(number, frames);
    if (sent.length !== expected.length) wrong++;
    for (const [index, { port, bytes }] of expected.entries()) {
      const actual = sent[index];
      if (actual?.port !== port || !actual.bytes.equals(bytes)) wrong++;
    }
    cells += frames.length;
  }
  t.equal(wrong, 0, 'the same bytes leave at the same ports in the same order');
  for (const port of PORTS) {
    for (const name of MODELLED)
      t.equal(rig.counter(port, name), model.counter(port, name), `${port} ${name}`);
  }
  const miscounted = Array.from(rig.fabric.connectionCounters.keys()).filter((counter) => {
    return rig.fabric.connectionCounters[counter] !== (model.carried.get(counter) ?? 0);
  });
  t.same(miscounted.slice(0, 5), [], 'connections have carried as much');
  t.equal(rig.unaccounted, 0);
  const shares = PORTS.map((port) => rig.counter(port, 'frames_out')).reduce((sum, count) => sum + count, 0);
  t.ok(shares > cells / 4 && shares < cells * 0.9, 'many cells were carried, and many were not');
  t.ok(changes > 300);
  t.end();
});
