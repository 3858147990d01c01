/** Debian as an emulated guest: its kernel, systemd, and a shell of root on its second serial port. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { cached, debianArchive, missingDebian } from './debian.js';
import { firstDisk, kernelFile, missingGuest, MODULES } from './linux-guest.js';
import { scratchFolder, type Teardown } from './scratch.js';

const ADDRESS = '10.0.2.15';
/** Services without a use for the guest of a test, which take time when it starts. */
const MASKED = [
  ...[
    'getty.target',
    'systemd-timesyncd',
    'apt-daily.timer',
    'apt-daily-upgrade.timer',
    'dpkg-db-backup.timer',
  ],
  ...['e2scrub_all.timer', 'e2scrub_reap', 'fstrim.timer', 'systemd-random-seed', 'systemd-update-utmp'],
  ...['systemd-journal-flush', 'systemd-logind', 'modprobe@drm', 'modprobe@fuse', 'sys-kernel-debug.mount'],
  ...['modprobe@configfs', 'modprobe@dm_mod', 'modprobe@efi_pstore', 'systemd-modules-load'],
  ...['sys-kernel-tracing.mount', 'dev-hugepages.mount', 'dev-mqueue.mount', 'systemd-udevd'],
  ...['systemd-udev-trigger', 'systemd-journal-catalog-update', 'systemd-update-utmp-runlevel'],
].map((name) => (name.includes('.') ? name : `${name}.service`));
const SHELL = `[Unit]
Description=The shell of the test
[Service]
ExecStartPre=/bin/stty -F /dev/ttyS1 raw -echo
ExecStart=/bin/sh -c 'echo the guest is ready; exec /bin/sh'
StandardInput=tty-force
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS1
`;
const FILES: Readonly<Record<string, string>> = {
  'etc/hostname': 'guest\n',
  'etc/fstab': '/dev/vdb /opt ext4 ro 0 0\n',
  'etc/machine-id': `${'1'.repeat(32)}\n`,
  'etc/systemd/system/shell.service': SHELL,
};
const INIT = `#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /dev /proc /root
$b mount -t devtmpfs dev /dev
for module in /modules/*; do $b insmod $module; done
while [ ! -b /dev/vda ]; do $b sleep 0.1; done
$b mount -t ext4 /dev/vda /root
$b mount -t ext4 -o ro /dev/vdb /root/opt
$b ip link set lo up
$b ip link set eth0 up
$b ip addr add ${ADDRESS}/24 dev eth0
$b mount --move /dev /root/dev
exec $b switch_root /root /sbin/init
`;

export function missingDebianGuest(): string | false {
  return missingDebian() || missingGuest();
}

/** Makes a file system of all that is in the folder. */
function diskOf(folder: string, file: string, mebibytes: number): void {
  execFileSync('/sbin/mkfs.ext4', ['-q', '-F', '-m', '0', '-d', folder, file, `${mebibytes}M`]);
}

function rootDisk(t: Teardown): string {
  return cached('debian.ext4', [JSON.stringify([MASKED, FILES])], (file) => {
    const root = scratchFolder(t);
    execFileSync('tar', ['-C', root, '-xf', debianArchive()]);
    const units = join(root, 'etc/systemd/system');
    mkdirSync(join(units, 'multi-user.target.wants'), { recursive: true });
    for (const unit of MASKED) {
      rmSync(join(units, unit), { force: true });
      symlinkSync('/dev/null', join(units, unit));
    }
    for (const [path, text] of Object.entries(FILES)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    symlinkSync('../shell.service', join(units, 'multi-user.target.wants/shell.service'));
    symlinkSync('/opt/node', join(root, 'usr/local/bin/node'));
    diskOf(root, file, 600);
    rmSync(root, { recursive: true });
  });
}

interface Said {
  readonly code: number;
  readonly output: string;
}

export class DebianGuest {
  /** The address at which port 3080 of the guest is reached from this host. */
  readonly url: string;
  readonly #keyboard: Writable;
  #heard = '';
  #wake: (() => void) | undefined;
  #commands = 0;

  /** `folder` has what is in the guest's /opt, `node` among it; `port` is one of this host. */
  static async start(t: Teardown, folder: string, port: number): Promise<DebianGuest> {
    const place = scratchFolder(t);
    const [memory, opt, log] = ['memory', 'opt', 'log'].map((name) => join(place, name));
    writeFileSync(memory ?? '', firstDisk(t, { init: INIT }, [...MODULES, 'drivers/net/tun']));
    diskOf(folder, opt ?? '', 600);
    const drive = (file: string | undefined): string[] => [
      '-drive',
      `file=${file},format=raw,if=virtio,snapshot=on`,
    ];
    const machine = spawn(
      'qemu-system-x86_64',
      [
        ...['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '1024', '-no-reboot'],
        ...[
          '-kernel',
          kernelFile(),
          '-initrd',
          memory ?? '',
          '-append',
          'console=ttyS0 quiet mitigations=off',
        ],
        ...[...drive(rootDisk(t)), ...drive(opt)],
        ...['-netdev', `user,id=net,hostfwd=tcp:127.0.0.1:${port}-${ADDRESS}:3080`],
        ...['-device', 'virtio-net-pci,netdev=net', '-display', 'none', '-monitor', 'none'],
        ...['-serial', `file:${log}`, '-serial', 'stdio'],
      ],
      { stdio: ['pipe', 'pipe', 'inherit'] },
    );
    t.teardown(async () => {
      machine.kill('SIGKILL');
      if (machine.exitCode === null && machine.signalCode === null) await once(machine, 'exit');
    });
    const guest = new DebianGuest(machine, `http://127.0.0.1:${port}`);
    const ended = once(machine, 'exit').then(() => {
      throw new Error(`the guest ended: ${readFileSync(log ?? '', 'utf8').slice(-2000)}`);
    });
    await Promise.race([guest.#until('the guest is ready'), ended]);
    await guest.run('PS1=; PS2=');
    return guest;
  }

  private constructor(machine: ChildProcess, url: string) {
    const { stdin, stdout } = machine as ChildProcess & { stdin: Writable; stdout: Readable };
    this.url = url;
    this.#keyboard = stdin;
    stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#heard += text;
      this.#wake?.();
    });
  }

  /** Runs one command of the shell at a time. */
  async run(command: string): Promise<Said> {
    const number = ++this.#commands;
    this.#keyboard.write(`{ ${command}\n} 2>&1; echo "<${number}:$?>"\n`);
    const output = await this.#until(`<${number}:`);
    const code = Number(await this.#until('>'));
    return { code, output: output.trim() };
  }

  /** Runs a command that must end with 0; resolves with what it says. */
  async expect(command: string): Promise<string> {
    const { code, output } = await this.run(command);
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${output}`);
    return output;
  }

  /** Resolves with what came before the text. */
  async #until(text: string): Promise<string> {
    for (;;) {
      const at = this.#heard.indexOf(text);
      if (at >= 0) {
        const before = this.#heard.slice(0, at);
        this.#heard = this.#heard.slice(at + text.length);
        return before;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
