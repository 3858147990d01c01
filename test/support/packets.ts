/** Packets at random that expressions tell apart: few addresses, few ports, all lengths, some octets wrong. */
import type { Random } from './random.js';

export interface LinkType {
  readonly name: string;
  readonly number: number;
  readonly header: (random: Random, version: 4 | 6) => readonly number[];
}

const ETHER_TYPES = { 4: [0x08, 0x00], 6: [0x86, 0xdd] } as const;

export const LINK_TYPES: readonly LinkType[] = [
  { name: 'Ethernet', number: 1, header: ethernetHeader },
  {
    name: 'Frame Relay',
    number: 107,
    header: (random, version) => [random.pick([0x18, 0x1c]), 0x41, 0x03, version === 4 ? 0xcc : 0x8e],
  },
  {
    name: 'SUNATM',
    number: 123,
    header: (random, version) => [
      ...[random.pick([0x02, 0x82]), random.below(3), 0, 38 + random.below(4)],
      ...[0xaa, 0xaa, 0x03, 0, 0, 0, ...ETHER_TYPES[version]],
    ],
  },
  {
    name: 'PPP',
    number: 50,
    header: (_random, version) => [0xff, 0x03, 0x00, version === 4 ? 0x21 : 0x57],
  },
  { name: 'HDLC', number: 104, header: (_random, version) => [0x0f, 0x00, ...ETHER_TYPES[version]] },
];

function ethernetHeader(random: Random, version: 4 | 6): readonly number[] {
  const address = (): readonly number[] => [random.pick([0x02, 0x03, 0xff]), 0, 0, 0, 0, random.below(3)];
  const tags = random.chance(0.3) ? [0x81, 0x00, random.below(16) << 4, random.below(3)] : [];
  return [...address(), ...address(), ...tags, ...ETHER_TYPES[version]];
}

export function randomPacket(random: Random, link: LinkType): Uint8Array {
  const version = random.chance(0.8) ? 4 : 6;
  const packet = Uint8Array.from([
    ...link.header(random, version),
    ...(version === 4 ? ipv4(random) : ipv6(random)),
    ...Array.from({ length: random.pick([0, 4, 40, 200]) }, () => random.below(256)),
  ]);
  if (random.chance(0.3)) packet[random.below(packet.length)] = random.below(256);
  return random.chance(0.2) ? packet.subarray(0, random.below(packet.length + 1)) : packet;
}

function ipv4(random: Random): readonly number[] {
  const words = random.chance(0.8) ? 5 : 5 + random.below(11);
  const fragment = random.chance(0.8) ? [0x40, 0] : [random.pick([0x20, 0]), random.below(3)];
  const address = (): readonly number[] => [10, 0, random.below(2), random.below(3)];
  return [
    ...[0x40 | words, random.pick([0, 0xb8]), 0, 40 + random.below(3), 0, random.below(4), ...fragment],
    ...[random.pick([1, 64]), random.pick([1, 6, 6, 17, 17, 89]), 0, 0, ...address(), ...address()],
    ...Array.from({ length: (words - 5) * 4 }, () => 1),
    ...transport(random),
  ];
}

function ipv6(random: Random): readonly number[] {
  const address = (): readonly number[] => [0xfe, 0x80, ...new Array<number>(13).fill(0), random.below(3)];
  return [
    0x60,
    0,
    0,
    0,
    0,
    20,
    random.pick([6, 17, 58, 44]),
    64,
    ...address(),
    ...address(),
    ...transport(random),
  ];
}

/** Ports, a sequence number, and the flags where TCP has them. */
function transport(random: Random): readonly number[] {
  const port = (): readonly number[] =>
    random.pick([
      [0, 80],
      [0, 53],
      [0x1f, 0x90],
    ] as const);
  return [
    ...[...port(), ...port(), ...Array.from({ length: 8 }, () => random.below(256))],
    ...[0x50, random.pick([0x02, 0x12, 0x10, 0x11]), 0, 10, 0, 0, 0, 0],
  ];
}
