/** `wirefarm ls`, `start`, `stop`, `filter` and `capture`, through the process, against a real server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { cli, LinkedLab, startCli, type Ended } from '../support/cli.js';
import { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { LinkLab, end } from '../support/link-lab.js';
import { scratchFolder, type Teardown } from '../support/scratch.js';
import { ownConsolePorts, startServer } from '../support/server-process.js';
import { missingVpcs } from '../support/vpcs.js';

const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const client = new Client(server.url);
const run = (t: Teardown, ...args: string[]): Promise<Ended> => cli(t, [...args, '--url', server.url]);
const lab = await LinkLab.make({ client, url: server.url }, { name: 'office' });

void t.test('labs, nodes and links are listed', async (t) => {
  const [hub, wide] = [await lab.hub('H1'), await lab.node('ethernet_switch', 'access-switch')];
  await lab.link([end(hub, 3), end(wide, 0)], { filters: { packet_loss: [5] } });
  t.same(await run(t, 'ls'), { code: 0, output: 'office  open\n', errors: '' });
  t.same(JSON.parse((await run(t, 'ls', '--json')).output), [{ name: 'office', state: 'open' }]);
  t.same(
    (await run(t, 'ls', 'office')).output.split('\n').map((line) => line.replaceAll(/ +/g, ' ')),
    [
      'H1 ethernet_hub started',
      `access-switch ethernet_switch started ${String(wide['console'])}`,
      'H1:e3 access-switch:e0 packet_loss',
      '',
    ],
  );
  t.match(JSON.parse((await run(t, 'ls', 'office', '--json')).output), {
    name: 'office',
    nodes: [{ name: 'H1', console: null }, { name: 'access-switch' }],
    links: [{ ends: ['H1:e3', 'access-switch:e0'], filters: { packet_loss: [5] } }],
  });
  t.match(await run(t, 'ls', 'none'), { code: 1, errors: /there is no lab none on / });
});

void t.test('the filters of a link are set by one of its ends', async (t) => {
  const filters = async (): Promise<unknown> => (await lab.list())[0]?.['filters'];
  t.match(await run(t, 'filter', 'office/access-switch:e0', 'delay=100,10', 'packet_loss=1'), {
    code: 0,
    output: 'filters of H1:e3 access-switch:e0: delay=100,10 packet_loss=1\n',
  });
  t.same(await filters(), { delay: [100, 10], packet_loss: [1] });
  t.match(await run(t, 'filter', 'office/H1:e3', 'bpf=icmp or tcp port 80'), { code: 0 });
  t.same(await filters(), { bpf: ['icmp or tcp port 80'] });
  t.match(await run(t, 'filter', 'office/H1:e3', 'packet_loss=101'), {
    code: 1,
    errors: /between 0 and 100/,
  });
  t.match(await run(t, 'filter', 'office/H1:e3', 'loss'), { code: 1, errors: /'loss' is no filter/ });
  t.match(await run(t, 'filter', 'office/H1:e5'), { code: 1, errors: /there is no link at H1:e5/ });
  t.match(await run(t, 'filter', 'office'), { code: 1, errors: /say which link/ });
  t.same(await filters(), { bpf: ['icmp or tcp port 80'] }, 'a refused command changes nothing');
  t.match(await run(t, 'filter', 'office/H1:e3'), { code: 0, output: /: none\n$/ });
  t.same(await filters(), {});
});

void t.test('nodes start and stop, one or all', { skip: missingVpcs() }, async (t) => {
  for (const name of ['PC1', 'PC2']) await lab.node('vpcs', name);
  const states = async (): Promise<string[]> => {
    const { output } = await run(t, 'ls', 'office', '--json');
    const { nodes } = JSON.parse(output) as { nodes: { name: string; status: string }[] };
    return nodes.filter(({ name }) => name.startsWith('PC')).map(({ status }) => status);
  };
  t.same(await run(t, 'start', 'office/PC2'), { code: 0, output: 'started: office/PC2\n', errors: '' });
  t.same(await states(), ['stopped', 'started']);
  t.match(await run(t, 'start', 'office'), { code: 0 });
  t.same(await states(), ['started', 'started']);
  t.match(await run(t, 'stop', 'office/PC1', 'office/PC2', '--json'), {
    code: 0,
    output: '{"stopped":["office/PC1","office/PC2"]}\n',
  });
  t.same(await states(), ['stopped', 'stopped']);
  t.match(await run(t, 'start', 'office/PC9'), { code: 1, errors: /there is no node PC9 in the lab office/ });
  t.match(await run(t, 'stop'), { code: 1, errors: /wirefarm stop --help/ });
});

void t.test('packets of a link are written until somebody stops it', async (t) => {
  const line = await LinkedLab.open(t, client, 'line', ['S1', 'H1']);
  const path = join(scratchFolder(t), 'line.pcapng');
  const args = ['capture', 'line/H1:e0', '--bpf', 'ether proto 0x88b5', '-w', path, '--url', server.url];
  const program = startCli(t, args);
  const read = (): Buffer | undefined => {
    try {
      return readFileSync(path);
    } catch {
      return undefined;
    }
  };
  await eventually('the beginning of the file', () => (read()?.length ?? 0) > 0 || undefined);
  await line.send(1);
  await eventually('a frame', () =>
    read()?.includes('ffffffffffff02000000000188b50000', 0, 'hex') === true ? true : undefined,
  );
  program.child.kill('SIGINT');
  t.same(await program.ended, { code: 0, output: '', errors: '' });
  const lines = startCli(t, [
    'capture',
    'line',
    '--decode',
    '--bpf',
    'ether proto 0x88b5',
    '--url',
    server.url,
  ]);
  await eventually('a line', async () => {
    await line.send(1);
    return lines.output.includes('\n') || undefined;
  });
  lines.child.kill('SIGINT');
  t.match(await lines.ended, {
    code: 0,
    output:
      /^0\.000000 {2}line \S+ port \d {2}[<>] {2}02:00:00:00:00:01 {2}ff:ff:ff:ff:ff:ff {2}Ethernet {2}\d+ {2}\S+ to \S+, 0x88b5\n/,
    errors: '',
  });
  t.match(await run(t, 'capture', 'line/H1:e5'), {
    code: 1,
    errors: /there is no link at H1:e5 in the lab line/,
  });
  t.match(await run(t, 'capture', 'line', 'office'), { code: 1, errors: /one lab at a time/ });
  t.match(await run(t, 'capture', 'line', '--bpf', 'no such word'), { code: 1, output: '' });
});
