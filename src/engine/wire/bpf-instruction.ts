/**
 * The instructions of a BPF program, with the codes of libpcap's pcap/bpf.h. `instructionsOf` validates a program: every
 * code is known, every jump leads forward into the program, and the last instruction returns.
 */

export interface BpfInstruction {
  readonly code: number;
  /** The number of instructions to skip when the condition holds, and when it does not. */
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly k: number;
}

export const BPF = {
  loadImmediate: 0x00,
  loadWord: 0x20,
  loadHalf: 0x28,
  loadByte: 0x30,
  loadWordAtX: 0x40,
  loadHalfAtX: 0x48,
  loadByteAtX: 0x50,
  loadScratch: 0x60,
  loadLength: 0x80,
  loadXImmediate: 0x01,
  loadXScratch: 0x61,
  loadXLength: 0x81,
  /** Four times the low half of an octet: the length of an IPv4 header. */
  loadXHeaderLength: 0xb1,
  store: 0x02,
  storeX: 0x03,
  add: 0x04,
  subtract: 0x14,
  multiply: 0x24,
  divide: 0x34,
  or: 0x44,
  and: 0x54,
  shiftLeft: 0x64,
  shiftRight: 0x74,
  negate: 0x84,
  modulo: 0x94,
  exclusiveOr: 0xa4,
  jump: 0x05,
  jumpEqual: 0x15,
  jumpGreater: 0x25,
  jumpGreaterOrEqual: 0x35,
  jumpSet: 0x45,
  returnK: 0x06,
  returnA: 0x16,
  xFromA: 0x07,
  aFromX: 0x87,
} as const;
/** Added to the code of a calculation or comparison: the operand is X instead of k. */
export const WITH_X = 0x08;
export const SCRATCH_CELLS = 16;
export const MOST_INSTRUCTIONS = 4096;

const NUMBERS_EACH = 4;
const TAKES_X: readonly number[] = [
  ...[BPF.add, BPF.subtract, BPF.multiply, BPF.divide, BPF.or, BPF.and, BPF.shiftLeft, BPF.shiftRight],
  ...[BPF.modulo, BPF.exclusiveOr, BPF.jumpEqual, BPF.jumpGreater, BPF.jumpGreaterOrEqual, BPF.jumpSet],
];
const KNOWN = new Set<number>([...Object.values(BPF), ...TAKES_X.map((code) => code | WITH_X)]);
const SCRATCH_USERS: readonly number[] = [BPF.loadScratch, BPF.loadXScratch, BPF.store, BPF.storeX];

/** Throws a RangeError when the program cannot be run. Copies the numbers first, so they may be in shared memory. */
export function instructionsOf(numbers: Uint32Array): readonly BpfInstruction[] {
  const count = numbers.length / NUMBERS_EACH;
  if (!Number.isInteger(count) || count < 1 || count > MOST_INSTRUCTIONS) {
    throw new RangeError(`a program has 1 to ${MOST_INSTRUCTIONS} instructions, this one ${count}`);
  }
  const copy = Uint32Array.from(numbers);
  const instructions = Array.from({ length: count }, (_, index): BpfInstruction => {
    const [code = 0, jumpTrue = 0, jumpFalse = 0, k = 0] = copy.subarray(index * NUMBERS_EACH);
    return { code, jumpTrue, jumpFalse, k };
  });
  for (const [index, instruction] of instructions.entries()) {
    const reason = faultOf(instruction, index, count);
    if (reason !== undefined) throw new RangeError(`instruction ${index} ${reason}`);
  }
  return instructions;
}

function faultOf(instruction: BpfInstruction, index: number, count: number): string | undefined {
  const { code, k } = instruction;
  if (!KNOWN.has(code)) return `has the unknown code ${code}`;
  if (SCRATCH_USERS.includes(code) && k >= SCRATCH_CELLS)
    return `uses the scratch cell ${k}, which is not there`;
  const [whenTrue, whenFalse] = targetsOf(instruction, index);
  if (Math.max(whenTrue, whenFalse) >= count) return 'leads out of the program';
  return undefined;
}

/** The next instruction for each outcome: the same twice unless it is a comparison. A return leads to itself. */
export function targetsOf(
  { code, jumpTrue, jumpFalse, k }: BpfInstruction,
  index: number,
): readonly [whenTrue: number, whenFalse: number] {
  if (isReturn(code)) return [index, index];
  if (code === BPF.jump) return [index + 1 + k, index + 1 + k];
  if (isComparison(code)) return [index + 1 + jumpTrue, index + 1 + jumpFalse];
  return [index + 1, index + 1];
}

export function isReturn(code: number): boolean {
  return code === BPF.returnK || code === BPF.returnA;
}

export function isComparison(code: number): boolean {
  return (code & 0x07) === BPF.jump && code !== BPF.jump;
}
