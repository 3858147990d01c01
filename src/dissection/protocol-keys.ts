/** The keys by which one layer names the next. */

export const NOTHING = 0;

/** The spaces of numbers that announce a protocol. */
export const SPACE = {
  link: 1,
  ethertype: 2,
  llc: 3,
  cisco: 4,
  bridged: 5,
  slow: 6,
  hdlc: 7,
  ppp: 8,
  nlpid: 9,
  lmi: 10,
  ip: 11,
  tcp: 12,
  udp: 13,
  cell: 14,
} as const;

/** Spaces hold numbers of 16 bits. */
export function keyOf(space: number, number: number): number {
  return space * 0x1_0000 + (number & 0xffff);
}
