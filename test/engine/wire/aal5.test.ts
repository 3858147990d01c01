import t from 'tap';
import { AAL5_FAULT, AAL5_MOST_CELLS, aal5Faults, aal5Length } from '../../../src/engine/wire/aal5.js';
import { crc32, CRC32_CORRECT, CRC32_START } from '../../../src/engine/wire/crc32.js';
import { aal5Pdu } from '../../support/aal5-cells.js';

void t.test('a frame needs as many cells as hold it and its trailer', (t) => {
  for (const [length, cells] of [
    [1, 1],
    [40, 1],
    [41, 2],
    [88, 2],
    [89, 3],
    [65_535, AAL5_MOST_CELLS],
  ] as const) {
    t.equal(aal5Faults(CRC32_CORRECT, cells, length), 0, `${length}`);
    t.equal(aal5Faults(CRC32_CORRECT, cells + 1, length), AAL5_FAULT.tooLong);
    t.equal(aal5Faults(CRC32_CORRECT, cells - 1, length), AAL5_FAULT.tooShort);
  }
  t.equal(aal5Faults(1, 1, 40), AAL5_FAULT.crc);
  t.equal(aal5Faults(1, 1, 41), AAL5_FAULT.crc | AAL5_FAULT.tooShort);
  t.end();
});

void t.test('the frames that I.363.5 prints are read', (t) => {
  const printed = [
    { payload: Buffer.alloc(40), trailer: '00000028864d7f99' },
    {
      payload: Buffer.from(Array.from({ length: 40 }, (_, index) => index + 1)),
      trailer: '00000028bf671ed0',
    },
  ];
  for (const { payload, trailer } of printed) {
    const octets = Uint8Array.from([...payload, ...Buffer.from(trailer, 'hex')]);
    const view = new DataView(octets.buffer);
    t.equal(aal5Length(view, 48), 40);
    t.equal(crc32(CRC32_START, view, 0, 48), CRC32_CORRECT);
    t.equal(aal5Pdu(payload).subarray(40).toString('hex'), trailer, 'the frames of other tests are right');
  }
  t.end();
});
