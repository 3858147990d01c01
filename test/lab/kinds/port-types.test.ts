import t from 'tap';
import { LINK_TYPE } from '../../../src/engine/wire/pcap.js';
import {
  ATM,
  captureLinkTypes,
  ETHERNET,
  FAST_ETHERNET,
  portOfType,
  POS,
  SERIAL,
} from '../../../src/lab/kinds/port-types.js';

void t.test('a capture at a port records what is spoken there, the default first', (t) => {
  const place = { adapter: 0, port: 0, name: 'x', shortName: 'x' };
  for (const [type, linkTypes] of [
    [ETHERNET, [LINK_TYPE.EN10MB]],
    [FAST_ETHERNET, [LINK_TYPE.EN10MB]],
    [SERIAL, [LINK_TYPE.C_HDLC, LINK_TYPE.PPP_SERIAL, LINK_TYPE.FRELAY]],
    [ATM, [LINK_TYPE.SUNATM]],
    [POS, [LINK_TYPE.C_HDLC, LINK_TYPE.PPP_SERIAL]],
  ] as const) {
    t.same(captureLinkTypes(portOfType(type, place)), linkTypes, type.long);
  }
  t.same(captureLinkTypes({ ...portOfType(ETHERNET, place), data_link_types: {} }), [LINK_TYPE.EN10MB]);
  t.end();
});
