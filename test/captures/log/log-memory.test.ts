import t from 'tap';
import { LogMemory, LogReader } from '../../../src/captures/log/log-reader.js';
import { CHUNK_LENGTH, LOG } from '../../../src/base/memory/capture-memory.js';
import { LogScribe, memoryOf } from '../../support/log-scribe.js';

void t.test('octets are found wherever their chunks lie', (t) => {
  const memory = memoryOf(8);
  for (const index of [0, 3]) new LogReader({ memory, index }).prepare();
  const log = new LogMemory(memory, 3);
  const written = Buffer.from(Uint8Array.from({ length: 3 * CHUNK_LENGTH + 5 }, (_, at) => (at * 31) & 0xff));
  new LogScribe(memory, 3).put(written);
  t.same(
    log.views(10, written.length).map(({ length }) => length),
    [CHUNK_LENGTH - 10, CHUNK_LENGTH, CHUNK_LENGTH, 5],
  );
  t.ok(Buffer.concat(log.views(10, written.length)).equals(written.subarray(10)));
  t.same(log.views(7, 7), []);
  t.equal(log.view(0, written.length).buffer, memory.bytes, 'they are not copied');
  for (let at = CHUNK_LENGTH - 5; at < CHUNK_LENGTH + 2; at++) {
    t.equal(log.uint32(at), written.readUInt32LE(at));
  }
  t.throws(() => log.view(4 * CHUNK_LENGTH, 5 * CHUNK_LENGTH), {
    message: /no chunk at its position 262144/,
  });
  t.end();
});

void t.test('a word is the low 32 bits of the next position that it can be', (t) => {
  const log = new LogMemory(memoryOf(1), 0);
  for (const [known, passed] of [
    [0, 0],
    [2 ** 31 - 3, 10],
    [2 ** 32 - 3, 10],
    [7 * 2 ** 32 + 5, 2 ** 32 - 1],
    [2 ** 44 - 1, 2 ** 31],
  ] as const) {
    log.store(LOG.head, (known + passed) | 0);
    t.equal(log.position(LOG.head, known), known + passed);
  }
  t.end();
});
