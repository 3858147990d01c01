/** A file system of a bench's own whose files can share blocks. */
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from '../files/command.js';

export class LoopDisk {
  readonly folder: string;
  readonly #image: string;

  private constructor(folder: string, image: string) {
    this.folder = folder;
    this.#image = image;
  }

  /** Undefined where there can be none, which is said. */
  static async mount(scratch: string, octets: number): Promise<LoopDisk | undefined> {
    const folder = join(scratch, 'mounted');
    const image = join(scratch, 'disk');
    mkdirSync(folder);
    writeFileSync(image, '');
    truncateSync(image, octets);
    try {
      await command('mkfs.btrfs', ['-q', image]);
      await command('mount', ['-o', 'loop', image, folder]);
    } catch {
      rmSync(image);
      process.stderr.write(
        'shared blocks take root, loop devices and mkfs.btrfs (Debian package btrfs-progs)\n',
      );
      return undefined;
    }
    return new LoopDisk(folder, image);
  }

  async unmount(): Promise<void> {
    await command('umount', [this.folder]);
    rmSync(this.#image);
  }
}
