/** Makes the disks of a QEMU node ready for a start, and checks all files that its QEMU will open. */
import { basename } from 'node:path';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import type { ImageLibrary } from '../../../files/images/image-library.js';
import type { Properties } from '../../../lab/kinds/node-kind.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper } from '../../keeper/keeper.js';
import { answerOf } from '../keeper-programs.js';
import type { MachineNode } from '../machine.js';
import { lastLines } from '../printed-text.js';
import type { DiskImage } from './disk-image.js';
import type { DiskUses } from './disk-uses.js';
import {
  DRIVES,
  TPM_FOLDER,
  type DriveName,
  type PreparedDisks,
  type PreparedDrive,
} from './prepared-disks.js';
import { qemuPlatform } from './qemu-command.js';

export interface QemuDiskOptions {
  readonly keeper: Keeper;
  readonly files: ComputeFiles;
  readonly images: Pick<ImageLibrary, 'allowsAnyPath' | 'folder' | 'pathOf'>;
  /** One for all nodes of the server. */
  readonly uses: DiskUses;
}

/** The part of a node that its disks follow from. */
export type DiskNode = Pick<MachineNode, 'folder' | 'home' | 'id' | 'name' | 'properties'>;

/** A file that was checked. */
type CheckedImage = DiskImage & { readonly path: string };

const IMG = 'qemu-img';
const IMG_LIMIT_MS = 120_000;
const CORRUPT = 2;
const ARCHIVE = /\.zip$/i;
/** The place of the configuration disk among the drives: it is that of hdd. */
const CONFIG_INDEX = 3;
const PC_PLATFORMS = ['i386', 'x86_64'];

/**
 * Refuses (409) missing images, images in use, and those that name files which are not their own. With `goesOn` the guest is
 * not started anew.
 */
export async function prepareDisks(
  options: QemuDiskOptions,
  node: DiskNode,
  goesOn: boolean,
): Promise<PreparedDisks> {
  const { files } = options;
  const { properties, home, folder: path } = node;
  const folder = await files.run('openQemuFolder', { root: home.folder, folder: path });
  const ends: (() => void)[] = [];
  const release = (): void => {
    for (const end of ends.splice(0)) end();
  };
  const warnings: string[] = [];
  const prepare = new NodeDisks(options, node, folder, ends, warnings);
  try {
    const drives: PreparedDrive[] = [];
    const hasConfigDisk = prepare.hasConfigDisk();
    for (const drive of DRIVES) {
      const isConfig = hasConfigDisk && drive === 'hdd';
      drives.push(...(isConfig ? [await prepare.configDisk(goesOn)] : await prepare.drive(drive)));
    }
    const images = {
      cdrom: await prepare.plainImage('cdrom_image'),
      kernel: await prepare.plainImage('kernel_image'),
      initrd: await prepare.plainImage('initrd'),
      bios: await prepare.plainImage('bios_image'),
    };
    const uefi = properties['uefi'] === true ? await prepareUefi(options, node) : undefined;
    return { folder, drives, images, uefi, hasConfigDisk, warnings, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Puts what the guest has written on its configuration disk into `config.zip`. Nothing of the run is left. */
export async function keepConfig(
  { files }: Pick<QemuDiskOptions, 'files'>,
  { home, folder, name }: DiskNode,
  warn: (message: string) => void,
): Promise<void> {
  await files.run('keepConfigDisk', { root: home.folder, folder }).catch((error: unknown) => {
    warn(`The configuration disk of ${name} could not be kept: ${messageOf(error)}`);
  });
}

/** Makes a disk of a node that does not run larger by so many MiB. */
export async function resizeDisk(
  options: QemuDiskOptions,
  node: DiskNode,
  drive: DriveName,
  mebibytes: number,
): Promise<void> {
  const { home, folder: path, name, properties } = node;
  if (textOf(properties[`${drive}_disk_image`]) === '') throw refusals.diskUnknown(drive);
  const folder = await options.files.run('openQemuFolder', { root: home.folder, folder: path });
  const ends: (() => void)[] = [];
  try {
    const [found] = await new NodeDisks(options, node, folder, ends, []).drive(drive);
    if (found === undefined) throw refusals.diskUnknown(drive);
    await runImg(
      options.keeper,
      ['resize', '-f', found.format, found.path, `+${mebibytes}M`],
      `${drive} of ${name}`,
    );
  } finally {
    for (const end of ends) end();
  }
}

/** The program beside QEMU that is the TPM of a node. It must run before QEMU is started. */
export async function tpmCommand(
  files: ComputeFiles,
  node: DiskNode,
  folder: string,
  socket: string,
): Promise<{ id: string; command: string; args: string[]; folder: string }> {
  const hasProgram = await files.run('hasProgram', { name: 'swtpm' });
  if (!hasProgram) throw refusals.packageMissing('give a machine a TPM', 'swtpm');
  await files.run('prepareTpm', { root: node.home.folder, folder: node.folder });
  // The path of the state is below the working folder: swtpm has no way to write a comma.
  const args = [
    'socket',
    '--tpm2',
    '--tpmstate',
    `dir=${TPM_FOLDER}`,
    '--ctrl',
    `type=unixio,path=${socket}`,
  ];
  return { id: `${node.id}/${TPM_FOLDER}`, command: 'swtpm', args, folder };
}

/** Runs qemu-img. Refuses (409) with its last words when it fails. */
export async function runImg(keeper: Keeper, args: readonly string[], what: string): Promise<void> {
  const answer = await answerOf(keeper, { command: IMG, args, console: 'pipes' }, IMG_LIMIT_MS);
  if (answer === undefined) throw refusals.packageMissing('make disks of machines', 'qemu-utils');
  if (answer.status === 0) return;
  throw refusals.diskFailed(what, lastLines(answer.printed));
}

class NodeDisks {
  readonly #options: QemuDiskOptions;
  readonly #node: DiskNode;
  readonly #folder: string;
  readonly #ends: (() => void)[];
  readonly #warnings: string[];

  constructor(
    options: QemuDiskOptions,
    node: DiskNode,
    folder: string,
    ends: (() => void)[],
    warnings: string[],
  ) {
    this.#options = options;
    this.#node = node;
    this.#folder = folder;
    this.#ends = ends;
    this.#warnings = warnings;
  }

  /** The disk of a letter; none when no image is given for it. */
  async drive(drive: DriveName): Promise<PreparedDrive[]> {
    const { properties } = this.#node;
    const named = textOf(properties[`${drive}_disk_image`]);
    if (named === '') return [];
    const kind = textOf(properties[`${drive}_disk_interface`]) || 'none';
    this.#warnOfInterface(drive, kind);
    const isLinked = properties['linked_clone'] !== false;
    const image = await this.#image(named, isLinked ? 'read' : 'write');
    const index = DRIVES.indexOf(drive);
    if (!isLinked) {
      return [{ index, path: image.path, base: undefined, format: image.format, interface: kind }];
    }
    const path = await this.#clone(drive, image);
    return [{ index, path, base: image.path, format: 'qcow2', interface: kind }];
  }

  /** Whether there is one: a disk that the node has as hdd takes its place, but an archive is what it begins with. */
  hasConfigDisk(): boolean {
    const { create_config_disk: isWanted, hdd_disk_image: image } = this.#node.properties;
    if (isWanted !== true) return false;
    const isFree = textOf(image) === '' || ARCHIVE.test(textOf(image));
    if (!isFree) this.#warnings.push('it has no configuration disk, because hdd is in its place');
    return isFree;
  }

  async configDisk(isKept: boolean): Promise<PreparedDrive> {
    const { home, folder, properties } = this.#node;
    const source = await this.plainImage('hdd_disk_image');
    const place = { root: home.folder, folder };
    const path = await this.#options.files.run('makeConfigDisk', { ...place, source, isKept });
    const own = textOf(properties['hdd_disk_interface']) || 'none';
    const kind = own === 'none' ? textOf(properties['hda_disk_interface']) || 'none' : own;
    this.#warnOfInterface('the configuration disk', kind);
    return { index: CONFIG_INDEX, path, base: undefined, format: 'raw', interface: kind };
  }

  /** The path of an image that QEMU reads as it is. */
  async plainImage(property: string): Promise<string | undefined> {
    const named = textOf(this.#node.properties[property]);
    if (named === '') return undefined;
    const { images, files, uses } = this.#options;
    const given = await images.pathOf('qemu', named);
    const path = await files.run('realImage', { path: given, within: this.#bound });
    this.#ends.push(uses.begin(path, this.#node.name, 'read'));
    return path;
  }

  #warnOfInterface(disk: string, kind: string): void {
    if (kind === 'none') this.#warnings.push(`${disk} has no interface: the guest does not see it`);
  }

  get #bound(): string | undefined {
    const { allowsAnyPath, folder } = this.#options.images;
    return allowsAnyPath ? undefined : folder;
  }

  async #image(named: string, doing: 'read' | 'write'): Promise<CheckedImage> {
    const { images, files, uses, keeper } = this.#options;
    const given = await images.pathOf('qemu', named);
    const image = await files.run('inspectImage', { path: given, within: this.#bound });
    this.#ends.push(uses.begin(image.path, this.#node.name, doing));
    if (image.format !== 'raw' && uses.isNew(image.path, image.version)) {
      await checkImage(keeper, image, this.#warnings);
    }
    return image;
  }

  /** The overlay of the node upon an image, made when it is missing. */
  async #clone(drive: DriveName, image: CheckedImage): Promise<string> {
    const { files, keeper } = this.#options;
    const { home, folder } = this.#node;
    const name = `${drive}_disk.qcow2`;
    const place = { root: home.folder, folder, name };
    const path = `${this.#folder}/${name}`;
    const what = `${name} of ${this.#node.name}`;
    const found = await files.run('inspectOverlay', place);
    if (found === undefined) {
      const made = await files.run('newDiskPath', { root: home.folder });
      try {
        await runImg(
          keeper,
          ['create', '-q', '-f', 'qcow2', '-b', image.path, '-F', image.format, made],
          what,
        );
        await files.run('placeDisk', { ...place, made });
      } catch (error) {
        await files.run('removeDisk', { path: made }).catch(() => undefined);
        throw error;
      }
      return path;
    }
    checkOverlay(found, image, name);
    const { backing } = found;
    if (backing?.name !== image.path || backing.format !== image.format) {
      await runImg(keeper, ['rebase', '-u', '-f', 'qcow2', '-b', image.path, '-F', image.format, path], what);
    }
    return path;
  }
}

/** An image may have moved since: only its own name tells that it is the one. */
function checkOverlay({ format, backing }: DiskImage, image: CheckedImage, name: string): void {
  if (format !== 'qcow2' || backing === undefined) {
    throw refusals.diskRefused(name, `it is no overlay of ${basename(image.path)}`);
  }
  const isPath = !/^[A-Za-z][A-Za-z0-9+.-]+:/.test(backing.name);
  const own = backing.name.split(/[/\\]/).at(-1);
  if (!isPath || own !== basename(image.path)) {
    throw refusals.diskRefused(name, `it lies upon another file than ${basename(image.path)}`);
  }
}

/** Looks once at each version of an image. A shared image is not mended. */
async function checkImage(keeper: Keeper, image: CheckedImage, warnings: string[]): Promise<void> {
  const args = ['check', '-q', '-f', image.format, image.path];
  const answer = await answerOf(keeper, { command: IMG, args, console: 'pipes' }, IMG_LIMIT_MS);
  if (answer === undefined) throw refusals.packageMissing('check the disks of machines', 'qemu-utils');
  if (answer.status !== CORRUPT) return;
  warnings.push(`The image ${basename(image.path)} is damaged: upload it again`);
}

async function prepareUefi(
  { files, images }: QemuDiskOptions,
  node: DiskNode,
): Promise<PreparedDisks['uefi']> {
  const { home, folder, properties } = node;
  if (textOf(properties['bios_image']) !== '')
    throw refusals.propertyConflict('Cannot use a BIOS image and the UEFI boot mode at the same time');
  if (!PC_PLATFORMS.includes(qemuPlatform(properties)))
    throw refusals.propertyConflict(`UEFI is not supported for the platform ${qemuPlatform(properties)}`);
  return files.run('prepareUefi', { root: home.folder, folder, images: `${images.folder}/QEMU` });
}

function textOf(value: Properties[string]): string {
  return typeof value === 'string' ? value : '';
}
