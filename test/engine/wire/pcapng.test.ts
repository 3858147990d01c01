import t from 'tap';
import { LINK_TYPE } from '../../../src/engine/wire/pcap.js';
import {
  interfaceBlock,
  PACKET_FLAG,
  packetBlockLength,
  sectionHeader,
  statisticsBlock,
  writePacketBlock,
} from '../../../src/engine/wire/pcapng.js';
import { missingTshark, tsharkRows, tsharkText } from '../../support/tshark.js';

const skip = missingTshark();
const FRAME = Buffer.from('020000000001020000000002' + '88b5' + '00112233445566778899aabb', 'hex');
const AT = { high: 0x1797_9cfe, low: 0x0123_4567 };

function describe(name: string, more: { description?: string; filter?: string } = {}): Uint8Array {
  const { description, filter } = more;
  return interfaceBlock({ linkType: LINK_TYPE.EN10MB, snaplen: 65_535, name, description, filter });
}

/** A packet block in memory that was used before. */
function packetBlock(interfaceId: number, data: Uint8Array, flags: number, vpi = 0): Buffer {
  const block = Buffer.alloc(packetBlockLength(data.length, vpi), 0xee);
  const view = new DataView(block.buffer, block.byteOffset, block.length);
  const at = writePacketBlock(view, 0, interfaceId, AT.high, AT.low, data.length, data.length, flags, vpi);
  block.set(data, at);
  return block;
}

void t.test('blocks are whole words long, and tell their length twice', (t) => {
  const blocks = [
    sectionHeader({ application: 'Wirefarm 1' }),
    describe('e0', { description: 'from here to there', filter: 'tcp' }),
    statisticsBlock({ interfaceId: 0, received: 2 ** 40, dropped: 3, at: AT }),
    ...[0, 1, 2, 3, 4].map((length) => packetBlock(0, FRAME.subarray(0, length), 1, length * 100)),
  ];
  for (const block of blocks) {
    const { length } = block;
    const view = Buffer.from(block);
    t.equal(length % 4, 0);
    t.equal(view.readUInt32LE(4), length);
    t.equal(view.readUInt32LE(length - 4), length);
  }
  t.end();
});

void t.test('padding is zero', (t) => {
  const block = packetBlock(0, FRAME.subarray(0, 5), 1);
  t.same([...block.subarray(28 + 5, 28 + 8)], [0, 0, 0]);
  t.end();
});

void t.test('a text that is too long for an option loses its end', (t) => {
  const block = Buffer.from(describe('é'.repeat(40_000)));
  t.equal(block.readUInt16LE(18), 65_534, 'whole characters');
  t.equal(block.readUInt32LE(4), block.length);
  t.end();
});

void t.test('tshark reads interfaces, directions, faults and comments', { skip }, (t) => {
  const file = Buffer.concat([
    sectionHeader({ application: 'Wirefarm 1' }),
    describe('lab: R1 e0 – R2 e1', { description: 'a link', filter: 'port 80' }),
    describe('lab: R3'),
    packetBlock(0, FRAME, PACKET_FLAG.inbound),
    packetBlock(1, FRAME.subarray(0, 25), PACKET_FLAG.outbound | PACKET_FLAG.crcError, 300),
    packetBlock(1, FRAME.subarray(0, 24), PACKET_FLAG.inbound | PACKET_FLAG.tooLong, 4095),
    packetBlock(0, FRAME.subarray(0, 23), PACKET_FLAG.outbound | PACKET_FLAG.tooShort),
    statisticsBlock({ interfaceId: 0, received: 2, dropped: 1, at: AT }),
    statisticsBlock({ interfaceId: 1, received: 2, dropped: 0, at: AT }),
  ]);
  const time = (BigInt(AT.high) << 32n) + BigInt(AT.low);
  const epoch = `${time / 1_000_000_000n}.${String(time % 1_000_000_000n).padStart(9, '0')}`;
  const errors = ['crc', 'packet_too', 'packet_too_short'].map((name) => `frame.packet_flags_${name}_error`);
  const fields = ['frame.time_epoch', 'frame.interface_name', 'frame.len', 'frame.packet_flags_direction'];
  t.same(tsharkRows(file, [...fields, ...errors, 'frame.comment']), [
    [epoch, 'lab: R1 e0 – R2 e1', '26', '0x00000001', '0', '0', '0', ''],
    [epoch, 'lab: R3', '25', '0x00000002', '1', '0', '0', 'VPI 300'],
    [epoch, 'lab: R3', '24', '0x00000001', '0', '1', '0', 'VPI 4095'],
    [epoch, 'lab: R1 e0 – R2 e1', '23', '0x00000002', '0', '0', '1', ''],
  ]);
  t.match(tsharkText(file), 'Interface description: a link');
  t.end();
});
