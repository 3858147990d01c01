import { readdirSync } from 'node:fs';
import t from 'tap';
import { portableSockets } from '../../../support/portable-sockets.js';
import { TransportRig } from '../../../support/transport-rig.js';
import { freePort, UdpPeer } from '../../../support/udp-peer.js';
import { transportContract } from '../transport.contract.js';

const HOST = '127.0.0.1';

transportContract(t, portableSockets);

void t.test('an address that cannot be had is refused, and nothing of it stays open', async (t) => {
  const rig = new TransportRig(t, portableSockets);
  const peer = await UdpPeer.open(t);
  const localPort = await freePort();
  const attach = (localPort: number, remoteHost: string): Promise<unknown> =>
    rig.attach(rig.open(t, { type: 'udp', localHost: HOST, localPort, remoteHost, remotePort: 9 }));
  const canCount = process.platform === 'linux';
  const openDescriptors = (): number => (canCount ? readdirSync('/proc/self/fd').length : 0);
  const before = openDescriptors();
  await t.rejects(attach(peer.port, HOST), { code: 'EADDRINUSE' });
  await t.rejects(attach(localPort, '255.255.255.255'), { code: 'EACCES' }, 'nobody may send to everybody');
  // Sockets are closed when the event loop comes round.
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(openDescriptors(), before);
  t.equal(await rig.sockets.opener.isFree(localPort), true);
});

void t.test('frames that arrive faster than turns take them are counted when there is no room', async (t) => {
  const rig = new TransportRig(t, portableSockets);
  const peer = await UdpPeer.open(t);
  const link = await rig.attachUdp(t, peer.port);
  const SENT = 6000;
  for (let sent = 0; sent < SENT; sent += 50) {
    await peer.send(
      link.localPort,
      Array.from({ length: 50 }, () => Buffer.alloc(60, sent)),
    );
  }
  for (let ticks = 0; ticks < 500; ticks++) await new Promise((resolve) => setImmediate(resolve));
  await rig.turnUntil('all are counted', () => rig.books.counter(link.row, 'frames_in') === SENT);
  const { queue_full: full = 0 } = rig.books.counters(link.row);
  t.ok(full > 0);
  t.equal(link.arrived.length, SENT - full);
  t.same(
    link.arrived.map((frame) => frame[0]),
    Array.from({ length: SENT - full }, (_, index) => (Math.floor(index / 50) * 50) & 0xff),
    'those that came first are kept, in order',
  );
});
