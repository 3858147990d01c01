/** Adapters of the type `vhost-user`: guests that boot, whose memory the engine reads and writes. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { eventually } from '../../../../support/eventually.js';
import { GUEST, missingGuest, placeGuest } from '../../../../support/linux-guest.js';
import { NodeLab, programsOf, type Json } from '../../../../support/node-lab.js';
import type { NodeTerminal } from '../../../../support/node-terminal.js';
import { startQemuServer } from '../../../../support/qemu.js';
import { scratchFolder } from '../../../../support/scratch.js';
import { manyUdpPorts, ownConsolePorts, startServer } from '../../../../support/server-process.js';
import { missingTshark, tsharkRows } from '../../../../support/tshark.js';
import { missingVpcs } from '../../../../support/vpcs.js';

const skip = [missingGuest(), missingVpcs(), missingTshark()].find((missing) => missing !== false) ?? false;
const server = await startQemuServer(t);
if (skip === false) placeGuest(t, server.data);

const READY = /the guest is ready/;
const PROMPT = /PC1> $/;
interface Counted {
  readonly counters: { readonly frames_in: number; readonly octets_in: number };
}

const NONE: Counted = { counters: { frames_in: 0, octets_in: 0 } };
const DIGEST = /[0-9a-f]{32}/;
const MEBIBYTES = 8;
const SHARED = { ...GUEST, adapter_type: 'vhost-user' };

void t.test('a guest that shares its memory reaches a virtual PC, and is counted', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', {
    ...{ ...SHARED, adapters: 2 },
    custom_adapters: [{ adapter_number: 1, adapter_type: 'e1000' }],
  });
  const pc = await lab.node('vpcs', 'PC1', { startup_script: 'set pcname %h\nip 10.0.0.2/24\n' });
  const link = lab.linkAt(await lab.link([guest, 0, 0], [pc, 0, 0]));
  await lab.act(guest, 'start');
  await lab.act(pc, 'start');
  const shell = await lab.console(t, guest);
  await shell.until(READY);
  const one = await lab.console(t, pc);
  await one.until(PROMPT);
  t.match(await shell.run('ip address add 10.0.0.1/24 dev eth0; ping -c 3 10.0.0.2'), /3 packets received/);
  t.match(await shell.run('ping -c 2 -s 1400 10.0.0.2'), /2 packets received/);

  // The queues stop and begin with the carrier.
  await lab.client.expect(201, 'PUT', link, { suspend: true });
  await eventually(
    'the carrier falls',
    async () => (await shell.run('cat /sys/class/net/eth0/carrier')).includes('\n0\r') || undefined,
  );
  await lab.client.expect(201, 'PUT', link, { suspend: false });
  t.match(await shell.run('sleep 1; ping -c 3 10.0.0.2'), /[123] packets received/);
  await lab.act(guest, 'reload');
  await shell.until(READY);
  t.match(await shell.run('ip address add 10.0.0.1/24 dev eth0; ping -c 3 10.0.0.2'), /3 packets received/);
  const { body } = await lab.client.post(`${lab.path}/snapshots?running=true`, { name: 'live' });
  t.match(body, { name: 'live' }, 'its disks are saved');
  await lab.act(guest, 'stop');
  t.same(programsOf(guest), []);
});

void t.test(
  'guests send long frames to each other, and a capture has what a wire would',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const middle = await lab.node('ethernet_switch', 'S1');
    const guests = [await lab.node('qemu', 'G1', SHARED), await lab.node('qemu', 'G2', SHARED)];
    const links: Json[] = [];
    const shells: NodeTerminal[] = [];
    for (const [index, guest] of guests.entries()) {
      links.push(await lab.link([guest, 0, 0], [middle, index]));
      await lab.act(guest, 'start');
      const shell = await lab.console(t, guest);
      await shell.until(READY);
      await shell.run(`ip address add 10.0.0.${index + 1}/24 dev eth0`);
      shells.push(shell);
    }
    const [one, two] = shells;
    if (one === undefined || two === undefined) throw new Error('there are two guests');
    const statistics = `/v2/compute/projects/${lab.id}/ethernet_switch/nodes/${String(middle['node_id'])}/statistics`;
    await one.run(`dd if=/dev/urandom of=/data bs=1M count=${MEBIBYTES}`);
    await one.run('httpd -h /');
    const source = 'http://10.0.0.1/data';
    const carry = async (): Promise<void> => {
      const [sent, received] = [
        await one.run('md5sum /data'),
        await two.run(`wget -q -O - ${source} | md5sum`),
      ];
      t.equal(DIGEST.exec(received)?.[0], DIGEST.exec(sent)?.[0]);
    };
    await carry();
    const { ports } = await lab.client.expect(200, 'GET', statistics);
    const [{ counters } = NONE] = ports as Counted[];
    const { frames_in: frames, octets_in: octets } = counters;
    t.ok(octets > MEBIBYTES * 1024 ** 2);
    t.ok(octets / frames > 3000, `${octets / frames} octets a frame are more than a wire takes`);

    const at = lab.linkAt(links[1] ?? {});
    const { capture_file_path: path } = await lab.client.expect(201, 'POST', `${at}/start_capture`, {});
    await carry();
    await lab.client.expect(201, 'POST', `${at}/stop_capture`);
    const fields = ['frame.len', 'ip.checksum.status', 'tcp.checksum.status'];
    const checks = ['ip.check_checksum:TRUE', 'tcp.check_checksum:TRUE'];
    const rows = tsharkRows(readFileSync(String(path)), fields, 'tcp', checks);
    t.ok(rows.length > (MEBIBYTES * 1024 ** 2) / 1500);
    t.same(
      rows.filter(([length, ip, tcp]) => Number(length) > 1514 || ip !== '1' || tcp !== '1'),
      [],
      'no frame is too long, and every checksum is right',
    );
  },
);

void t.test('a guest that shares its memory is heard again by the next server', { skip }, async (t) => {
  const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(1), WIREFARM_UDP_PORTS: manyUdpPorts() };
  const flags = ['--keep-nodes', '60', '--kvm', 'off'];
  const data = scratchFolder(t);
  placeGuest(t, data);
  const first = await startServer(t, { data, flags, environment });
  const before = await NodeLab.left('kept', first);
  const one = await before.node('qemu', 'G1', SHARED);
  const other = await before.node('qemu', 'G2', SHARED);
  await before.link([one, 0, 0], [other, 0, 0]);
  for (const [index, guest] of [one, other].entries()) {
    await before.act(guest, 'start');
    const shell = await before.console(t, guest);
    await shell.until(READY);
    await shell.run(`ip address add 10.0.0.${index + 1}/24 dev eth0`);
  }
  const programs = programsOf(one);
  await first.stop('SIGKILL');
  const next = await startServer(t, { data, flags, environment });
  const lab = new NodeLab(next, before.id);
  await eventually('the guest is there', () => lab.show(one).catch(() => undefined));
  t.same(programsOf(one), programs);
  const shell = await lab.console(t, one);
  await eventually(
    'the other one answers',
    async () => /[1-3] packets received/.test(await shell.run('ping -c 3 10.0.0.2')) || undefined,
  );
});

void t.test('a guest that cannot share its memory is refused with the reason', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  for (const [properties, reason] of [
    [{ ram: 4097 }, /4096 MiB/],
    [{ legacy_networking: true }, /legacy_networking/],
  ] as const) {
    const guest = await lab.node('qemu', 'G1', { ...SHARED, ...properties });
    const { status, body } = await lab.client.post(`${lab.at(guest)}/start`);
    t.equal(status, 409);
    t.match(body, { message: reason });
  }
});
