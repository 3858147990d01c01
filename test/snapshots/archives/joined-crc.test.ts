import { crc32 } from 'node:zlib';
import t from 'tap';
import { joinedCrc32 } from '../../../src/snapshots/archives/joined-crc.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

void t.test('the sum of two pieces is that of both together', (t) => {
  const random = new Random(testSeed(21));
  const bytes = new RandomBytes(testSeed(21)).next(1024 * 1024);
  for (const length of [0, 1, 2, 3, 255, 4096, 65_537, 524_288, bytes.length]) {
    for (const at of [0, 1, length >> 1, random.below(length + 1), length]) {
      const whole = bytes.subarray(0, length);
      const first = Math.min(at, length);
      const [a, b] = [whole.subarray(0, first), whole.subarray(first)];
      t.equal(joinedCrc32(crc32(a), crc32(b), b.length), crc32(whole), `${first} of ${length}`);
    }
  }
  t.end();
});

void t.test('the second piece may be longer than 32 bits tell', (t) => {
  const piece = Buffer.alloc(1024 * 1024);
  t.equal(joinedCrc32(crc32(piece), crc32(piece), piece.length), crc32(Buffer.alloc(2 * piece.length)));
  let zeros = crc32(piece);
  let length = piece.length;
  for (; length < 4 * 1024 ** 3; length *= 2) zeros = joinedCrc32(zeros, zeros, length);
  const first = crc32('first');
  const inSteps = joinedCrc32(joinedCrc32(first, zeros, length), zeros, length);
  t.equal(joinedCrc32(first, joinedCrc32(zeros, zeros, length), 2 * length), inSteps);
  t.end();
});
