import t from 'tap';
import {
  headerOf,
  hecOf,
  LARGEST_VCI,
  LARGEST_VPI,
  PAYLOAD_BITS,
  payloadHec,
  vpiOf,
} from '../../../src/engine/wire/atm-cell.js';
import { Random, testSeed } from '../../support/random.js';

/** I.432.1 by the letter: the remainder of header times x^8 by x^8 + x^2 + x + 1, as a long division. */
function hecByDivision(header: number): number {
  let rest = BigInt(header >>> 0) << 8n;
  for (let degree = 39n; degree >= 8n; degree--) {
    if (((rest >> degree) & 1n) === 1n) rest ^= 0b1_0000_0111n << (degree - 8n);
  }
  return Number(rest) ^ 0b0101_0101;
}

void t.test('the header error controls that I.432.1 prints are right', (t) => {
  const printed = [
    { what: 'an unassigned cell', header: 0x0000_0000, hec: 0x55 },
    { what: 'an idle cell', header: 0x0000_0001, hec: 0x52 },
    { what: 'maintenance of the regenerator level', header: 0x0000_0003, hec: 0x5c },
    { what: 'maintenance of the transmission path', header: 0x0000_0009, hec: 0x6a },
  ];
  for (const { what, header, hec } of printed) t.equal(hecOf(header), hec, what);
  t.end();
});

void t.test('the header error control is the remainder of a division', (t) => {
  const random = new Random(testSeed(20_011));
  const headers = Array.from({ length: 20_000 }, () => random.below(2 ** 32) | 0);
  headers.push(...Array.from({ length: 32 }, (_, bit) => 1 << bit), -1);
  t.same(
    headers.filter((header) => hecOf(header) !== hecByDivision(header)),
    [],
  );
  t.end();
});

void t.test('the payload bits change the header error control by what they are alone', (t) => {
  const random = new Random(testSeed(20_012));
  let wrong = 0;
  for (let round = 0; round < 1000; round++) {
    const label = headerOf(random.below(LARGEST_VPI + 1), random.below(LARGEST_VCI + 1));
    for (let bits = 0; bits <= PAYLOAD_BITS; bits++) {
      if ((hecOf(label) ^ payloadHec(bits)) !== hecByDivision(label | bits)) wrong++;
    }
  }
  t.equal(wrong, 0);
  t.end();
});

void t.test('a header holds twelve bits of VPI and sixteen of VCI', (t) => {
  t.equal(headerOf(LARGEST_VPI, 0) >>> 0, 0xfff0_0000);
  t.equal(headerOf(0, LARGEST_VCI), 0x000f_fff0);
  t.equal(headerOf(1, 100), 0x0010_0640);
  for (const vpi of [0, 1, 255, 256, 2047, 2048, LARGEST_VPI]) {
    for (const vci of [0, 3, 5, 32, 255, 256, 32_768, LARGEST_VCI]) {
      for (const bits of [0, 1, 0xe, PAYLOAD_BITS]) {
        const header = headerOf(vpi, vci) | bits;
        t.equal(vpiOf(header), vpi);
      }
    }
  }
  t.end();
});
