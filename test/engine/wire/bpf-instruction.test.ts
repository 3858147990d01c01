import t from 'tap';
import {
  BPF,
  instructionsOf,
  targetsOf,
  type BpfInstruction,
} from '../../../src/engine/wire/bpf-instruction.js';

const YES = [BPF.returnK, 0, 0, 1] as const;

function read(...rows: readonly (readonly number[])[]): readonly BpfInstruction[] {
  return instructionsOf(Uint32Array.from(rows.flat()));
}

void t.test('four numbers are an instruction', (t) => {
  t.same(read([BPF.jumpEqual, 0, 1, 0xffffffff], YES, [BPF.returnA, 0, 0, 0]), [
    { code: 0x15, jumpTrue: 0, jumpFalse: 1, k: 0xffffffff },
    { code: 6, jumpTrue: 0, jumpFalse: 0, k: 1 },
    { code: 0x16, jumpTrue: 0, jumpFalse: 0, k: 0 },
  ]);
  t.end();
});

void t.test('an invalid program is refused with the place and the reason', (t) => {
  const cases: readonly (readonly [reason: string, rows: readonly (readonly number[])[]])[] = [
    ['a program has 1 to 4096 instructions, this one 0', []],
    ['a program has 1 to 4096 instructions, this one 0.75', [[6, 0, 0]]],
    ['a program has 1 to 4096 instructions, this one 4097', Array.from({ length: 4097 }, () => YES)],
    ['instruction 1 has the unknown code 14', [[BPF.loadImmediate, 0, 0, 1], [0x0e, 0, 0, 0], YES]],
    ['instruction 0 has the unknown code 65542', [[0x10006, 0, 0, 1]]],
    ['instruction 0 uses the scratch cell 16, which is not there', [[BPF.store, 0, 0, 16], YES]],
    [
      'instruction 0 uses the scratch cell 4294967295, which is not there',
      [[BPF.loadXScratch, 0, 0, 2 ** 32 - 1], YES],
    ],
    ['instruction 0 leads out of the program', [[BPF.jumpSet, 1, 0, 0], YES]],
    ['instruction 0 leads out of the program', [[BPF.jumpSet, 0, 1, 0], YES]],
    ['instruction 0 leads out of the program', [[BPF.jump, 0, 0, 0xffffffff], YES]],
    ['instruction 1 leads out of the program', [YES, [BPF.add, 0, 0, 1]]],
  ];
  for (const [reason, rows] of cases) t.throws(() => read(...rows), new RangeError(reason), reason);
  t.end();
});

void t.test('where it goes on', (t) => {
  const at = (code: number): BpfInstruction => ({ code, jumpTrue: 2, jumpFalse: 3, k: 5 });
  t.same(targetsOf(at(BPF.jumpGreater | 8), 10), [13, 14]);
  t.same(targetsOf(at(BPF.jump), 10), [16, 16]);
  t.same(targetsOf(at(BPF.and), 10), [11, 11]);
  t.same(targetsOf(at(BPF.returnA), 10), [10, 10]);
  t.end();
});
