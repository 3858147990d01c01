/** BPF programs at random, every one of them valid. */
import { BPF, WITH_X } from '../../src/engine/wire/bpf-instruction.js';
import type { Random } from './random.js';

const COMPARISONS = [BPF.jumpEqual, BPF.jumpGreater, BPF.jumpGreaterOrEqual, BPF.jumpSet];
const CALCULATIONS = [
  ...[BPF.add, BPF.subtract, BPF.multiply, BPF.divide, BPF.or, BPF.and, BPF.shiftLeft, BPF.shiftRight],
  ...[BPF.modulo, BPF.exclusiveOr],
];
const LOADS = [BPF.loadWord, BPF.loadHalf, BPF.loadByte, BPF.loadXHeaderLength];
const LOADS_AT_X = [BPF.loadWordAtX, BPF.loadHalfAtX, BPF.loadByteAtX];
const SCRATCH = [BPF.loadScratch, BPF.loadXScratch, BPF.store, BPF.storeX];
const OTHERS = [
  ...[BPF.loadImmediate, BPF.loadXImmediate, BPF.loadLength, BPF.loadXLength],
  ...[BPF.negate, BPF.xFromA, BPF.aFromX],
];
const EDGES = [0, 1, 2, 31, 32, 33, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];

export function randomProgram(random: Random, count: number, packetLength: number): Uint32Array {
  const numbers: number[] = [];
  for (let index = 0; index < count; index++) {
    numbers.push(...randomInstruction(random, count - index - 1, packetLength));
  }
  return Uint32Array.from(numbers);
}

/** `after`: how many instructions follow. */
function randomInstruction(random: Random, after: number, packetLength: number): readonly number[] {
  const kind = after === 0 ? 9 : random.below(10);
  const number = randomNumber(random);
  if (kind < 2) return [random.pick(CALCULATIONS) | (random.chance(0.5) ? WITH_X : 0), 0, 0, number];
  if (kind < 4) {
    const code = random.pick(COMPARISONS) | (random.chance(0.3) ? WITH_X : 0);
    return [code, randomJump(random, after), randomJump(random, after), number];
  }
  // Mostly within the packet: a load from beyond it ends the program.
  const at = random.chance(0.02) ? number : random.below(Math.max(1, packetLength - 3));
  if (kind < 6) return [random.pick(LOADS), 0, 0, at];
  if (kind < 7)
    return random.chance(0.5)
      ? [random.pick(LOADS_AT_X), 0, 0, at >> 1]
      : [BPF.jump, 0, 0, randomJump(random, after)];
  if (kind < 8) return [random.pick(SCRATCH), 0, 0, random.below(16)];
  if (kind < 9 || (after > 0 && random.chance(0.8))) return [random.pick(OTHERS), 0, 0, number];
  return random.chance(0.5) ? [BPF.returnA, 0, 0, 0] : [BPF.returnK, 0, 0, random.below(2) * number];
}

function randomNumber(random: Random): number {
  if (random.chance(0.3)) return random.pick(EDGES);
  return random.chance(0.5) ? random.below(256) : random.below(2 ** 32);
}

/** Short ones are usual. */
function randomJump(random: Random, after: number): number {
  return random.below(Math.min(random.chance(0.8) ? 5 : 256, after));
}

export const ALL_CODES: readonly number[] = [
  ...Object.values(BPF),
  ...[...CALCULATIONS, ...COMPARISONS].map((code) => code | WITH_X),
];
