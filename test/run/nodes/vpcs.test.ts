/** Virtual PCs: the real program, started, wired, captured and ended through the interface of clients. */
import { once } from 'node:events';
import { existsSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import t from 'tap';
import { WebSocket } from 'ws';
import { MOST_CLIENTS } from '../../../src/run/consoles/console-hub.js';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import { NodeLab, programsOf } from '../../support/node-lab.js';
import { NotificationLog } from '../../support/notification-log.js';
import { ownConsolePorts, startServer } from '../../support/server-process.js';
import { missingTshark, tsharkRows } from '../../support/tshark.js';
import { missingVpcs } from '../../support/vpcs.js';

const missing = missingVpcs();
const skip = missing === false ? missingTshark() : missing;
const server = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() } });
const client = new Client(server.url);

const prompt = (name: string): RegExp => new RegExp(`${name}> $`);

void t.test(
  'two virtual PCs behind a switch ping each other, and the capture shows it',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const hub = await lab.node('ethernet_switch', 'S1');
    const first = await lab.pc('PC1', '10.0.0.1');
    const second = await lab.pc('PC2', '10.0.0.2');
    const link = await lab.link([first, 0], [hub, 0]);
    const other = await lab.link([second, 0], [hub, 1]);
    const linkPath = `${lab.path}/links/${String(link['link_id'])}`;
    const started = await client.expect(201, 'POST', `${linkPath}/start_capture`, {
      capture_file_name: 'ping.pcap',
    });
    const [one, two] = [await lab.console(t, first), await lab.console(t, second)];
    await two.until(prompt('PC2'));
    await one.until(prompt('PC1'));
    one.type('ping 10.0.0.2 -c 3 -i 100');
    const answer = await one.until(/icmp_seq=3[^]*PC1> $/);
    t.equal(answer.match(/10\.0\.0\.2 icmp_seq=\d ttl=64/g)?.length, 3);

    await t.test('a suspended link carries nothing, and a filter drops what it says', async (t) => {
      await client.expect(201, 'PUT', linkPath, { suspend: true });
      one.type('ping 10.0.0.2 -c 1 -w 300');
      t.match(await one.until(/PC1> $/), /host \(10\.0\.0\.2\) not reachable|timeout/);
      await client.expect(201, 'PUT', linkPath, { suspend: false, filters: { bpf: ['icmp'] } });
      one.type('ping 10.0.0.2 -c 1 -w 300');
      t.match(await one.until(/PC1> $/), /timeout/);
      await client.expect(201, 'PUT', linkPath, { filters: {} });
    });

    await t.test('links and their captures stay while the program comes and goes', async (t) => {
      await lab.act(second, 'stop');
      await lab.act(second, 'start');
      await (await lab.console(t, second)).until(prompt('PC2'));
      one.type('ping 10.0.0.2 -c 1 -w 300');
      t.match(await one.until(/PC1> $/), /10\.0\.0\.2 icmp_seq=1 ttl=64/);
      await client.expect(204, 'DELETE', `${lab.path}/links/${String(other['link_id'])}`);
      one.type('ping 10.0.0.2 -c 1 -w 300');
      t.notMatch(await one.until(/PC1> $/), /ttl=64/);
    });

    const stopped = await client.expect(201, 'POST', `${linkPath}/stop_capture`);
    t.equal(stopped['capturing'], false);
    const file = readFileSync(String(started['capture_file_path']));
    const rows = tsharkRows(file, ['ip.src', 'icmp.type'], 'icmp');
    t.ok(rows.filter(([from, type]) => from === '10.0.0.1' && type === '8').length >= 4);
    t.equal(rows.filter(([from, type]) => from === '10.0.0.2' && type === '0').length, 4);
  },
);

void t.test(
  'the status of a virtual PC is that of its program, and each change is told',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const pc = await lab.node('vpcs', 'PC1');
    const stream = await NotificationLog.open(`${server.url}${lab.path}/notifications`);
    const told = (status: string): Promise<unknown> =>
      stream.next(({ action, event }) => action === 'node.updated' && event['status'] === status);
    t.match(pc, { status: 'stopped', command_line: '', console_type: 'telnet' });
    t.ok(String(pc['node_directory']).endsWith(`project-files/vpcs/${String(pc['node_id'])}`));

    const running = await lab.act(pc, 'start');
    t.match(running, { status: 'started', command_line: /^vpcs -i 1 -m 0 .*-t 127\.0\.0\.1$/ });
    await told('started');
    t.equal(programsOf(pc).length > 0, true);
    for (const pid of process.getuid?.() === 0 ? programsOf(pc) : []) {
      t.ok(statSync(`/proc/${pid}`).uid >= 0x7000_0000, 'it has a user of its own');
      for (const kind of ['net', 'mnt'])
        t.not(readlinkSync(`/proc/${pid}/ns/${kind}`), readlinkSync(`/proc/self/ns/${kind}`));
    }
    await lab.act(pc, 'start');
    t.match(await lab.act(pc, 'suspend'), { status: 'started' }, 'it cannot be suspended');
    t.match(await lab.act(pc, 'reload'), { status: 'started' });
    t.match(await lab.act(pc, 'stop'), { status: 'stopped' });
    await told('stopped');
    t.same(programsOf(pc), []);

    await lab.act(pc, 'start');
    const live = await lab.console(t, pc);
    await live.until(/VPCS/);
    const error = stream.next(({ action }) => action === 'log.error');
    for (const pid of programsOf(pc)) process.kill(pid, 'SIGKILL');
    t.match(await error, { event: { message: /^PC1 ended: signal SIGKILL/ } });
    await eventually('it is stopped', async () => (await lab.show(pc))['status'] === 'stopped' || undefined);
    const last = await lab.console(t, pc);
    await last.until(/VPCS/);
    await lab.act(pc, 'start');
    await lab.act(pc, 'stop');
    stream.close();
  },
);

void t.test(
  'the console is a telnet port and a WebSocket, for several people at once',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const pc = await lab.node('vpcs', 'PC1');
    const path = `${lab.at(pc)}/console/ws`;
    t.equal(await upgradeStatus(path), 409, 'before it is started');
    await lab.act(pc, 'start');
    const first = await lab.console(t, pc);
    await first.until(prompt('VPCS'));
    const second = await lab.console(t, pc);
    await second.until(prompt('VPCS'));
    const telnet = connect(Number(pc['console']), '127.0.0.1');
    let text = '';
    telnet.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
    t.teardown(() => telnet.destroy());
    await eventually('telnet has the scrollback', () => prompt('VPCS').test(text) || undefined);
    telnet.write('echo from telnet\r\n');
    t.match(await first.until(/from telnet\r?\n[^]*VPCS> $/), /from telnet/);
    t.match(await second.until(/from telnet\r?\n[^]*VPCS> $/), /from telnet/);

    const cut = Promise.all([first.closed, second.closed, once(telnet, 'close')]);
    await client.expect(204, 'POST', `${lab.at(pc)}/console/reset`);
    await cut;
    const again = await lab.console(t, pc);
    again.type('echo still there');
    await again.until(/still there\r?\n/);
    await lab.act(pc, 'stop');
    t.equal(await upgradeStatus(path), 409, 'after it was stopped');
    t.match(await client.put(lab.at(pc), { console_type: 'none' }), { status: 200 });
    await lab.act(pc, 'start');
    t.equal(await upgradeStatus(path), 409, 'a console of type none');
  },
);

void t.test('a console has so many clients, WebSockets and telnet together', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const pc = await lab.node('vpcs', 'PC1');
  await lab.act(pc, 'start');
  const path = `${server.url}${lab.at(pc)}/console/ws`;
  const telnet = connect(Number(pc['console']), '127.0.0.1');
  t.teardown(() => telnet.destroy());
  await once(telnet, 'data');
  const sockets = Array.from({ length: 3 * MOST_CLIENTS }, () => new WebSocket(path.replace('http', 'ws')));
  t.teardown(() => {
    for (const socket of sockets) socket.terminate();
  });
  for (const socket of sockets) socket.on('error', () => undefined);
  const inState = (state: number): number => sockets.filter(({ readyState }) => readyState === state).length;
  await eventually(
    'the others are refused',
    () => inState(WebSocket.CLOSED) === 2 * MOST_CLIENTS + 1 || undefined,
  );
  t.equal(inState(WebSocket.OPEN), MOST_CLIENTS - 1);
  t.equal(await upgradeStatus(`${lab.at(pc)}/console/ws`), 503);
  const beyond = connect(Number(pc['console']), '127.0.0.1');
  beyond.resume();
  await once(beyond, 'close');
  t.equal(beyond.bytesRead, 0, 'telnet is full as well');

  telnet.destroy();
  const late = await eventually('there is room', () => lab.console(t, pc).catch(() => undefined));
  await late.ask('echo room', /room\r?\n/);
});

void t.test('the script of a template names the PC, and its name follows the node', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const template = '/templates/19021f99-e36f-394d-b4a1-8aaa902ab9cc';
  const pc = await client.expect(201, 'POST', `${lab.path}${template}`, { x: 0, y: 0, compute_id: 'local' });
  const script = `${lab.at(pc)}/files/startup.vpc`;
  t.equal(await (await fetch(`${server.url}${script}`)).text(), 'set pcname PC1\n');
  await client.expect(200, 'PUT', lab.at(pc), { name: 'desk' });
  await lab.act(pc, 'start');
  await (await lab.console(t, pc)).until(prompt('desk'));
  t.match(await client.post(`${lab.at(pc)}/duplicate`, { x: 1, y: 1 }), {
    status: 409,
    body: { message: 'Cannot duplicate node data while the node is running' },
  });
  await lab.act(pc, 'stop');
  const copy = await client.expect(201, 'POST', `${lab.at(pc)}/duplicate`, { x: 1, y: 1 });
  t.equal(await (await fetch(`${server.url}${lab.at(copy)}/files/startup.vpc`)).text(), 'set pcname desk\n');
  await client.expect(204, 'DELETE', lab.at(pc));
  t.notOk(existsSync(String(pc['node_directory'])));
  t.ok(existsSync(String(copy['node_directory'])));
});

void t.test('a start that fails says why, and leaves nothing', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const pc = await lab.node('vpcs', 'PC1');
  const blocker = createServer();
  blocker.listen(Number(pc['console']), '127.0.0.1');
  await once(blocker, 'listening');
  t.match(await client.post(`${lab.at(pc)}/start`), {
    status: 409,
    body: { message: new RegExp(`cannot listen on TCP port ${String(pc['console'])}`) },
  });
  t.match(await lab.show(pc), { status: 'stopped' });
  t.same(programsOf(pc), []);
  blocker.close();
  await lab.act(pc, 'start');
  await client.expect(204, 'DELETE', lab.at(pc));
  t.same(programsOf(pc), [], 'deleted while it runs');
});

void t.test('closing a project ends its programs, and so does the end of the server', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const pcs = [await lab.node('vpcs', 'PC1'), await lab.node('vpcs', 'PC2')];
  await client.expect(204, 'POST', `${lab.path}/nodes/start`);
  for (const pc of pcs) t.match(await lab.show(pc), { status: 'started' });
  t.match(await client.post(`${lab.path}/snapshots`, { name: 'now' }), { status: 409 }, 'while they run');
  await client.expect(204, 'POST', `${lab.path}/close`);
  for (const pc of pcs) t.same(programsOf(pc), []);
  await client.expect(201, 'POST', `${lab.path}/open`);
  for (const pc of pcs) t.match(await lab.show(pc), { status: 'stopped' });

  const mortal = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(2) } });
  const other = new Client(mortal.url);
  const { project_id: id } = await other.expect(201, 'POST', '/v2/projects', { name: 'mortal' });
  const body = { name: 'PC1', node_type: 'vpcs', compute_id: 'local' };
  const pc = await other.expect(201, 'POST', `/v2/projects/${String(id)}/nodes`, body);
  await other.expect(200, 'POST', `/v2/projects/${String(id)}/nodes/${String(pc['node_id'])}/start`);
  t.not(programsOf(pc).length, 0);
  await mortal.stop('SIGKILL');
  await eventually('its programs have ended', () => programsOf(pc).length === 0 || undefined);
});

void t.test('the compute interface runs virtual PCs as well', { skip }, async (t) => {
  const { project_id: id } = await client.expect(201, 'POST', '/v2/compute/projects', { name: 'compute' });
  const base = `/v2/compute/projects/${String(id)}`;
  t.teardown(() => client.expect(204, 'DELETE', base));
  const settings = { name: 'PC1', startup_script: 'set pcname %h\n' };
  const pc = await client.expect(201, 'POST', `${base}/vpcs/nodes`, settings);
  t.same(Object.keys(pc), [
    ...[
      'command_line',
      'console',
      'console_type',
      'name',
      'node_directory',
      'node_id',
      'project_id',
      'status',
    ],
  ]);
  const path = `${base}/vpcs/nodes/${String(pc['node_id'])}`;
  t.match(await client.expect(200, 'POST', `${path}/start`), {
    status: 'started',
    command_line: /startup\.vpc$/,
  });
  const nio = { type: 'nio_udp', lport: 11_901, rhost: '127.0.0.1', rport: 11_902 };
  await client.expect(201, 'POST', `${path}/adapters/0/ports/0/nio`, nio);
  t.match(await client.post(`${path}/adapters/1/ports/0/nio`, nio), { status: 409 });
  t.match(await client.post(`${path}/adapters/0/ports/0/nio`, nio), { status: 409 });
  t.match(await client.get(`${path}/statistics`), {
    body: { ports: [{ adapter_number: 0, port_number: 0 }] },
  });
  await client.expect(204, 'DELETE', `${path}/adapters/0/ports/0/nio`);
  await client.expect(204, 'POST', `${path}/stop`);
  t.match(await client.expect(200, 'GET', path), { status: 'stopped' });
});

/** The status with which an upgrade to a WebSocket is refused. */
async function upgradeStatus(path: string): Promise<number | undefined> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`);
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode?: number }];
  // The library complains of the response that it was not told to take.
  socket.on('error', () => undefined);
  socket.terminate();
  return response.statusCode;
}
