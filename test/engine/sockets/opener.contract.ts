/** The promises of every opener, as a suite over the sockets of a platform. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Test } from 'tap';
import { OpenError, type Opener } from '../../../src/engine/sockets/opener.js';
import { udpEnds } from '../../../src/engine/forwarding/transport.js';
import { freePort, UdpPeer } from '../../support/udp-peer.js';

export function openerContract(t: Test, opener: Opener): void {
  void t.test('a UDP endpoint says what its two ends are', async (t) => {
    const address = {
      localHost: '127.0.0.1',
      localPort: await freePort(),
      remoteHost: '127.0.0.1',
      remotePort: 9,
    };
    const endpoint = opener.open({ type: 'udp', ...address });
    t.same(udpEnds(endpoint), { local: `127.0.0.1:${address.localPort}`, remote: '127.0.0.1:9' });
    t.equal(opener.lost(endpoint), 0);
    opener.close(endpoint);
  });

  void t.test('a null endpoint needs no descriptor', (t) => {
    const endpoint = opener.open({ type: 'null' });
    t.same(endpoint, { type: 'null' });
    t.equal(udpEnds(endpoint), undefined);
    t.equal(opener.lost(endpoint), 0);
    opener.close(endpoint);
    t.end();
  });

  void t.test('a port is free unless somebody holds it, at whichever address', async (t) => {
    const peer = await UdpPeer.open(t);
    t.equal(await opener.isFree(peer.port), false);
    const port = await freePort();
    t.equal(await opener.isFree(port), true);
    t.equal(await opener.isFree(port), true, 'asking does not take it');
    const everywhere = createSocket('udp4');
    everywhere.bind(port);
    await once(everywhere, 'listening');
    t.equal(await opener.isFree(port), false);
    everywhere.close();
    await once(everywhere, 'close');
    t.equal(await opener.isFree(port), true);
  });

  void t.test('an endpoint that cannot be opened is refused with a reason', (t) => {
    const refused = (wanted: Parameters<Opener['open']>[0]): void => {
      t.throws(() => opener.open(wanted), OpenError);
    };
    refused({ type: 'packet', device: 'wirefarm-none' });
    refused({ type: 'unix', localFile: `/tmp/${'x'.repeat(200)}`, remoteFile: '/tmp/none' });
    t.end();
  });
}
