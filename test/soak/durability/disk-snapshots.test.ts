/** A snapshot of the file system with the data of a running server is a backup; so is one that the server makes there. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { cli } from '../../support/cli.js';
import { Client } from '../../support/client.js';
import { checkCounts, CountingLab } from '../../support/counting-lab.js';
import { NO_REFLINKS, reflinkDisk } from '../../support/reflink-disk.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';

const disk = reflinkDisk(t);

void t.test(
  'a snapshot of the disk of a running server starts as a farm',
  { skip: disk === undefined && NO_REFLINKS },
  async (t) => {
    const server = await startServer(t, { data: join(disk ?? '', 'data') });
    const host = { client: new Client(server.url), url: server.url };
    const labs = [await CountingLab.make(host, 'first'), await CountingLab.make(host, 'second')];
    const archive = join(scratchFolder(t), 'backup.tar');
    const work = async (): Promise<void> => {
      const backup = async (...words: readonly string[]): Promise<void> => {
        const ended = await cli(t, ['backup', ...words, '--quiet', '--url', server.url]);
        t.match(ended, { code: 0, errors: '' }, words.join(' '));
      };
      await backup('create');
      execFileSync('btrfs', ['subvolume', 'snapshot', disk ?? '', join(disk ?? '', 'snapshot')], {
        stdio: 'ignore',
      });
      await backup('create');
      await backup('verify', 'latest');
      await backup('download', 'latest', archive);
    };
    const working = work();
    await Promise.all(labs.map((lab) => lab.during(working)));

    const restored = join(scratchFolder(t), 'data');
    t.match(await cli(t, ['restore', archive, '--data', restored]), { code: 0 });
    for (const data of [join(disk ?? '', 'snapshot/data'), restored]) {
      const other = await startServer(t, { data });
      for (const { lab } of labs) await checkCounts(t, new Client(other.url), lab.path);
      t.equal(await other.stop(), 0, data);
    }
  },
);
