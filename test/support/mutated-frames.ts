/** Frames with changed, missing and added octets, for readers that must take any. */
import { equal, ok } from 'node:assert/strict';
import { classify, describe } from '../../src/dissection/dissection.js';
import { PacketNumbers } from '../../src/dissection/packet-numbers.js';
import { SAMPLE_FRAMES, SAMPLE_LINK_TYPES } from './sample-frames.js';
import { seededRandom } from './seeded-random.js';
import { testSeed } from './random.js';

/** A description of each so many packets; numbers of all. */
const DESCRIBED = 4;

/** Reads so many mutated frames, checks that each reader stays within its packet, and returns their number. */
export function checkMutatedFrames(count: number, seed = testSeed(2026)): number {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const numbers = new PacketNumbers();
  for (let round = 0; round < count; round++) {
    const sample = SAMPLE_FRAMES[below(SAMPLE_FRAMES.length)];
    if (sample === undefined) continue;
    const octets = Buffer.from(sample.octets);
    for (let change = below(6); change >= 0; change--)
      octets[below(octets.length)] = below(3) === 0 ? 0xff : below(256);
    const cut = below(3) === 0 ? octets.subarray(0, below(octets.length + 1)) : octets;
    const linkType =
      below(20) === 0 ? (SAMPLE_LINK_TYPES[below(SAMPLE_LINK_TYPES.length)] ?? 0) : sample.linkType;
    const place = (): string =>
      `seed ${seed}, round ${round}: ${cut.toString('hex')} of link type ${linkType}`;
    try {
      classify(numbers, cut, 0, cut.length, linkType);
      ok(numbers.at >= 0 && numbers.at <= numbers.end && numbers.end <= cut.length);
      if (round % DESCRIBED === 0) check(cut, linkType);
    } catch (error) {
      throw new Error(place(), { cause: error });
    }
  }
  return count;
}

function check(octets: Buffer, linkType: number): void {
  const { layers, at, end, info } = describe(octets, linkType);
  ok(at <= end && end <= octets.length);
  equal(info.includes('undefined') || info.includes('NaN'), false);
  for (const layer of layers) {
    ok(layer.length >= 0 && layer.at + layer.length <= octets.length);
    for (const field of layer.fields) {
      ok(field.at >= 0 && field.length >= 0 && field.at + field.length <= octets.length);
      ok(field.value === field.value && !field.text.includes('undefined'));
    }
  }
}
