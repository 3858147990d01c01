/** Disks that are swapped between their check and the moment when QEMU opens them: the real QEMU has opened others. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, renameSync, symlinkSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { checkOpened } from '../../../../src/run/nodes/qemu/opened-files.js';
import type { PreparedDisks } from '../../../../src/run/nodes/qemu/prepared-disks.js';
import { connectProgram } from '../../../../src/run/nodes/qemu/program-socket.js';
import { QmpClient } from '../../../../src/run/nodes/qemu/qmp.js';
import { eventually } from '../../../support/eventually.js';
import { NodeLab, programsOf } from '../../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../../support/qemu.js';
import { qemuFiles } from '../../../support/qemu-files.js';
import { scratchFolder } from '../../../support/scratch.js';

const skip = missingQemu();

function img(...args: string[]): void {
  const { status, stderr } = spawnSync('qemu-img', args);
  if (status !== 0) throw new Error(stderr.toString());
}

/** A folder with an image and an overlay upon it, as they are checked. */
function disksIn(folder: string): { overlay: string; base: string; disks: PreparedDisks } {
  const [base, overlay] = [join(folder, 'base.img'), join(folder, 'hda_disk.qcow2')];
  img('create', '-q', '-f', 'raw', base, '1M');
  img('create', '-q', '-f', 'qcow2', '-b', base, '-F', 'raw', overlay);
  const drive = { index: 0, path: overlay, base, format: 'qcow2', interface: 'ide' } as const;
  const images = { cdrom: undefined, kernel: undefined, initrd: undefined, bios: undefined };
  const plain = { uefi: undefined, hasConfigDisk: false, warnings: [], release: () => undefined };
  return { overlay, base, disks: { folder, drives: [drive], images, ...plain } };
}

/** Starts QEMU with the overlay, and compares what it has opened with what was checked. */
async function opened(t: Test, folder: string, overlay: string, disks: PreparedDisks): Promise<void> {
  const path = join(folder, 'q');
  const args = [
    '-M',
    'pc',
    '-m',
    '16M',
    '-display',
    'none',
    '-net',
    'none',
    '-S',
    '-qmp',
    `unix:${path},server=on`,
  ];
  const drive = ['-drive', `file=${overlay},format=qcow2,if=ide,index=0`];
  const qemu = spawn('qemu-system-x86_64', [...args, ...drive], { stdio: 'ignore' });
  const ended = once(qemu, 'exit');
  t.teardown(async () => {
    qemu.kill('SIGKILL');
    await ended;
  });
  const socket = await eventually('QEMU listens', () =>
    connectProgram(qemuFiles, path).catch(() => undefined),
  );
  const control = await QmpClient.open(socket, { onEvent: () => undefined });
  try {
    await checkOpened({ files: qemuFiles, control, pid: Number(qemu.pid) }, disks);
  } finally {
    control.close();
  }
}

void t.test('the disks that were checked are those that QEMU has opened', { skip }, async (t) => {
  const folder = scratchFolder(t);
  const { overlay, disks } = disksIn(folder);
  await opened(t, folder, overlay, disks);
});

void t.test('a disk with another backing file is refused', { skip }, async (t) => {
  const folder = scratchFolder(t);
  const { overlay, disks } = disksIn(folder);
  img('create', '-q', '-f', 'qcow2', '-b', '/etc/passwd', '-F', 'raw', overlay);
  await t.rejects(opened(t, folder, overlay, disks), { code: 'disk_refused', message: /The disk passwd/ });
});

void t.test('a disk that is a link to another one is refused', { skip }, async (t) => {
  const folder = scratchFolder(t);
  const { overlay, base, disks } = disksIn(folder);
  renameSync(overlay, join(folder, 'of another node.qcow2'));
  symlinkSync(join(folder, 'of another node.qcow2'), overlay);
  const message = /of another node\.qcow2 was refused/;
  await t.rejects(opened(t, folder, overlay, disks), { code: 'disk_refused', message });
  t.ok(base);
});

void t.test('a machine whose disk is swapped while it starts does not run', { skip }, async (t) => {
  const server = await startQemuServer(t);
  const lab = await NodeLab.make(t, server);
  const images = join(server.data, 'images', 'QEMU');
  const node = await lab.node('qemu', 'R1', { ram: 32, hda_disk_image: 'b.img', hda_disk_interface: 'ide' });
  await lab.client.expect(200, 'GET', lab.at(node));
  spawnSync('mkdir', ['-p', images]);
  writeFileSync(join(images, 'b.img'), Buffer.alloc(4096));
  await lab.act(node, 'start');
  await lab.act(node, 'stop');
  const overlay = join(String(node['node_directory']), 'hda_disk.qcow2');
  const [good, evil] = [`${overlay}.good`, `${overlay}.evil`];
  copyFileSync(overlay, good);
  img('create', '-q', '-f', 'qcow2', '-b', '/etc/passwd', '-F', 'raw', evil);
  // The folder of its sockets is made between the check and the start. The swap may come too late: then it is tried again.
  let isRefused = false;
  for (let attempt = 0; attempt < 10 && !isRefused; attempt++) {
    copyFileSync(evil, `${evil}.${attempt}`);
    const watcher = watch(join(server.data, 'run', 'n'), () => {
      watcher.close();
      renameSync(`${evil}.${attempt}`, overlay);
    });
    const { status, body } = await lab.client.post(`${lab.at(node)}/start`);
    watcher.close();
    isRefused = status === 409;
    if (isRefused) t.match(body, { message: /The disk passwd was refused: QEMU has opened it/ });
    await lab.act(node, 'stop');
    copyFileSync(good, overlay);
  }
  t.ok(isRefused);
  t.same(programsOf(node), []);
  t.match(await lab.act(node, 'start'), { status: 'started' }, 'the own disk');
});
