import t from 'tap';
import { boxPath, circlePath, paintGlyph, paintLetters, type Glyph } from '../../../src/lab/symbols/glyph.js';

void t.test('parts are painted in order, with ink or with the ground', (t) => {
  const glyph: Glyph = [
    ['solid', 'M1 1'],
    ['line', 'M2 2'],
    ['fine', 'M3 3'],
    ['cut', 'M4 4'],
    ['score', 'M5 5'],
  ];
  const painted = [...paintGlyph(glyph, 'ink', 'ground').matchAll(/d="M(\d) \d" (.*?)\/>/g)];
  t.same(
    painted.map(([, order = '', paint = '']) => [order, /"(ink|ground)"/.exec(paint)?.[1]]),
    [
      ['1', 'ink'],
      ['2', 'ink'],
      ['3', 'ink'],
      ['4', 'ground'],
      ['5', 'ground'],
    ],
  );
  t.end();
});

void t.test('letters shrink when there are three', (t) => {
  t.match(paintLetters('PC', '#fff'), /font-size="54".*>PC</);
  t.match(paintLetters('VRF', '#fff'), /font-size="40".*>VRF</);
  t.end();
});

void t.test('shapes are closed paths', (t) => {
  t.equal(boxPath(1, 2, 3, 4), 'M1 2h3v4h-3Z');
  t.equal(circlePath(50, 40, 10), 'M40 40a10 10 0 1 0 20 0a10 10 0 1 0 -20 0Z');
  t.end();
});
