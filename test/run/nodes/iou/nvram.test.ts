/** The NVRAM of IOU images: round trips, layouts by hand, and files that nobody has written. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { NvramError } from '../../../../src/run/nodes/iou/nvram-error.js';
import { LARGEST_NVRAM, readNvram, writeNvram } from '../../../../src/run/nodes/iou/nvram.js';
import { uncompressed } from '../../../../src/run/nodes/iou/unix-compress.js';
import { Random, RandomBytes, testSeed } from '../../../support/random.js';

const NOTHING = Buffer.alloc(0);
const startup = Buffer.from('hostname R1\n!\nend\n');
const secret = Buffer.from('crypto key\nend\n');

void t.test('a new file has the layout of an image', (t) => {
  const file = writeNvram(undefined, 16, { startup: Buffer.from('abcde'), private: Buffer.from('xy') });
  t.equal(file.length, 16 * 1024);
  const words = (at: number, count: number): number[] =>
    Array.from({ length: count }, (_, index) => file.readUInt16BE(at + 2 * index));
  t.same([words(0, 2), words(6, 1)], [[0xabcd, 1], [0x0f04]]);
  t.same(
    [8, 12, 16].map((at) => file.readUInt32BE(at)),
    [0x10000024, 0x10000029, 5],
  );
  t.equal(file.toString('latin1', 36, 41), 'abcde');
  // The configuration ends at 41, and the private one begins at a multiple of 4.
  t.same(words(44, 2), [0xfedc, 1]);
  t.same(
    [48, 52, 56].map((at) => file.readUInt32BE(at)),
    [0x1000003c, 0x1000003e, 2],
  );
  t.equal(file.toString('latin1', 60, 62), 'xy');
  // With the stored sum included, the words of the first half sum to all ones.
  let sum = 0;
  for (let at = 0; at < 8192; at += 2) sum += file.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  t.equal(sum, 0xffff);
  t.end();
});

void t.test('old and large files pad by four bytes more', (t) => {
  const large = writeNvram(undefined, 128, { startup: Buffer.from('abcde'), private: secret });
  t.equal(large.readUInt16BE(48), 0xfedc);
  t.same(readNvram(large), { startup: Buffer.from('abcde'), private: secret });
  const old = writeNvram(undefined, 16, { startup, private: NOTHING });
  old.writeUInt16BE(0x0f00, 6);
  const again = writeNvram(old, 16, { startup: Buffer.from('abcde'), private: secret });
  t.equal(again.readUInt16BE(48), 0xfedc);
  t.same(readNvram(again), { startup: Buffer.from('abcde'), private: secret });
  t.end();
});

void t.test('the part of the image stays as it is', (t) => {
  const file = writeNvram(undefined, 64, { startup, private: secret });
  const random = new RandomBytes(testSeed(3));
  random.next(32 * 1024).copy(file, 32 * 1024);
  random.next(2048).copy(file, 30 * 1024);
  file.writeUInt16BE(0xdcba, 29 * 1024);
  random.next(1000).copy(file, 29 * 1024 + 2);
  const kept = Buffer.from(file.subarray(29 * 1024));
  const next = writeNvram(file, 8, { startup: Buffer.from('other\n'), private: NOTHING });
  t.equal(next.length, file.length);
  t.ok(next.subarray(29 * 1024).equals(kept));
  t.same(readNvram(next), { startup: Buffer.from('other\n'), private: NOTHING });
  t.throws(() => writeNvram(file, 8, { startup: Buffer.alloc(29 * 1024), private: NOTHING }), {
    message: /larger one/,
  });
  t.end();
});

void t.test('configurations of every length come back', (t) => {
  const random = new Random(testSeed(4));
  const bytes = new RandomBytes(testSeed(5));
  let file: Buffer | undefined;
  for (let round = 0; round < 300; round++) {
    if (random.below(10) === 0) file = undefined;
    const configs = { startup: bytes.next(random.below(3000)), private: bytes.next(random.below(2000)) };
    file = writeNvram(file, random.pick([16, 64, 128, 1024]), configs);
    t.same(readNvram(file), configs);
  }
  t.end();
});

void t.test('files that nobody has written are refused, or read within their bounds', (t) => {
  const random = new Random(testSeed(6));
  const bytes = new RandomBytes(testSeed(7));
  const tried = (file: Buffer): void => {
    try {
      const { startup: read, private: other } = readNvram(file);
      if (read.length + other.length > 2 * LARGEST_NVRAM) t.fail('more than a file holds');
    } catch (error) {
      if (!(error instanceof NvramError)) throw error;
    }
    try {
      writeNvram(file, 16, { startup, private: secret });
    } catch (error) {
      if (!(error instanceof NvramError)) throw error;
    }
  };
  for (const length of [0, 1, 35, 36, 8191, 8192, 8193, LARGEST_NVRAM, LARGEST_NVRAM + 1]) {
    tried(Buffer.alloc(length));
    tried(Buffer.alloc(length, 0xff));
  }
  for (let round = 0; round < 2000; round++) {
    const file = writeNvram(undefined, 16, { startup, private: secret });
    for (let changes = 1 + random.below(4); changes > 0; changes--)
      file[random.below(96)] = random.below(256);
    if (random.below(2) === 0) file.writeUInt16BE(2, 2);
    if (random.below(2) === 0) bytes.next(40).copy(file, 36);
    if (random.below(3) === 0) Buffer.of(0x1f, 0x9d, 0x80 + random.below(32)).copy(file, 36);
    tried(file);
  }
  t.throws(() => readNvram(Buffer.alloc(16_384)), NvramError);
  t.pass('nothing else is thrown');
  t.end();
});

void t.test('a compressed configuration is read as compress(1) has written it', (t) => {
  const random = new Random(testSeed(8));
  for (let length = 1; length < 400_000; length *= 3) {
    const text = Buffer.from(Array.from({ length }, () => 0x61 + random.below(6)));
    const stored = packed(text);
    // gzip reads this format, too: the packer of this test is right.
    t.ok(spawnSync('gzip', ['-dc'], { input: stored }).stdout.equals(text));
    t.ok(uncompressed(stored, LARGEST_NVRAM).equals(text), `${length} bytes`);
  }
  const file = writeNvram(undefined, 16, { startup: packed(startup), private: NOTHING });
  file.writeUInt16BE(2, 2);
  t.same(readNvram(file).startup, startup);
  t.throws(() => uncompressed(packed(Buffer.alloc(5000)), 4999), { message: /too long/ });
  t.end();
});

/** Compresses as compress(1) does, without clearing its table. */
function packed(bytes: Buffer): Buffer {
  const table = new Map<string, number>();
  let width = 9;
  let free = 257;
  let bits = '';
  let inGroup = 0;
  const put = (code: number): void => {
    bits += Array.from({ length: width }, (_, bit) => (code >> bit) & 1).join('');
    inGroup = (inGroup + 1) % 8;
  };
  let before = '';
  const codeOf = (text: string): number => (text.length === 1 ? text.charCodeAt(0) : (table.get(text) ?? -1));
  for (const char of bytes.toString('latin1')) {
    if (before === '' || codeOf(before + char) >= 0) {
      before += char;
      continue;
    }
    put(codeOf(before));
    table.set(before + char, free++);
    // The reader's table is one entry behind.
    if (free > 2 ** width && width < 16) {
      if (inGroup > 0) bits += '0'.repeat((8 - inGroup) * width);
      inGroup = 0;
      width++;
    }
    before = char;
  }
  if (before !== '') put(codeOf(before));
  const body = Array.from({ length: Math.ceil(bits.length / 8) }, (_, index) => {
    const values = Array.from({ length: 8 }, (_bit, bit) =>
      bits.charAt(8 * index + bit) === '1' ? 1 << bit : 0,
    );
    return values.reduce((sum, value) => sum + value, 0);
  });
  return Buffer.from([0x1f, 0x9d, 0x90, ...body]);
}
