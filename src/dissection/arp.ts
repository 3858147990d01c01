/** Address resolution (RFC 826), for IPv4 on Ethernet; other kinds are shown as octets. */
import { ABSENT } from './packet-numbers.js';
import { ethertypeText } from './ethernet.js';
import type { Protocol } from './protocol.js';
import { NOTHING } from './protocol-keys.js';

const LENGTH = 28;
const ETHERNET = 1;
const OPERATIONS: Readonly<Record<number, string>> = {
  1: 'request',
  2: 'reply',
  3: 'reverse request',
  4: 'reverse reply',
};
const SENDER = { mac: 8, ip: 14 } as const;
const TARGET = { mac: 18, ip: 24 } as const;

export const ARP: Protocol = {
  name: 'ARP',
  title: 'Address resolution',
  classify(numbers) {
    if (numbers.ipAt === ABSENT && numbers.has(LENGTH) && numbers.octet(4) === 6 && numbers.octet(5) === 4) {
      numbers.ipAt = numbers.at - numbers.start + SENDER.ip;
      numbers.ipVersion = 0;
    }
    numbers.go(LENGTH, NOTHING);
  },
  describe(d) {
    const { at } = d;
    d.number('arp.hw.type', 'Hardware type', at, 2, { [ETHERNET]: 'Ethernet' });
    d.number('arp.proto.type', 'Protocol type', at + 2, 2, ethertypeText);
    const hardware = d.number('arp.hw.size', 'Hardware size', at + 4, 1);
    const protocol = d.number('arp.proto.size', 'Protocol size', at + 5, 1);
    const operation = d.number('arp.opcode', 'Operation', at + 6, 2, OPERATIONS);
    if (hardware !== 6 || protocol !== 4) {
      const length = 8 + 2 * (hardware + protocol);
      d.rest('arp.addresses', 'Addresses', at + 8, Math.max(0, Math.min(length, d.end - at) - 8));
      d.say(`operation ${operation}`);
      d.go(at + length, NOTHING);
      return;
    }
    const source = d.mac('arp.src.hw_mac', 'Sender hardware', at + SENDER.mac);
    const sender = d.ipv4('arp.src.proto_ipv4', 'Sender', at + SENDER.ip);
    d.mac('arp.dst.hw_mac', 'Target hardware', at + TARGET.mac);
    const target = d.ipv4('arp.dst.proto_ipv4', 'Target', at + TARGET.ip);
    if (operation === 1 && sender === target) d.say(`announcement: ${sender} is at ${source}`);
    else if (operation === 1) d.say(`who has ${target}? ${sender} asks`);
    else if (operation === 2) d.say(`${sender} is at ${source}`);
    else d.say(OPERATIONS[operation] ?? `operation ${operation}`);
    d.go(at + LENGTH, NOTHING);
  },
};
