/** Bounds what a guest takes of the processors: by its control group where the host lends it, else by the program cpulimit. */
import { availableParallelism } from 'node:os';
import { refusals } from '../../../base/errors/errors.js';
import type { ComputeFiles } from '../../files.js';
import type { Keeper, Program } from '../../keeper/keeper.js';
import { endProgram } from '../keeper-programs.js';
import type { MachineNode } from '../machine.js';

const COMMAND = 'cpulimit';
const ONE_PROCESSOR = 100;

interface CpuLimitOptions {
  readonly keeper: Pick<Keeper, 'limitsCpu' | 'spawn'>;
  readonly files: Pick<ComputeFiles, 'run'>;
}

/** The percents of one processor that a node may take; undefined when it may take all. */
export function cpuLimitOf({ properties }: Pick<MachineNode, 'properties'>): number | undefined {
  const percent = Number(properties['cpu_throttling'] ?? 0);
  return percent > 0 && percent < ONE_PROCESSOR * availableParallelism() ? percent : undefined;
}

/** The id of the program that limits a node. */
export function limiterOf({ id }: Pick<MachineNode, 'id'>): string {
  return `${id}/cpu`;
}

/** Refuses (409) a limit on a host that cannot keep it. Call when the keeper has started a program. */
export async function checkCpuLimit(
  { keeper, files }: CpuLimitOptions,
  node: Pick<MachineNode, 'name' | 'properties'>,
): Promise<void> {
  if (cpuLimitOf(node) === undefined || keeper.limitsCpu) return;
  if (await files.run('hasProgram', { name: COMMAND })) return;
  const why = `its CPU throttling needs control groups with the controller cpu, or the program ${COMMAND} (Debian has it in the package ${COMMAND})`;
  throw refusals.nodeNotStarted(node.name, why);
}

/** Returns what ends the limit. The limiter stops and continues the program, and ends with it. */
export async function limitCpu(
  { keeper }: CpuLimitOptions,
  node: Pick<MachineNode, 'id' | 'properties'>,
  program: Pick<Program, 'pid'>,
): Promise<() => Promise<void>> {
  const percent = cpuLimitOf(node);
  if (percent === undefined || keeper.limitsCpu) return () => Promise.resolve();
  const limiter = await keeper.spawn({
    id: limiterOf(node),
    command: COMMAND,
    args: ['--lazy', `--pid=${program.pid}`, `--limit=${percent}`],
    ...{ folder: '/', environment: {}, niceness: 0, console: 'pipes', memo: null },
  });
  return () => endProgram(limiter);
}
