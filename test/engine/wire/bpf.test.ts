import t from 'tap';
import { BPF, WITH_X } from '../../../src/engine/wire/bpf-instruction.js';
import { matcherOf, type Matcher } from '../../../src/engine/wire/bpf.js';
import { interpretBpf } from '../../support/bpf-interpreter.js';
import { ALL_CODES, randomProgram } from '../../support/bpf-programs.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

type Row = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number];

function match(...rows: readonly Row[]): Matcher {
  return matcherOf({ instructions: Uint32Array.from(rows.flat()) });
}

/** Whether A is what is wanted after the rows. */
function leaves(wanted: number, ...rows: readonly Row[]): boolean {
  const packet = Uint8Array.of(0xff, 0x80, 0x01, 0x02, 0x45);
  const end: Row[] = [
    [BPF.jumpEqual, 0, 1, wanted],
    [BPF.returnK, 0, 0, 1],
    [BPF.returnK, 0, 0, 0],
  ];
  return match(...rows, ...end)(packet, 0, packet.length);
}

void t.test('random programs answer what the manual says, wherever the packet lies', (t) => {
  const seed = testSeed(20_261_121);
  const random = new Random(seed);
  const shared = new Uint8Array(new SharedArrayBuffer(4096));
  shared.set(new RandomBytes(seed).next(4096));
  const tried = new Set<number>();
  let matches = 0;
  let runs = 0;
  for (let round = 0; round < 4000; round++) {
    const program = randomProgram(random, 1 + random.below(60), 64);
    for (let index = 0; index < program.length; index += 4) tried.add(program[index] ?? 0);
    const matcher = matcherOf({ instructions: program });
    for (let frame = 0; frame < 8; frame++) {
      const length = random.chance(0.2) ? random.below(64) : 64 + random.below(1000);
      const offset = random.below(4096 - length);
      const wanted = interpretBpf(program, shared, offset, length);
      const got = matcher(shared, offset, length);
      if (got !== wanted)
        t.fail(`seed ${seed}, round ${round}, frame ${frame}: ${got}: ${program.join(' ')}`);
      if (got) matches++;
      runs++;
    }
  }
  t.same(
    ALL_CODES.filter((code) => !tried.has(code)),
    [],
    'every code was tried',
  );
  t.ok(matches > runs / 10 && matches < runs * 0.9, `${matches} of ${runs} matched`);
  t.end();
});

void t.test('numbers are whole, unsigned, and have 32 bits', (t) => {
  t.ok(leaves(0xff800102, [BPF.loadWord, 0, 0, 0]));
  t.ok(leaves(0xff80, [BPF.loadHalf, 0, 0, 0]));
  t.ok(leaves(0x45, [BPF.loadByte, 0, 0, 4]));
  t.ok(leaves(20, [BPF.loadXHeaderLength, 0, 0, 4], [BPF.aFromX, 0, 0, 0]));
  t.ok(leaves(5, [BPF.loadLength, 0, 0, 0]));
  t.ok(leaves(0, [BPF.loadImmediate, 0, 0, 0xffffffff], [BPF.add, 0, 0, 1]));
  t.ok(leaves(0xffffffff, [BPF.loadImmediate, 0, 0, 0], [BPF.subtract, 0, 0, 1]));
  t.ok(leaves(1, [BPF.loadImmediate, 0, 0, 0xffffffff], [BPF.multiply, 0, 0, 0xffffffff]));
  t.ok(leaves(0xffffffff, [BPF.loadImmediate, 0, 0, 1], [BPF.negate, 0, 0, 0]));
  t.ok(leaves(0x80000000, [BPF.loadImmediate, 0, 0, 1], [BPF.shiftLeft, 0, 0, 31]));
  t.ok(leaves(0, [BPF.loadImmediate, 0, 0, 1], [BPF.shiftLeft, 0, 0, 32]));
  t.ok(
    leaves(
      0,
      [BPF.loadImmediate, 0, 0, 1],
      [BPF.loadXImmediate, 0, 0, 33],
      [BPF.shiftLeft | WITH_X, 0, 0, 0],
    ),
  );
  t.ok(leaves(0x7fffffff, [BPF.loadImmediate, 0, 0, 0xffffffff], [BPF.divide, 0, 0, 2]));
  t.ok(leaves(3, [BPF.loadImmediate, 0, 0, 0xffffffff], [BPF.modulo, 0, 0, 4]));
  t.end();
});

void t.test('a load from beyond the packet and a division by 0 do not match', (t) => {
  const bytes = new Uint8Array(100).fill(1);
  const loads: readonly (readonly [code: number, size: number])[] = [
    [BPF.loadWord, 4],
    [BPF.loadHalf, 2],
    [BPF.loadByte, 1],
    [BPF.loadWordAtX, 4],
    [BPF.loadHalfAtX, 2],
    [BPF.loadByteAtX, 1],
    [BPF.loadXHeaderLength, 1],
  ];
  const yes: Row = [BPF.returnK, 0, 0, 1];
  for (const [code, size] of loads) {
    for (const k of [0, 10, 0x7fffffff, 0xffffffff]) {
      const matches = match([code, 0, 0, k], yes);
      for (let length = 0; length < 20; length++) {
        t.equal(matches(bytes, 30, length), k + size <= length, `code ${code} at ${k}, length ${length}`);
      }
    }
  }
  t.notOk(
    match([BPF.loadXImmediate, 0, 0, 0xffffffff], [BPF.loadByteAtX, 0, 0, 1], yes)(bytes, 0, 100),
    'no wrap',
  );
  for (const code of [BPF.divide, BPF.modulo]) {
    t.notOk(match([code, 0, 0, 0], yes)(bytes, 0, 100));
    t.notOk(match([code | WITH_X, 0, 0, 0], yes)(bytes, 0, 100));
    t.ok(match([code, 0, 0, 1], yes)(bytes, 0, 100));
  }
  t.end();
});

void t.test('a program can only be one', (t) => {
  const hostile = Uint32Array.of(0xdeadbeef, 0, 0, 0);
  t.throws(
    () => matcherOf({ instructions: hostile }),
    new RangeError('instruction 0 has the unknown code 3735928559'),
  );
  t.end();
});
