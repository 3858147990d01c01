import { BlockList } from 'node:net';
import t from 'tap';
import type { NioUdp } from '../../../src/run/links/nio.js';
import { udpAttachable } from '../../../src/run/links/udp-peer.js';
import { UdpReach } from '../../../src/run/links/udp-reach.js';
import { udpReach } from '../../support/udp-reach.js';

const to = (rhost: string): NioUdp => ({ type: 'nio_udp', lport: 5, rhost, rport: 6 });

void t.test('the near end is as near as the far end', async (t) => {
  for (const [rhost, localHost] of [
    ['127.0.0.1', '127.0.0.1'],
    ['127.9.9.9', '127.0.0.1'],
    ['::1', '::1'],
    ['192.0.2.7', '0.0.0.0'],
    ['2001:db8::7', '::'],
  ] as const) {
    t.same(await udpAttachable(to(rhost), udpReach()), {
      type: 'udp',
      localHost,
      localPort: 5,
      remoteHost: rhost,
      remotePort: 6,
    });
  }
});

void t.test('a name is resolved to an address', async (t) => {
  t.match(await udpAttachable(to('localhost'), udpReach()), {
    remoteHost: /^(127\.0\.0\.1|::1)$/,
    localHost: /^(127\.0\.0\.1|::1)$/,
  });
});

void t.test('a name that nobody has is refused', async (t) => {
  await t.rejects(udpAttachable(to('no-such-host.invalid'), udpReach()), {
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
    await t.rejects(udpAttachable(to(rhost), udpReach()), {
      status: 409,
      message: `Could not create an UDP connection to ${rhost}:6: `,
    });
  }
});

void t.test('addresses outside of the permitted networks are refused, by number and by name', async (t) => {
  const networks = new BlockList();
  networks.addSubnet('10.0.0.0', 8, 'ipv4');
  networks.addSubnet('2001:db8::', 32, 'ipv6');
  const reach = udpReach(networks);
  for (const rhost of ['10.1.2.3', '2001:db8::1']) await udpAttachable(to(rhost), reach);
  for (const rhost of ['11.1.2.3', '127.0.0.1', '2001:db9::1', 'localhost']) {
    await t.rejects(udpAttachable(to(rhost), reach), { status: 409, message: /outside of the networks/ });
  }
});

void t.test('a tunnel is at the address for tunnels, and other links are not', async (t) => {
  const reach = udpReach(undefined, '10.1.0.5');
  const tunnel = { ...to('10.1.0.6'), isTunnel: true } as const;
  t.match(await udpAttachable(tunnel, reach), { localHost: '10.1.0.5' });
  t.match(await udpAttachable(to('10.1.0.6'), reach), { localHost: '0.0.0.0' });
  t.match(await udpAttachable({ ...tunnel, rhost: '127.0.0.1' }, reach), { localHost: '127.0.0.1' });
  await t.rejects(udpAttachable({ ...tunnel, rhost: '2001:db8::1' }, reach), {
    message: /cannot be reached from the tunnel address 10\.1\.0\.5/,
  });
});

void t.test('hosts that a controller names are allowed until it does not name them any more', (t) => {
  let now = 0;
  const networks = new BlockList();
  const reach = new UdpReach({ networks, tunnelAddress: undefined, takesHosts: () => true, now: () => now });
  const allowed = (): string[] => ['10.0.0.1', '10.0.0.2', '10.0.0.3'].filter((one) => reach.allows(one));
  reach.name('one', ['10.0.0.1', '10.0.0.2']);
  reach.name('other', ['10.0.0.2']);
  t.strictSame(allowed(), ['10.0.0.1', '10.0.0.2']);
  reach.name('one', []);
  t.strictSame(allowed(), ['10.0.0.2']);
  now = 119_999;
  reach.name('one', ['10.0.0.3']);
  t.strictSame(allowed(), ['10.0.0.2', '10.0.0.3']);
  now++;
  t.strictSame(allowed(), ['10.0.0.3'], 'the other controller has not named it again');
  for (let number = 1; number < 64; number++) reach.name(`more ${number}`, []);
  t.throws(() => {
    reach.name('one too many', []);
  }, /at most 64/);
  t.throws(() => {
    udpReach(networks).name('one', []);
  }, /it has no users/);
  t.end();
});
