import t from 'tap';
import { packetDesign } from '../../src/captures/packet-design.js';
import { LINK_TYPES } from '../../src/run/switches/link-types.js';
import { LINK_TYPE } from '../../src/engine/wire/pcap.js';

void t.test('ATM is recorded as the frames that its cells make, or as cells, whatever clients name', (t) => {
  for (const wanted of [undefined, 'DLT_EN10MB', 'DLT_ATM_RFC1483', 'DLT_FRELAY'] as const) {
    t.same(packetDesign('atm_switch', wanted, false), { linkType: LINK_TYPE.SUNATM, packets: 'aal5' });
    t.same(packetDesign('atm_switch', wanted, true), { linkType: LINK_TYPE.ERF, packets: 'cells' });
  }
  t.end();
});

void t.test('elsewhere the type is that of the port, unless a serial one is named', (t) => {
  const typeOf = (...of: Parameters<typeof packetDesign>): number => packetDesign(...of).linkType;
  for (const wanted of [undefined, 'DLT_EN10MB', 'DLT_ATM_RFC1483'] as const) {
    t.equal(typeOf('ethernet_hub', wanted, false), LINK_TYPE.EN10MB);
    t.equal(typeOf('ethernet_switch', wanted, true), LINK_TYPE.EN10MB);
    t.equal(typeOf('frame_relay_switch', wanted, false), LINK_TYPE.FRELAY);
  }
  t.equal(typeOf('frame_relay_switch', 'DLT_C_HDLC', false), LINK_TYPE.C_HDLC);
  t.equal(typeOf('frame_relay_switch', 'DLT_PPP_SERIAL', false), LINK_TYPE.PPP_SERIAL);
  t.same(packetDesign('ethernet_hub', undefined, true).packets, 'frames');
  t.end();
});

void t.test('expressions of filters see frames as captures record them', (t) => {
  t.equal(LINK_TYPES.atm_switch, LINK_TYPE.SUNATM);
  t.equal(LINK_TYPES.ethernet_switch, LINK_TYPE.EN10MB);
  t.end();
});
