import t from 'tap';
import { MemberDamage } from '../../../src/snapshots/archives/zip-member.js';
import { LzmaDecoder } from '../../../src/snapshots/archives/lzma.js';
import { mappedMemory } from '../../support/mapped-memory.js';
import { missingPython, python } from '../../support/python.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

/** The format of .lzma files: the settings, the length, the content. */
const COMPRESS = `
import lzma, sys
sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), lzma.FORMAT_ALONE))
`;
const skip = missingPython();
const NOISE = new RandomBytes(66).next(1_100_000);
const TEXT = Buffer.from('the quick brown fox '.repeat(200_000));
const MOST_AT_ONCE = 256 * 1024;

/** The format in zip archives, with an end marker. */
function compressed(content: Uint8Array): Buffer {
  const made = python(COMPRESS, [], content);
  return Buffer.concat([Buffer.of(9, 4, 5, 0), made.subarray(0, 5), made.subarray(13)]);
}

function decode(made: Uint8Array, size: number, nextLength: () => number = () => MOST_AT_ONCE): Buffer {
  const decoder = new LzmaDecoder(size);
  const pieces: Buffer[] = [];
  try {
    for (let done = 0; done < made.length;) {
      const length = done === 0 ? Math.max(9, nextLength()) : nextLength();
      decoder.decode(made.subarray(done, done + length), (bytes) => pieces.push(Buffer.from(bytes)));
      done += length;
    }
    decoder.finish();
    return Buffer.concat(pieces);
  } finally {
    decoder.close();
    decoder.close();
  }
}

void t.test('any pieces of input', { skip }, (t) => {
  const random = new Random(testSeed(67));
  for (const content of [NOISE, TEXT, Buffer.alloc(5_000_000), Buffer.alloc(1), Buffer.alloc(0)]) {
    const made = compressed(content);
    t.ok(decode(made, content.length).equals(content), `${content.length} bytes`);
    t.ok(decode(made, content.length, () => 1 + random.below(9000)).equals(content));
  }
  t.ok(decode(compressed(TEXT), TEXT.length, () => 1).equals(TEXT), 'octet by octet');
  t.end();
});

void t.test('without an end marker', { skip }, (t) => {
  // Python always writes one: it is cut off with what the encoder still held behind it.
  for (const content of [NOISE, TEXT]) {
    const made = compressed(content);
    const shortest = shortestWhole(made, content.length);
    t.ok(shortest < made.length, 'the marker is not read');
    t.ok(decode(made.subarray(0, shortest), content.length).equals(content));
  }
  t.end();
});

function shortestWhole(made: Buffer, size: number): number {
  for (let length = made.length - 12; length <= made.length; length += 1) {
    try {
      decode(made.subarray(0, length), size);
      return length;
    } catch (error) {
      if (!(error instanceof MemberDamage)) throw error;
    }
  }
  throw new Error('nothing of it is whole');
}

void t.test('damaged content', { skip }, (t) => {
  const made = compressed(NOISE);
  const early = new MemberDamage('its compressed content ends too early');
  t.throws(() => decode(made.subarray(0, -100), NOISE.length), early);
  t.throws(() => decode(made, NOISE.length + 1), early, 'an end marker before the end');
  const long = new MemberDamage('its compressed content is longer than it should be');
  t.throws(() => decode(made, NOISE.length - 100), long);
  t.throws(() => decode(Buffer.concat([made, Buffer.alloc(40)]), NOISE.length), long);
  t.throws(() => decode(made, 0), long);
  const noHeader = new MemberDamage('its content does not begin as LZMA does in zip archives');
  t.throws(() => decode(made.subarray(0, 8), 1), noHeader);
  t.throws(() => decode(Buffer.concat([Buffer.of(9, 4, 6, 0), made.subarray(4)]), NOISE.length), noHeader);
  const settings = Buffer.from(made);
  settings.writeUInt8(0xff, 4);
  t.throws(() => decode(settings, NOISE.length), MemberDamage, 'impossible settings');
  t.end();
});

void t.test('a dictionary that is too large', { skip }, (t) => {
  const made = compressed(TEXT);
  made.writeUInt32LE(256 * 1024 * 1024, 5);
  t.ok(decode(made, TEXT.length).equals(TEXT));
  made.writeUInt32LE(256 * 1024 * 1024 + 1, 5);
  t.throws(() => decode(made, TEXT.length), /needs a dictionary of 268435457 bytes/);
  t.end();
});

void t.test('an error of the reader ends it', { skip }, (t) => {
  const decoder = new LzmaDecoder(TEXT.length);
  t.throws(() => {
    decoder.decode(compressed(TEXT), () => {
      throw new Error('enough');
    });
  }, new Error('enough'));
  decoder.close();
  t.end();
});

void t.test('broken streams are freed', { skip }, (t) => {
  const made = compressed(TEXT);
  const damaged = Buffer.concat([made.subarray(0, 20), Buffer.alloc(1000, 0xaa)]);
  const before = mappedMemory();
  for (let count = 0; count < 100; count++) {
    t.throws(() => decode(made.subarray(0, 20), TEXT.length));
    t.throws(() => decode(damaged, TEXT.length), MemberDamage);
  }
  t.ok(mappedMemory() - before < 300 * 1024 * 1024, 'each has 8 MiB');
  t.end();
});
