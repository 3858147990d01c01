/** The nodes of a lab, held for a snapshot: all of them stand still, then the memory of each is saved, then all go on. */
import { join } from 'node:path';
import { messageOf, refusals, shortList } from '../../base/errors/errors.js';
import type { HeldFiles, HeldNodes, HoldPlan, NodeStatus, RanNode } from '../../lab/lab-run.js';
import type { MachineNode, Run, RunMemory } from './machine.js';

/** The cost of holding a node that runs. */
export type NodeHold = { readonly name: string; readonly folder: string } & (
  | { readonly bytes: number }
  | { readonly why: string }
);

/** A node in whose turn nothing else is done. */
export interface HeldNode {
  readonly id: string;
  readonly name: string;
  /** Below the folder of the project. */
  readonly folder: string;
  readonly status: NodeStatus;
  readonly memory: RunMemory | undefined;
  readonly release: () => void;
}

/** A node that is a program. */
interface Holdable {
  planHold(): Promise<NodeHold | undefined>;
  hold(): Promise<HeldNode>;
}

const FILES_ONLY = 'it has no memory that could be saved, and starts anew from its files';

/** The cost of holding a run of a node; undefined without a run. Refuses (409) a node that cannot be held. */
export async function holdOf(
  { name, folder }: Pick<MachineNode, 'name' | 'folder'>,
  run: Run | undefined,
  type: string,
  hasFilesOnly: boolean,
): Promise<NodeHold | undefined> {
  if (run === undefined) return undefined;
  if (run.memory !== undefined) return { name, folder, ...(await run.memory.estimate()) };
  if (!hasFilesOnly) throw refusals.nodeNotHeld(name, type);
  return { name, folder, why: FILES_ONLY };
}

/** Takes a turn, and keeps it until the function that is returned is called. */
export function keptTurn(take: (work: () => Promise<void>) => Promise<void>): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const work = (): Promise<void> =>
      new Promise((end) => {
        resolve(end);
      });
    take(work).catch(reject);
  });
}

/** Refuses (409) when one of them runs and cannot be held, with the names of all such nodes. */
export async function planHold(nodes: readonly Holdable[]): Promise<HoldPlan> {
  const plans = await Promise.allSettled(nodes.map((node) => node.planHold()));
  const faults = plans.flatMap((plan) => (plan.status === 'rejected' ? [messageOf(plan.reason)] : []));
  if (faults.length > 0) throw refusals.labNotHeld(shortList(faults));
  const holds = plans.flatMap((plan) => (plan.status === 'fulfilled' && plan.value ? [plan.value] : []));
  return {
    bytes: holds.reduce((sum, hold) => sum + ('bytes' in hold ? hold.bytes : 0), 0),
    folders: holds.map(({ folder }) => folder),
    warnings: holds.flatMap((hold) => ('why' in hold ? [`${hold.name}: ${hold.why}`] : [])),
  };
}

/** Saves their memory into the folder. None of them starts or ends before they are released. */
export async function holdNodes(nodes: readonly Holdable[], folder: string): Promise<HeldNodes> {
  const held: HeldNode[] = [];
  const paused: HeldNode[] = [];
  const release = async (): Promise<void> => {
    const resumed = paused.filter(({ status }) => status === 'started');
    await Promise.allSettled(resumed.map(async ({ memory }) => memory?.resume()));
    for (const node of held) node.release();
  };
  const pause = async (node: HeldNode): Promise<void> => {
    paused.push(node);
    await orRefused(node, async () => node.memory?.pause());
  };
  try {
    const turns = await Promise.allSettled(nodes.map((node) => node.hold()));
    for (const turn of turns) if (turn.status === 'fulfilled') held.push(turn.value);
    for (const turn of turns) if (turn.status === 'rejected') throw turn.reason;
    const running = held.filter(({ status }) => status !== 'stopped');
    await Promise.all(running.map(pause));
    const ran = await Promise.all(running.map((node) => saved(node, folder)));
    return { ran, release };
  } catch (error) {
    await release();
    throw error;
  }
}

/**
 * Lets all nodes stand still that can. A program that cannot, or that dies meanwhile, is not held. None of them starts or
 * ends before they are released.
 */
export async function holdFiles(nodes: readonly Holdable[]): Promise<HeldFiles> {
  const turns = await Promise.allSettled(nodes.map((node) => node.hold()));
  const held = turns.flatMap((turn) => (turn.status === 'fulfilled' ? [turn.value] : []));
  const running = held.filter(({ status }) => status !== 'stopped');
  const paused = await Promise.all(running.map(isPaused));
  const release = async (): Promise<void> => {
    const resumed = running.filter(({ status }, index) => status === 'started' && paused[index] === true);
    await Promise.allSettled(resumed.map(async ({ memory }) => memory?.resume()));
    for (const node of held) node.release();
  };
  return {
    folders: running.map(({ folder }) => folder),
    running: running.map(({ name, folder }, index) => ({ name, folder, isHeld: paused[index] === true })),
    release,
  };
}

async function isPaused({ memory }: HeldNode): Promise<boolean> {
  if (memory === undefined) return false;
  return memory.pause().then(
    () => true,
    () => false,
  );
}

async function saved(node: HeldNode, folder: string): Promise<RanNode> {
  const { id, status, memory } = node;
  const ran = { node_id: id, isSuspended: status === 'suspended' };
  if (memory === undefined) return ran;
  return orRefused(node, async () => {
    if ('why' in (await memory.estimate())) return ran;
    return { ...ran, memory: await memory.save(join(folder, id)) };
  });
}

/** A program may die at any moment: that is no fault of the server. */
async function orRefused<Result>({ name }: HeldNode, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw refusals.memoryNotSaved(name, messageOf(error));
  }
}
