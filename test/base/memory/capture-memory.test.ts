import t from 'tap';
import {
  CHUNK_LENGTH,
  CHUNKS_A_LOG,
  LOG,
  LOG_COUNTER,
  LOG_COUNTERS,
  LOG_WORDS,
  MOST_LOGS,
  newCaptureMemory,
} from '../../../src/base/memory/capture-memory.js';
import { newEngineMemory } from '../../../src/base/memory/engine-memory.js';

void t.test('every log has words and counters of its own, and chunks are whole', (t) => {
  const bytes = new SharedArrayBuffer(1000 + 3 * CHUNK_LENGTH + 5);
  const memory = newCaptureMemory(bytes, 1000);
  t.equal(memory.bytes, bytes);
  t.equal(memory.chunks, 3);
  t.equal(new Int32Array(memory.words).length, MOST_LOGS * LOG_WORDS);
  t.equal(new Float64Array(memory.counters).length, MOST_LOGS * LOG_COUNTERS);
  t.equal(newCaptureMemory(new SharedArrayBuffer(10), 10).chunks, 0);
  t.end();
});

void t.test('no word and no counter has the place of another', (t) => {
  const { chunks, ...words } = LOG;
  t.equal(new Set(Object.values(words)).size, Object.keys(words).length);
  t.ok(Math.max(...Object.values(words)) < chunks);
  t.equal(LOG_WORDS, chunks + CHUNKS_A_LOG);
  t.equal(new Set(Object.values(LOG_COUNTER)).size, Object.keys(LOG_COUNTER).length);
  t.ok(Math.max(...Object.values(LOG_COUNTER)) < LOG_COUNTERS);
  t.end();
});

void t.test('captures lie behind the frames of their engine, in the same memory', (t) => {
  const { frames, captures } = newEngineMemory(5000, 2 * CHUNK_LENGTH);
  t.equal(captures.bytes, frames);
  t.equal(captures.start, 5000);
  t.equal(captures.chunks, 2);
  t.end();
});
