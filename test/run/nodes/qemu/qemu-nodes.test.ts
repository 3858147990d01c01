/** Virtual machines without a disk: the real QEMU, started, controlled and ended through the interface of clients. */
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { Client } from '../../../support/client.js';
import { eventually } from '../../../support/eventually.js';
import { NotificationLog } from '../../../support/notification-log.js';
import { NodeLab, programsOf, reaches } from '../../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../../support/qemu.js';
import { scratchFolder } from '../../../support/scratch.js';
import { ownConsolePorts, startServer } from '../../../support/server-process.js';

const skip = missingQemu();
const server = await startQemuServer(t);
/** The firmware says at the serial port what it does, and that it finds nothing to start. */
const TALKING = { options: '-machine graphics=off', ram: 32 };

/** The folders that guests have their sockets in. */
function socketFolders(data: string): string[] {
  try {
    return readdirSync(join(data, 'run', 'n'));
  } catch {
    return [];
  }
}

void t.test(
  'a machine is started, suspended, resumed, reset and stopped, and tells it',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const node = await lab.node('qemu', 'R1', { ram: 32, adapters: 2 });
    const stream = await NotificationLog.open(lab.events);
    const told = (status: string): Promise<unknown> =>
      stream.next(({ action, event }) => action === 'node.updated' && event['status'] === status);
    t.match(node, { status: 'stopped', command_line: '', console_type: 'telnet' });

    const running = await lab.act(node, 'start');
    const line = /^qemu-system-x86_64 -name guest=R1 -m 32M .*netdev=gns3-0.*netdev=gns3-1/;
    t.match(running, { status: 'started', command_line: line });
    await told('started');
    t.equal(programsOf(node).length, 1);
    t.equal(socketFolders(server.data).length, 1);
    const [pid] = programsOf(node);
    if (process.getuid?.() === 0) {
      t.ok(statSync(`/proc/${pid}`).uid >= 0x7000_0000, 'it has a user of its own');
      const seen = readdirSync(`/proc/${pid}/root${server.data}`);
      t.same(seen.toSorted(), ['projects', 'run'], 'it sees nothing of the store');
      t.equal(reaches(pid ?? 0, server), false, 'nor does it reach the interface');
    }
    t.match(await lab.act(node, 'start'), { status: 'started' }, 'again');
    t.match(await lab.act(node, 'suspend'), { status: 'suspended' });
    await told('suspended');
    t.match(await lab.act(node, 'suspend'), { status: 'suspended' }, 'again');
    t.match(await lab.act(node, 'start'), { status: 'started' }, 'resumed');
    await lab.act(node, 'suspend');
    const onCompute = `/v2/compute${lab.path.slice('/v2'.length)}/qemu/nodes/${String(node['node_id'])}`;
    await lab.client.expect(204, 'POST', `${onCompute}/resume`);
    t.match(await lab.show(node), { status: 'started' }, 'resumed by a client of the compute');
    t.match(await lab.act(node, 'reload'), { status: 'started' });
    t.same(programsOf(node), [pid], 'it is one process all the time');

    await lab.change(node, { properties: { ram: 48 } });
    t.match(await lab.act(node, 'reload'), { status: 'started', command_line: / -m 48M / });
    t.notSame(programsOf(node), [pid], 'settings have changed, so it is another process');
    t.match(await lab.act(node, 'stop'), { status: 'stopped' });
    t.match(await lab.act(node, 'stop'), { status: 'stopped' }, 'again');
    t.same(programsOf(node), []);
    t.same(socketFolders(server.data), []);
    stream.close();
  },
);

void t.test('the console shows what the machine prints from its first byte on', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await lab.node('qemu', 'R1', TALKING);
  await lab.act(node, 'start');
  const terminal = await lab.console(t, node);
  await terminal.until(/SeaBIOS/);
  const telnet = connect(Number(node['console']), '127.0.0.1');
  t.teardown(() => telnet.destroy());
  let text = '';
  telnet.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')));
  await eventually('telnet shows it as well', () => text.includes('SeaBIOS') || undefined);
  const closed = once(telnet, 'close');
  await lab.act(node, 'stop');
  await closed;
});

void t.test('a machine that is killed is stopped, and its listeners are told why', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await lab.node('qemu', 'R1', TALKING);
  const stream = await NotificationLog.open(lab.events);
  await lab.act(node, 'start');
  await (await lab.console(t, node)).until(/SeaBIOS/);
  const error = stream.next(({ action }) => action === 'log.error');
  for (const pid of programsOf(node)) process.kill(pid, 'SIGKILL');
  t.match(await error, { event: { message: /^R1 ended: signal SIGKILL/ } });
  await eventually('it is stopped', async () => (await lab.show(node))['status'] === 'stopped' || undefined);
  t.same(socketFolders(server.data), []);
  await (await lab.console(t, node)).until(/SeaBIOS/);
  await lab.act(node, 'start');
  await lab.client.expect(204, 'DELETE', lab.at(node));
  t.same(programsOf(node), [], 'it was removed while it ran');
  t.same(socketFolders(server.data), []);
  stream.close();
});

void t.test(
  'a machine that cannot run is refused with a reason, and nothing is left',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const refused = async (properties: object, message: RegExp): Promise<void> => {
      const node = await lab.node('qemu', 'R1', { ram: 32, ...properties });
      t.match(await lab.client.post(`${lab.at(node)}/start`), { status: 409, body: { message } });
      t.match(await lab.show(node), { status: 'stopped' });
      t.same(programsOf(node), []);
      await lab.client.expect(204, 'DELETE', lab.at(node));
    };
    await refused({ options: '-machine nonsense' }, /R1 could not be started: .*unsupported machine type/s);
    await refused({ options: '-device nonsense' }, /nonsense.* is not a valid device model name/);
    await refused({ adapter_type: 'rocker' }, /R1 could not be started: /);
    await refused({ options: '-drive file=/etc/passwd' }, /Forbidden additional option: -drive/);
    await refused({ platform: 'sh4' }, /qemu-system-sh4 is not installed .*qemu-system-misc/);
    await refused({ kernel_image: 'missing' }, /missing/);
    t.same(socketFolders(server.data), []);
  },
);

void t.test(
  'a machine that does not shut down is not waited for when its lab closes',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const node = await lab.node('qemu', 'R1', { ram: 32, on_close: 'shutdown_signal' });
    await lab.act(node, 'start');
    // The firmware has no handler for the power button.
    const stopping = lab.client.post(`${lab.at(node)}/stop`);
    await lab.client.expect(204, 'POST', `${lab.path}/close`);
    t.same(programsOf(node), []);
    await stopping;
  },
);

void t.test('the adapters have the types and addresses that the node says', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const custom = [{ adapter_number: 1, adapter_type: 'virtio-net-pci', mac_address: '02:00:00:00:00:99' }];
  const properties = { ram: 32, adapters: 3, mac_address: '02:00:00:00:00:01' };
  const node = await lab.node('qemu', 'R1', properties, { custom_adapters: custom });
  const { command_line: line } = await lab.act(node, 'start');
  const devices = String(line).match(/-device \S+netdev=\S+/g) ?? [];
  t.match(devices[0], /^-device e1000,mac=02:00:00:00:00:01,/);
  t.match(devices[1], /^-device virtio-net-pci,mac=02:00:00:00:00:99,/);
  t.match(devices[2], /^-device e1000,mac=02:00:00:00:00:03,/);
});

void t.test('a machine may take a part of a processor only', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await lab.node('qemu', 'R1', { ram: 32, cpu_throttling: 50 });
  const before = await lab.client.post(`${lab.at(node)}/start`);
  if (before.status === 409) {
    t.match(before.body, { message: /cpulimit/ });
    return;
  }
  t.equal(programsOf(node).length > 1, true, 'the limiter is beside it');
  await lab.act(node, 'stop');
  t.same(programsOf(node), []);
});

void t.test('a data folder with a long path has machines as well', { skip }, async (t) => {
  const data = join(scratchFolder(t), 'x'.repeat(100), 'data');
  const far = await startServer(t, {
    data,
    flags: ['--kvm', 'off'],
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(3) },
  });
  const lab = await NodeLab.make(t, far);
  const node = await lab.node('qemu', 'R1', { ram: 32 });
  const { command_line: line } = await lab.act(node, 'start');
  const [, folder = ''] = /-qmp unix:(\S+)\/qmp,/.exec(String(line)) ?? [];
  t.match(folder, /^\/tmp\/wirefarm-/);
  t.match(await lab.act(node, 'suspend'), { status: 'suspended' });
  await lab.act(node, 'stop');
  t.throws(() => readdirSync(folder), { code: 'ENOENT' });
});

void t.test('the end of the server ends its machines', { skip }, async (t) => {
  const mortal = await startServer(t, { environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts(2) } });
  const lab = await mortalLab(mortal.url);
  t.equal(programsOf(lab).length, 1);
  await mortal.stop('SIGKILL');
  await eventually('its machines have ended', () => programsOf(lab).length === 0 || undefined);
});

/** A started machine of a server that will not remove its project. */
async function mortalLab(url: string) {
  const other = new Client(url);
  const { project_id: id } = await other.expect(201, 'POST', '/v2/projects', { name: 'mortal' });
  const body = { name: 'R1', node_type: 'qemu', compute_id: 'local', properties: { ram: 32 } };
  const node = await other.expect(201, 'POST', `/v2/projects/${String(id)}/nodes`, body);
  await other.expect(200, 'POST', `/v2/projects/${String(id)}/nodes/${String(node['node_id'])}/start`);
  return node;
}
