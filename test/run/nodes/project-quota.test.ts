/** Disks that nodes write count to their project: the real QEMU, and files that grow beside it. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { NotificationLog } from '../../support/notification-log.js';
import { NodeLab, programsOf } from '../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../support/qemu.js';
import { fillDisk, NO_MOUNT, smallDisk } from '../../support/small-disk.js';
import { TusTalk } from '../../support/tus.js';
import { missingVpcs } from '../../support/vpcs.js';

const QUOTA_MIB = 8;
const FLOOR_MIB = 24;
/** The projects have a disk of their own, where this process may mount one. */
const disk = smallDisk(t, 96 * 1024);
const server = await startQemuServer(t, [
  ...['--project-quota', String(QUOTA_MIB), '--guest-floor', disk === undefined ? '0' : String(FLOOR_MIB)],
  ...(disk === undefined ? [] : ['--projects', disk]),
]);

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
    const file = join(String(machine['node_directory']), 'disk');
    writeFileSync(file, Buffer.alloc((QUOTA_MIB + 1) << 20, 1));
    t.match(await told, {
      event: {
        message:
          /^G1, PC1 suspended, because the project takes (9|10) MiB on the disk, and may take 8\. Start/,
      },
    });
    t.match(await lab.show(machine), { status: 'suspended' });
    t.match(await lab.show(pc), { status: 'suspended' }, 'also what clients cannot suspend');
    const console = await lab.console(t, pc);
    t.match(
      await console.until(/room\]/),
      /\[suspended: the project takes \d+ MiB on the disk, and may take 8\. Start/,
    );
    console.type('echo 1');
    t.match(await other.show(elsewhere), { status: 'started' }, 'other projects have their own room');
    const refused = { status: 507, body: { code: 'quota_of_disk', quota: { scope: 'project' } } };
    t.match(await lab.client.post(`${lab.at(machine)}/start`), refused, 'it does not go on');
    t.match(await lab.client.post(`${lab.at(pc)}/reload`), refused, 'and is not stopped for a reload');
    t.match(await lab.client.post(`${lab.path}/snapshots?running=true`, { name: 'full' }), refused);
    t.match(await lab.show(pc), { status: 'suspended' });

    rmSync(file);
    t.match(await lab.act(machine, 'start'), { status: 'started' }, 'as soon as there is room');
    t.match(await lab.act(pc, 'start'), { status: 'started' });
    await console.until(/echo 1/);
    stream.close();
  },
);

void t.test('files of clients come in only as far as there is room', async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await lab.node('ethernet_switch', 'S1');
  const refused = { status: 507, body: { code: 'quota_of_disk', quota: { scope: 'project' } } };
  const most = Buffer.alloc((QUOTA_MIB - 3) << 20, 1);
  const files = `${lab.at(node)}/files`;
  t.match(await lab.client.post(`${files}/first`, most), { status: 201 });
  const compute = `/v2/compute/projects/${lab.id}/files/other`;
  for (const path of [`${files}/second`, `${files}.tar`, `${lab.path}/files/other`, compute])
    t.match(await lab.client.post(path, most), refused, path);
  const target = { project_id: lab.id, node_id: String(node['node_id']), path: 'second' };
  const tus = new TusTalk(lab.client);
  t.match(await tus.begin(most.length, target), refused, 'before a byte of it has come');
  t.match(await lab.client.post(`${files}/small`, most.subarray(0, 1 << 20)), { status: 201 });
  await lab.client.expect(204, 'DELETE', `${files}/first`);
  t.match(await lab.client.post(`${files}/second`, most), { status: 201 }, 'as soon as there is room');
  const listed = (await lab.client.get(files)).body as { path: string; size: number }[];
  t.same(Object.fromEntries(listed.map(({ path, size }) => [path, size])), {
    small: 1 << 20,
    second: most.length,
  });

  const other = await NodeLab.left('files at the same time', server);
  t.teardown(() => other.client.expect(204, 'DELETE', other.path));
  const many = await Promise.all(
    [1, 2, 3, 4, 5].map((name) => other.client.post(`${other.path}/files/f${name}`, most)),
  );
  t.same(many.map(({ status }) => status).sort(), [201, 507, 507, 507, 507], 'also at the same time');
});

void t.test(
  'all nodes are suspended when the disk itself is nearly full, and go on when there is room',
  { skip: disk === undefined ? NO_MOUNT : missingVpcs() },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const pc = await lab.node('vpcs', 'PC1');
    await lab.act(pc, 'start');
    const console = await lab.console(t, pc);
    const free = fillDisk(String(disk), (FLOOR_MIB - 8) << 20);
    await console.until(/\[suspended: the disk of the server has only \d+ MiB free, and keeps 24 .*room\]/);
    t.match(await lab.show(pc), { status: 'suspended' });
    t.not(programsOf(pc).length, 0, 'its program is there');
    const refused = { status: 507, body: { code: 'guest_floor', floor: FLOOR_MIB << 20 } };
    t.match(await lab.client.post(`${lab.at(pc)}/start`), refused);
    free();
    console.type('echo again');
    t.match(await lab.act(pc, 'start'), { status: 'started' });
    await console.until(/echo again/);
    const happened = await lab.client.get(`${lab.path}/history?kind=nodes_suspended`);
    t.match(happened.body, [{ message: /^PC1 suspended, because the disk of the server/ }]);
  },
);
