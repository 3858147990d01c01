import t from 'tap';
import { LogAppender } from '../../../src/engine/taps/log-appender.js';
import { LOG_END } from '../../../src/base/memory/capture-memory.js';
import { LINK_TYPE } from '../../../src/engine/wire/pcap.js';
import { interfaceBlock } from '../../../src/engine/wire/pcapng.js';
import type { TapPlan } from '../../../src/engine/taps/tap-plan.js';
import { NOON, pcapRecords, planOf, TapRig, type PcapRecord } from '../../support/tap-rig.js';

const BLOCK = { interface: 1, statistics: 5, packet: 6 };

/** A frame that tells its number. */
function frame(number: number, length = 64): Buffer {
  const octets = Buffer.alloc(length, number);
  octets.writeUInt32BE(number);
  return octets;
}

const numbers = (records: readonly PcapRecord[]): number[] => records.map(({ data }) => data.readUInt32BE());

function tapped(plan: Partial<TapPlan>): {
  rig: TapRig;
  readonly pass: (direction: 'in' | 'out', ...frames: Buffer[]) => void;
} {
  const rig = new TapRig();
  rig.prepare(0);
  const tap = rig.logs.newTap(planOf(plan));
  return {
    rig,
    pass: (direction, ...frames) => {
      tap.record(direction, rig.batch(...frames));
    },
  };
}

/** The blocks of a pcapng log, as type and octets. */
function blocksOf(octets: Buffer): { type: number; block: Buffer }[] {
  const blocks: { type: number; block: Buffer }[] = [];
  for (let at = 0; at < octets.length;) {
    const length = octets.readUInt32LE(at + 4);
    const block = octets.subarray(at, at + length);
    if (block.readUInt32LE(length - 4) !== length) throw new Error(`the block at ${at} is not whole`);
    blocks.push({ type: block.readUInt32LE(0), block });
    at += length;
  }
  return blocks;
}

function opening(name: string, description?: string): Uint8Array {
  return interfaceBlock({ linkType: LINK_TYPE.EN10MB, snaplen: 0, name, description, filter: undefined });
}

/** Which frames pass: those that are so long at least. */
const lengthOver = (octets: number): TapPlan['bpf'] => ({
  // ld #len; jge #octets; ret #-1; ret #0
  instructions: Uint32Array.of(0x80, 0, 0, 0, 0x35, 0, 1, octets, 0x06, 0, 0, 0xffffffff, 0x06, 0, 0, 0),
});

void t.test('a batch has one time, and each frame a record', (t) => {
  const { rig, pass } = tapped({});
  rig.time = 1500.25;
  pass('in', frame(1), frame(2, 1514), frame(3, 61));
  rig.time = 2500.5;
  pass('out', frame(4));
  const records = pcapRecords(rig.drain(0));
  t.same(numbers(records), [1, 2, 3, 4]);
  t.same(
    records.map(({ original }) => original),
    [64, 1514, 61, 64],
  );
  t.same(
    records.map(({ seconds, nanoseconds }) => [seconds - NOON / 1000, nanoseconds]),
    [
      [1, 500_250_000],
      [1, 500_250_000],
      [1, 500_250_000],
      [2, 500_500_000],
    ],
  );
  t.same(records[1]?.data, frame(2, 1514));
  t.same([rig.counter(0, 'packets'), rig.counter(0, 'octets')], [4, 64 + 1514 + 61 + 64]);
  t.same([rig.counter(0, 'firstAt'), rig.counter(0, 'lastAt')], [NOON + 1500.25, NOON + 2500.5]);
  t.end();
});

void t.test('an empty frame is a record, too', (t) => {
  for (const format of ['pcap', 'pcapng'] as const) {
    const { rig, pass } = tapped({ format });
    pass('in', Buffer.alloc(0));
    t.equal(rig.counter(0, 'packets'), 1);
    const octets = rig.drain(0);
    t.equal(format === 'pcap' ? pcapRecords(octets).length : blocksOf(octets).length, 1);
  }
  t.end();
});

void t.test('frames are cut at the snap length, and count as they were', (t) => {
  const { rig, pass } = tapped({ snaplen: 20 });
  pass('in', frame(1, 100), frame(2, 20), frame(3, 4));
  t.same(
    pcapRecords(rig.drain(0)).map(({ data, original }) => [data.length, original]),
    [
      [20, 100],
      [20, 20],
      [4, 4],
    ],
  );
  t.equal(rig.counter(0, 'octets'), 124);
  t.end();
});

void t.test('only the directions that are asked for are recorded', (t) => {
  for (const [direction, expected] of [
    ['both', [1, 2]],
    ['in', [1]],
    ['out', [2]],
  ] as const) {
    const { rig, pass } = tapped({ direction });
    pass('in', frame(1));
    pass('out', frame(2));
    t.same(numbers(pcapRecords(rig.drain(0))), expected);
  }
  t.end();
});

void t.test('sampling keeps one of every so many matching frames, whatever batches they come in', (t) => {
  const { rig, pass } = tapped({ sample: 3, bpf: lengthOver(100), snaplen: 50 });
  for (let number = 0; number < 10; number++) pass('in', frame(100 + number, 99), frame(number, 100));
  t.same(numbers(pcapRecords(rig.drain(0))), [0, 3, 6, 9]);
  t.equal(rig.counter(0, 'dropped'), 0);
  t.end();
});

void t.test('after the last packet that is wanted nothing is recorded or dropped', (t) => {
  const { rig, pass } = tapped({ maxPackets: 3 });
  pass('in', frame(1), frame(2));
  t.equal(rig.word(0, 'ended'), 0);
  pass('in', frame(3), frame(4));
  t.equal(rig.word(0, 'ended'), LOG_END.maxPackets);
  pass('in', frame(5));
  t.same(numbers(pcapRecords(rig.drain(0))), [1, 2, 3]);
  t.same([rig.counter(0, 'packets'), rig.counter(0, 'dropped')], [3, 0]);
  t.end();
});

void t.test('a log ends before the record that would be too much', (t) => {
  const { rig, pass } = tapped({ maxOctets: 250 });
  pass('in', frame(1), frame(2), frame(3));
  pass('in', frame(4), frame(5, 60), frame(6, 4));
  t.equal(rig.word(0, 'ended'), LOG_END.maxOctets);
  t.same(numbers(pcapRecords(rig.drain(0))), [1, 2, 3]);
  t.equal(rig.counter(0, 'dropped'), 0);
  t.end();
});

void t.test('without room packets are dropped and counted, and records stay whole', (t) => {
  const rig = new TapRig(3);
  rig.prepare(0);
  const tap = rig.logs.newTap(planOf());
  let sent = 0;
  let taken: PcapRecord[] = [];
  for (let round = 0; round < 200; round++) {
    tap.record('in', rig.batch(...Array.from({ length: 50 }, () => frame(++sent, 1000))));
    if (round % 10 === 9) taken = [...taken, ...pcapRecords(rig.drain(0))];
  }
  t.ok(rig.counter(0, 'dropped') > 0);
  t.equal(taken.length + rig.counter(0, 'dropped'), sent);
  t.equal(taken.length, rig.counter(0, 'packets'));
  const order = numbers(taken);
  t.ok(order.every((number, index) => index === 0 || number > (order[index - 1] ?? 0)));
  t.ok(taken.every(({ data }) => data.equals(frame(data.readUInt32BE(), 1000))));
  t.end();
});

void t.test('the interfaces of a log are numbered as they are described in it', (t) => {
  const rig = new TapRig();
  rig.prepare(0);
  const plan = planOf({ format: 'pcapng' });
  const one = rig.logs.newTap({ ...plan, opening: opening('one') });
  one.record('in', rig.batch(frame(1)));
  const two = rig.logs.newTap({ ...plan, opening: opening('two') });
  two.record('out', rig.batch(frame(2)));
  one.record('in', rig.batch(frame(3), frame(4)));
  two.close();
  one.close();
  rig.restart();
  rig.logs.newTap({ ...plan, opening: opening('one') }).record('in', rig.batch(frame(5)));
  const blocks = blocksOf(rig.drain(0)).map(({ type, block }) => {
    if (type === BLOCK.interface) return 'interface';
    const id = block.readUInt32LE(8);
    return type === BLOCK.packet ? `packet ${block.readUInt32BE(28)} of ${id}` : `statistics of ${id}`;
  });
  t.same(blocks, [
    'interface',
    'packet 1 of 0',
    'interface',
    'packet 2 of 1',
    'packet 3 of 0',
    'packet 4 of 0',
    'statistics of 1',
    'statistics of 0',
    'interface',
    'packet 5 of 2',
  ]);
  t.end();
});

for (const when of ['before', 'after'] as const) {
  void t.test(`an engine that dies right ${when} it publishes an interface shifts no number`, (t) => {
    const rig = new TapRig();
    rig.prepare(0);
    const plan = planOf({ format: 'pcapng' });
    rig.logs.newTap({ ...plan, opening: opening('one') }).record('in', rig.batch(frame(1)));
    const publish: (this: LogAppender, now: number) => void = Reflect.get(LogAppender.prototype, 'publish');
    const dying = t.intercept(LogAppender.prototype, 'publish', {
      value: function (this: LogAppender, now: number): void {
        if (when === 'after') publish.call(this, now);
        throw new Error('dead');
      },
    });
    t.throws(() => rig.logs.newTap({ ...plan, opening: opening('two') }), { message: 'dead' });
    dying.restore();
    rig.restart();
    rig.logs.newTap({ ...plan, opening: opening('one') }).record('in', rig.batch(frame(2)));
    // Nor later, when the log has grown beyond where it would have been.
    rig.restart();
    rig.logs.newTap({ ...plan, opening: opening('three') }).record('in', rig.batch(frame(3)));
    let interfaces = 0;
    const ids: number[] = [];
    for (const { type, block } of blocksOf(rig.drain(0))) {
      if (type === BLOCK.interface) interfaces++;
      else {
        t.equal(
          block.readUInt32LE(8),
          interfaces - 1,
          'a packet is of the interface that was described last',
        );
        ids.push(block.readUInt32LE(8));
      }
    }
    t.same(ids, when === 'after' ? [0, 2, 3] : [0, 1, 2]);
    t.end();
  });
}

void t.test('an interface that the header describes has the number that the plan says', (t) => {
  const { rig, pass } = tapped({ format: 'pcapng' });
  pass('in', frame(1));
  pass('out', frame(2));
  const packets = blocksOf(rig.drain(0)).map(({ block }) => block);
  t.same(
    packets.map((block) => [block.readUInt32LE(8), block.readUInt32LE(28 + 64 + 4)]),
    [
      [0, 1],
      [0, 2],
    ],
    'number and direction',
  );
  t.end();
});

void t.test('an interface is described when there is room, and nothing before', (t) => {
  const rig = new TapRig(2);
  rig.prepare(0);
  rig.prepare(1);
  const filling = rig.logs.newTap(planOf({ log: 0 }));
  for (let round = 0; round < 3; round++) filling.record('in', rig.batch(frame(0, 60_000)));
  const tap = rig.logs.newTap(planOf({ log: 1, format: 'pcapng', opening: opening('late') }));
  tap.record('in', rig.batch(frame(1), frame(2)));
  t.equal(rig.counter(1, 'dropped'), 2);
  rig.drain(0);
  tap.record('in', rig.batch(frame(3)));
  tap.close();
  t.same(
    blocksOf(rig.drain(1)).map(({ type }) => type),
    [BLOCK.interface, BLOCK.packet, BLOCK.statistics],
  );
  const never = rig.logs.newTap(
    planOf({ log: 1, format: 'pcapng', opening: opening('x'.repeat(60_000), 'y'.repeat(60_000)) }),
  );
  never.close();
  t.equal(rig.drain(1).length, 0, 'what is not described has no statistics');
  t.end();
});

void t.test('statistics tell what came and what was dropped, below the limit, too', (t) => {
  const { length } = opening('e0');
  for (const maxOctets of [...Array.from({ length: 70 }, (_, more) => length + 200 + more), 1_000_000]) {
    const rig = new TapRig();
    rig.prepare(0);
    const tap = rig.logs.newTap(
      planOf({ format: 'pcapng', opening: opening('e0'), maxOctets, bpf: lengthOver(20) }),
    );
    tap.record('in', rig.batch(frame(1, 20), frame(2, 10), frame(3, 20), frame(4, 20), frame(5, 20)));
    tap.close();
    const octets = rig.drain(0);
    t.ok(octets.length <= maxOctets);
    const blocks = blocksOf(octets);
    const last = blocks.at(-1);
    const isCut = rig.word(0, 'ended') !== 0;
    t.equal(isCut, maxOctets < 1_000_000);
    t.equal(last?.type, BLOCK.statistics);
    // Packets that came after the log had ended are not counted.
    if (!isCut) t.equal(last?.block.readBigUInt64LE(24), 5n, 'received');
    t.equal(last?.block.readBigUInt64LE(36), 0n, 'dropped');
  }
  t.end();
});

void t.test('two limits on one log hold for all of it', (t) => {
  const rig = new TapRig();
  rig.prepare(0);
  const taps = [1, 2].map(() => rig.logs.newTap(planOf({ maxPackets: 5 })));
  for (let number = 0; number < 4; number++) {
    for (const tap of taps) tap.record('in', rig.batch(frame(number)));
  }
  t.same(numbers(pcapRecords(rig.drain(0))), [0, 0, 1, 1, 2]);
  t.end();
});
