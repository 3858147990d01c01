/** Disks that nodes write count to their project: the real QEMU, and files that grow beside it. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { NotificationLog } from '../../support/notification-log.js';
import { NodeLab } from '../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../support/qemu.js';
import { missingVpcs } from '../../support/vpcs.js';

const QUOTA_MIB = 8;
const server = await startQemuServer(t, ['--project-quota', String(QUOTA_MIB)]);

void t.test(
  'a project that takes more than its quota has its machines suspended, and starts nothing until there is room',
  { skip: missingQemu() || missingVpcs() },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const other = await NodeLab.left('another project', server);
    t.teardown(() => other.client.expect(204, 'DELETE', other.path));
    const machine = await lab.node('qemu', 'G1', { ram: 32 });
    const pc = await lab.node('vpcs', 'PC1');
    const elsewhere = await other.node('qemu', 'G2', { ram: 32 });
    await lab.act(machine, 'start');
    await lab.act(pc, 'start');
    await other.act(elsewhere, 'start');
    const stream = await NotificationLog.open(lab.events);
    const told = stream.next(({ action }) => action === 'log.warning');
    const disk = join(String(machine['node_directory']), 'disk');
    writeFileSync(disk, Buffer.alloc((QUOTA_MIB + 1) << 20, 1));
    t.match(await told, {
      event: { message: /takes (9|10) MiB on the disk, and may take 8 \(--project-quota\): G1 suspended/ },
    });
    t.match(await lab.show(machine), { status: 'suspended' });
    t.match(await lab.show(pc), { status: 'started' }, 'what cannot be suspended goes on');
    t.match(await other.show(elsewhere), { status: 'started' }, 'other projects have their own room');
    const refused = { status: 507, body: { code: 'project_quota' } };
    t.match(await lab.client.post(`${lab.at(machine)}/start`), refused, 'it does not go on');
    await lab.act(pc, 'stop');
    t.match(await lab.client.post(`${lab.at(pc)}/start`), refused);

    rmSync(disk);
    t.match(await lab.act(machine, 'start'), { status: 'started' }, 'as soon as there is room');
    t.match(await lab.act(pc, 'start'), { status: 'started' });
    stream.close();
  },
);
