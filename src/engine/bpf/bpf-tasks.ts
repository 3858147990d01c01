/** BPF expressions made into programs. Runs in a process of its own (compiler-process.ts). */
import { refusals } from '../../base/errors/errors.js';
import type { TaskTable } from '../../base/threads/task.js';
import { matcherOf, type BpfProgram } from '../wire/bpf.js';
import { LIBRARY_NAMES, Libpcap } from './libpcap.js';

export interface BpfTasks extends TaskTable {
  /** The link type is libpcap's number for what packets begin with (DLT_...). Whatever this answers can be run. */
  readonly compileBpf: (input: { expression: string; linkType: number }) => BpfProgram | Promise<BpfProgram>;
  readonly hasLibpcap: (input: undefined) => boolean | Promise<boolean>;
}

/** As libpcap itself carries them out. */
export interface LibpcapTasks extends BpfTasks {
  readonly compileBpf: (input: { expression: string; linkType: number }) => BpfProgram;
  readonly hasLibpcap: (input: undefined) => boolean;
}

/** What a match answers in a program; any number but 0 does, as nothing here cuts packets by it. */
const SNAPLEN = 262_144;

/** The library is looked for when it is first needed, and again until it is there. */
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

/** An engine must not be the first to find out that a program cannot be run. */
function checkRuns(program: BpfProgram, expression: string): void {
  try {
    matcherOf(program);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw refusals.bpfRefused(expression, `${error.message}: make it simpler`);
  }
}
