import { execFileSync } from 'node:child_process';
import t from 'tap';
import { compressLzma, freeLzmaStream, newLzmaStream } from '../../../src/snapshots/archives/lzma.js';
import { mappedMemory } from '../../support/mapped-memory.js';
import { RandomBytes } from '../../support/random.js';
import { lackOf } from '../../support/zip-making.js';

function compress(pieces: readonly Buffer[], size?: number): Buffer {
  const { address, head } = newLzmaStream(size);
  const last = pieces.length - 1;
  const parts = pieces.map((piece, index) => compressLzma(address, piece, index === last));
  freeLzmaStream(address);
  return Buffer.concat([head, ...parts]);
}

/** The format of `.lzma` files has the same properties, and a size (unknown) behind them. */
const DECOMPRESS = `
import lzma, sys
data = sys.stdin.buffer.read()
assert data[:4] == bytes([9, 4, 5, 0])
decoder = lzma.LZMADecompressor(lzma.FORMAT_ALONE)
plain = decoder.decompress(data[4:9] + b'\\xff' * 8 + data[9:])
assert decoder.eof and not decoder.unused_data
sys.stdout.buffer.write(plain)
`;

function decompress(bytes: Buffer): Buffer {
  return execFileSync('python3', ['-c', DECOMPRESS], { input: bytes, maxBuffer: 1 << 28 });
}

void t.test('pieces make one stream with an end', { skip: lackOf('python3') }, (t) => {
  const noise = new RandomBytes(32);
  const zeros = Buffer.alloc(1_000_000);
  for (const pieces of [
    [Buffer.alloc(0)],
    [Buffer.from('a')],
    [noise.next(300_000), Buffer.alloc(0), noise.next(1), zeros],
    [zeros, zeros, noise.next(100_000), Buffer.alloc(0)],
  ]) {
    const plain = Buffer.concat(pieces);
    for (const size of [undefined, plain.length]) t.ok(decompress(compress(pieces, size)).equals(plain));
  }
  t.end();
});

void t.test('the dictionary is as large as the content, and bounded', (t) => {
  const dictionary = (size?: number): number => {
    const { address, head } = newLzmaStream(size);
    freeLzmaStream(address);
    t.equal(head.toString('hex', 0, 5), '090405005d');
    return head.readUInt32LE(5);
  };
  t.equal(dictionary(1), 4096);
  t.equal(dictionary(4097), 8192);
  t.equal(dictionary(100 * 2 ** 20), 8 * 2 ** 20);
  t.equal(dictionary(), 8 * 2 ** 20);
  t.end();
});

void t.test('an unfinished stream is freed', (t) => {
  const before = mappedMemory();
  for (let count = 0; count < 20; count++) freeLzmaStream(newLzmaStream().address);
  t.ok(mappedMemory() - before < 300 * 1024 * 1024, 'each has 94 MiB');
  t.end();
});
