/** Guests that boot: a real kernel in real QEMU, in a lab of this server. */
import t from 'tap';
import { eventually } from '../../support/eventually.js';
import { GUEST, missingGuest, placeGuest } from '../../support/linux-guest.js';
import { NotificationLog } from '../../support/notification-log.js';
import { NodeLab, programsOf } from '../../support/node-lab.js';
import type { NodeTerminal } from '../../support/node-terminal.js';
import { startQemuServer } from '../../support/qemu.js';
import { missingVpcs } from '../../support/vpcs.js';

const missing = missingGuest();
const skip = missing === false ? missingVpcs() : missing;
const server = await startQemuServer(t);
if (skip === false) placeGuest(t, server.data);

const READY = /the guest is ready/;
const PROMPT = /PC1> $/;
const ANSWERED = /10\.0\.0\.1 icmp_seq=\d ttl=64/;

/** Pings the guest once. Returns what the virtual PC printed. */
async function ping(pc: NodeTerminal): Promise<string> {
  pc.type('ping 10.0.0.1 -c 1');
  return pc.until(PROMPT);
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
    /** The driver of the guest hears of it a moment later. */
    const carrierIs = (value: 0 | 1): Promise<true> =>
      eventually<true>(`the carrier is ${value}`, async () => {
        const text = await shell.run('cat /sys/class/net/eth0/carrier');
        return text.includes(`\n${value}\r`) || undefined;
      });

    t.match(await shell.run('ip address add 10.0.0.1/24 dev eth0; ping -c 3 10.0.0.2'), /3 packets received/);
    t.match(await ping(one), ANSWERED);
    await carrierIs(1);
    t.match(
      await shell.run('ip link set eth1 up; sleep 1; cat /sys/class/net/eth1/carrier'),
      /\n0\r/,
      'no link',
    );

    await lab.client.expect(201, 'PUT', link, { suspend: true });
    await carrierIs(0);
    t.notMatch(await ping(one), ANSWERED);
    await lab.client.expect(201, 'PUT', link, { suspend: false });
    await carrierIs(1);
    t.match(await ping(one), ANSWERED);

    t.match(await lab.act(guest, 'suspend'), { status: 'suspended' });
    t.notMatch(await ping(one), ANSWERED, 'a suspended guest is silent');
    t.match(await lab.act(guest, 'start'), { status: 'started' });
    t.match(await ping(one), ANSWERED);

    await lab.client.expect(204, 'DELETE', link);
    await carrierIs(0);
    await lab.act(guest, 'reload');
    await shell.until(READY);
    await lab.act(guest, 'stop');
    t.same(programsOf(guest), []);
  },
);

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
