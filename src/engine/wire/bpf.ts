/** Programs of the Berkeley packet filter. Each is run as a JavaScript function generated for it. */
import { instructionsOf } from './bpf-instruction.js';
import { matcherSource } from './bpf-source.js';

/** A program as libpcap compiles it, four numbers per instruction: code, jump if true, jump if false, k. */
export interface BpfProgram {
  readonly instructions: Uint32Array;
  /** It was compiled for SUNATM frames, and the frames that it sees are cells. */
  readonly seesCells?: boolean;
}

/** Returns whether a program matches a packet, which must lie completely within `bytes`. */
export type Matcher = (bytes: Uint8Array, offset: number, length: number) => boolean;

/** Throws a RangeError when the program cannot be run. */
export function matcherOf(program: BpfProgram): Matcher {
  const source = matcherSource(instructionsOf(program.instructions));
  // The text consists of our own words and of integers. The cast states the parameters that are named here.
  // oxlint-disable-next-line typescript/no-implied-eval
  return new Function('b', 'o', 'n', `'use strict';${source}`) as Matcher;
}
