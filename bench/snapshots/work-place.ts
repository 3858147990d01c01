/** A folder in which Wirefarm and other programs work on the same files. */
import { rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { command } from '../files/command.js';
import type { LabTree } from './lab-tree.js';
import { measuredCommand } from './measured-command.js';
import type { MeasuredLab } from './measured-lab.js';
import type { Side } from './stage.js';

const MOST_COMPARED_MIB = 4096;

/** Names below are of what lies in the folder. A program that is not installed is no side. */
export class WorkPlace {
  readonly lab: MeasuredLab;
  readonly files: LabTree;
  readonly #folder: string;
  readonly #programs: readonly string[];

  constructor(folder: string, lab: MeasuredLab, files: LabTree, programs: readonly string[]) {
    this.lab = lab;
    this.files = files;
    this.#folder = folder;
    this.#programs = programs;
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  zip(file: string, level: '-0' | '-6'): Side[] {
    const { root } = this.files;
    const args = [dirname(root), this.path(file), basename(root)];
    return this.#side('zip', `zip ${level}`, `cd "$1" && zip -q ${level} -r "$2" "$3" && sync "$2"`, args);
  }

  unzip(file: string, to: string): Side[] {
    const args = [this.path(file), this.path(to)];
    return this.#side('unzip', 'unzip', 'unzip -q "$1" -d "$2" && sync -f "$2"', args);
  }

  /** Holes stay holes, and blocks are shared where they can be. */
  copy(from: string, to: string): Side[] {
    return this.#side('cp', 'cp -a', 'cp -a "$1" "$2" && sync -f "$2"', [from, this.path(to)]);
  }

  /**
   * Fails when the folder, an absolute path, does not have the very files of the project. Holes have to be read, too:
   * a tree of very large disks is passed over, and its stages are checked when they are warmed up.
   */
  async check(folder: string): Promise<void> {
    if (this.files.diskMiB > MOST_COMPARED_MIB) return;
    await command('diff', ['-rq', folder, this.files.root]);
  }

  remove(...names: readonly string[]): void {
    for (const name of names) rmSync(this.path(name), { recursive: true, force: true });
  }

  #side(program: string, name: string, script: string, args: readonly string[]): Side[] {
    if (!this.#programs.includes(program)) return [];
    return [{ name, measure: () => measuredCommand(script, args, this.#folder) }];
  }
}
