/** The tasks that compile BPF expressions. They run in a process of their own (compiler-process.ts). */
import { refusals } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { matcherOf, type BpfProgram } from '../wire/bpf.js';
import { LIBRARY_NAMES, Libpcap } from './libpcap.js';

export interface BpfTasks extends TaskTable {
  /** The link type is libpcap's DLT_... number. The returned program can be run. */
  readonly compileBpf: (input: { expression: string; linkType: number }) => BpfProgram | Promise<BpfProgram>;
  readonly hasLibpcap: (input: undefined) => boolean | Promise<boolean>;
}

/** The same tasks, carried out by libpcap in this process. */
interface LibpcapTasks extends BpfTasks {
  readonly compileBpf: (input: { expression: string; linkType: number }) => BpfProgram;
  readonly hasLibpcap: (input: undefined) => boolean;
}

/** The return value of a program that matches. Any number except 0 will do: packets are not cut by it. */
const SNAPLEN = 262_144;

/** Looks for the library on first use, and again until it is found. */
export function newBpfTasks(libraryNames: readonly string[] = LIBRARY_NAMES): LibpcapTasks {
  let found: Libpcap | undefined;
  const libpcap = (): Libpcap | undefined => (found ??= Libpcap.find(libraryNames));
  return {
    compileBpf({ expression, linkType }) {
      const compiler = libpcap();
      if (compiler === undefined) throw refusals.bpfUnavailable();
      const program = { instructions: compiler.compile(expression, linkType, SNAPLEN) };
      checkRuns(program, expression);
      return program;
    },

    hasLibpcap: () => libpcap() !== undefined,
  };
}

/** Refuses programs that cannot be run here, so that an engine never gets one. */
function checkRuns(program: BpfProgram, expression: string): void {
  try {
    matcherOf(program);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusals.bpfRefused(expression, `${error.message}: make it simpler`);
  }
}
