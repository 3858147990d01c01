import t from 'tap';
import { captureType } from '../../src/captures/capture-type.js';
import { atmSwitch } from '../../src/lab/kinds/atm-switch.js';
import { ethernetHub } from '../../src/lab/kinds/ethernet-hub.js';
import { ethernetSwitch } from '../../src/lab/kinds/ethernet-switch.js';
import { frameRelaySwitch } from '../../src/lab/kinds/frame-relay-switch.js';
import { LINK_TYPE } from '../../src/engine/wire/pcap.js';

void t.test('ATM is recorded as the frames that its cells make, or as cells, whatever clients name', (t) => {
  for (const wanted of [undefined, 'DLT_EN10MB', 'DLT_ATM_RFC1483', 'DLT_FRELAY'] as const) {
    t.same(captureType(atmSwitch, wanted, false), { linkType: LINK_TYPE.SUNATM, packets: 'aal5' });
    t.same(captureType(atmSwitch, wanted, true), { linkType: LINK_TYPE.ERF, packets: 'cells' });
  }
  t.end();
});

void t.test('elsewhere the type is that of the port, unless a serial one is named', (t) => {
  const typeOf = (...of: Parameters<typeof captureType>): number => captureType(...of).linkType;
  for (const wanted of [undefined, 'DLT_EN10MB', 'DLT_ATM_RFC1483'] as const) {
    t.equal(typeOf(ethernetHub, wanted, false), LINK_TYPE.EN10MB);
    t.equal(typeOf(ethernetSwitch, wanted, true), LINK_TYPE.EN10MB);
    t.equal(typeOf(frameRelaySwitch, wanted, false), LINK_TYPE.FRELAY);
  }
  t.equal(typeOf(frameRelaySwitch, 'DLT_C_HDLC', false), LINK_TYPE.C_HDLC);
  t.equal(typeOf(frameRelaySwitch, 'DLT_PPP_SERIAL', false), LINK_TYPE.PPP_SERIAL);
  t.same(captureType(ethernetHub, undefined, true).packets, 'frames');
  t.end();
});

void t.test('expressions of filters see frames as captures record them', (t) => {
  t.equal(atmSwitch.capture.linkType, LINK_TYPE.SUNATM);
  t.equal(ethernetSwitch.capture.linkType, LINK_TYPE.EN10MB);
  t.end();
});
