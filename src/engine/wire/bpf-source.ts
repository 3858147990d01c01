/**
 * Translates a BPF program into the body of a JavaScript function of `b` (bytes), `o` (offset of the packet) and `n`
 * (its length), which returns whether the packet matches. Jumps only lead forward, so each target ends a labelled block
 * that begins at the first jump to it, or earlier so that blocks nest; a jump to a return becomes that return. The
 * program contributes only integers to the text.
 */
import {
  BPF,
  SCRATCH_CELLS,
  WITH_X,
  isComparison,
  isReturn,
  targetsOf,
  type BpfInstruction,
} from './bpf-instruction.js';

/**
 * V8 parses nested blocks recursively; 2,000 levels were no problem on a stack of 1 MB. Usual programs nest 4 deep; the
 * worst known expression of 4,096 characters nests 806 deep.
 */
const DEEPEST = 1000;

type Statement = (k: number) => string;

/** A load from beyond the packet ends the program: the packet does not match. */
const inside = (end: number): string => `if(${end}>n)return false;`;
const insideFromX = (k: number, length: number): string => `I=X+${k};if(I+${length}>n)return false;I+=o;`;
/** Makes an expression or statement of the operand, which is k or X. */
type Calculation = (value: string) => string;

const CALCULATIONS: readonly (readonly [number, Calculation])[] = [
  [BPF.add, (value) => `A=(A+${value})>>>0;`],
  [BPF.subtract, (value) => `A=(A-${value})>>>0;`],
  [BPF.multiply, (value) => `A=Math.imul(A,${value})>>>0;`],
  [BPF.divide, (value) => `if(${value}===0)return false;A=(A/${value})>>>0;`],
  [BPF.modulo, (value) => `if(${value}===0)return false;A=A%${value};`],
  [BPF.or, (value) => `A=(A|${value})>>>0;`],
  [BPF.and, (value) => `A=(A&${value})>>>0;`],
  [BPF.exclusiveOr, (value) => `A=(A^${value})>>>0;`],
  // JavaScript uses only the lowest five bits of a shift distance.
  [BPF.shiftLeft, (value) => `A=${value}<32?(A<<${value})>>>0:0;`],
  [BPF.shiftRight, (value) => `A=${value}<32?A>>>${value}:0;`],
];

const STATEMENTS = new Map<number, Statement>([
  [BPF.loadImmediate, (k) => `A=${k};`],
  [BPF.loadWord, (k) => `${inside(k + 4)}A=${word(`o+${k}`)};`],
  [BPF.loadHalf, (k) => `${inside(k + 2)}A=${half(`o+${k}`)};`],
  [BPF.loadByte, (k) => `${inside(k + 1)}A=b[o+${k}];`],
  [BPF.loadWordAtX, (k) => `${insideFromX(k, 4)}A=${word('I')};`],
  [BPF.loadHalfAtX, (k) => `${insideFromX(k, 2)}A=${half('I')};`],
  [BPF.loadByteAtX, (k) => `${insideFromX(k, 1)}A=b[I];`],
  [BPF.loadScratch, (k) => `A=M${k};`],
  [BPF.loadLength, () => 'A=n;'],
  [BPF.loadXImmediate, (k) => `X=${k};`],
  [BPF.loadXScratch, (k) => `X=M${k};`],
  [BPF.loadXLength, () => 'X=n;'],
  [BPF.loadXHeaderLength, (k) => `${inside(k + 1)}X=(b[o+${k}]&15)<<2;`],
  [BPF.store, (k) => `M${k}=A;`],
  [BPF.storeX, (k) => `M${k}=X;`],
  [BPF.negate, () => 'A=-A>>>0;'],
  [BPF.xFromA, () => 'X=A;'],
  [BPF.aFromX, () => 'A=X;'],
  ...CALCULATIONS.flatMap(([code, calculation]): (readonly [number, Statement])[] => [
    [code, (k) => calculation(String(k))],
    [code | WITH_X, () => calculation('X')],
  ]),
]);

const COMPARISONS = new Map<number, Calculation>([
  [BPF.jumpEqual, (value) => `A===${value}`],
  [BPF.jumpGreater, (value) => `A>${value}`],
  [BPF.jumpGreaterOrEqual, (value) => `A>=${value}`],
  [BPF.jumpSet, (value) => `(A&${value})!==0`],
]);

function word(at: string): string {
  return `(b[${at}]<<24|b[${at}+1]<<16|b[${at}+2]<<8|b[${at}+3])>>>0`;
}

function half(at: string): string {
  return `b[${at}]<<8|b[${at}+1]`;
}

/** Throws a RangeError when the source would nest too deep. */
export function matcherSource(program: readonly BpfInstruction[]): string {
  const starts = blockStarts(program);
  const beginning = new Map<number, number[]>();
  // From the last target to the first, so that outer blocks begin before inner ones.
  for (const [target, start] of [...starts].reverse()) {
    beginning.set(start, [...(beginning.get(start) ?? []), target]);
  }
  const scratch = Array.from({ length: SCRATCH_CELLS }, (_, cell) => `,M${cell}=0`).join('');
  const lines = [`let A=0,X=0,I=0${scratch};`];
  let depth = 0;
  for (const [index, instruction] of program.entries()) {
    const begun = beginning.get(index) ?? [];
    const isTarget = starts.has(index);
    depth += begun.length - (isTarget ? 1 : 0);
    if (depth > DEEPEST) throw new RangeError(`the program nests more than ${DEEPEST} deep`);
    const blocks = begun.map((target) => `L${target}:{`).join('');
    lines.push((isTarget ? '}' : '') + blocks + lineOf(program, instruction, index));
  }
  return lines.join('\n');
}

/** The start of the block of each jump target, from the first target to the last. */
function blockStarts(program: readonly BpfInstruction[]): Map<number, number> {
  const firstJumps = new Map<number, number>();
  for (const [index, instruction] of program.entries()) {
    for (const target of targetsOf(instruction, index)) {
      if (needsBlock(program, index, target) && !firstJumps.has(target)) firstJumps.set(target, index);
    }
  }
  const starts = new Map<number, number>();
  for (const [target, jump] of [...firstJumps].sort(([a], [b]) => a - b)) {
    let start = jump;
    // A block must not overlap another: if it would begin inside that one, it contains it.
    for (const [end, begin] of starts) if (begin < jump && jump < end) start = Math.min(start, begin);
    starts.set(target, start);
  }
  return starts;
}

function needsBlock(program: readonly BpfInstruction[], index: number, target: number): boolean {
  const goesOn = target === index + 1 || target === index;
  return !goesOn && !isReturn(program[target]?.code ?? BPF.returnK);
}

function lineOf(program: readonly BpfInstruction[], instruction: BpfInstruction, index: number): string {
  const { code, k } = instruction;
  const [whenTrue, whenFalse] = targetsOf(instruction, index);
  if (isReturn(code)) return returnOf(instruction);
  if (code === BPF.jump) return jumpTo(program, index, whenTrue);
  if (!isComparison(code)) return STATEMENTS.get(code)?.(k) ?? '';
  const jumpFalse = jumpTo(program, index, whenFalse);
  if (whenTrue === whenFalse) return jumpFalse;
  const value = (code & WITH_X) === 0 ? String(k) : 'X';
  const condition = COMPARISONS.get(code & ~WITH_X)?.(value) ?? '';
  return `if(${condition}){${jumpTo(program, index, whenTrue)}}else{${jumpFalse}}`;
}

function jumpTo(program: readonly BpfInstruction[], index: number, target: number): string {
  if (target === index + 1) return '';
  const instruction = program[target];
  return instruction !== undefined && isReturn(instruction.code)
    ? returnOf(instruction)
    : `break L${target};`;
}

function returnOf({ code, k }: BpfInstruction): string {
  return code === BPF.returnA ? 'return A!==0;' : `return ${k !== 0};`;
}
