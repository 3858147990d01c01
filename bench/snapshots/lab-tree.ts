/**
 * The files of a project as a lab has them: disks with holes, images of some MiB, and many small ones. Seeded. What is
 * large cannot be packed, so that no side gains from zeros but by the holes.
 */
import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { MEBI } from '../files/random-file.js';
import { SeededBytes } from './seeded-bytes.js';

export interface TreePlan {
  readonly disks: number;
  readonly diskMiB: number;
  /** The share of a disk that has data; the rest of it is holes. */
  readonly dataShare: number;
  /** How many files there are of 8 to 16 MiB each. */
  readonly middling: number;
  readonly small: number;
}

const MIDDLING_MIB = { least: 8, most: 16 };
const SMALL_KIB = { least: 1, most: 32 };
const SMALL_IN_A_FOLDER = 40;
const CHANGED_SHARE = 0.01;
const WRITE_OCTETS = 64 * 1024;
/** A snapshot looks twice at what was written while it looks: a lab is not always just written. */
const AT_REST_MS = 2500;
const FOLDER = 'project-files';
/** Folders of two nodes. */
const MACHINE = 'qemu/5b1c7a52-0f0e-4c8e-9d8a-1f1f6f0c2a10';
const ROUTER = 'dynamips/9f0c3f0e-6a55-4b0d-8a3b-6b7c1f3c4d21';

export class LabTree {
  /** The files in this folder are given to the other sides. */
  readonly root: string;
  readonly #plan: TreePlan;
  readonly #bytes = new SeededBytes('changes');
  readonly #disks: readonly string[];
  readonly #small: readonly string[];

  private constructor(root: string, plan: TreePlan, disks: readonly string[], small: readonly string[]) {
    this.root = root;
    this.#plan = plan;
    this.#disks = disks;
    this.#small = small;
  }

  /** The size of all disks, with their holes. */
  get diskMiB(): number {
    return this.#plan.disks * this.#plan.diskMiB;
  }

  /** The length of all files, with their holes. */
  get contentMiB(): number {
    const files = readdirSync(this.root, { recursive: true, withFileTypes: true });
    const lengths = files
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => statSync(join(parentPath, name)).size);
    return lengths.reduce((sum, length) => sum + length, 0) / MEBI;
  }

  /** In the folder of the project. */
  static async make(project: string, plan: TreePlan): Promise<LabTree> {
    const root = join(project, FOLDER);
    const machines = join(root, MACHINE);
    const routers = join(root, ROUTER);
    for (const folder of [machines, routers]) mkdirSync(folder, { recursive: true });
    const bytes = new SeededBytes('files');
    const disks = named(plan.disks, (index) => join(machines, `hd${index}_disk.img`));
    for (const path of disks) writeDisk(path, plan, bytes);
    for (let index = 0; index < plan.middling; index++) {
      const size = between(bytes, MIDDLING_MIB) * MEBI + bytes.below(MEBI);
      writeFileSync(join(routers, `flash_${index}.bin`), bytes.take(size));
    }
    const small = named(plan.small, (index) => {
      const folder = join(root, 'vpcs', `lab-${Math.floor(index / SMALL_IN_A_FOLDER)}`);
      mkdirSync(folder, { recursive: true });
      return join(folder, `startup-${index}.cfg`);
    });
    for (const path of small) writeFileSync(path, configuration(bytes));
    await setTimeout(AT_REST_MS);
    return new LabTree(root, plan, disks, small);
  }

  /** One in a hundred: places all over the disks are written again, and small files replaced. */
  async change(): Promise<void> {
    const { diskMiB } = this.#plan;
    const places = Math.floor((diskMiB * MEBI) / WRITE_OCTETS);
    for (const path of this.#disks) {
      const fd = openSync(path, 'r+');
      for (let count = Math.ceil(places * this.#plan.dataShare * CHANGED_SHARE); count > 0; count--) {
        const place = this.#bytes.below(places) * WRITE_OCTETS;
        writeSync(fd, this.#bytes.take(WRITE_OCTETS), 0, WRITE_OCTETS, place);
      }
      closeSync(fd);
    }
    for (let count = Math.ceil(this.#small.length * CHANGED_SHARE); count > 0; count--) {
      const path = this.#small[this.#bytes.below(this.#small.length)];
      if (path === undefined) continue;
      writeFileSync(`${path}.new`, configuration(this.#bytes));
      renameSync(`${path}.new`, path);
    }
    await setTimeout(AT_REST_MS);
  }
}

/** Every MiB is data or a hole. */
function writeDisk(path: string, { diskMiB, dataShare }: TreePlan, bytes: SeededBytes): void {
  const fd = openSync(path, 'wx');
  try {
    for (let piece = 0; piece < diskMiB; piece++) {
      if (bytes.below(1000) >= dataShare * 1000) continue;
      writeSync(fd, bytes.take(MEBI), 0, MEBI, piece * MEBI);
    }
    ftruncateSync(fd, diskMiB * MEBI);
  } finally {
    closeSync(fd);
  }
}

/** Text, as routers and switches have it: the only part that can be packed. */
function configuration(bytes: SeededBytes): string {
  const octets = between(bytes, SMALL_KIB) * 1024;
  let text = '';
  while (text.length < octets) {
    text += `interface Ethernet${bytes.below(64)}/${bytes.below(8)}\n ip address 10.${bytes.below(256)}.${bytes.below(256)}.1 255.255.255.0\n no shutdown\n!\n`;
  }
  return text;
}

function between(bytes: SeededBytes, { least, most }: { least: number; most: number }): number {
  return least + bytes.below(most - least);
}

function named(count: number, nameOf: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => nameOf(index));
}
