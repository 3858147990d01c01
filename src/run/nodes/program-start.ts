/** The start of a node: with the memory that was saved when it was stopped, and whether its program lives. */
import { setTimeout as delay } from 'node:timers/promises';
import { isRefusal, messageOf } from '../../base/errors/errors.js';
import type { KeptMemory } from '../../lab/lab-run.js';
import type { Machine, NodeHost, Run } from './machine.js';
import { lastLines, lastWords } from './printed-text.js';

/** A program that ends within so many milliseconds could not be started. */
const ALIVE_MS = 50;

/** A given memory goes before a saved one. A node whose saved memory is not taken starts anew, with a warning. */
export async function startSaved(
  machine: Machine,
  host: NodeHost,
  given: KeptMemory | undefined,
  start: (memory: KeptMemory | undefined) => Promise<Run>,
): Promise<Run> {
  const saved = given === undefined ? await machine.savedMemory?.(host) : undefined;
  if (saved === undefined) return start(given);
  try {
    return await start(saved);
  } catch (error) {
    if (!isRefusal(error, 'memory_not_loaded')) throw error;
    host.warn(`${messageOf(error)}. The node starts anew`);
    return start(undefined);
  }
}

/** The last words of a program that ends at once; undefined for one that lives. */
export async function endAtOnce(run: Run): Promise<string | undefined> {
  const end = await Promise.race([run.ended, delay(ALIVE_MS)]);
  return end === undefined ? undefined : lastWords(end, lastLines(run.output));
}
