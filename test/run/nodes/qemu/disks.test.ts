/** The disks of QEMU nodes, made by the real qemu-img, and disks that clients planted to read files of the host. */
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { refusals } from '../../../../src/base/errors/errors.js';
import type { ComputeFiles } from '../../../../src/run/files.js';
import { hostTasks } from '../../../../src/run/host-tasks.js';
import { Keeper } from '../../../../src/run/keeper/keeper.js';
import { DiskUses } from '../../../../src/run/nodes/qemu/disk-uses.js';
import {
  prepareDisks,
  resizeDisk,
  tpmCommand,
  type DiskNode,
  type QemuDiskOptions,
} from '../../../../src/run/nodes/qemu/qemu-disks.js';
import { qemuTasks } from '../../../../src/run/nodes/qemu/qemu-tasks.js';
import { scratchFolder, type Teardown } from '../../../support/scratch.js';

const isMissing = spawnSync('qemu-img', ['--version']).status !== 0;
const skip = isMissing && 'the program qemu-img is missing: install the package qemu-utils';
const MEBI = 1024 * 1024;
const SECRET = '/etc/passwd';

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('qemu-img', args);
  if (status !== 0) throw new Error(stderr.toString());
  return stdout.toString();
}

interface DiskFacts {
  readonly format: string;
  readonly 'virtual-size': number;
  readonly 'backing-filename'?: string;
  readonly 'backing-filename-format'?: string;
}

function factsOf(path: string): DiskFacts {
  return JSON.parse(run('info', '--output=json', '-f', 'qcow2', path)) as DiskFacts;
}

/** The real tasks and the real keeper around one node; the images are those of a folder. */
class DiskLab {
  readonly images: string;
  readonly project: string;
  readonly folder: string;
  readonly options: QemuDiskOptions;

  constructor(t: Teardown) {
    const scratch = scratchFolder(t);
    this.images = join(scratch, 'images');
    this.project = join(scratch, 'pro,ject');
    this.folder = join(this.project, 'project-files', 'qemu', 'n');
    mkdirSync(join(this.images, 'QEMU'), { recursive: true });
    mkdirSync(this.folder, { recursive: true });
    const keeper = new Keeper({
      folder: join(scratch, 'run'),
      mark: `disks-${process.pid}-${scratch}`,
      graceSeconds: 0,
      log: pino({ level: 'silent' }),
      onLost: () => undefined,
    });
    t.teardown(() => keeper.close());
    const tasks: Record<string, (input: never) => unknown> = { ...hostTasks, ...qemuTasks };
    const files: ComputeFiles = {
      run: async (name, input) => {
        await Promise.resolve();
        return tasks[name]?.(input) as never;
      },
    };
    this.options = {
      keeper,
      files,
      images: {
        folder: this.images,
        allowsAnyPath: false,
        pathOf: (_, name) => {
          const path = join(this.images, 'QEMU', name);
          return existsSync(path) ? Promise.resolve(path) : Promise.reject(refusals.imageMissing(name));
        },
      },
      uses: new DiskUses(),
    };
  }

  image(name: string, ...args: string[]): string {
    const path = join(this.images, 'QEMU', name);
    run('create', '-q', ...args, path, '16M');
    return path;
  }

  own(name: string): string {
    return join(this.folder, name);
  }

  node(properties: Record<string, unknown>, name = 'R1'): DiskNode {
    const home = { id: 'p', name: 'lab', folder: this.project };
    return { id: 'n', name, home, folder: 'project-files/qemu/n', properties };
  }

  prepare(properties: Record<string, unknown>, name?: string) {
    return prepareDisks(this.options, this.node(properties, name), false);
  }
}

const HDA = { hda_disk_image: 'base.img', hda_disk_interface: 'virtio' };

void t.test('a linked clone is made once, and follows an image that has moved', { skip }, async (t) => {
  const lab = new DiskLab(t);
  const image = lab.image('base.img', '-f', 'qcow2');
  const { drives, release } = await lab.prepare(HDA);
  t.same(drives, [
    { index: 0, path: lab.own('hda_disk.qcow2'), base: image, format: 'qcow2', interface: 'virtio' },
  ]);
  t.match(factsOf(lab.own('hda_disk.qcow2')), {
    format: 'qcow2',
    'backing-filename': image,
    'backing-filename-format': 'qcow2',
    'virtual-size': 16 * MEBI,
  });
  release();
  const { ino, mtimeMs } = statSync(lab.own('hda_disk.qcow2'));
  (await lab.prepare(HDA)).release();
  t.match(statSync(lab.own('hda_disk.qcow2')), { ino, mtimeMs }, 'it is left alone');
  run('rebase', '-u', '-f', 'qcow2', '-b', '/old/place/base.img', '-F', 'qcow2', lab.own('hda_disk.qcow2'));
  (await lab.prepare(HDA)).release();
  t.equal(factsOf(lab.own('hda_disk.qcow2'))['backing-filename'], image);
  run('rebase', '-u', '-f', 'qcow2', '-b', image, '-F', 'raw', lab.own('hda_disk.qcow2'));
  (await lab.prepare(HDA)).release();
  t.equal(factsOf(lab.own('hda_disk.qcow2'))['backing-filename-format'], 'qcow2', 'with its own format');
  t.same(readdirSync(join(lab.project, 'tmp')), []);
});

void t.test('images of all formats are told by their heads', { skip }, async (t) => {
  for (const [format, option] of [
    ['raw'],
    ['qcow2', 'compat=0.10'],
    ['qcow2', 'cluster_size=512'],
    ['qcow'],
    ['vdi'],
    ['vmdk', 'subformat=monolithicSparse'],
    ['vmdk', 'subformat=streamOptimized'],
    ['vpc', 'subformat=dynamic'],
    ['vpc', 'subformat=fixed'],
    ['vhdx'],
  ] as readonly [string, string?][]) {
    const lab = new DiskLab(t);
    lab.image('base.img', '-f', format, ...(option === undefined ? [] : ['-o', option]));
    const { release } = await lab.prepare(HDA);
    t.equal(
      factsOf(lab.own('hda_disk.qcow2'))['backing-filename-format'],
      format,
      `${format} ${option ?? ''}`,
    );
    release();
  }
});

void t.test('an image without linked clones is for one node at a time', { skip }, async (t) => {
  const lab = new DiskLab(t);
  const image = lab.image('base.img', '-f', 'raw');
  const direct = { ...HDA, linked_clone: false };
  const first = await lab.prepare(direct);
  t.match(first.drives, [{ path: image, format: 'raw' }]);
  for (const properties of [direct, HDA])
    await t.rejects(lab.prepare(properties, 'R2'), { status: 409, code: 'disk_in_use' });
  first.release();
  const readers = [await lab.prepare(HDA), await lab.prepare(HDA, 'R2')];
  await t.rejects(lab.prepare(direct), { code: 'disk_in_use' });
  for (const { release } of readers) release();
  (await lab.prepare(direct)).release();
});

void t.test('a missing image is refused, and nothing is kept of the attempt', { skip }, async (t) => {
  const lab = new DiskLab(t);
  lab.image('base.img', '-f', 'raw');
  for (const other of ['hdb_disk_image', 'cdrom_image', 'kernel_image', 'initrd', 'bios_image']) {
    const properties = { ...HDA, linked_clone: false, [other]: 'none.img' };
    await t.rejects(lab.prepare(properties), { status: 409, code: 'image_missing' }, other);
  }
  (await lab.prepare({ ...HDA, linked_clone: false })).release();
});

/** Changes bytes of a file. */
function patch(path: string, at: number, bytes: Buffer): void {
  const content = readFileSync(path);
  bytes.copy(content, at);
  writeFileSync(path, content);
}

/** Plants a disk at a path that reads a file of the host, each in another way. */
const PLANTED: Readonly<Record<string, (path: string) => void>> = {
  'a qcow2 upon a file of the host': (path) =>
    run('create', '-q', '-f', 'qcow2', '-u', '-b', SECRET, '-F', 'raw', path, '1M'),
  'a qcow2 upon a file of the host, in the old version': (path) =>
    run('create', '-q', '-f', 'qcow2', '-o', 'compat=0.10', '-u', '-b', SECRET, '-F', 'raw', path, '1M'),
  'a qcow2 with a json: name': (path) => {
    const name = `json:{"driver":"raw","file.filename":"${SECRET}"}`;
    run('create', '-q', '-f', 'qcow2', '-u', '-b', name, '-F', 'raw', path, '1M');
  },
  'a qcow2 upon the network': (path) =>
    run('create', '-q', '-f', 'qcow2', '-u', '-b', 'nbd://127.0.0.1/base.img', '-F', 'raw', path, '1M'),
  'a qcow2 with a data file': (path) => {
    const data = `${path}.data`;
    run('create', '-q', '-f', 'qcow2', '-o', `data_file=${data}`, path, '1M');
  },
  'a qcow2 with the name of a data file alone': (path) => {
    PLANTED['a qcow2 with a data file']?.(path);
    patch(path, 79, Buffer.from([0]));
  },
  'a qcow2 with the mark of a data file alone': (path) => {
    run('create', '-q', '-f', 'qcow2', path, '1M');
    patch(path, 79, Buffer.from([4]));
  },
  'a qcow2 that ends in its header': (path) => {
    run('create', '-q', '-f', 'qcow2', path, '1M');
    truncateSync(path, 80);
  },
  'a qcow upon a file of the host': (path) => {
    run('create', '-q', '-f', 'qcow', path, '1M');
    patch(path, 15, Buffer.from([64]));
  },
  'a VMDK of several files': (path) => {
    writeFileSync(
      path,
      `# Disk DescriptorFile\nversion=1\ncreateType="monolithicFlat"\nRW 8 FLAT "${SECRET}" 0\n`,
    );
  },
  'a VMDK of several files, after comments': (path) => {
    writeFileSync(path, `#\n\n#x\nversion=1\nCID=1\nparentCID=ffffffff\nRW 8 FLAT "${SECRET}" 0\n`);
  },
  'a VMDK upon a file of the host': (path) => {
    run('create', '-q', '-f', 'vmdk', path, '1M');
    const at = readFileSync(path).indexOf('createType');
    patch(path, at, Buffer.from(`parentFileNameHint="${SECRET}"\n`));
  },
  'a VMDK whose description is elsewhere': (path) => {
    run('create', '-q', '-f', 'vmdk', path, '1M');
    patch(path, 16, Buffer.alloc(8));
  },
};

for (const [what, plant] of Object.entries(PLANTED)) {
  void t.test(`${what} is refused as an image and in the place of a clone`, { skip }, async (t) => {
    const lab = new DiskLab(t);
    const planted = join(lab.images, 'QEMU', 'base.img');
    plant(planted);
    for (const linked of [true, false])
      await t.rejects(lab.prepare({ ...HDA, linked_clone: linked }), { status: 409, code: 'disk_refused' });
    renameSync(planted, lab.own('hda_disk.qcow2'));
    lab.image('base.img', '-f', 'qcow2');
    const before = readFileSync(lab.own('hda_disk.qcow2'));
    await t.rejects(lab.prepare(HDA), { status: 409, code: 'disk_refused' });
    await t.rejects(resizeDisk(lab.options, lab.node(HDA), 'hda', 1), { code: 'disk_refused' });
    t.same(readFileSync(lab.own('hda_disk.qcow2')), before, 'no program has touched it');
    (await lab.prepare({ ...HDA, linked_clone: false })).release();
  });
}

void t.test('links lead nowhere', { skip }, async (t) => {
  const lab = new DiskLab(t);
  const image = lab.image('base.img', '-f', 'qcow2');
  const outside = join(scratchFolder(t), 'base.img');
  copyFileSync(image, outside);
  symlinkSync(outside, join(lab.images, 'QEMU', 'link.img'));
  await t.rejects(lab.prepare({ hda_disk_image: 'link.img' }), { code: 'file_forbidden' });
  await t.rejects(lab.prepare({ kernel_image: 'link.img' }), { code: 'file_forbidden' });
  symlinkSync(outside, lab.own('hda_disk.qcow2'));
  await t.rejects(lab.prepare(HDA), { code: 'disk_refused' });
  renameSync(dirname(lab.own('x')), join(lab.project, 'moved'));
  symlinkSync(join(lab.project, 'moved'), dirname(lab.own('x')));
  await t.rejects(lab.prepare(HDA), { code: 'file_forbidden' });
});

void t.test('a disk is made larger, also before the first start', { skip }, async (t) => {
  const lab = new DiskLab(t);
  const image = lab.image('base.img', '-f', 'qcow2');
  await resizeDisk(lab.options, lab.node(HDA), 'hda', 8);
  t.equal(factsOf(lab.own('hda_disk.qcow2'))['virtual-size'], 24 * MEBI);
  t.equal(factsOf(image)['virtual-size'], 16 * MEBI);
  await t.rejects(resizeDisk(lab.options, lab.node(HDA), 'hdb', 8), { status: 409, code: 'disk_unknown' });
  await t.rejects(resizeDisk(lab.options, lab.node(HDA), 'hda', -4096), { status: 409, code: 'disk_failed' });
});

const hasFirmware = existsSync('/usr/share/OVMF/OVMF_VARS_4M.fd');

void t.test(
  'a machine with UEFI has variables of its own',
  { skip: !hasFirmware && 'the package ovmf is missing' },
  async (t) => {
    const lab = new DiskLab(t);
    const { uefi } = await lab.prepare({ uefi: true });
    t.same(uefi, { code: '/usr/share/OVMF/OVMF_CODE_4M.fd', variables: lab.own('OVMF_VARS_4M.fd') });
    writeFileSync(lab.own('OVMF_VARS_4M.fd'), 'mine');
    await lab.prepare({ uefi: true });
    t.equal(readFileSync(lab.own('OVMF_VARS_4M.fd'), 'latin1'), 'mine', 'they are copied once');
    await t.rejects(lab.prepare({ uefi: true, platform: 'arm' }), { code: 'property_conflict' });
    writeFileSync(join(lab.images, 'QEMU', 'b.img'), 'bios');
    await t.rejects(lab.prepare({ uefi: true, bios_image: 'b.img' }), { code: 'property_conflict' });
  },
);

const hasTpm = spawnSync('which', ['swtpm']).status === 0;

void t.test(
  'the TPM of a machine keeps its state in the folder of the node',
  { skip: !hasTpm && 'the package swtpm is missing' },
  async (t: Test) => {
    const lab = new DiskLab(t);
    const command = (): ReturnType<typeof tpmCommand> =>
      tpmCommand(lab.options.files, lab.node({}), lab.folder, '/run/s');
    t.same(await command(), {
      id: 'n/tpm',
      command: 'swtpm',
      args: ['socket', '--tpm2', '--tpmstate', 'dir=tpm', '--ctrl', 'type=unixio,path=/run/s'],
      folder: lab.folder,
    });
    t.ok(statSync(lab.own('tpm')).isDirectory());
    symlinkSync(SECRET, lab.own('tpm/tpm2-00.permall'));
    await t.rejects(command(), { code: 'file_forbidden' });
  },
);
