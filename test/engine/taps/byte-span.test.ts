import t from 'tap';
import { copyBytes, spanOver } from '../../../src/engine/taps/byte-span.js';
import { Random, testSeed } from '../../support/random.js';

void t.test('a stretch is copied whole, and nothing beside it', (t) => {
  const random = new Random(testSeed(41_201));
  const from = spanOver(Uint8Array.from({ length: 256 }, () => random.below(256)));
  for (let length = 0; length < 150; length++) {
    const [start, target] = [random.below(9), 1 + random.below(9)];
    const to = spanOver(new Uint8Array(256).fill(0xee));
    copyBytes(from.view, start, to.view, target, length);
    const expected = new Uint8Array(256).fill(0xee);
    expected.set(from.bytes.subarray(start, start + length), target);
    if (!Buffer.from(expected).equals(to.bytes)) t.fail(`${length} octets from ${start} to ${target}`);
  }
  t.end();
});

void t.test('the view of a part begins where the part begins', (t) => {
  const { view } = spanOver(Uint8Array.of(1, 2, 3, 4).subarray(2));
  t.equal(view.byteLength, 2);
  t.equal(view.getUint8(0), 3);
  t.end();
});
