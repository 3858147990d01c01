import { BlockList } from 'node:net';
import t from 'tap';
import {
  internetAddress,
  packetAddress,
  unixAddress,
} from '../../../../src/engine/sockets/linux/socket-address.js';
import { Random, testSeed } from '../../../support/random.js';
import { linuxSockets } from '../../../support/linux-sockets.js';
import { TransportRig } from '../../../support/transport-rig.js';
import { UdpPeer } from '../../../support/udp-peer.js';

const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_PACKET = 17;

/** The address as the kernel reads it: the family in the order of the host, the port in that of the network. */
function expected(family: number, port: number, octets: readonly number[]): Buffer {
  const address = Buffer.alloc(family === AF_INET ? 16 : 28);
  address.writeUInt16LE(family, 0);
  address.writeUInt16BE(port, 2);
  address.set(octets, family === AF_INET ? 4 : 8);
  return address;
}

/** Writes an IPv6 address in one of its many ways. */
function written(random: Random, octets: readonly number[]): string {
  const words = Array.from({ length: 8 }, (_, index) => {
    return (octets[2 * index] ?? 0) * 256 + (octets[2 * index + 1] ?? 0);
  });
  const hasDottedEnd = random.chance(0.3);
  const groups = words.map((word) => {
    const digits = word.toString(16).padStart(random.chance(0.2) ? 4 : 1, '0');
    return random.chance(0.3) ? digits.toUpperCase() : digits;
  });
  if (hasDottedEnd) groups.splice(6, 2, octets.slice(12).join('.'));
  // Any run of zeros may be left out, once, the longest or not.
  const end = hasDottedEnd ? 6 : 8;
  const starts = words.flatMap((word, index) => (word === 0 && index < end ? [index] : []));
  if (starts.length === 0 || random.chance(0.2)) return groups.join(':');
  const first = random.pick(starts);
  let last = first;
  while (last + 1 < end && words[last + 1] === 0 && random.chance(0.9)) last++;
  return `${groups.slice(0, first).join(':')}::${groups.slice(last + 1).join(':')}`;
}

void t.test('any IPv6 address is read as Node.js reads it, however it is written', (t) => {
  const seed = testSeed(2201);
  t.comment(`seed ${seed}`);
  const random = new Random(seed);
  for (let count = 0; count < 3000; count++) {
    const octets = Array.from({ length: 16 }, () => 0);
    // Many zeros: they are what the notation is about.
    for (let index = 0; index < 16; index += 2) {
      if (random.chance(0.5)) continue;
      if (random.chance(0.7)) octets[index] = random.below(256);
      octets[index + 1] = random.below(256);
    }
    const text = written(random, octets);
    const port = random.below(65_536);
    const known = new BlockList();
    known.addAddress(text, 'ipv6');
    const plain = octets.map((octet) => octet.toString(16).padStart(2, '0')).join('');
    if (!known.check(plain.replace(/(.{4})(?=.)/g, '$1:'), 'ipv6')) t.fail(`${text} is miswritten here`);
    const address = Buffer.from(internetAddress(text, port));
    if (!address.equals(expected(AF_INET6, port, octets))) t.fail(`${text}: ${address.toString('hex')}`);
  }
  t.pass();
  t.end();
});

void t.test('any IPv4 address is read octet by octet', (t) => {
  const random = new Random(testSeed(2202));
  for (let count = 0; count < 1000; count++) {
    const octets = Array.from({ length: 4 }, () => random.below(256));
    const port = random.below(65_536);
    const address = Buffer.from(internetAddress(octets.join('.'), port));
    if (!address.equals(expected(AF_INET, port, octets))) t.fail(octets.join('.'));
  }
  t.pass();
  t.end();
});

void t.test('special IPv6 addresses', (t) => {
  const octetsOf = (text: string): string => Buffer.from(internetAddress(text, 0)).toString('hex', 8, 24);
  t.equal(octetsOf('::'), '0'.repeat(32));
  t.equal(octetsOf('::1'), '0'.repeat(31) + '1');
  t.equal(octetsOf('1::'), '0001' + '0'.repeat(28));
  t.equal(octetsOf('::ffff:192.0.2.33'), '0'.repeat(20) + 'ffffc0000221');
  t.equal(octetsOf('fe80::1%eth0'), 'fe80' + '0'.repeat(27) + '1');
  t.equal(octetsOf('1:2:3:4:5:6:7:8'), '00010002000300040005000600070008');
  t.end();
});

void t.test('the kernel takes addresses as they are meant', async (t) => {
  const rig = new TransportRig(t, linuxSockets);
  for (const host of ['127.0.0.1', '127.9.8.7', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1']) {
    const peer = await UdpPeer.open(t, host);
    const link = await rig.attachUdp(t, peer.port, host);
    await peer.send(link.localPort, [Buffer.from(host)]);
    await rig.turnUntil(`${host} is heard`, () => link.arrived.length === 1);
    rig.send(link, [Buffer.from('back')]);
    t.same(await peer.receive(1), [Buffer.from('back')]);
  }
});

void t.test('a path is a Unix address when the kernel has room for it', (t) => {
  const longest = `/${'x'.repeat(106)}`;
  const address = Buffer.from(unixAddress(longest) ?? []);
  t.equal(address.readUInt16LE(0), AF_UNIX);
  t.equal(address.toString('utf8', 2, address.length - 1), longest);
  t.equal(address.at(-1), 0);
  t.equal(unixAddress(`${longest}x`), undefined);
  t.equal(unixAddress(`/${'é'.repeat(54)}`), undefined, 'octets count, not characters');
  t.end();
});

void t.test('a packet address names an interface and a protocol', (t) => {
  const address = Buffer.from(packetAddress(0x0102, 0x8100));
  t.equal(address.length, 20);
  t.equal(address.readUInt16LE(0), AF_PACKET);
  t.equal(address.readUInt16BE(2), 0x8100);
  t.equal(address.readInt32LE(4), 0x0102);
  t.end();
});
