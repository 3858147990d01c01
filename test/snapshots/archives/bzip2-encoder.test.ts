import { execFileSync } from 'node:child_process';
import t from 'tap';
import { compressBzip2, freeBzip2Stream, newBzip2Stream } from '../../../src/snapshots/archives/bzip2.js';
import { mappedMemory } from '../../support/mapped-memory.js';
import { RandomBytes } from '../../support/random.js';
import { lackOf } from '../../support/zip-making.js';

function compress(pieces: readonly Buffer[], size?: number): Buffer {
  const address = newBzip2Stream(size);
  const last = pieces.length - 1;
  const parts = pieces.map((piece, index) => compressBzip2(address, piece, index === last));
  freeBzip2Stream(address);
  return Buffer.concat(parts);
}

function decompress(bytes: Buffer): Buffer {
  const program = 'import bz2, sys; sys.stdout.buffer.write(bz2.decompress(sys.stdin.buffer.read()))';
  return execFileSync('python3', ['-c', program], { input: bytes, maxBuffer: 1 << 28 });
}

void t.test('pieces make one stream', { skip: lackOf('python3') }, (t) => {
  const noise = new RandomBytes(31);
  const zeros = Buffer.alloc(3_000_000);
  for (const pieces of [
    [Buffer.alloc(0)],
    [Buffer.from('a')],
    [noise.next(2_000_000), Buffer.alloc(0), noise.next(1), zeros],
    [zeros, zeros, noise.next(300_000), Buffer.alloc(0)],
  ]) {
    const plain = Buffer.concat(pieces);
    for (const size of [undefined, plain.length]) t.ok(decompress(compress(pieces, size)).equals(plain));
  }
  t.end();
});

void t.test('small content takes a small block', (t) => {
  t.equal(compress([Buffer.from('text')], 4).toString('latin1', 0, 4), 'BZh1');
  t.equal(compress([Buffer.from('text')], 250_000).toString('latin1', 0, 4), 'BZh3');
  t.equal(compress([Buffer.from('text')]).toString('latin1', 0, 4), 'BZh9');
  t.end();
});

void t.test('an unfinished stream is freed', (t) => {
  const before = mappedMemory();
  for (let count = 0; count < 100; count++) freeBzip2Stream(newBzip2Stream());
  t.ok(mappedMemory() - before < 300 * 1024 * 1024, 'each has 7 MiB');
  t.end();
});
