import t from 'tap';
import { NO_CHUNK } from '../../../src/base/memory/capture-memory.js';
import { ChunkPool } from '../../../src/engine/taps/chunk-pool.js';

void t.test('chunks are taken from the first on, but those that are held', (t) => {
  const pool = new ChunkPool();
  pool.fill(4, new Set([1]));
  t.equal(pool.free, 3);
  t.same([pool.take(), pool.take(), pool.take(), pool.take()], [0, 2, 3, NO_CHUNK]);
  pool.giveBack(2);
  t.same([pool.free, pool.take()], [1, 2]);
  t.end();
});

void t.test('logs that hold spare chunks are asked in turn, some at a time', (t) => {
  const pool = new ChunkPool();
  const asked: number[] = [];
  const holders = Array.from({ length: 40 }, (_, holder) => ({
    spare: () => {
      asked.push(holder);
      return holder === 30 ? 7 : NO_CHUNK;
    },
  }));
  t.equal(pool.takeSpare(), NO_CHUNK, 'nobody is there');
  for (const holder of holders) pool.join(holder);
  t.equal(pool.takeSpare(), NO_CHUNK);
  t.equal(asked.length, 16);
  t.equal(pool.takeSpare(), 7);
  t.equal(new Set(asked).size, asked.length, 'nobody is asked twice');
  for (const holder of holders) pool.leave(holder);
  asked.length = 0;
  t.equal(pool.takeSpare(), NO_CHUNK);
  t.same(asked, []);
  t.end();
});
