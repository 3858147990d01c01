import t from 'tap';
import {
  LINK_TYPE,
  pcapHeader,
  RECORD_HEADER_LENGTH,
  writeRecordHeader,
} from '../../../src/engine/wire/pcap.js';
import { missingTshark, tsharkRows } from '../../support/tshark.js';

function recordOf(seconds: number, nanoseconds: number, original: number, data: Uint8Array): Buffer {
  const record = Buffer.alloc(RECORD_HEADER_LENGTH + data.length);
  const view = new DataView(record.buffer, record.byteOffset, record.length);
  writeRecordHeader(view, 0, seconds, nanoseconds, data.length, original);
  record.set(data, RECORD_HEADER_LENGTH);
  return record;
}

void t.test('the header is that of a capture with nanoseconds', (t) => {
  const header = Buffer.from(pcapHeader(LINK_TYPE.SUNATM, 262_144));
  t.equal(header.toString('hex'), '4d3cb2a1020004000000000000000000000004007b000000');
  t.end();
});

void t.test('a record tells its time, what is kept, and what there was', (t) => {
  const record = recordOf(0x6553_f100, 999_999_999, 1500, Buffer.from([1, 2, 3]));
  t.equal(record.toString('hex'), '00f15365' + 'ffc99a3b' + '03000000' + 'dc050000' + '010203');
  t.end();
});

void t.test('tshark reads every link type', { skip: missingTshark() }, (t) => {
  const ip = Buffer.from('450000140001000040110000' + '0a000001' + '0a000002', 'hex');
  const packets = {
    EN10MB: Buffer.concat([Buffer.from('0200000000010200000000020800', 'hex'), ip]),
    PPP_SERIAL: Buffer.concat([Buffer.from('ff030021', 'hex'), ip]),
    C_HDLC: Buffer.concat([Buffer.from('0f000800', 'hex'), ip]),
    FRELAY: Buffer.concat([Buffer.from('184103cc', 'hex'), ip]),
    SUNATM: Buffer.concat([Buffer.from('02010064', 'hex'), Buffer.from('aaaa030000000800', 'hex'), ip]),
  };
  for (const name of Object.keys(packets) as (keyof typeof packets)[]) {
    const packet = packets[name];
    const file = Buffer.concat([
      pcapHeader(LINK_TYPE[name], 65_535),
      recordOf(1_700_000_000, 123_456_789, packet.length, packet),
      recordOf(1_700_000_001, 0, packet.length + 9, packet),
    ]);
    const fields = ['frame.time_epoch', 'ip.src', 'ip.dst', 'frame.len'];
    // The length that is told for ATM is without what stands before the frame.
    const length = packet.length - (name === 'SUNATM' ? 4 : 0);
    t.same(
      tsharkRows(file, fields),
      [
        ['1700000000.123456789', '10.0.0.1', '10.0.0.2', String(length)],
        ['1700000001.000000000', '10.0.0.1', '10.0.0.2', String(length + 9)],
      ],
      name,
    );
  }
  t.end();
});
