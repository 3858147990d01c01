import t from 'tap';
import { CELL_LENGTH, headerOf } from '../../../src/engine/wire/atm-cell.js';
import { cellMatcher } from '../../../src/engine/wire/cell-matcher.js';

/** Cells lie anywhere in their memory. */
const OFFSET = 7;

function cellOf(vpi: number, vci: number): Uint8Array {
  const bytes = new Uint8Array(OFFSET + CELL_LENGTH + 3).fill(0xee);
  new DataView(bytes.buffer).setUint32(OFFSET, headerOf(vpi, vci) | 0xd);
  for (let index = 5; index < CELL_LENGTH; index++) bytes[OFFSET + index] = index;
  return bytes;
}

void t.test('an expression sees VPI, VCI and payload of a cell, and what it says is the verdict', (t) => {
  const seen: string[] = [];
  let verdict = true;
  const matches = cellMatcher((bytes, offset, length) => {
    seen.push(Buffer.from(bytes.subarray(offset, offset + length)).toString('hex'));
    return verdict;
  });
  const payload = Buffer.from(Array.from({ length: 48 }, (_, index) => index + 5)).toString('hex');
  t.equal(matches(cellOf(0x12, 0xabcd), OFFSET, CELL_LENGTH), true);
  verdict = false;
  t.equal(matches(cellOf(0xf34, 5), OFFSET, CELL_LENGTH), false);
  t.same(seen, [`0012abcd${payload}`, `00340005${payload}`]);
  t.end();
});

void t.test('frames that are not cells do not match', (t) => {
  const matches = cellMatcher(() => true);
  t.equal(matches(cellOf(1, 1), OFFSET, CELL_LENGTH - 1), false);
  t.equal(matches(cellOf(1, 1), OFFSET, CELL_LENGTH + 1), false);
  t.end();
});
