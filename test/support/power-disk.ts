/**
 * A disk whose power can be cut: a file system in a file. What was not synced is in the system's memory only, so a
 * copy of the file, made while the server stands still, is what the disk would have had.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './eventually.js';
import { scratchFolder, type Teardown } from './scratch.js';

export const NO_POWER_DISK = 'it takes root, loop devices, and mkfs.ext4 of the package e2fsprogs';

const BYTES = 768 * 1024 * 1024;
/** The journal is written when a sync asks for it, not by the clock. */
const OPTIONS = 'loop,commit=900,noatime';

export class PowerDisk {
  readonly folder: string;
  readonly #image: string;

  private constructor(image: string, folder: string) {
    this.#image = image;
    this.folder = folder;
  }

  /** Undefined where there can be none. */
  static make(t: Teardown): PowerDisk | undefined {
    const scratch = scratchFolder(t);
    const image = join(scratch, 'disk');
    const folder = join(scratch, 'mounted');
    writeFileSync(image, '');
    truncateSync(image, BYTES);
    mkdirSync(folder);
    try {
      execFileSync('mkfs.ext4', ['-q', '-F', '-m', '0', image], { stdio: 'ignore' });
      execFileSync('mount', ['-o', OPTIONS, image, folder], { stdio: 'ignore' });
    } catch {
      return undefined;
    }
    t.teardown(() => execFileSync('umount', ['--lazy', folder]));
    return new PowerDisk(image, folder);
  }

  /**
   * Takes what the disk has. Nobody may write meanwhile: stop the server with SIGSTOP, and kill it afterwards. The system may
   * still move parts of its journal to their places; a copy that was made beside that is of no moment, and is made again.
   */
  async cut(): Promise<void> {
    const written = (): bigint => statSync(this.#image, { bigint: true }).mtimeNs;
    await eventually('the system writes nothing', () => {
      const before = written();
      execFileSync('cp', ['--sparse=always', this.#image, `${this.#image}.cut`]);
      return written() === before || undefined;
    });
  }

  /** The disk as it was at the cut, at the same place. The keeper of a server that was killed holds it a little longer. */
  async restorePower(): Promise<void> {
    await eventually(
      'nobody uses the disk',
      () => spawnSync('umount', [this.folder]).status === 0 || undefined,
    );
    renameSync(`${this.#image}.cut`, this.#image);
    execFileSync('mount', ['-o', OPTIONS, this.#image, this.folder]);
  }
}
