/** How a test tells a server when to die: by files of a folder, so that nothing is lost by a kill. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The variable that names the folder. */
export const FAULTS = 'WIREFARM_TEST_FAULTS';

/** The process is killed before or after the operation, or the operation fails. */
export const FAULT_MODES = ['before', 'after', 'EIO', 'ENOSPC'] as const;
export type FaultMode = (typeof FAULT_MODES)[number];

export interface FaultPlan {
  /** The name of the file that lists the operations. */
  readonly run: string;
  /** Changes of the disk count, or reads of stored objects. */
  readonly of: 'changes' | 'reads';
  /** Which operation from the moment of the plan on, from 1; 0 is none. */
  readonly at: number;
  readonly mode: FaultMode;
  /** Changes of what has this in its path wait for as long as there is this plan. */
  readonly holds?: string;
}

/** Operations are told in records of this many bytes: the place of a record is the number of the operation. */
export const RECORD_LENGTH = 256;

export function planPath(folder: string): string {
  return join(folder, 'plan.json');
}

export function donePath(folder: string, run: string): string {
  return join(folder, `${run}.done`);
}

/** The fault of a run is armed by a file of this name, and strikes when it can rename it to the other: once, or never. */
function armedPath(folder: string, run: string): string {
  return join(folder, `${run}.armed`);
}

function struckPath(folder: string, run: string): string {
  return join(folder, `${run}.struck`);
}

/** Whether the fault may strike: no longer after `dropPlan`. `rename` is that of the system, which no fault hits. */
export function canStrike(folder: string, run: string, rename: typeof renameSync): boolean {
  try {
    rename(armedPath(folder, run), struckPath(folder, run));
    return true;
  } catch {
    return false;
  }
}

export function hasStruck(folder: string, run: string): boolean {
  return existsSync(struckPath(folder, run));
}

/** From now on operations count. */
export function layPlan(folder: string, plan: FaultPlan): void {
  const path = planPath(folder);
  writeFileSync(donePath(folder, plan.run), '');
  writeFileSync(armedPath(folder, plan.run), '');
  writeFileSync(`${path}.new`, JSON.stringify(plan));
  renameSync(`${path}.new`, path);
}

/** From now on no operation counts, and the fault strikes no more. */
export function dropPlan(folder: string): void {
  const path = planPath(folder);
  if (!existsSync(path)) return;
  const { run } = JSON.parse(readFileSync(path, 'utf8')) as FaultPlan;
  rmSync(path);
  rmSync(armedPath(folder, run), { force: true });
}

/** The operations of a run so far, as they were told before they were done. */
export function operationsOf(folder: string, run: string): string[] {
  const bytes = readFileSync(donePath(folder, run));
  return Array.from({ length: Math.floor(bytes.length / RECORD_LENGTH) }, (_, index) =>
    bytes.toString('utf8', index * RECORD_LENGTH, (index + 1) * RECORD_LENGTH).trimEnd(),
  );
}
