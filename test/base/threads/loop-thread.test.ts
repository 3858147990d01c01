import { existsSync, readFileSync } from 'node:fs';
import { MessageChannel } from 'node:worker_threads';
import t from 'tap';
import { LOOP_CONTROL_WORDS } from '../../../src/base/threads/loop-run.js';
import { loopThread } from '../../../src/base/threads/loop-thread.js';
import { eventually } from '../../support/eventually.js';

/** A thread that runs the program. Its first control word shows how far it has come. */
function threadOf(program: string) {
  const control = new SharedArrayBuffer(LOOP_CONTROL_WORDS * Int32Array.BYTES_PER_ELEMENT);
  const words = new Int32Array(control);
  const { port1, port2 } = new MessageChannel();
  port1.close();
  const abort = new AbortController();
  const url = new URL(
    `data:text/javascript,${encodeURIComponent(`
      import { workerData } from 'node:worker_threads';
      const words = new Int32Array(workerData.control);
      ${program}`)}`,
  );
  return { words, abort, ended: loopThread(url)({ control, orders: port2 }, [port2], abort.signal) };
}

void t.test('a life ends with its thread, in one way or another', async (t) => {
  await t.resolves(threadOf('workerData.orders.close();').ended);
  await t.rejects(threadOf('throw new TypeError("out of luck");').ended, new TypeError('out of luck'));
  await t.rejects(threadOf('process.exit(3);').ended, new Error('its thread exited with code 3'));
});

const lack = process.platform === 'linux' ? false : 'this host does not tell which threads there are';

void t.test(
  'a thread that is ended in a system call has gone when its end is reported',
  { skip: lack },
  async (t) => {
    const { words, abort, ended } = threadOf(`
    import { readlinkSync } from 'node:fs';
    import { spawnSync } from 'node:child_process';
    import { basename } from 'node:path';
    Atomics.store(words, 0, Number(basename(readlinkSync('/proc/thread-self'))));
    for (;;) spawnSync('sleep', ['1']);`);
    while (Atomics.load(words, 0) === 0) await new Promise((resolve) => setImmediate(resolve));
    const thread = `/proc/self/task/${Atomics.load(words, 0)}`;
    // It is in the call by the time that the program of the call runs.
    const children = `${thread}/children`;
    await eventually('it is in a system call', () =>
      readFileSync(children, 'utf8') === '' ? undefined : true,
    );
    t.ok(existsSync(thread));
    abort.abort();
    await t.rejects(ended, new Error('its thread was ended'));
    t.notOk(existsSync(thread));
  },
);

void t.test('a thread that is ended before it has begun is ended, too', async (t) => {
  const { abort, ended } = threadOf('for (;;);');
  abort.abort();
  await t.rejects(ended, new Error('its thread was ended'));
});
