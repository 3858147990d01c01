/** A pcapng file with an interface for each link type, and one packet for each frame. */
import { block, words } from './capture-samples.js';
import { SAMPLE_FRAMES, SAMPLE_LINK_TYPES, type SampleFrame } from './sample-frames.js';

const SECTION = words([0x1a2b_3c4d, 1, 0xffff_ffff, 0xffff_ffff]);

export function samplePcapng(frames: readonly SampleFrame[] = SAMPLE_FRAMES): Buffer {
  return Buffer.concat([
    block(0x0a0d_0d0a, SECTION),
    ...SAMPLE_LINK_TYPES.map((linkType) => block(1, words([linkType, 262_144]))),
    ...frames.map(({ linkType, octets }, index) => {
      const head = words([
        SAMPLE_LINK_TYPES.indexOf(linkType),
        0,
        index * 1000,
        octets.length,
        octets.length,
      ]);
      return block(6, Buffer.concat([head, octets]));
    }),
  ]);
}
