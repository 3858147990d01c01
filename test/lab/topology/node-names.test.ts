import t from 'tap';
import { NodeNames } from '../../../src/lab/topology/node-names.js';

const take = (...wanted: readonly string[]): string[] => {
  const names = new NodeNames();
  return wanted.map((name) => names.take(name));
};

void t.test('a free name is taken as it is, without its spaces', (t) => {
  t.same(take('PC1', 'PC7', ' My router '), ['PC1', 'PC7', 'Myrouter']);
  t.end();
});

void t.test('a taken name gets the lowest free number', (t) => {
  t.same(take('PC1', 'PC1', 'PC1', 'PC3'), ['PC1', 'PC2', 'PC3', 'PC4']);
  t.same(take('R', 'R', 'R'), ['R', 'R1', 'R2']);
  t.same(take('R10', 'R10', 'R2', 'R10'), ['R10', 'R1', 'R2', 'R3']);
  t.same(take('1', '1'), ['1', '2']);
  t.end();
});

void t.test('placeholders stand for the number', (t) => {
  t.same(take('PC{0}', 'PC{0}', 'PC{id}'), ['PC1', 'PC2', 'PC3']);
  t.same(take('{name}-{0}', '{name}-{0}'), ['Node-1', 'Node-2']);
  t.same(take('a{0}b{id}'), ['a1b1']);
  t.same(take('{{x}}{0}'), ['{x}1']);
  t.end();
});

void t.test('a placeholder that stands for nothing is refused and takes no name', (t) => {
  const names = new NodeNames();
  t.throws(() => names.take('{x}{0}'), { status: 409, message: /^\{x\} is not a valid replacement string/ });
  t.throws(() => names.take('{}{0}'), { status: 409, message: /^\{\} is not/ });
  // A name that cannot be numbered is not tried for ever.
  t.throws(() => names.take('{{0}}'), { status: 409, message: /^\{\{0\}\} is not/ });
  t.equal(names.take('{x}'), '{x}', 'without a number there is nothing to replace');
  t.equal(names.take('{x}'), '{x}1');
  t.end();
});

void t.test('a released name is free again, and the lowest number is found again', (t) => {
  const names = new NodeNames();
  for (let number = 1; number <= 5; number++) names.take('PC{0}');
  names.release('PC2');
  t.equal(names.take('PC{0}'), 'PC2');
  t.equal(names.take('PC{0}'), 'PC6');
  t.end();
});

void t.test('stored names are kept as they are and count as taken', (t) => {
  const names = new NodeNames();
  for (const name of ['PC1', 'PC2', 'a b', '{0}', '']) names.keep(name);
  t.equal(names.take('PC1'), 'PC3');
  t.equal(names.take('a b'), 'ab');
  t.end();
});

void t.test('the thousandth name of a pattern is found and no number is given twice', (t) => {
  const names = new NodeNames();
  const taken = new Set<string>();
  for (let index = 0; index < 3000; index++) taken.add(names.take('Switch1'));
  t.equal(taken.size, 3000);
  t.ok(taken.has('Switch3000'));
  t.end();
});

void t.test('many patterns at once stay right', (t) => {
  const names = new NodeNames();
  for (let pattern = 0; pattern < 1500; pattern++) {
    t.equal(
      names.take(`x${pattern}-{0}`) === `x${pattern}-1` && names.take(`x${pattern}-{0}`),
      `x${pattern}-2`,
    );
  }
  t.equal(names.take('x0-{0}'), 'x0-3');
  t.end();
});
