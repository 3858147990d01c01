import t from 'tap';
import { BPF, instructionsOf } from '../../../src/engine/wire/bpf-instruction.js';
import { matcherSource } from '../../../src/engine/wire/bpf-source.js';
import type { Matcher } from '../../../src/engine/wire/bpf.js';
import { randomProgram } from '../../support/bpf-programs.js';
import { Random, testSeed } from '../../support/random.js';

function sourceOf(...rows: readonly (readonly number[])[]): string {
  return matcherSource(instructionsOf(Uint32Array.from(rows.flat())));
}

const linesOf = (source: string): readonly string[] => source.split('\n').slice(1);

void t.test('a jump to a return is that return, and the others end blocks', (t) => {
  const source = sourceOf(
    [BPF.loadByte, 0, 0, 9],
    [BPF.jumpEqual, 1, 0, 6],
    [BPF.jumpEqual, 0, 2, 17],
    [BPF.loadLength, 0, 0, 0],
    [BPF.returnA, 0, 0, 0],
    [BPF.returnK, 0, 0, 0],
  );
  t.same(linesOf(source), [
    'if(10>n)return false;A=b[o+9];',
    'L3:{if(A===6){break L3;}else{}',
    'if(A===17){}else{return false;}',
    '}A=n;',
    'return A!==0;',
    'return false;',
  ]);
  t.end();
});

void t.test('blocks that would cross are made to nest', (t) => {
  const next = [BPF.add, 0, 0, 1];
  const source = sourceOf(
    [BPF.jumpEqual, 2, 0, 1], // to 3
    [BPF.jumpEqual, 3, 0, 2], // to 5, from inside the block that ends at 3
    next,
    next,
    next,
    next,
    [BPF.returnA, 0, 0, 0],
  );
  t.match(linesOf(source)[0], /^L5:\{L3:\{/);
  t.end();
});

void t.test('only known words and whole numbers are in the text', (t) => {
  const random = new Random(testSeed(4));
  for (let round = 0; round < 500; round++) {
    const source = matcherSource(instructionsOf(randomProgram(random, 1 + random.below(50), 64)));
    const rest = source.replaceAll(
      /\b(let|if|else|return|true|false|break|Math\.imul|[AXIbon]|[LM]?\d+)\b/g,
      '',
    );
    t.match(rest, /^[\s{}()[\];:,=!<>?&|^*/%+-]*$/);
  }
  t.end();
});

void t.test('a program that nests too deep is refused', (t) => {
  // Each of `count` comparisons jumps `over` instructions.
  const deep = (count: number, over: number): string =>
    sourceOf(
      ...Array.from({ length: count }, (_, index) => [BPF.jumpEqual, over, 0, index]),
      ...Array.from({ length: over + 1 }, () => [BPF.add, 0, 0, 1]),
      [BPF.returnA, 0, 0, 0],
    );
  // oxlint-disable-next-line typescript/no-implied-eval -- what is tested
  const matches = new Function('b', 'o', 'n', deep(1000, 1100)) as Matcher;
  t.ok(matches(new Uint8Array(1), 0, 1), 'the deepest can be run');
  t.throws(() => deep(1001, 1100), new RangeError('the program nests more than 1000 deep'));
  t.end();
});
