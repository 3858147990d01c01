import t from 'tap';
import { headerOf } from '../../../src/engine/wire/atm-cell.js';
import { ERF_CELL_LENGTH, erfFraction, writeErfCellHeader } from '../../../src/engine/wire/erf.js';
import { Random, testSeed } from '../../support/random.js';

void t.test('a cell has its time, its direction and its header', (t) => {
  const record = Buffer.alloc(ERF_CELL_LENGTH, 0xee);
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  const payload = writeErfCellHeader(
    view,
    0,
    0x6553_f100,
    erfFraction(500_000_000),
    true,
    headerOf(1, 100) | 2,
  );
  t.equal(payload, 20);
  t.equal(
    record.subarray(0, payload).toString('hex'),
    '00000080' + '00f15365' + '0301' + '0044' + '0000' + '0034' + '00100642',
  );
  writeErfCellHeader(view, 0, 0x6553_f100, 0, false, 0);
  t.equal(record[9], 0, 'the other interface');
  t.end();
});

void t.test('every nanosecond comes back', (t) => {
  const random = new Random(testSeed(41_101));
  const view = new DataView(new ArrayBuffer(ERF_CELL_LENGTH));
  for (let round = 0; round < 100_000; round++) {
    const nanoseconds = round === 0 ? 999_999_999 : random.below(1e9);
    writeErfCellHeader(view, 0, 1, erfFraction(nanoseconds), false, 0);
    const back = Number((BigInt(view.getUint32(0, true)) * 1_000_000_000n) >> 32n);
    if (back !== nanoseconds) t.equal(back, nanoseconds);
  }
  t.end();
});
