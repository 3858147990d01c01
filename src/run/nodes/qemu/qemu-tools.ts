/** The programs of QEMU on this host, and disks that clients make with qemu-img beside nodes. */
import { availableParallelism } from 'node:os';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { messageOf, refusals } from '../../../base/errors/errors.js';
import { FairTurns } from '../../../base/threads/fair-turns.js';
import { imageName } from '../../../files/images/image-name.js';
import { QEMU_PLATFORMS } from '../../../lab/kinds/qemu-platforms.js';
import type { Keeper } from '../../keeper/keeper.js';
import { outputOf } from '../keeper-programs.js';
import { escaped } from './qemu-options.js';
import { resizeDisk, runImg, type DiskNode, type QemuDiskOptions } from './qemu-disks.js';
import type { DriveName } from './prepared-disks.js';

interface QemuToolsOptions extends QemuDiskOptions {
  /** The platforms whose machines run by KVM here. */
  readonly kvmPlatforms: () => Promise<readonly string[]>;
}

interface QemuBinary {
  readonly path: string;
  readonly version: string;
}

interface NewDisk {
  /** The program that the client was told of. */
  readonly program: string;
  /** A name in the folder of images, or an absolute path. */
  readonly path: string;
  readonly format: string;
  readonly mebibytes: number;
  readonly options: Readonly<Record<string, string | number>>;
}

const IMG = 'qemu-img';
const SYSTEM = 'qemu-system-';
const FOLDER = 'QEMU';
const WAITING = { atOnce: 2, atOnceOfOne: 2, mostWaiting: 100, mostWaitingOfOne: 100 };
/** These write all of the disk at once. */
const WHOLE = ['full', 'falloc'];
/** The kinds of VMDK that are one file. */
const ONE_FILE = ['monolithicSparse', 'streamOptimized', 'dynamic', 'fixed'];
const MEBI = 1024 * 1024;

export class QemuTools {
  readonly disks: QemuDiskOptions;
  readonly #options: QemuToolsOptions;
  readonly #versions = new Map<string, Promise<string>>();
  readonly #turns = new FairTurns(WAITING);
  readonly #questions = new FairTurns({ ...WAITING, atOnce: availableParallelism() });

  constructor(options: QemuToolsOptions) {
    this.#options = options;
    this.disks = options;
  }

  /** The emulators of these platforms; of all without a list. */
  binaries(platforms: readonly string[] = []): Promise<QemuBinary[]> {
    const wanted = QEMU_PLATFORMS.filter((name) => platforms.length === 0 || platforms.includes(name));
    return this.#found(wanted.map((platform) => SYSTEM + platform));
  }

  imgBinaries(): Promise<QemuBinary[]> {
    return this.#found([IMG]);
  }

  kvmPlatforms(): Promise<readonly string[]> {
    return this.#options.kvmPlatforms();
  }

  /** Makes an empty disk among the images. Refuses (409) one that is there, and what qemu-img cannot make. */
  createDisk({ program, path, format, mebibytes, options }: NewDisk): Promise<void> {
    checkProgram(program);
    const subformat = options['subformat'];
    if (subformat !== undefined && !ONE_FILE.includes(String(subformat))) {
      throw refusals.diskRefused(path, `a disk of the kind ${String(subformat)} is several files`);
    }
    const { keeper, files } = this.#options;
    const target = this.#place(path);
    const isWhole = WHOLE.includes(String(options['preallocation'] ?? '')) || subformat === 'fixed';
    const bytes = isWhole ? mebibytes * MEBI : 0;
    return this.#turns.run(IMG, async () => {
      const made = await files.run('beginImage', { ...target, bytes });
      if (made === undefined) throw refusals.diskExists(path);
      try {
        const settings = Object.entries(options).map(([key, value]) => `${key}=${escaped(String(value))}`);
        const more = settings.length === 0 ? [] : ['-o', settings.join(',')];
        await runImg(keeper, ['create', '-q', '-f', format, ...more, made, `${mebibytes}M`], path);
        if (!(await files.run('publishImage', { ...target, made }))) throw refusals.diskExists(path);
      } finally {
        await files.run('removeDisk', { path: made }).catch(() => undefined);
      }
    });
  }

  /** Makes a disk among the images larger. Refuses (409) a disk that is missing, in use, or refused as that of a node. */
  extendDisk(program: string, path: string, mebibytes: number): Promise<void> {
    checkProgram(program);
    const { keeper, files, uses, images } = this.#options;
    const { folder, name } = this.#place(path);
    const within = images.allowsAnyPath ? undefined : images.folder;
    return this.#turns.run(IMG, async () => {
      const given = join(folder, name);
      if (!(await files.run('isDisk', { path: given }))) throw refusals.diskUnknown(path);
      const image = await files.run('inspectImage', { path: given, within });
      const end = uses.begin(image.path, IMG, 'write');
      try {
        await runImg(keeper, ['resize', '-q', '-f', image.format, image.path, `+${mebibytes}M`], path);
      } finally {
        end();
      }
    });
  }

  /** Makes a disk of a node larger, which does not run. */
  resizeDisk(node: DiskNode, drive: DriveName, mebibytes: number): Promise<void> {
    return this.#turns.run(node.id, () => resizeDisk(this.#options, node, drive, mebibytes));
  }

  close(): void {
    this.#turns.close();
    this.#questions.close();
  }

  async #found(names: readonly string[]): Promise<QemuBinary[]> {
    const paths = await this.#options.files.run('findPrograms', { names });
    return Promise.all(paths.map(async (path) => ({ path, version: await this.#versionOf(path) })));
  }

  /** A program is asked once. Empty for one that does not tell it. */
  #versionOf(path: string): Promise<string> {
    const known = this.#versions.get(path);
    if (known !== undefined) return known;
    const asked = this.#questions.run(path, () => versionOf(this.#options.keeper, path));
    this.#versions.set(path, asked);
    asked.catch((error: unknown) => {
      this.#versions.delete(path);
      return messageOf(error);
    });
    return asked;
  }

  /** Below the folder of images a path keeps its last part. Refuses (403) other folders, unless any path is allowed. */
  #place(path: string): { folder: string; name: string } {
    const { folder, allowsAnyPath } = this.#options.images;
    const own = join(folder, FOLDER);
    if (isAbsolute(path) && dirname(path) !== own) {
      if (!allowsAnyPath) throw refusals.imageOutside('write', path);
      return { folder: dirname(path), name: basename(path) };
    }
    const last = path.split(/[/\\]/).at(-1) ?? '';
    return { folder: own, name: imageName(last, 'write') };
  }
}

/** Clients name the program that they were told of; it is never started by that name. */
function checkProgram(path: string): void {
  const name = path.split(/[/\\]/).at(-1);
  if (name !== IMG) throw refusals.imgRefused(path);
}

async function versionOf(keeper: Keeper, path: string): Promise<string> {
  const printed = await outputOf(keeper, { command: path, args: ['--version'], console: 'pipes' });
  return /version\s+([0-9][0-9a-z.-]*)/.exec(printed ?? '')?.[1] ?? '';
}
