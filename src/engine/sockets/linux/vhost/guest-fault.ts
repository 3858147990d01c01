/** A guest, or the program around it, broke the rules of the shared memory. It is cut off, and nobody else notices. */

/** Each reason has a number, by which the engine tells it; 0 is none. */
const REASONS = [
  '',
  'it sent a message that is no message of vhost-user',
  'it sent more descriptors than a message may have, or none where one is needed',
  'it demanded a feature that was not offered',
  'its memory is no memfd that is sealed against shrinking',
  'its memory is larger than the memory of the node, or lies outside of its file',
  'its memory could not be mapped',
  'it sent something else than an eventfd',
  'it named a queue that does not exist',
  'the size of a queue is no power of two, or too large',
  'a queue lies outside of its memory',
  'the index of a queue jumped',
  'a descriptor of a queue does not exist, or its chain is a loop',
  'a buffer lies outside of its memory',
  'a buffer has the wrong direction, or is too small for the header of a frame',
  'the host gives the engine no way to signal events',
] as const;

export const FAULT = {
  message: 1,
  descriptors: 2,
  feature: 3,
  seal: 4,
  bounds: 5,
  mapping: 6,
  event: 7,
  queue: 8,
  queueSize: 9,
  queuePlace: 10,
  index: 11,
  chain: 12,
  buffer: 13,
  direction: 14,
  signal: 15,
} as const;

type Fault = (typeof FAULT)[keyof typeof FAULT];

export function reasonOf(fault: number): string {
  return REASONS[fault] ?? '';
}

export class GuestFault extends Error {
  override readonly name = 'GuestFault';

  constructor(readonly fault: Fault) {
    super(reasonOf(fault));
  }
}
