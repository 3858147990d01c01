/** An image that was changed in place, with its time put back, is never taken for what it was: on a disk of shared blocks. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../support/client.js';
import { RandomBytes } from '../support/random.js';
import { NO_REFLINKS, reflinkDisk } from '../support/reflink-disk.js';
import { startServer } from '../support/server-process.js';

const disk = reflinkDisk(t);

void t.test(
  'the uploaded file is there, not its changed twin',
  { skip: disk === undefined ? NO_REFLINKS : false },
  async (t) => {
    const server = await startServer(t, { data: disk ?? '' });
    const client = new Client(server.url);
    for (const size of [50_000, 2_000_000]) {
      const bytes = new RandomBytes(size).next(size);
      const send = (name: string): Promise<unknown> =>
        client.request('POST', `/v2/computes/local/qemu/images/${name}`, bytes);
      const at = (name: string): string => join(disk ?? '', 'images', 'QEMU', name);
      await send(`${size}.a`);
      const times = join(disk ?? '', 'times');
      writeFileSync(times, '');
      execFileSync('touch', ['-r', at(`${size}.a`), times]);
      const fd = openSync(at(`${size}.a`), 'r+');
      writeSync(fd, 'changed in place', 1000);
      closeSync(fd);
      // To the nanosecond.
      execFileSync('touch', ['-r', times, at(`${size}.a`)]);
      await send(`${size}.b`);
      t.ok(readFileSync(at(`${size}.b`)).equals(bytes), `${size}: another name`);
      await send(`${size}.a`);
      t.ok(readFileSync(at(`${size}.a`)).equals(bytes), `${size}: the same name`);
    }
  },
);
