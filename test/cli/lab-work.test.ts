/** `wirefarm console`, `snapshot` and `top`, through the process, against a real server. */
import t from 'tap';
import { cli, cliInTerminal, cliWithInput, type Ended } from '../support/cli.js';
import { Client } from '../support/client.js';
import { LinkLab, end } from '../support/link-lab.js';
import type { Teardown } from '../support/scratch.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const client = new Client(server.url);
const url = ['--url', server.url];
const run = (t: Teardown, ...args: string[]): Promise<Ended> => cli(t, [...args, ...url]);
const lab = await LinkLab.make({ client, url: server.url }, { name: 'office' });
const [hub, wide] = [await lab.hub('H1'), await lab.node('ethernet_switch', 'SW1')];
await lab.link([end(hub, 3), end(wide, 0)]);

void t.test('a console is used from a terminal and from a pipe', { skip: missingVpcs() }, async (t) => {
  await lab.node('vpcs', 'PC1');
  t.match(await run(t, 'start', 'office/PC1'), { code: 0 });
  const piped = await cliWithInput(t, ['console', 'office/PC1', ...url], 'ip 10.0.0.7/24\r');
  t.match(piped, { code: 0, output: /10\.0\.0\.7/, errors: '' });
  const typed = await cliInTerminal(
    t,
    ['console', 'office/PC1', ...url],
    [
      ['leaves the console', 'show ip\r'],
      ['10.0.0.7/24', '\u001d'],
    ],
  );
  t.match(typed, { code: 0, output: /PC1: Ctrl-\] leaves the console[^]*10\.0\.0\.7\/24/ });
  t.match(await run(t, 'stop', 'office/PC1'), { code: 0 });
});

void t.test('a console that is not there is refused in the words of the server', async (t) => {
  t.match(await run(t, 'console', 'office/H1'), { code: 1, errors: /console type is not telnet/ });
  t.match(await run(t, 'console', 'office/H9'), { code: 1, errors: /there is no node H9 in the lab office/ });
  t.match(await run(t, 'console', 'office'), { code: 1, errors: /say which node/ });
});

void t.test('snapshots are made, listed, restored and deleted by their names', async (t) => {
  t.same(await run(t, 'snapshot', 'create', 'office', 'clean'), {
    ...{ code: 0, output: 'created: clean\n', errors: '' },
  });
  t.match(await run(t, 'snapshot', 'create', 'office', 'clean'), { code: 1, errors: /already exists/ });
  const listed = JSON.parse((await run(t, 'snapshot', 'ls', 'office', '--json')).output) as unknown[];
  t.match(listed, [{ name: 'clean', snapshot_id: String, created_at: Number }]);
  t.equal(listed.length, 1);
  t.match(await run(t, 'filter', 'office/SW1:e0', 'packet_loss=1'), { code: 0 });
  t.same(await run(t, 'snapshot', 'restore', 'office', 'clean', '--json'), {
    ...{ code: 0, output: '{"restored":"clean"}\n', errors: '' },
  });
  t.same((await lab.list())[0]?.['filters'], {}, 'the filter came after the snapshot');
  await client.expect(200, 'PUT', `${lab.path}/nodes/${String(hub['node_id'])}`, { x: 77 });
  await client.expect(201, 'POST', `${lab.path}/files/notes.txt`, 'a\u001b[2J\n');
  t.same(await run(t, 'snapshot', 'diff', 'office', 'clean'), {
    ...{ code: 0, errors: '' },
    output: '~ node H1\n+ file notes.txt\n',
  });
  t.match(await run(t, 'snapshot', 'diff', 'office', 'clean', 'notes.txt'), {
    output: '@@ -1 +1 @@\n+a\\x1b[2J\n',
  });
  t.match(await run(t, 'snapshot', 'diff', 'office', 'clean', 'other.txt'), { code: 1 });
  t.match(await run(t, 'snapshot', 'restore', 'office', 'clean', 'H1'), { output: 'restored: clean\n' });
  t.equal((await run(t, 'snapshot', 'diff', 'office', 'clean')).output, '+ file notes.txt\n');
  t.match(await run(t, 'snapshot', 'restore', 'office', 'other'), {
    code: 1,
    errors: /the lab office has no snapshot other/,
  });
  t.match(await run(t, 'snapshot', 'delete', 'office', 'clean'), { code: 0, output: 'deleted: clean\n' });
  t.same(await run(t, 'snapshot', 'ls', 'office'), { code: 0, output: '', errors: '' });
  t.match(await run(t, 'snapshot', 'make', 'office', 'x'), {
    code: 1,
    errors: /'make' is none of ls, create/,
  });
});

void t.test('top tells rates and labs once when nobody looks', async (t) => {
  const { code, output } = await run(t, 'top');
  t.equal(code, 0);
  t.match(output, /^labs {5}1 open, 0 closed\nrequests \d[^]*\ndropped {2}[^]*\nLAB {5}RUNNING/);
  t.match(output, /\noffice {2}2 of \d/);
  t.match(JSON.parse((await run(t, 'top', '--json')).output), {
    requests_per_second: Number,
    labs: [{ name: 'office', links: 1, captures: 0 }],
  });
});
