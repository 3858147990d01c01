/**
 * Snapshots, exports and imports of a project with many files and links, against zip, unzip and cp on the same files,
 * and with the same durability: the other programs, and what curl has fetched, are synced before they count as done.
 * CPU and octets written are those of the server or of the other program, not of curl. Files are in the system's cache. The
 * others unpack and copy beside what is there, while a restore exchanges it, and they keep no links and nodes.
 */
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MEBI } from './files/random-file.js';
import type { Bench, Figure } from './measurement.js';
import { LabTree, type TreePlan } from './snapshots/lab-tree.js';
import { LoopDisk } from './snapshots/loop-disk.js';
import { isInstalled } from './snapshots/measured-command.js';
import { MeasuredLab } from './snapshots/measured-lab.js';
import { inStages, stageFigures, type Stage, type Turns } from './snapshots/stage.js';
import { archiveStages, snapshotStages } from './snapshots/stages.js';
import { WorkPlace } from './snapshots/work-place.js';

export interface SnapshotPlan {
  readonly rounds: number;
  readonly links: number;
  readonly tree: TreePlan;
  /** Where blocks can be shared. */
  readonly shared: { readonly tree: TreePlan; readonly diskMiB: number };
  /** The room that is needed in the folder for temporary files. */
  readonly neededMiB: number;
}

const FULL: SnapshotPlan = {
  rounds: 3,
  links: 400,
  tree: { disks: 2, diskMiB: 512, dataShare: 0.7, middling: 64, small: 2000 },
  shared: {
    tree: { disks: 1, diskMiB: 20 * 1024, dataShare: 0.1, middling: 0, small: 0 },
    diskMiB: 8 * 1024,
  },
  neededMiB: 12 * 1024,
};
/** Files that are measured only to have everything warm. */
const WARMING: TreePlan = { disks: 1, diskMiB: 16, dataShare: 0.7, middling: 1, small: 20 };

export const snapshots: Bench = {
  name: 'snapshots',
  run: () => snapshotFigures(FULL),
};

/** With a small plan, a quick look at whether everything works. */
export async function snapshotFigures(plan: SnapshotPlan): Promise<Figure[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
  try {
    const { bavail, bsize } = statfsSync(scratch);
    if ((bavail * bsize) / MEBI < plan.neededMiB) {
      throw new Error(`${tmpdir()} must have ${plan.neededMiB} MiB free`);
    }
    return [...(await onPlainDisk(scratch, plan)), ...(await onSharingDisk(scratch, plan))];
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

async function onPlainDisk(scratch: string, { rounds, links, tree }: SnapshotPlan): Promise<Figure[]> {
  const home = join(scratch, 'plain');
  mkdirSync(home);
  const programs = ['cp', 'zip', 'unzip'].filter(isInstalled);
  const stagesOf = (lab: MeasuredLab, files: LabTree): Stage[] => {
    const place = new WorkPlace(home, lab, files, programs);
    return [...snapshotStages(place), ...archiveStages(place)];
  };
  const lab = await MeasuredLab.start(home, links);
  try {
    await measured(lab, WARMING, 1, stagesOf);
    return stageFigures('', await measured(lab, tree, rounds, stagesOf));
  } finally {
    await lab.stop();
  }
}

async function onSharingDisk(scratch: string, { rounds, links, shared }: SnapshotPlan): Promise<Figure[]> {
  const disk = await LoopDisk.mount(scratch, shared.diskMiB * MEBI);
  if (disk === undefined) return [];
  try {
    const stagesOf = (lab: MeasuredLab, files: LabTree): Stage[] =>
      snapshotStages(new WorkPlace(disk.folder, lab, files, ['cp']), 'less than 1');
    const lab = await MeasuredLab.start(disk.folder, links);
    try {
      await measured(lab, WARMING, 1, stagesOf);
      const turns = await measured(lab, shared.tree, rounds, stagesOf);
      return stageFigures(`btrfs, ${shared.tree.diskMiB} MiB with holes, `, turns);
    } finally {
      await lab.stop();
    }
  } finally {
    await disk.unmount();
  }
}

/** The files are there only for that. */
async function measured(
  lab: MeasuredLab,
  plan: TreePlan,
  rounds: number,
  stagesOf: (lab: MeasuredLab, files: LabTree) => Stage[],
): Promise<Turns> {
  const files = await LabTree.make(lab.folder, plan);
  const turns = await inStages(stagesOf(lab, files), rounds);
  rmSync(files.root, { recursive: true });
  return turns;
}
