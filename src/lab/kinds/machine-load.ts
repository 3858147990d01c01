/** The load of a machine that is emulated, as its settings say. */
import type { NodeLoad, Properties } from './node-kind.js';

/** An emulator without a number of processors has one. */
export function machineLoad({ ram, cpus }: Properties): NodeLoad {
  return {
    memoryMib: typeof ram === 'number' ? ram : 0,
    processors: typeof cpus === 'number' ? cpus : 1,
  };
}
