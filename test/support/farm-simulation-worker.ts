/** Runs simulated farms in a thread of its own, where nothing watches each promise as in a test. */
import { parentPort, workerData } from 'node:worker_threads';
import { brokenPromises } from './farm-checker.js';
import { SimulatedFarm, type FarmMistakes } from './simulated-farm.js';

export interface SimulationOrder {
  readonly firstSeed: number;
  readonly runs: number;
  readonly mistakes: FarmMistakes;
  /** Whether the first broken promise ends it. */
  readonly endsEarly: boolean;
}

export interface SimulationOutcome {
  readonly runs: number;
  readonly stored: number;
  readonly broken: readonly { readonly seed: number; readonly promises: readonly string[] }[];
}

async function carryOut({
  firstSeed,
  runs,
  mistakes,
  endsEarly,
}: SimulationOrder): Promise<SimulationOutcome> {
  const broken: { seed: number; promises: readonly string[] }[] = [];
  let stored = 0;
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    const history = await new SimulatedFarm(seed, mistakes).run();
    stored += history.changes.filter(({ outcome }) => outcome === 'stored').length;
    const promises = brokenPromises(history);
    if (promises.length > 0) broken.push({ seed, promises });
    if (promises.length > 0 && endsEarly) return { runs: seed + 1 - firstSeed, stored, broken };
  }
  return { runs, stored, broken };
}

Error.stackTraceLimit = 0;
parentPort?.postMessage(await carryOut(workerData as SimulationOrder));
