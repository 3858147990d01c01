/** A log that is written by one thread while another drains it and reads what is old. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { ChunkPool } from '../../../src/engine/taps/chunk-pool.js';
import { LogHeader } from '../../../src/engine/taps/log-header.js';
import { LogAppender } from '../../../src/engine/taps/log-appender.js';
import { spanOver } from '../../../src/engine/taps/byte-span.js';
import { patternAt } from '../../support/log-pattern.js';
import type { LogRead, LogReading } from '../../support/log-reader-worker.js';
import { Random, testSeed } from '../../support/random.js';
import { TapRig } from '../../support/tap-rig.js';

const READER = new URL('../../support/log-reader-worker.js', import.meta.url);
const OCTETS = 200 * 1024 * 1024;
/** Few, so that they are used again and again. */
const CHUNKS = 7;

void t.test('another thread reads what was written, however often it is lapped', async (t) => {
  const rig = new TapRig(CHUNKS);
  rig.prepare(0);
  const pool = new ChunkPool();
  pool.fill(CHUNKS, new Set());
  const scratch = spanOver(new Uint8Array(4 * 65_536));
  const memory = spanOver(rig.memory.bytes);
  const appender = new LogAppender(new LogHeader(rig.captures, 0), {
    memory,
    start: rig.captures.start,
    pool,
    scratch,
  });
  const over = new SharedArrayBuffer(4);
  const reader = new Worker(READER, { workerData: { captures: rig.captures, over } satisfies LogReading });
  const answered = once(reader, 'message');
  await once(reader, 'online');
  const random = new Random(testSeed(41_701));
  let [position, refused] = [0, 0];
  while (position < OCTETS && refused < 1e9) {
    const length = 1 + random.below(random.chance(0.1) ? 40_000 : 2000);
    if (!appender.reserve(length)) {
      refused++;
      appender.publish(0);
      continue;
    }
    for (let index = 0; index < length; index++) {
      appender.view.setUint8(appender.at + index, patternAt(position + index));
    }
    appender.commit(length);
    position += length;
    if (random.chance(0.3)) appender.publish(0);
  }
  appender.publish(0);
  Atomics.store(new Int32Array(over), 0, 1);
  const [{ drained, wrong, read, lapped }] = (await answered) as [LogRead];
  t.equal(wrong, 0);
  t.equal(drained, position);
  t.ok(position >= OCTETS, 'everything was written');
  t.comment(`${read} chunks read, ${lapped} no longer there, ${refused} times without room`);
  t.ok(read > 100 && lapped > 0);
});
