import t from 'tap';
import { LogReader } from '../../../src/captures/log/log-reader.js';
import {
  CHUNK_LENGTH,
  LOG,
  LOG_COUNTER,
  LOG_COUNTERS,
  LOG_END,
  LOG_WORDS,
  NO_CHUNK,
  NO_PIN,
} from '../../../src/base/memory/capture-memory.js';
import { LogScribe, memoryOf } from '../../support/log-scribe.js';

const memory = memoryOf(16);
const words = (index: number): Int32Array => new Int32Array(memory.words, index * LOG_WORDS * 4, LOG_WORDS);
const countersOf = (index: number): Float64Array =>
  new Float64Array(memory.counters, index * LOG_COUNTERS * 8, LOG_COUNTERS);

function prepared(index: number): LogReader {
  const log = new LogReader({ memory, index });
  log.prepare();
  return log;
}

function octets(length: number, seed = 0): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, at) => (at * 7 + seed) & 0xff));
}

function readAll(log: LogReader, from: number): Buffer {
  const parts: Buffer[] = [];
  let position = from;
  const take = (bytes: Uint8Array): void => {
    parts.push(Buffer.from(bytes));
    position += bytes.length;
  };
  while (log.read(position, take));
  return Buffer.concat(parts);
}

void t.test('a log is as new, whatever was there before', (t) => {
  words(2).fill(77);
  countersOf(2).fill(77);
  words(3).fill(77);
  const log = prepared(2);
  t.same([log.head, log.drained, log.ended], [0, 0, 0]);
  t.same(log.counters(), {
    packets: 0,
    octets: 0,
    dropped: 0,
    firstAt: 0,
    lastAt: 0,
    aal5NoRoom: 0,
    aal5Faulty: 0,
  });
  t.equal(words(2)[LOG.active], 1);
  t.equal(words(2)[LOG.pin], NO_PIN);
  t.equal(words(2)[LOG.reclaimed], 0);
  t.ok(
    words(2)
      .subarray(LOG.chunks)
      .every((chunk) => chunk === NO_CHUNK),
  );
  t.ok(
    words(3).every((word) => word === 77),
    'its neighbour is left alone',
  );
  t.end();
});

void t.test('bytes in memory are read chunk by chunk, pinned, and not copied', (t) => {
  const log = prepared(4);
  const written = octets(2 * CHUNK_LENGTH + 100);
  t.notOk(log.read(0, () => t.fail('nothing is there yet')));
  new LogScribe(memory, 4).put(written);
  t.ok(readAll(log, 0).equals(written));
  t.ok(readAll(log, 12_345).equals(written.subarray(12_345)));
  const seen: number[] = [];
  log.read(CHUNK_LENGTH + 5, (bytes) => {
    t.equal(bytes.buffer, memory.bytes);
    seen.push(Atomics.load(words(4), LOG.pin), bytes.length);
  });
  t.same(seen, [1, CHUNK_LENGTH - 5]);
  t.equal(words(4)[LOG.pin], NO_PIN);
  t.throws(() =>
    log.read(0, () => {
      throw new Error('the reader failed');
    }),
  );
  t.equal(words(4)[LOG.pin], NO_PIN, 'a reader that fails leaves no pin');
  t.notOk(log.read(written.length, () => t.fail('there is no more')));
  t.end();
});

void t.test('reclaimed bytes are not read', (t) => {
  const log = prepared(5);
  const scribe = new LogScribe(memory, 5);
  for (let at = 0; at < 20; at++) {
    scribe.put(octets(CHUNK_LENGTH, at));
    log.drainTo(scribe.head);
  }
  t.equal(log.oldest, 16 * CHUNK_LENGTH);
  t.notOk(log.read(16 * CHUNK_LENGTH - 1, () => t.fail('it is another chunk by now')));
  t.notOk(log.read(0, () => t.fail('it is another chunk by now')));
  t.equal(readAll(log, 16 * CHUNK_LENGTH).length, 4 * CHUNK_LENGTH);
  t.end();
});

void t.test('positions go on where words begin again', (t) => {
  for (const [index, head] of [
    [6, 2 ** 31 - CHUNK_LENGTH],
    [7, 2 ** 32 - 2 * CHUNK_LENGTH],
  ] as const) {
    const log = prepared(index);
    for (let past = 2 ** 30; past < head; past += 2 ** 30) {
      words(index)[LOG.head] = words(index)[LOG.drained] = past | 0;
      log.look();
    }
    const scribe = new LogScribe(memory, index, undefined, head);
    const written: Buffer[] = [];
    for (let at = 0; at < 12; at++) {
      const part = octets(CHUNK_LENGTH / 2 + 1, at);
      written.push(part);
      scribe.put(part);
      t.equal(log.head, scribe.head);
      log.drainTo(scribe.head);
      t.equal(log.drained, scribe.head);
    }
    const { oldest } = log;
    t.ok(oldest > head && oldest < scribe.head);
    t.ok(readAll(log, oldest).equals(Buffer.concat(written).subarray(oldest - head)));
    // Its ordinal has the same low bits as one that is there.
    t.notOk(log.read(oldest - 2 ** 32, () => t.fail('it is long gone')));
  }
  t.end();
});

void t.test('a log that has left memory is what it was', (t) => {
  const log = prepared(8);
  const scribe = new LogScribe(memory, 8);
  scribe.put(octets(500));
  log.drainTo(300);
  countersOf(8).set([9, 8, 7], LOG_COUNTER.packets);
  countersOf(8)[LOG_COUNTER.aal5NoRoom] = 6;
  countersOf(8)[LOG_COUNTER.aal5Faulty] = 5;
  words(8)[LOG.ended] = LOG_END.maxPackets;
  log.leaveMemory();
  const counts = { packets: 9, octets: 8, dropped: 7, firstAt: 0, lastAt: 0, aal5NoRoom: 6, aal5Faulty: 5 };
  prepared(8);
  t.same([log.head, log.drained, log.ended, log.isInMemory], [500, 300, LOG_END.maxPackets, false]);
  t.same(log.counters(), counts);
  new LogScribe(memory, 8).put(octets(10));
  t.notOk(log.read(0, () => t.fail('it is the memory of another')));
  log.leaveMemory();
  t.equal(log.head, 500);
  t.end();
});
