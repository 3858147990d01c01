import { createHash } from 'node:crypto';
import t from 'tap';
import {
  chunkDigest,
  CHUNK_LENGTH,
  ContentDigest,
  isZeros,
} from '../../../src/snapshots/content/content-digest.js';

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

function digestOf(content: Buffer): string {
  const chunks = Array.from({ length: Math.ceil(content.length / CHUNK_LENGTH) }, (_, index) =>
    sha256(content.subarray(index * CHUNK_LENGTH, (index + 1) * CHUNK_LENGTH)),
  );
  return sha256(Buffer.concat(chunks)).toString('hex');
}

void t.test('skipped zeros yield the digest of their chunks', (t) => {
  for (const zeros of [0, 1, CHUNK_LENGTH - 1, CHUNK_LENGTH, CHUNK_LENGTH + 1, 1030 * CHUNK_LENGTH + 5]) {
    const content = Buffer.concat([Buffer.alloc(CHUNK_LENGTH, 'x'), Buffer.alloc(zeros)]);
    const digest = new ContentDigest();
    digest.add(chunkDigest(content.subarray(0, CHUNK_LENGTH)));
    digest.addZeros(zeros);
    t.equal(digest.hex(), digestOf(content), `${zeros} zeros`);
  }
  t.equal(new ContentDigest().hex(), digestOf(Buffer.alloc(0)));
  t.end();
});

void t.test('zeros are recognized', (t) => {
  const chunk = Buffer.alloc(CHUNK_LENGTH);
  t.equal(isZeros(chunk), true);
  t.equal(isZeros(chunk.subarray(0, 1)), true);
  chunk[CHUNK_LENGTH - 1] = 1;
  t.equal(isZeros(chunk), false);
  t.equal(isZeros(chunk.subarray(0, CHUNK_LENGTH - 1)), true);
  t.end();
});
