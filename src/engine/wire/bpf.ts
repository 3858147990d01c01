/** Programs of the Berkeley packet filter, and how they are run: as JavaScript made for each of them. */
import { instructionsOf } from './bpf-instruction.js';
import { matcherSource } from './bpf-source.js';

/** Four numbers an instruction: code, jump if true, jump if false, k. As libpcap compiles it. */
export interface BpfProgram {
  readonly instructions: Uint32Array;
}

/** Whether the program matches the packet, which lies within `bytes` whole. */
export type Matcher = (bytes: Uint8Array, offset: number, length: number) => boolean;

/** Throws a RangeError when the program is none that can be run. */
export function matcherOf(program: BpfProgram): Matcher {
  const source = matcherSource(instructionsOf(program.instructions));
  // The text is put together from our own words and whole numbers. The cast names the parameters given here.
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  return new Function('b', 'o', 'n', `'use strict';${source}`) as Matcher;
}
