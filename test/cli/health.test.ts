/** `wirefarm health` as a process, for health checks of containers. */
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import t from 'tap';
import { cli } from '../support/cli.js';
import { withEngineKiller } from '../support/engine-killer.js';
import { eventually } from '../support/eventually.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

void t.test('the exit code says whether the server takes new work, and the line why not', async (t) => {
  const file = join(scratchFolder(t), 'no engines');
  const server = await startServer(t, { environment: withEngineKiller(file) });
  const ask = ['health', '--url', server.url];
  t.same(await cli(t, ask), { code: 0, output: 'The server takes new work\n', errors: '' });
  writeFileSync(file, '');
  server.child.kill('SIGUSR2');
  const told = await eventually('it is told', async () => {
    const ended = await cli(t, ask);
    return ended.code === 0 ? undefined : ended;
  });
  t.same(told, {
    code: 1,
    output: '',
    errors: 'wirefarm: The server takes no new work; engines: none runs\n',
  });
  await server.stop();
  t.match(await cli(t, ask), { code: 1, errors: /no server answers at / });
  t.match(await cli(t, ['health', '--nonsense']), { code: 2, errors: /wirefarm health --help/ });
});
