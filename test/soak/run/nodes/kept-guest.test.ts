/** A guest that has booted lives on while its server dies: its shell, its memory, its link and its carrier. */
import { join } from 'node:path';
import t from 'tap';
import { eventually } from '../../../support/eventually.js';
import { GUEST, missingGuest, placeGuest } from '../../../support/linux-guest.js';
import { NodeLab, programsOf } from '../../../support/node-lab.js';
import type { NodeTerminal } from '../../../support/node-terminal.js';
import { scratchFolder } from '../../../support/scratch.js';
import { manyUdpPorts, ownConsolePorts, startServer } from '../../../support/server-process.js';
import { missingVpcs } from '../../../support/vpcs.js';

const skip = missingGuest() || missingVpcs();
const flags = ['--keep-nodes', '120', '--kvm', 'off'];
const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(), WIREFARM_UDP_PORTS: manyUdpPorts() };

/** Waits until the guest reads this at its first adapter: its driver hears of a change a moment later. */
async function carrierIs(shell: NodeTerminal, value: 0 | 1): Promise<void> {
  await eventually(`the carrier is ${value}`, async () => {
    const text = await shell.run('cat /sys/class/net/eth0/carrier');
    return text.includes(`\n${value}\r`) || undefined;
  });
}

/** Asks again and again: the first frames may be lost. */
async function reaches(shell: NodeTerminal): Promise<void> {
  await eventually('the virtual PC answers', async () => {
    return (await shell.run('ping -c 1 -W 2 10.0.0.2')).includes(' 0% packet loss') || undefined;
  });
}

for (const signal of ['SIGKILL', 'SIGTERM'] as const)
  void t.test(`a guest that has booted goes on after ${signal} of its server`, { skip }, async (t) => {
    const data = join(scratchFolder(t), 'data');
    placeGuest(t, data);
    const first = await startServer(t, { data, flags, environment });
    const lab = await NodeLab.left('guest', first);
    const guest = await lab.node('qemu', 'G1', { ...GUEST, adapters: 2 });
    const pc = await lab.pc('PC1', '10.0.0.2');
    const link = await lab.link([guest, 0, 0], [pc, 0]);
    await lab.act(guest, 'start');
    const shell = await lab.console(t, guest);
    await shell.until(/the guest is ready/);
    await shell.run('ip addr add 10.0.0.1/24 dev eth0');
    await reaches(shell);
    await shell.run('echo kept in memory >/run-note');
    const programs = [guest, pc].flatMap(programsOf);
    t.equal(programs.length, 2);

    await first.stop(signal);
    t.same([guest, pc].flatMap(programsOf), programs, 'both live without a server');
    const next = await startServer(t, { data, flags, environment });
    const taken = new NodeLab(next, lab.id);
    await eventually('the guest is taken over', async () => {
      const shown = await taken.show(guest).catch(() => undefined);
      return shown?.['status'] === 'started' || undefined;
    });
    const again = await taken.console(t, guest);
    t.match(await again.run('cat /run-note'), /kept in memory\r?\n/);
    await carrierIs(again, 1);
    await reaches(again);

    await taken.client.expect(201, 'PUT', taken.linkAt(link), { suspend: true });
    await carrierIs(again, 0);
    await taken.client.expect(201, 'PUT', taken.linkAt(link), { suspend: false });
    await carrierIs(again, 1);
    await reaches(again);
    await taken.act(pc, 'stop');
    await carrierIs(again, 0);
    await taken.act(pc, 'start');
    await carrierIs(again, 1);
    await reaches(again);
    t.same(programsOf(guest), programs.slice(0, 1), 'it is still the same machine');
    await taken.client.expect(204, 'DELETE', taken.path);
    t.same([guest, pc].flatMap(programsOf), []);
  });
