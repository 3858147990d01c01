import { BlockList } from 'node:net';
import t from 'tap';
import type { NioUdp } from '../../../src/run/links/nio.js';
import { udpAttachable } from '../../../src/run/links/udp-peer.js';

const to = (rhost: string): NioUdp => ({ type: 'nio_udp', lport: 5, rhost, rport: 6 });

void t.test('the near end is as near as the far end', async (t) => {
  for (const [rhost, localHost] of [
    ['127.0.0.1', '127.0.0.1'],
    ['127.9.9.9', '127.0.0.1'],
    ['::1', '::1'],
    ['192.0.2.7', '0.0.0.0'],
    ['2001:db8::7', '::'],
  ] as const) {
    t.same(await udpAttachable(to(rhost), undefined), {
      type: 'udp',
      localHost,
      localPort: 5,
      remoteHost: rhost,
      remotePort: 6,
    });
  }
});

void t.test('a name is resolved to an address', async (t) => {
  t.match(await udpAttachable(to('localhost'), undefined), {
    remoteHost: /^(127\.0\.0\.1|::1)$/,
    localHost: /^(127\.0\.0\.1|::1)$/,
  });
});

void t.test('a name that nobody has is refused', async (t) => {
  await t.rejects(udpAttachable(to('no-such-host.invalid'), undefined), {
    status: 409,
    message: /^Could not create an UDP connection to no-such-host\.invalid:6: ./,
  });
});

void t.test('a text that is not the address of one host is refused', async (t) => {
  for (const rhost of [
    '0.0.0.0',
    '0.1.2.3',
    '224.0.0.1',
    '239.255.255.255',
    '255.255.255.255',
    '::',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'fe80::1%lo',
  ]) {
    await t.rejects(udpAttachable(to(rhost), undefined), {
      status: 409,
      message: `Could not create an UDP connection to ${rhost}:6: `,
    });
  }
});

void t.test('addresses outside of the permitted networks are refused, by number and by name', async (t) => {
  const networks = new BlockList();
  networks.addSubnet('10.0.0.0', 8, 'ipv4');
  networks.addSubnet('2001:db8::', 32, 'ipv6');
  for (const rhost of ['10.1.2.3', '2001:db8::1']) await udpAttachable(to(rhost), networks);
  for (const rhost of ['11.1.2.3', '127.0.0.1', '2001:db9::1', 'localhost']) {
    await t.rejects(udpAttachable(to(rhost), networks), { status: 409, message: /outside of the networks/ });
  }
});
