import t from 'tap';
import { crc32, CRC32_CORRECT, CRC32_START } from '../../../src/engine/wire/crc32.js';
import { Random, testSeed } from '../../support/random.js';

/** By the letter of I.363.5: one bit after the other. */
function crcByBits(octets: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const octet of octets) {
    for (let bit = 7; bit >= 0; bit--) {
      const isOne = ((crc >>> 31) ^ (octet >> bit)) & 1;
      crc = (crc << 1) ^ (isOne === 1 ? 0x04c1_1db7 : 0);
    }
  }
  return ~crc >>> 0;
}

void t.test('the check value of CRC-32/BZIP2 is right', (t) => {
  t.equal(crcByBits(Buffer.from('123456789')), 0xfc89_1918, 'the reference of this test');
  const view = new DataView(Uint8Array.from(Buffer.from('12345678')).buffer);
  t.equal(~crc32(CRC32_START, view, 0, 8) >>> 0, crcByBits(Buffer.from('12345678')));
  t.end();
});

void t.test('the CRC of stretches is that of the whole, and its own CRC makes it correct', (t) => {
  const random = new Random(testSeed(41_001));
  for (let round = 0; round < 200; round++) {
    const words = 1 + random.below(60);
    const before = random.below(7);
    const octets = Buffer.alloc(before + words * 4 + 4);
    for (let index = 0; index < octets.length; index++) octets[index] = random.below(256);
    const view = new DataView(octets.buffer, octets.byteOffset, octets.length);
    const first = random.below(words + 1) * 4;
    const part = crc32(CRC32_START, view, before, first);
    const crc = crc32(part, view, before + first, words * 4 - first);
    t.equal(~crc >>> 0, crcByBits(octets.subarray(before, before + words * 4)));
    octets.writeInt32BE(~crc, before + words * 4);
    t.equal(crc32(crc, view, before + words * 4, 4), CRC32_CORRECT);
  }
  t.end();
});
