import t from 'tap';
import { SUN_ATM_LENGTH, writeSunAtmHeader } from '../../../src/engine/wire/sun-atm.js';

/** The header before a frame that begins so. */
function headerBefore(start: string, isOut: boolean, vpi: number, vci: number): string {
  const record = Buffer.concat([
    Buffer.alloc(SUN_ATM_LENGTH, 0xee),
    Buffer.from(start, 'hex'),
    Buffer.alloc(8),
  ]);
  writeSunAtmHeader(new DataView(record.buffer, record.byteOffset, record.length), 0, isOut, vpi, vci);
  return record.subarray(0, SUN_ATM_LENGTH).toString('hex');
}

void t.test('a header tells direction, VPI and VCI', (t) => {
  t.equal(headerBefore('aaaa030000000800', false, 1, 100), '02010064');
  t.equal(headerBefore('aaaa030000000800', true, 255, 65_535), '82ffffff');
  t.equal(headerBefore('aaaa030000000800', true, 300, 32), '822c0020', 'eight bits of a larger VPI');
  t.end();
});

void t.test('the kind of traffic is told where it is known', (t) => {
  const kind = (start: string, vpi: number, vci: number): string =>
    headerBefore(start, false, vpi, vci).slice(0, 2);
  t.equal(kind('fefe0383', 1, 100), '02', 'routed OSI protocols');
  t.equal(kind('42420300', 1, 100), '02', 'bridges');
  t.equal(kind('45000020', 1, 100), '00', 'IP without LLC');
  t.equal(kind('ff030021', 1, 100), '00');
  t.equal(kind('45000020', 0, 5), '06', 'signalling');
  t.equal(kind('30260201', 0, 16), '05', 'ILMI');
  t.same([kind('45000020', 1, 5), kind('45000020', 1, 16)], ['00', '00'], 'not of path 0');
  t.end();
});
