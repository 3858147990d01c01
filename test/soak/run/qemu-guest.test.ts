/** Guests that boot: a real kernel in real QEMU, in a lab of this server. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readConfigZip, writeConfigZip } from '../../../src/run/nodes/qemu/config-disk/config-zip.js';
import { Client } from '../../support/client.js';
import { ComputeLab } from '../../support/compute-lab.js';
import { eventually } from '../../support/eventually.js';
import { GUEST, missingGuest, placeGuest } from '../../support/linux-guest.js';
import { NotificationLog } from '../../support/notification-log.js';
import { NodeLab, programsOf } from '../../support/node-lab.js';
import { NodeTerminal } from '../../support/node-terminal.js';
import { startQemuServer } from '../../support/qemu.js';
import { missingVpcs } from '../../support/vpcs.js';

const missing = missingGuest();
const skip = missing === false ? missingVpcs() : missing;
const server = await startQemuServer(t);
const client = new Client(server.url);
if (skip === false) placeGuest(t, server.data);

const READY = /the guest is ready/;
const PROMPT = /PC1> $/;
const ANSWERED = /10\.0\.0\.1 icmp_seq=\d ttl=64/;

/** Pings the guest once. Returns what the virtual PC printed. */
async function ping(pc: NodeTerminal): Promise<string> {
  pc.type('ping 10.0.0.1 -c 1');
  return pc.until(PROMPT);
}

/** Waits until the guest reads this at its first adapter: its driver hears of a change a moment later. */
async function carrierIs(shell: NodeTerminal, value: 0 | 1): Promise<void> {
  await eventually(`the carrier is ${value}`, async () => {
    const text = await shell.run('cat /sys/class/net/eth0/carrier');
    return text.includes(`\n${value}\r`) || undefined;
  });
}

async function guestShell(t: Test, lab: NodeLab, guest: Record<string, unknown>): Promise<NodeTerminal> {
  const shell = await lab.console(t, guest);
  await shell.until(READY);
  return shell;
}

void t.test(
  'a guest and a virtual PC reach each other, as long as their links are whole',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const guest = await lab.node('qemu', 'G1', { ...GUEST, adapters: 2 });
    const pc = await lab.node('vpcs', 'PC1', { startup_script: 'set pcname %h\nip 10.0.0.2/24\n' });
    const hub = await lab.node('ethernet_switch', 'S1');
    const link = lab.linkAt(await lab.link([guest, 0, 0], [hub, 0, 0]));
    await lab.link([pc, 0, 0], [hub, 0, 1]);
    await lab.act(guest, 'start');
    await lab.act(pc, 'start');
    const shell = await lab.console(t, guest);
    await shell.until(READY);
    const one = await lab.console(t, pc);
    await one.until(PROMPT);
    t.match(await shell.run('ip address add 10.0.0.1/24 dev eth0; ping -c 3 10.0.0.2'), /3 packets received/);
    t.match(await ping(one), ANSWERED);
    await carrierIs(shell, 1);
    t.match(
      await shell.run('ip link set eth1 up; sleep 1; cat /sys/class/net/eth1/carrier'),
      /\n0\r/,
      'no link',
    );

    await lab.client.expect(201, 'PUT', link, { suspend: true });
    await carrierIs(shell, 0);
    t.notMatch(await ping(one), ANSWERED);
    await lab.client.expect(201, 'PUT', link, { suspend: false });
    await carrierIs(shell, 1);
    t.match(await ping(one), ANSWERED);

    t.match(await lab.act(guest, 'suspend'), { status: 'suspended' });
    t.notMatch(await ping(one), ANSWERED, 'a suspended guest is silent');
    t.match(await lab.act(guest, 'start'), { status: 'started' });
    t.match(await ping(one), ANSWERED);

    await lab.client.expect(204, 'DELETE', link);
    await carrierIs(shell, 0);
    await lab.act(guest, 'reload');
    await shell.until(READY);
    await lab.act(guest, 'stop');
    t.same(programsOf(guest), []);
  },
);

void t.test(
  'the carrier of a guest follows the node at the far end, as its property asks',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const guest = await lab.node('qemu', 'G1', GUEST);
    const other = await lab.node('qemu', 'G2', GUEST);
    const link = lab.linkAt(await lab.link([guest, 0, 0], [other, 0, 0]));
    await lab.act(guest, 'start');
    const shell = await guestShell(t, lab, guest);
    await carrierIs(shell, 0);
    await lab.act(other, 'start');
    await carrierIs(shell, 1);
    const shellOfOther = await guestShell(t, lab, other);
    await carrierIs(shellOfOther, 1);
    await lab.act(other, 'suspend');
    await carrierIs(shell, 0);
    await lab.act(other, 'start');
    await carrierIs(shell, 1);
    for (const pid of programsOf(other)) process.kill(pid, 'SIGKILL');
    await carrierIs(shell, 0);

    await lab.client.expect(204, 'DELETE', link);
    const pc = await lab.node('vpcs', 'PC1');
    await lab.link([pc, 0, 0], [guest, 0, 0]);
    await carrierIs(shell, 0);
    await lab.act(pc, 'start');
    await carrierIs(shell, 1);
    await lab.client.expect(204, 'DELETE', lab.at(pc));
    const hub = await lab.node('ethernet_hub', 'H1');
    await lab.link([guest, 0, 0], [hub, 0, 0]);
    await carrierIs(shell, 1);
    await lab.act(guest, 'stop');

    await lab.change(other, { properties: { replicate_network_connection_state: false } });
    await lab.act(other, 'start');
    await carrierIs(await guestShell(t, lab, other), 1);
  },
);

void t.test('the carrier follows a far node that a client of the compute has linked', { skip }, async (t) => {
  const lab = await ComputeLab.open(client);
  const guest = await lab.node('qemu', { name: 'G1', ...GUEST });
  const pc = await lab.node('vpcs', { name: 'PC1' });
  await lab.link([guest, 0], [pc, 0]);
  await client.expect(200, 'POST', `${guest}/start`);
  const shell = await NodeTerminal.open(t, `${server.url}${guest}/console/ws`);
  await shell.until(READY);
  await carrierIs(shell, 0);
  await client.expect(200, 'POST', `${pc}/start`);
  await carrierIs(shell, 1);
  await client.expect(204, 'POST', `${pc}/stop`);
  await carrierIs(shell, 0);
  await lab.close();
});

void t.test('a guest is asked to shut down, and may do so by itself', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', { ...GUEST, on_close: 'shutdown_signal' });
  const stream = await NotificationLog.open(lab.events);
  await lab.act(guest, 'start');
  const shell = await lab.console(t, guest);
  await shell.until(READY);
  const [last] = await Promise.all([shell.until(/power button was pressed/), lab.act(guest, 'stop')]);
  t.match(last, /power button/);
  t.match(await lab.show(guest), { status: 'stopped' });

  await lab.act(guest, 'start');
  const again = await lab.console(t, guest);
  await again.until(READY);
  again.type('poweroff -f');
  await eventually('it is stopped', async () => (await lab.show(guest))['status'] === 'stopped' || undefined);
  t.same(programsOf(guest), []);
  const errors = stream.received.filter(({ action }) => action === 'log.error');
  t.same(errors, [], 'a guest that ends by itself is no error');
  stream.close();
});

void t.test('a guest reads its configuration disk, and what it writes there is kept', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const disk = {
    ...{ create_config_disk: true, hdd_disk_interface: 'virtio' },
    replicate_network_connection_state: false,
  };
  const guest = await lab.node('qemu', 'G1', { ...GUEST, ...disk });
  const archive = join(String(guest['node_directory']), 'config.zip');
  const sent = writeConfigZip(new Map([['ios_config.txt', Buffer.from('hostname G1')]]));
  t.match(await lab.client.request('POST', `${lab.at(guest)}/files/config.zip`, sent), { status: 201 });
  await lab.act(guest, 'start');
  const shell = await lab.console(t, guest);
  await shell.until(READY);
  t.match(await shell.run('mkdir /c && mount -t vfat /dev/vda1 /c && cat /c/ios_config.txt'), /hostname G1/);
  t.match(await shell.run('cat /sys/class/net/eth0/carrier'), /\n1\r/, 'its carrier does not follow links');
  await shell.run('mkdir /c/saved && echo two >/c/saved/running-config.cfg && umount /c');
  await lab.act(guest, 'stop');
  const kept = readConfigZip(readFileSync(archive));
  t.same([...kept.keys()].sort(), ['ios_config.txt', 'saved/running-config.cfg']);
  t.equal(kept.get('saved/running-config.cfg')?.toString(), 'two\n');
});
