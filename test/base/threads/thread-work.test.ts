import t from 'tap';
import { computedMs, ownThread } from '../../../src/base/threads/thread-work.js';

const lack = process.platform === 'linux' ? false : 'this host does not tell what its threads do';

void t.test(
  'the time that a thread computes is told, and the time that it waits is not',
  { skip: lack },
  (t) => {
    const thread = ownThread();
    t.ok(thread > 0);
    const before = computedMs(thread) ?? NaN;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    const waited = computedMs(thread) ?? NaN;
    t.ok(waited - before < 200, `${waited - before} ms`);
    while ((computedMs(thread) ?? NaN) < waited + 300);
    t.ok((computedMs(thread) ?? 0) >= waited + 300);
    t.end();
  },
);

void t.test('nothing is told of a thread that is not there', (t) => {
  t.equal(computedMs(0), undefined);
  t.equal(computedMs(2 ** 30), undefined);
  t.end();
});
