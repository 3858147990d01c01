import t from 'tap';
import {
  CHUNK_LENGTH,
  CHUNKS_A_LOG,
  LOG,
  LOG_COUNTER,
  LOG_COUNTERS,
  LOG_END,
  LOG_WORDS,
  NO_PIN,
} from '../../../src/base/memory/capture-memory.js';
import { ChunkPool } from '../../../src/engine/taps/chunk-pool.js';
import { LogHeader } from '../../../src/engine/taps/log-header.js';
import { LogAppender, type LogContext } from '../../../src/engine/taps/log-appender.js';
import { spanOver } from '../../../src/engine/taps/byte-span.js';
import { isPattern, patternAt } from '../../support/log-pattern.js';
import { Random, testSeed } from '../../support/random.js';
import { TapRig } from '../../support/tap-rig.js';

/** Appenders over the memory of a rig. Records are bytes that tell their positions. */
class Bench {
  readonly rig: TapRig;
  readonly chunks: number;
  readonly appenders = new Map<number, LogAppender>();
  /** Where each log is, in whole. */
  readonly positions = new Map<number, number>();
  pool = new ChunkPool();
  #context: LogContext;

  constructor(chunks: number) {
    this.rig = new TapRig(chunks);
    this.chunks = chunks;
    this.pool.fill(chunks, new Set());
    this.#context = this.#newContext();
  }

  /** Begins a log whose first octet is at a position that chunks begin at. */
  open(log: number, position = 0): LogAppender {
    this.rig.prepare(log);
    this.rig.counters[log * LOG_COUNTERS + LOG_COUNTER.length] = position;
    this.rig.set(log, 'head', position | 0);
    this.rig.set(log, 'drained', position | 0);
    this.rig.set(log, 'reclaimed', (position / CHUNK_LENGTH) & 0xffff);
    this.positions.set(log, position);
    return this.#join(log);
  }

  /** Writes a record; false when there was no room. */
  write(log: number, length: number): boolean {
    const appender = this.appender(log);
    const position = this.positions.get(log) ?? 0;
    if (!appender.reserve(length)) return false;
    for (let index = 0; index < length; index++) {
      appender.view.setUint8(appender.at + index, patternAt(position + index));
    }
    appender.commit(length);
    this.positions.set(log, position + length);
    return true;
  }

  appender(log: number): LogAppender {
    const appender = this.appenders.get(log);
    if (appender === undefined) throw new Error(`there is no log ${log}`);
    return appender;
  }

  /** Acts as an engine that follows one that died: unpublished records are lost. */
  restart(): void {
    this.pool = new ChunkPool();
    this.#context = this.#newContext();
    const logs = [...this.appenders.keys()];
    this.appenders.clear();
    for (const log of logs) {
      const appender = this.#join(log);
      const position = this.positions.get(log) ?? 0;
      this.positions.set(log, position + ((this.rig.word(log, 'head') - position) | 0));
      appender.publish(0);
    }
    this.pool.fill(this.chunks, new Set(this.held()));
  }

  held(): number[] {
    return [...this.appenders.values()].flatMap((appender) => appender.chunks());
  }

  /** Every chunk is held once, or free. */
  balance(): boolean {
    const held = this.held();
    return new Set(held).size === held.length && held.length + this.pool.free === this.chunks;
  }

  #join(log: number): LogAppender {
    const appender = new LogAppender(new LogHeader(this.rig.captures, log), this.#context);
    this.appenders.set(log, appender);
    this.pool.join(appender);
    return appender;
  }

  #newContext(): LogContext {
    const memory = spanOver(this.rig.memory.bytes);
    const scratch = spanOver(new Uint8Array(3 * CHUNK_LENGTH));
    return { memory, start: this.rig.captures.start, pool: this.pool, scratch };
  }
}

void t.test('records are seen when they are published', (t) => {
  const bench = new Bench(4);
  const appender = bench.open(3);
  t.ok(bench.write(3, 100) && bench.write(3, 7));
  t.equal(bench.rig.word(3, 'head'), 0);
  appender.publish(0);
  t.equal(bench.rig.word(3, 'head'), 107);
  t.equal(bench.rig.counter(3, 'length'), 107);
  t.ok(isPattern(bench.rig.drain(3), 0));
  t.end();
});

void t.test('a record that was given room and not committed is no part of the log', (t) => {
  const bench = new Bench(4);
  const appender = bench.open(0);
  t.ok(appender.reserve(50));
  t.ok(bench.write(0, 20));
  appender.publish(0);
  t.equal(bench.rig.word(0, 'head'), 20);
  t.end();
});

void t.test('a record may reach over two ends of chunks, and end exactly at one', (t) => {
  const bench = new Bench(8);
  const appender = bench.open(0);
  for (const length of [CHUNK_LENGTH - 3, CHUNK_LENGTH + 10, CHUNK_LENGTH - 7, CHUNK_LENGTH, 1]) {
    t.ok(bench.write(0, length));
    appender.publish(0);
  }
  t.equal(bench.positions.get(0), 4 * CHUNK_LENGTH + 1);
  t.ok(isPattern(bench.rig.drain(0), 0));
  t.ok(bench.balance());
  t.end();
});

void t.test('a record that is larger than any may be has no room', (t) => {
  const bench = new Bench(8);
  t.notOk(bench.open(0).reserve(3 * CHUNK_LENGTH + 1));
  t.end();
});

void t.test('nothing that is not drained is given up', (t) => {
  const bench = new Bench(CHUNKS_A_LOG + 10);
  const appender = bench.open(0);
  let written = 0;
  while (bench.write(0, 1000)) written++;
  appender.publish(0);
  t.equal(written, Math.floor((CHUNKS_A_LOG * CHUNK_LENGTH) / 1000));
  t.equal(bench.pool.free, 10);
  t.ok(isPattern(bench.rig.drain(0), 0));
  t.ok(bench.write(0, 1000), 'there is room again');
  t.end();
});

void t.test('a log keeps four drained chunks, and gives back what it does not need', (t) => {
  const bench = new Bench(100);
  const appender = bench.open(0);
  for (let round = 0; round < 40; round++) bench.write(0, CHUNK_LENGTH);
  appender.publish(0);
  t.equal(bench.held().length, 40);
  bench.rig.drain(0);
  t.ok(bench.write(0, 1));
  t.equal(bench.held().length, 5);
  t.ok(isPattern(bench.rig.look(0, 36 * CHUNK_LENGTH, 40 * CHUNK_LENGTH), 36 * CHUNK_LENGTH));
  t.ok(bench.balance());
  t.end();
});

void t.test('a log without a chunk takes one that another can spare', (t) => {
  const bench = new Bench(8);
  const [idle, busy] = [bench.open(0), bench.open(1)];
  for (let round = 0; round < 8; round++) bench.write(0, CHUNK_LENGTH);
  idle.publish(0);
  t.notOk(bench.write(1, 10), 'nothing is drained');
  bench.rig.drain(0);
  t.ok(bench.write(1, 10));
  busy.publish(0);
  t.equal(bench.rig.word(0, 'reclaimed'), 1, 'its oldest');
  t.ok(isPattern(bench.rig.look(0, CHUNK_LENGTH, 8 * CHUNK_LENGTH), CHUNK_LENGTH));
  t.ok(bench.balance());
  t.end();
});

void t.test('a chunk that is being read is not used again', (t) => {
  const bench = new Bench(4);
  const appender = bench.open(0);
  for (let round = 0; round < 4; round++) bench.write(0, CHUNK_LENGTH);
  appender.publish(0);
  bench.rig.drain(0);
  bench.rig.set(0, 'pin', 0);
  t.notOk(bench.write(0, 10));
  t.equal(bench.rig.word(0, 'reclaimed'), 0, 'it was taken back');
  bench.rig.set(0, 'pin', NO_PIN);
  t.ok(bench.write(0, 10));
  t.equal(bench.rig.word(0, 'reclaimed'), 1);
  t.end();
});

void t.test('the reason of an end is published after the last record', (t) => {
  const bench = new Bench(4);
  const appender = bench.open(0);
  bench.write(0, 10);
  appender.end(LOG_END.maxPackets);
  appender.end(LOG_END.maxOctets);
  t.ok(appender.isEnded);
  t.equal(bench.rig.word(0, 'ended'), 0);
  appender.publish(0);
  t.same([bench.rig.word(0, 'head'), bench.rig.word(0, 'ended')], [10, LOG_END.maxPackets]);
  bench.restart();
  t.ok(bench.appender(0).isEnded);
  t.end();
});

void t.test('limits leave room for what is held back', (t) => {
  const appender = new Bench(4).open(0);
  t.ok(appender.fits(100, 0) && appender.fits(100, 100));
  appender.holdBack(30);
  t.notOk(appender.fits(71, 100));
  t.ok(appender.fits(70, 100));
  appender.holdBack(-30);
  t.ok(appender.fits(100, 100));
  t.end();
});

void t.test('counters are published with their records', (t) => {
  const bench = new Bench(4);
  const appender = bench.open(2);
  const counts = (): number[] =>
    (['packets', 'octets', 'dropped', 'firstAt', 'lastAt'] as const).map((name) =>
      bench.rig.counter(2, name),
    );
  appender.dropped = 1;
  appender.publish(500);
  t.same(counts(), [0, 0, 1, 0, 0]);
  appender.packets = 2;
  appender.octets = 300;
  appender.publish(1000);
  t.same(counts(), [2, 300, 1, 1000, 1000]);
  appender.publish(1500);
  appender.packets = 3;
  appender.octets = 50;
  appender.publish(2000);
  t.same(counts(), [3, 350, 1, 1000, 2000]);
  bench.restart();
  t.equal(bench.appender(2).packets, 3);
  t.equal(bench.appender(2).lastAt, 2000);
  t.end();
});

void t.test('released chunks are free, and the header says that the log is not in use', (t) => {
  const bench = new Bench(8);
  const appender = bench.open(0);
  bench.write(0, 3 * CHUNK_LENGTH - 5);
  appender.publish(0);
  appender.release();
  t.equal(bench.pool.free, 8);
  const words = bench.rig.words.subarray(0, LOG_WORDS);
  t.ok(words.subarray(LOG.chunks).every((chunk) => chunk === -1));
  t.equal(words[LOG.active], 0);
  t.end();
});

/** One run of random records, drains, reads and restarts over some logs that share few chunks. */
function play(random: Random, bench: Bench, logs: readonly number[], rounds: number): string | undefined {
  const pins = new Map<number, { position: number; octets: Buffer }>();
  const unpin = (log: number): boolean => {
    const pin = pins.get(log);
    if (pin === undefined) return true;
    const { position, octets } = pin;
    const isWhole = octets.equals(bench.rig.look(log, position, (position + octets.length) | 0));
    bench.rig.set(log, 'pin', NO_PIN);
    pins.delete(log);
    return isWhole && isPattern(octets, position);
  };
  for (let round = 0; round < rounds; round++) {
    const log = random.pick(logs);
    const { rig } = bench;
    for (let records = random.below(20); records > 0; records--) {
      const length = random.chance(0.02) ? random.below(2 * CHUNK_LENGTH) : 16 + random.below(4000);
      const undrained = ((bench.positions.get(log) ?? 0) - rig.word(log, 'drained')) >>> 0;
      const isFull = undrained + length > (CHUNKS_A_LOG - 2) * CHUNK_LENGTH;
      if (!bench.write(log, length) && !isFull && bench.pool.free > 0 && !pins.has(log))
        return 'dropped with room';
    }
    if (random.chance(0.8)) bench.appender(log).publish(0);
    if (random.chance(0.3)) {
      const from = rig.word(log, 'drained');
      if (!isPattern(rig.drain(log), from)) return 'drained what was not written';
    }
    if (!unpin(log)) return 'overwrote what was being read';
    if (random.chance(0.5)) {
      const [drained, reclaimed] = [rig.word(log, 'drained') >>> 0, rig.word(log, 'reclaimed')];
      const back = ((drained >>> 16) - reclaimed) & 0xffff;
      if (back > 0) {
        const ordinal = (reclaimed + random.below(back)) & 0xffff;
        rig.set(log, 'pin', ordinal);
        const position = (drained - (((drained >>> 16) - ordinal) & 0xffff) * CHUNK_LENGTH) & ~0xffff;
        pins.set(log, { position, octets: rig.look(log, position, (position + CHUNK_LENGTH) | 0) });
      }
    }
    if (random.chance(0.005)) {
      for (const pinned of [...pins.keys()]) if (!unpin(pinned)) return 'overwrote what was being read';
      bench.restart();
    }
    if (!bench.balance()) return 'lost a chunk';
  }
  return undefined;
}

void t.test('readers drain exactly what was written, and pinned chunks are left alone', (t) => {
  for (const [seed, chunks, count] of [
    [41_401, 10, 1],
    [41_402, 30, 3],
    [41_403, 100, 1],
    [41_404, 40, 8],
  ] as const) {
    const random = new Random(testSeed(seed));
    const bench = new Bench(chunks);
    const logs = Array.from({ length: count }, (_, log) => log);
    // Some begin shortly before their positions no longer fit into a word, or into half of one.
    for (const log of logs)
      bench.open(
        log,
        random.pick([0, 2 ** 31, 2 ** 32, 2 ** 40]) - (log % 2) * 5 * CHUNK_LENGTH + 5 * CHUNK_LENGTH,
      );
    t.equal(play(random, bench, logs, 1500), undefined, `seed ${seed}`);
    t.ok([...bench.positions.values()].some((position) => position % 2 ** 31 > 20 * CHUNK_LENGTH));
  }
  t.end();
});
