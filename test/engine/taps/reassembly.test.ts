import t from 'tap';
import { AAL5_FAULT, AAL5_MOST_CELLS } from '../../../src/engine/wire/aal5.js';
import { Batch, BATCH_FRAMES } from '../../../src/engine/forwarding/port.js';
import { Aal5Memory } from '../../../src/engine/taps/aal5-memory.js';
import { Reassembly } from '../../../src/engine/taps/reassembly.js';
import { aal5Cells, aal5Pdu, cellOf } from '../../support/aal5-cells.js';
import { Random, testSeed } from '../../support/random.js';

interface Frame {
  readonly octets: Buffer;
  readonly faults: number;
}

class Bench {
  readonly reassembly: Reassembly;
  seconds = 100;

  constructor(memory = new Aal5Memory()) {
    this.reassembly = new Reassembly(memory);
  }

  /** The frame that is complete with this cell. */
  take(cell: Buffer, isOut = false): Frame | undefined {
    return this.takeAll([cell], isOut)[0];
  }

  /** In full batches, as taps take them. */
  takeAll(cells: readonly Buffer[], isOut = false): Frame[] {
    const { reassembly, seconds } = this;
    const frames: Frame[] = [];
    for (let first = 0; first < cells.length; first += BATCH_FRAMES) {
      const octets = Buffer.concat(cells.slice(first, first + BATCH_FRAMES));
      const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
      const batch = new Batch();
      for (let offset = 0; offset < octets.length; offset += 53) batch.add(offset, 53);
      let index = 0;
      while ((index = reassembly.goOn(view, batch, index, isOut, seconds)) < batch.count) {
        if (!reassembly.take(view, index++ * 53, isOut, seconds)) continue;
        const { piece, length, faults } = reassembly;
        frames.push({ octets: Buffer.from(piece?.bytes.slice(4, 4 + length) ?? []), faults });
      }
    }
    return frames;
  }
}

const some = (length: number, fill = 0x55): Buffer => Buffer.alloc(length, fill);

void t.test('frames of every length come out as they went in', (t) => {
  const bench = new Bench();
  const random = new Random(testSeed(41_501));
  for (const length of [1, 39, 40, 41, 88, 89, 1500, 2008, 2009, 9000, 9544, 9545, 65_534, 65_535]) {
    const payload = Buffer.from(Array.from({ length }, () => random.below(256)));
    t.same(bench.takeAll(aal5Cells(1, 100, payload)), [{ octets: payload, faults: 0 }], `${length} octets`);
  }
  t.end();
});

void t.test('connections and directions do not disturb each other', (t) => {
  const random = new Random(testSeed(41_502));
  const bench = new Bench();
  const waiting = Array.from({ length: 200 }, (_, number) => {
    const payload = some(1 + random.below(3000), number);
    const isOut = number % 2 === 0;
    return { isOut, payload, cells: aal5Cells(number >> 1, 40_000 + (number >> 5), payload) };
  });
  let complete = 0;
  while (waiting.length > 0) {
    const index = random.below(waiting.length);
    const { isOut, payload, cells } = waiting[index] ?? { isOut: false, payload: some(0), cells: [] };
    const cell = cells.shift();
    if (cell === undefined) {
      waiting.splice(index, 1);
      continue;
    }
    const frame = bench.take(cell, isOut);
    if (frame === undefined) continue;
    complete++;
    if (!frame.octets.equals(payload) || frame.faults !== 0) t.fail('a frame of another connection');
  }
  t.equal(complete, 200);
  t.equal(bench.reassembly.givenUp, 0);
  t.end();
});

void t.test('cells that are no user’s are left out', (t) => {
  const bench = new Bench();
  const [first, last] = aal5Cells(1, 100, some(60));
  const others = [4, 5, 6, 7].map((payloadType) => cellOf(1, 100, payloadType, some(48)));
  others.push(...[0, 3, 4].map((vci) => cellOf(1, vci, 1, some(48))));
  t.same(bench.takeAll([first ?? some(53), ...others, last ?? some(53)]), [{ octets: some(60), faults: 0 }]);
  t.end();
});

void t.test('congestion on the way and loss priority change nothing', (t) => {
  const bench = new Bench();
  const cells = aal5Cells(1, 100, some(60));
  for (const cell of cells) cell.writeUInt8(cell.readUInt8(3) | 0b101, 3);
  t.same(bench.takeAll(cells), [{ octets: some(60), faults: 0 }]);
  t.end();
});

void t.test('a faulty frame is kept whole, with its faults', (t) => {
  const bench = new Bench();
  const payload = some(100);
  const { crc, tooLong, tooShort } = AAL5_FAULT;
  t.same(bench.takeAll(aal5Cells(1, 100, payload, { crc: 1 })), [
    { octets: aal5Pdu(payload, { crc: 1 }), faults: crc },
  ]);
  t.same(bench.takeAll(aal5Cells(1, 100, payload, { length: 200 })), [
    { octets: aal5Pdu(payload, { length: 200 }), faults: tooShort },
  ]);
  t.same(bench.takeAll(aal5Cells(1, 100, payload, { length: 20 })), [
    { octets: aal5Pdu(payload, { length: 20 }), faults: tooLong },
  ]);
  const [one, two] = [aal5Cells(1, 100, payload), aal5Cells(1, 100, payload)];
  t.same(bench.takeAll([...one.slice(0, -1), ...two]), [
    {
      octets: Buffer.concat([aal5Pdu(payload).subarray(0, -48), aal5Pdu(payload)]),
      faults: crc | tooLong,
    },
  ]);
  t.same(bench.takeAll(aal5Cells(1, 100, payload)), [{ octets: payload, faults: 0 }], 'the next is right');
  t.end();
});

void t.test('a frame without an end is as long as the longest', (t) => {
  const bench = new Bench();
  const cells = Array.from({ length: AAL5_MOST_CELLS }, (_, index) => cellOf(1, 100, 0, some(48, index)));
  const payload = Buffer.concat(cells.map((cell) => cell.subarray(5)));
  t.same(bench.takeAll(cells), [{ octets: payload, faults: AAL5_FAULT.tooLong }]);
  t.same(bench.takeAll(aal5Cells(1, 100, some(10))), [{ octets: some(10), faults: 0 }]);
  t.end();
});

void t.test('with too many frames open new ones are given up, and those under way are not', (t) => {
  const bench = new Bench();
  const frames = Array.from({ length: 256 }, (_, number) => aal5Cells(number, 50, some(60, number)));
  for (const [first] of frames) t.equal(bench.take(first ?? some(53)), undefined);
  const late = aal5Cells(1000, 50, some(60));
  t.same(bench.takeAll(late), []);
  t.same(bench.takeAll(late), []);
  t.equal(bench.reassembly.givenUp, 2);
  for (const [number, [, last]] of frames.entries()) {
    t.same(bench.take(last ?? some(53)), { octets: some(60, number), faults: 0 });
  }
  bench.seconds++;
  t.same(bench.takeAll(late), [{ octets: some(60), faults: 0 }]);
  t.end();
});

void t.test('any number of connections is taken one after the other', (t) => {
  const bench = new Bench();
  for (let number = 0; number < 3000; number++) {
    const frames = bench.takeAll(aal5Cells(number & 0xfff, 32 + number, some(60, number)));
    if (frames[0]?.octets.equals(some(60, number)) !== true) t.fail(`connection ${number}`);
  }
  t.equal(bench.reassembly.givenUp, 0);
  // Circuits that have lost their place to others are new again, one after the other while all others are open.
  const [begun, ended] = [aal5Cells(2999, 32 + 2999, some(60, 1)), aal5Cells(2743, 32 + 2743, some(60, 2))];
  bench.take(begun[0] ?? some(53));
  t.same(bench.takeAll(ended), [{ octets: some(60, 2), faults: 0 }]);
  t.same(bench.takeAll(begun.slice(1)), [{ octets: some(60, 1), faults: 0 }]);
  t.end();
});

void t.test('a frame that does not go on for long makes room', (t) => {
  const bench = new Bench();
  for (let number = 0; number < 256; number++) bench.take(cellOf(number, 50, 0, some(48)));
  bench.seconds += 11;
  t.same(bench.takeAll(aal5Cells(1000, 50, some(60))), [{ octets: some(60), faults: 0 }]);
  t.equal(bench.reassembly.givenUp, 1);
  t.end();
});

void t.test('a frame that goes on, however slowly, is not disturbed', (t) => {
  const bench = new Bench();
  for (let number = 0; number < 256; number++) bench.take(cellOf(number, 50, 0, some(48)));
  const [, ...slow] = aal5Cells(255, 50, some(400));
  for (const cell of slow.slice(0, -1)) {
    bench.seconds += 9;
    t.same(bench.takeAll([cell]), []);
  }
  // All of the others make room before it does.
  for (let number = 0; number < 255; number++) bench.take(cellOf(1000 + number, 50, 0, some(48)));
  bench.take(cellOf(2000, 50, 0, some(48)));
  t.equal(bench.reassembly.givenUp, 255);
  t.equal(bench.takeAll(slow.slice(-1)).length, 1);
  t.end();
});

void t.test('frames that are not cells, and cells of the other direction, do not continue a frame', (t) => {
  const { reassembly } = new Bench();
  const cells = Buffer.concat(Array.from({ length: 4 }, () => cellOf(1, 100, 0, some(48))));
  const view = new DataView(cells.buffer, cells.byteOffset, cells.length);
  const batch = new Batch();
  for (const length of [53, 53, 52, 53]) batch.add(batch.count * 53, length);
  t.equal(reassembly.goOn(view, batch, 0, true, 100), 0, 'there is no frame yet');
  reassembly.take(view, 0, true, 100);
  t.equal(reassembly.goOn(view, batch, 1, true, 100), 2);
  t.equal(reassembly.goOn(view, batch, 3, false, 100), 3);
  t.equal(reassembly.goOn(view, batch, 3, true, 100), 4);
  t.end();
});

void t.test('without memory frames are given up, and memory comes back', (t) => {
  const memory = new Aal5Memory(10_000);
  const [bench, other] = [new Bench(memory), new Bench(memory)];
  for (let number = 0; number < 4; number++) other.take(cellOf(number, 50, 0, some(48)));
  t.same(bench.takeAll(aal5Cells(1, 100, some(60))), []);
  t.equal(bench.reassembly.givenUp, 1);
  other.reassembly.close();
  t.same(bench.takeAll(aal5Cells(1, 100, some(60))), [{ octets: some(60), faults: 0 }]);
  t.end();
});
