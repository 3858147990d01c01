/** The writing end of a FIFO. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openFifo, watchReader } from '../../src/cli/extcap-capture.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';

const never = new AbortController().signal;

function fifo(t: Teardown): string {
  const path = join(scratchFolder(t), 'fifo');
  execFileSync('mkfifo', [path]);
  return path;
}

const openReader = (path: string): number => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);

void t.test('is open when a reader has come, and carries', async (t) => {
  const path = fifo(t);
  const opening = openFifo(path, never);
  const reader = openReader(path);
  const sink = await opening;
  sink.end('octets');
  await once(sink, 'finish');
  const buffer = Buffer.alloc(16);
  t.equal(buffer.toString('utf8', 0, readSync(reader, buffer)), 'octets');
  closeSync(reader);
});

void t.test('waiting for a reader can be given up', async (t) => {
  const stop = new AbortController();
  const opening = openFifo(fifo(t), stop.signal);
  stop.abort();
  await t.rejects(opening, { name: 'AbortError' });
});

void t.test('a path that is no FIFO is refused', async (t) => {
  const folder = scratchFolder(t);
  await t.rejects(openFifo(join(folder, 'none'), never), /cannot open the FIFO .* \(ENOENT\)/);
  writeFileSync(join(folder, 'file'), '');
  await t.rejects(openFifo(join(folder, 'file'), never), /is no FIFO: mkfifo makes one/);
});

void t.test('a reader that goes is noticed, though nothing is written', async (t) => {
  for (const leave of [
    closeSync,
    (_reader: number, path: string) => {
      unlinkSync(path);
    },
  ]) {
    const path = fifo(t);
    const reader = openReader(path);
    const sink = await openFifo(path, never);
    await new Promise<void>((resolve) => {
      const unwatch = watchReader(path, () => {
        unwatch();
        resolve();
      });
      leave(reader, path);
    });
    sink.destroy();
  }
  t.pass('both ways');
});
