/** The configuration disk of QEMU machines: its formats beside mtools, zip and unzip, and its life in a node. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { isRefusal } from '../../../../src/base/errors/errors.js';
import type { ConfigFiles } from '../../../../src/run/nodes/qemu/config-disk/config-files.js';
import { readConfigZip, writeConfigZip } from '../../../../src/run/nodes/qemu/config-disk/config-zip.js';
import { filesOf } from '../../../../src/run/nodes/qemu/config-disk/fat-reading.js';
import { diskWith } from '../../../../src/run/nodes/qemu/config-disk/fat-writing.js';
import { NodeLab, programsOf } from '../../../support/node-lab.js';
import { NotificationLog } from '../../../support/notification-log.js';
import { missingQemu, startQemuServer } from '../../../support/qemu.js';
import { Random, testSeed } from '../../../support/random.js';
import { scratchFolder } from '../../../support/scratch.js';

const MTOOLS = spawnSync('which', ['mcopy']).status === 0;
const skip = !MTOOLS && 'the program mcopy is missing: install the package mtools';
const MEBI = 1024 * 1024;
/** The partition begins at its ninth sector. */
const VOLUME = 8 * 512;
const SAMPLES: ConfigFiles = new Map([
  ['startup-config.txt', Buffer.from('hostname R1\n')],
  ['IOS_CFG.TXT', Buffer.from('in capital letters')],
  ['Größe und mehr als dreizehn Zeichen.cfg', Buffer.from('a long name')],
  ['startup-config.bak', Buffer.alloc(0)],
  ['a/b/deep.bin', Buffer.alloc(70_000, 'deep')],
  ...Array.from(
    { length: 40 },
    (_, index) => [`many/file-${index}.cfg`, Buffer.from(String(index))] as const,
  ),
]);

function named(files: ConfigFiles): Record<string, string> {
  return Object.fromEntries([...files].sort().map(([path, content]) => [path, content.toString('base64')]));
}

function mtools(disk: string, command: string, ...args: string[]): string {
  const environment = { ...process.env, MTOOLS_SKIP_CHECK: '1', LC_ALL: 'C.UTF-8' };
  return execFileSync(command, ['-i', `${disk}@@${VOLUME}`, ...args], { env: environment }).toString();
}

void t.test('a disk is read by another program as it was written, and the other way round', { skip }, (t) => {
  const folder = scratchFolder(t);
  const disk = join(folder, 'disk.img');
  writeFileSync(disk, diskWith(SAMPLES));
  t.same(named(filesOf(readFileSync(disk))), named(SAMPLES));
  const out = join(folder, 'out');
  mkdirSync(out);
  mtools(disk, 'mcopy', '-s', '-n', '::', out);
  for (const [path, content] of SAMPLES) t.ok(readFileSync(join(out, path)).equals(content), path);
  const own = join(folder, 'running-config');
  writeFileSync(own, 'changed');
  mtools(disk, 'mcopy', '-o', own, '::a/b/Running-Config.txt');
  mtools(disk, 'mdel', '::IOS_CFG.TXT');
  mtools(disk, 'mmd', '::an empty folder');
  const changed = new Map([...SAMPLES, ['a/b/Running-Config.txt', Buffer.from('changed')]]);
  changed.delete('IOS_CFG.TXT');
  t.same(named(filesOf(readFileSync(disk))), named(changed));
  t.end();
});

void t.test('a disk that the guest has formatted anew is read', { skip }, (t) => {
  const folder = scratchFolder(t);
  for (const [index, options] of [['-c', '4'], ['-c', '1', '-r', '8'], ['-a']].entries()) {
    const disk = join(folder, `${index}.img`);
    writeFileSync(disk, diskWith(new Map()));
    mtools(
      disk,
      'mformat',
      ...options.filter((word) => word !== '-a'),
      '-T',
      '2040',
      '-h',
      '2',
      '-s',
      '32',
      '::',
    );
    writeFileSync(join(folder, 'small.txt'), 'x'.repeat(3000));
    mtools(disk, 'mcopy', join(folder, 'small.txt'), '::');
    t.same(
      named(filesOf(readFileSync(disk))),
      named(new Map([['small.txt', Buffer.from('x'.repeat(3000))]])),
    );
  }
  t.end();
});

void t.test('archives are exchanged with zip and unzip', (t) => {
  const folder = scratchFolder(t);
  const archive = join(folder, 'own.zip');
  writeFileSync(archive, writeConfigZip(SAMPLES));
  execFileSync('unzip', ['-q', archive, '-d', join(folder, 'out')], { env: { LC_ALL: 'C.UTF-8' } });
  for (const [path, content] of SAMPLES) t.ok(readFileSync(join(folder, 'out', path)).equals(content), path);
  for (const level of ['-0', '-9']) {
    execFileSync('zip', ['-q', '-r', level, join(folder, `their${level}.zip`), '.'], {
      cwd: join(folder, 'out'),
    });
    t.same(named(readConfigZip(readFileSync(join(folder, `their${level}.zip`)))), named(SAMPLES));
  }
  t.end();
});

void t.test('an archive that no disk can hold is refused', (t) => {
  const refused = (path: string, message: RegExp, content = Buffer.from('x')): void => {
    t.throws(() => readConfigZip(writeConfigZip(new Map([[path, content]]))), { status: 409, message }, path);
  };
  for (const path of ['../up', '/etc/passwd', 'a//b', './a', 'a:b', 'a\\b', 'new\nline', 'x.'])
    refused(path, /a name that a disk cannot have/);
  refused('bomb', /damaged/, Buffer.alloc(MEBI + 1));
  t.throws(() => readConfigZip(Buffer.from('no archive')), { status: 409, message: /no zip archive/ });
  const twice = new Map([
    ['A', Buffer.from('1')],
    ['a', Buffer.from('2')],
  ]);
  t.throws(() => readConfigZip(writeConfigZip(twice)), { status: 409, message: /two files of one name/ });
  const large = new Map([['a', Buffer.alloc(MEBI - 10_000)]]);
  t.throws(() => diskWith(large), { status: 409, message: /no room/ });
  t.end();
});

void t.test('damaged disks and archives make nothing but refusals, and never more than they hold', (t) => {
  const seed = testSeed(20_261);
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  const [disk, archive] = [diskWith(SAMPLES), writeConfigZip(SAMPLES)];
  /** The places that say how a disk or an archive is made. */
  const damaged = (good: Buffer, last: number): Buffer => {
    const bytes = Buffer.from(good);
    for (let count = 1 + random.below(12); count > 0; count--)
      bytes[good.length - last + random.below(last)] = random.below(256);
    return bytes;
  };
  const outcomes = new Set<string>();
  const attempt = (read: () => ConfigFiles): void => {
    try {
      const bytes = [...read().values()].reduce((sum, { length }) => sum + length, 0);
      outcomes.add(bytes <= MEBI ? 'read' : 'too much');
    } catch (error) {
      outcomes.add(isRefusal(error, 'disk_refused') ? 'refused' : String(error));
    }
  };
  for (let round = 0; round < 400; round++) {
    const head = Buffer.concat([
      damaged(disk.subarray(0, VOLUME + 0x6000), 0x6000),
      disk.subarray(VOLUME + 0x6000),
    ]);
    attempt(() => filesOf(head));
    attempt(() => readConfigZip(damaged(archive, archive.length)));
  }
  attempt(() => filesOf(disk.subarray(0, 100)));
  attempt(() => filesOf(Buffer.alloc(MEBI, 0xff)));
  t.same([...outcomes].sort(), ['read', 'refused']);
  t.end();
});

const isMissing = missingQemu();
const server = await startQemuServer(t);

/** A node with a configuration disk, and its archive. */
async function configured(t: Test, lab: NodeLab, properties: object = {}) {
  const settings = { ram: 32, create_config_disk: true, hda_disk_interface: 'virtio', ...properties };
  const node = await lab.node('qemu', 'R1', settings);
  const folder = String(node['node_directory']);
  const archive = `${lab.at(node)}/files/config.zip`;
  const written = async (files: ConfigFiles): Promise<void> => {
    t.match(await lab.client.request('POST', archive, writeConfigZip(files)), { status: 201 });
  };
  return { node, disk: join(folder, 'config.img'), archive: join(folder, 'config.zip'), written };
}

const config = (text: string): ConfigFiles => new Map([['iosxe_config.txt', Buffer.from(text)]]);

void t.test(
  'the files of config.zip are on the disk while the machine runs, and changes are in it afterwards',
  { skip: isMissing === false ? skip : isMissing },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const { node, disk, archive, written } = await configured(t, lab);
    await written(config('hostname one'));
    const before = readFileSync(archive);
    const { command_line: line } = await lab.act(node, 'start');
    t.match(line, new RegExp(`-drive file=${disk},format=raw,if=virtio,index=3,media=disk,id=drive3`));
    t.same(named(filesOf(readFileSync(disk))), named(config('hostname one')));
    await lab.act(node, 'stop');
    t.notOk(existsSync(disk));
    t.ok(readFileSync(archive).equals(before), 'nothing has changed, so the archive is the same');

    await lab.act(node, 'start');
    const saved = join(scratchFolder(t), 'saved');
    writeFileSync(saved, 'hostname two');
    mtools(disk, 'mcopy', '-o', saved, '::iosxe_config.txt');
    await lab.act(node, 'stop');
    t.same(named(readConfigZip(readFileSync(archive))), named(config('hostname two')));

    await lab.act(node, 'start');
    writeFileSync(saved, 'hostname three');
    mtools(disk, 'mcopy', '-o', saved, '::iosxe_config.txt');
    const stream = await NotificationLog.open(lab.events);
    for (const pid of programsOf(node)) process.kill(pid, 'SIGKILL');
    await stream.next(({ action }) => action === 'log.error');
    t.same(named(readConfigZip(readFileSync(archive))), named(config('hostname three')), 'it was killed');

    await lab.act(node, 'start');
    const noise = Buffer.alloc(MEBI, 0xff);
    writeFileSync(disk, noise);
    await lab.act(node, 'stop');
    const told = /The configuration disk of R1 could not be kept: .*not formatted/;
    await stream.next(({ action, event }) => action === 'log.warning' && told.test(String(event['message'])));
    t.same(named(readConfigZip(readFileSync(archive))), named(config('hostname three')), 'the last good one');
    await lab.act(node, 'start');
    t.same(named(filesOf(readFileSync(disk))), named(config('hostname three')));
    stream.close();
  },
);

void t.test('a machine begins with the archive that is its fourth disk', { skip: isMissing }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const images = join(server.data, 'images', 'QEMU');
  mkdirSync(images, { recursive: true });
  writeFileSync(join(images, 'base.zip'), writeConfigZip(config('from the image')));
  const { node, disk, archive } = await configured(t, lab, {
    hdd_disk_image: 'base.zip',
    hdd_disk_interface: 'ide',
  });
  t.match(await lab.act(node, 'start'), { command_line: /config\.img,format=raw,if=ide,index=3/ });
  t.same(named(filesOf(readFileSync(disk))), named(config('from the image')));
  await lab.act(node, 'stop');
  t.same(named(readConfigZip(readFileSync(archive))), named(config('from the image')));
});

void t.test(
  'a machine with an archive that is none is refused with the reason',
  { skip: isMissing },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const { node } = await configured(t, lab);
    t.match(await lab.client.request('POST', `${lab.at(node)}/files/config.zip`, 'no archive'), {
      status: 201,
    });
    const answer = { status: 409, body: { message: /config\.zip was refused: it is no zip archive/ } };
    t.match(await lab.client.post(`${lab.at(node)}/start`), answer);
    t.same(programsOf(node), []);
  },
);
