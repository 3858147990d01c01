import t from 'tap';
import { AAL5_MOST_CELLS } from '../../../src/engine/wire/aal5.js';
import { Aal5Memory } from '../../../src/engine/taps/aal5-memory.js';

void t.test('a piece has room for what it is asked for, and is used again', (t) => {
  const memory = new Aal5Memory();
  for (const cells of [1, 40, 60, 200, 500, AAL5_MOST_CELLS]) {
    const piece = memory.take(cells);
    if (piece === undefined) throw new Error('there is none');
    t.ok(piece.cells >= cells);
    t.ok(piece.bytes.length >= 4 + piece.cells * 48);
    memory.giveBack(piece);
    t.equal(memory.take(cells), piece);
  }
  t.equal(memory.take(AAL5_MOST_CELLS + 1), undefined, 'no frame is so long');
  t.end();
});

void t.test('there is a limit, and pieces of another size are no reason to reach it', (t) => {
  const memory = new Aal5Memory(100_000);
  const few = Array.from({ length: 60 }, () => memory.take(1)).filter((piece) => piece !== undefined);
  t.equal(few.length, Math.floor(100_000 / (4 + 42 * 48)));
  t.equal(memory.take(AAL5_MOST_CELLS), undefined);
  for (const piece of few) memory.giveBack(piece);
  t.ok(memory.take(AAL5_MOST_CELLS));
  t.equal(memory.take(AAL5_MOST_CELLS), undefined);
  t.ok(memory.take(1), 'there is still room for short ones');
  t.end();
});
