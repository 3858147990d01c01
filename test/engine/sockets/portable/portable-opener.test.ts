import t from 'tap';
import { PortableOpener } from '../../../../src/engine/sockets/portable/portable-opener.js';
import { openerContract } from '../opener.contract.js';

openerContract(t, new PortableOpener());

void t.test('a UDP endpoint is an address that the engine opens itself', (t) => {
  const opener = new PortableOpener();
  const address = { localHost: '127.0.0.1', localPort: 1000, remoteHost: '::1', remotePort: 2000 };
  t.same(opener.open({ type: 'udp', ...address }), {
    type: 'udp-address',
    ...address,
    local: '127.0.0.1:1000',
    remote: '::1:2000',
  });
  t.throws(() => opener.open({ type: 'tap', device: 'tap0' }), { message: /it needs Linux$/ });
  t.end();
});
