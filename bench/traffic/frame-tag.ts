/** The tag that frames carry behind their header, so that receivers can tell them apart: all little endian. */
export const TAG = {
  /** The number of the sender: 4 octets. */
  run: 0,
  /** The number of the frame, from 0 on: 4 octets. */
  number: 4,
  /** When it was sent, by `monotonicMs`: 8 octets, a Float64. */
  sentAt: 8,
} as const;
export const TAG_LENGTH = 16;
