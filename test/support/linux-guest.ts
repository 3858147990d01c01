/** A guest for virtual machines: the kernel of Debian's cloud images, and busybox. It has a shell on its serial port. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { missingQemu } from './qemu.js';
import { scratchFolder, type Teardown } from './scratch.js';

const BUSYBOX = '/bin/busybox';
const KERNELS = '/boot';
const KERNEL_NAME = /^vmlinuz-(.*-cloud-amd64)$/;
/** The modules of disks and networks, in the order in which they are loaded. */
export const MODULES = [
  ...['drivers/virtio/virtio_ring', 'drivers/virtio/virtio', 'drivers/virtio/virtio_pci_legacy_dev'],
  ...['drivers/virtio/virtio_pci_modern_dev', 'drivers/virtio/virtio_pci', 'net/core/failover'],
  ...['drivers/net/net_failover', 'drivers/net/virtio_net', 'drivers/block/virtio_blk'],
  ...[
    'drivers/acpi/button',
    'drivers/input/evdev',
    'fs/nls/nls_ascii',
    'fs/nls/nls_cp437',
    'fs/fat/fat',
    'fs/fat/vfat',
  ],
];
const INIT = `#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /bin /var/run /var/log
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for name in /modules/*; do insmod $name; done
acpid
ip link set lo up
ip link set eth0 up
echo the guest is ready
exec setsid cttyhack sh
`;
const POWER_BUTTON = `#!/bin/sh
echo the power button was pressed >/dev/ttyS0
poweroff -f
`;

function newestKernel(): string | undefined {
  const names = existsSync(KERNELS) ? readdirSync(KERNELS) : [];
  return names
    .map((name) => KERNEL_NAME.exec(name)?.[1])
    .filter((release) => release !== undefined)
    .sort()
    .at(-1);
}

/** False when this host has all that the guest is made of. */
export function missingGuest(): string | false {
  if (newestKernel() === undefined) return 'a kernel is missing: install the package linux-image-cloud-amd64';
  if (!existsSync(BUSYBOX)) return 'the program busybox is missing: install the package busybox-static';
  if (spawnSync('which', ['cpio']).status !== 0)
    return 'the program cpio is missing: install the package cpio';
  return missingQemu();
}

/** The properties of a node whose guest is made of the images that `placeGuest` has placed. */
export const GUEST = {
  ram: 128,
  adapter_type: 'virtio-net-pci',
  kernel_image: 'guest-kernel',
  initrd: 'guest-initrd',
  kernel_command_line: 'console=ttyS0 quiet',
};

/** Puts the images of the guest into the images of a server, which may run already; returns their folder. */
export function placeGuest(t: Teardown, data: string, more: readonly string[] = []): string {
  const images = join(data, 'images', 'QEMU');
  mkdirSync(images, { recursive: true });
  copyFileSync(kernelFile(), join(images, GUEST.kernel_image));
  const files = { init: INIT, 'etc/acpi/PWRF/00000080': POWER_BUTTON };
  writeFileSync(join(images, GUEST.initrd), firstDisk(t, files, [...MODULES, ...more]));
  return images;
}

export function kernelFile(): string {
  return join(KERNELS, `vmlinuz-${newestKernel() ?? ''}`);
}

/** A disk in memory, from which a kernel starts: busybox, these programs, and modules for `init` to load. */
export function firstDisk(
  t: Teardown,
  programs: Readonly<Record<string, string>>,
  modules: readonly string[],
): Buffer {
  const root = scratchFolder(t);
  for (const folder of ['bin', 'modules', ...Object.keys(programs).map((path) => dirname(path))])
    mkdirSync(join(root, folder), { recursive: true });
  copyFileSync(BUSYBOX, join(root, 'bin/busybox'));
  for (const [index, path] of modules.entries()) {
    const file = `/lib/modules/${newestKernel() ?? ''}/kernel/${path}.ko`;
    copyFileSync(file, join(root, 'modules', `${String(index).padStart(2, '0')}.ko`));
  }
  for (const [path, text] of Object.entries(programs)) writeFileSync(join(root, path), text);
  for (const path of ['bin/busybox', ...Object.keys(programs)]) chmodSync(join(root, path), 0o755);
  return execFileSync('sh', ['-c', 'find . | cpio --quiet -o -H newc | gzip -1'], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
}
