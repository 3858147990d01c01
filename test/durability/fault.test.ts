/** An error that nothing caught ends the server in order, with an exit code for its supervisor. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { Client } from '../support/client.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';

for (const [name, fault] of [
  ['an error in a timer', 'setTimeout(() => { throw new TypeError("out of luck"); }, 0)'],
  ['a promise that is rejected', 'void Promise.reject(new TypeError("out of luck"))'],
] as const) {
  void t.test(name, async (t) => {
    const preload = join(scratchFolder(t), 'fault.mjs');
    writeFileSync(preload, `process.on('SIGUSR2', () => { ${fault}; });`);
    const environment = { NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` };
    const server = await startServer(t, { environment });
    const made = await new Client(server.url).post('/v2/projects', { name: 'kept' });
    t.equal(made.status, 201);
    t.equal(await server.stop('SIGUSR2'), 1);
    await server.logged(/"msg":"stopped"/);
    const [fatal] = server
      .log()
      .split('\n')
      .filter((line) => line.includes('"level":60'));
    t.match(fatal, /out of luck/);
    const again = await startServer(t, { data: server.data });
    t.match((await new Client(again.url).get('/v2/projects')).body, [{ name: 'kept' }]);
    t.equal(await again.stop(), 0);
  });
}
