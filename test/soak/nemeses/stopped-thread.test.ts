/** The thread that writes an upload stands still for 12 s within a call: the upload goes on afterwards. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { getImage, putImage } from '../../support/image-transfers.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { strace, straceLack } from '../../support/strace.js';

const LARGE = 4 * 1024 * 1024;
const STILL_US = 12_000_000;
/** strace stops the whole process for each of its calls. */
const STRACED_TURN_MS = 10_000;
const WRITES = 'write,pwrite64,writev,pwritev,io_submit,io_uring_enter';

void t.test('no upload of a thread that stands still is lost', { skip: straceLack }, async (t) => {
  const server = await startServer(t, { allowedTurnMs: STRACED_TURN_MS });
  const log = join(scratchFolder(t), 'calls');
  const seen = await strace(t, [
    '-f',
    '-y',
    '-o',
    log,
    '-p',
    String(server.child.pid),
    '-e',
    `trace=${WRITES}`,
  ]);
  const random = new RandomBytes(5);
  t.ok((await putImage(server, 'first', random.next(LARGE))).status < 300);
  await seen();
  const writers = new Set<string>();
  for (const line of readFileSync(log, 'utf8').split('\n')) {
    const writer = /^(\d+) +[^<]+<[^>]*\/images\//.exec(line)?.[1];
    if (writer !== undefined) writers.add(writer);
  }
  t.ok(writers.size > 0, 'a thread writes to the images');
  const holds = [...writers].flatMap((writer) => ['-p', writer]);
  const inject = `inject=${WRITES}:delay_enter=${STILL_US}:when=1`;
  const held = await strace(t, ['-o', '/dev/null', ...holds, '-e', `trace=${WRITES}`, '-e', inject]);
  const contents = Array.from({ length: 8 }, () => random.next(LARGE));
  const replies = await Promise.all(
    contents.map((bytes, index) => putImage(server, `image-${index}`, bytes)),
  );
  t.same(
    replies.map(({ status }) => status < 300),
    contents.map(() => true),
  );
  await held();
  for (const [index, bytes] of contents.entries())
    t.ok((await getImage(server, `image-${index}`)).body.equals(bytes), `image ${index}`);
  t.notMatch(server.log(), /was restarted/);
  t.equal((await new Client(server.url).get('/v2/version')).status, 200);
});
