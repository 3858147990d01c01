import t from 'tap';
import { Bzip2Decoder } from '../../../src/snapshots/archives/bzip2.js';
import { MemberDamage } from '../../../src/snapshots/archives/zip-member.js';
import { mappedMemory } from '../../support/mapped-memory.js';
import { missingPython, python } from '../../support/python.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

const COMPRESS = 'import bz2, sys; sys.stdout.buffer.write(bz2.compress(sys.stdin.buffer.read()))';
const skip = missingPython();
const NOISE = new RandomBytes(64).next(1_100_000);
const MOST_AT_ONCE = 256 * 1024;

function decode(compressed: Uint8Array, nextLength: () => number = () => MOST_AT_ONCE): Buffer {
  const decoder = new Bzip2Decoder();
  const pieces: Buffer[] = [];
  try {
    for (let done = 0; done < compressed.length;) {
      const length = nextLength();
      decoder.decode(compressed.subarray(done, done + length), (bytes) => pieces.push(Buffer.from(bytes)));
      done += length;
    }
    decoder.finish();
    return Buffer.concat(pieces);
  } finally {
    decoder.close();
    decoder.close();
  }
}

void t.test('any pieces of input, and several streams as one', { skip }, (t) => {
  const random = new Random(testSeed(65));
  const one = python(COMPRESS, [], NOISE);
  const two = python(COMPRESS, [], Buffer.alloc(5_000_000));
  const none = python(COMPRESS);
  const whole = Buffer.concat([NOISE, Buffer.alloc(5_000_000)]);
  t.ok(decode(one).equals(NOISE));
  t.ok(decode(Buffer.concat([none, one, none, two])).equals(whole));
  t.ok(decode(Buffer.concat([one, two]), () => 1 + random.below(9000)).equals(whole));
  t.ok(decode(two, () => 1).equals(Buffer.alloc(5_000_000)), 'byte by byte');
  t.equal(decode(none).length, 0);
  t.end();
});

void t.test('damaged content', { skip }, (t) => {
  const made = python(COMPRESS, [], NOISE.subarray(0, 300_000));
  const flipped = Buffer.from(made);
  flipped.writeUInt8(flipped.readUInt8(150_000) ^ 1, 150_000);
  t.throws(() => decode(flipped), MemberDamage);
  t.throws(() => decode(made.subarray(0, -1)), new MemberDamage('its compressed content ends too early'));
  t.throws(() => decode(Buffer.concat([made, Buffer.from('rubbish')])), MemberDamage);
  t.throws(() => decode(Buffer.from('hello')), MemberDamage);
  t.end();
});

void t.test('an error of the reader ends it', { skip }, (t) => {
  const decoder = new Bzip2Decoder();
  t.throws(() => {
    decoder.decode(python(COMPRESS, [], Buffer.alloc(5_000_000)), () => {
      throw new Error('enough');
    });
  }, new Error('enough'));
  decoder.close();
  t.end();
});

void t.test('broken streams are freed', { skip }, (t) => {
  const made = python(COMPRESS, [], NOISE.subarray(0, 20_000));
  const damaged = Buffer.concat([made.subarray(0, 10_000), Buffer.alloc(10_000, 0xaa)]);
  const before = mappedMemory();
  for (let count = 0; count < 100; count++) {
    t.throws(() => decode(made.subarray(0, 1000)));
    t.throws(() => decode(damaged), MemberDamage);
  }
  t.ok(mappedMemory() - before < 300 * 1024 * 1024, 'each has 4 MiB');
  t.end();
});
