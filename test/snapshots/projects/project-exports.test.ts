/** Exports at the limit of their number. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { writeFiles } from '../../support/file-trees.js';
import { RandomBytes } from '../../support/random.js';
import { RawConnection } from '../../support/raw-client.js';
import { startServer } from '../../support/server-process.js';

const MOST_EXPORTS = 64;
/** More than the kernel takes for a client that does not read. */
const LARGE = 16 * 1024 * 1024;

void t.test('an export that its client does not read gives way to a new one', async (t) => {
  const server = await startServer(t, { environment: { WIREFARM_LOG_LEVEL: 'warn' } });
  const client = new Client(server.url);
  const project = async (name: string): Promise<{ path: string; work: string }> => {
    const made = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
    writeFiles(String(made['path']), { 'project-files/large': new RandomBytes(3).next(LARGE) });
    const work = join(String(made['path']), 'snapshots/.work');
    return { path: `/v2/projects/${String(made['project_id'])}/export?compression=none`, work };
  };
  const stalled = await project('stalled');
  const honest = await project('honest');
  const working = (): number => (existsSync(stalled.work) ? readdirSync(stalled.work).length : 0);

  const silent: RawConnection[] = [];
  for (let count = 0; count < MOST_EXPORTS; count++) {
    const connection = await RawConnection.open(server.port);
    connection.socket.pause();
    connection.send('GET', stalled.path);
    silent.push(connection);
  }
  await eventually('all have begun', () => working() === MOST_EXPORTS || undefined);
  const whole = await eventually('one has been left alone for long', async () => {
    const reply = await fetch(`${server.url}${honest.path}`);
    const bytes = await reply.arrayBuffer();
    return reply.status === 200 ? bytes : undefined;
  });
  t.ok(whole.byteLength > LARGE, 'it is served whole');
  await eventually('one has given way', () => working() === MOST_EXPORTS - 1 || undefined);

  let cut: Buffer | undefined;
  for (const connection of silent) {
    connection.socket.resume();
    await connection.head();
    const isWhole = await connection.bytes(LARGE).then(
      () => true,
      () => false,
    );
    if (isWhole) continue;
    cut = await connection.rest();
    break;
  }
  t.ok(cut !== undefined && !cut.toString('latin1').endsWith('\r\n0\r\n\r\n'), 'its client can tell');

  for (const connection of silent) connection.vanish();
  await eventually('nothing is left', () => working() === 0 || undefined);
  t.equal(server.log(), '');
});
