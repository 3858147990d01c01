/** tshark reads what taps write. */
import t from 'tap';
import type { TapPlan } from '../../../src/engine/taps/tap-plan.js';
import { LINK_TYPE, pcapHeader, type PcapLinkType } from '../../../src/engine/wire/pcap.js';
import { interfaceBlock, sectionHeader } from '../../../src/engine/wire/pcapng.js';
import { aal5Cells, cellOf } from '../../support/aal5-cells.js';
import { Random, testSeed } from '../../support/random.js';
import { NOON, planOf, TapRig } from '../../support/tap-rig.js';
import { missingTshark, tsharkRows, tsharkText } from '../../support/tshark.js';

const skip = missingTshark();
const FORMATS = ['pcap', 'pcapng'] as const;
const SECTION = sectionHeader({ application: 'Wirefarm' });

const hex = (...parts: readonly string[]): Buffer => Buffer.from(parts.join(''), 'hex');

/** IP from 10.0.0.1 to 10.0.0.2 with UDP and a number. */
function ip(number: number, length = 40): Buffer {
  const packet = Buffer.alloc(length);
  packet.set(hex('4500', '0000', '0000', '4000', '4011', '0000', '0a000001', '0a000002'));
  packet.writeUInt16BE(length, 2);
  packet.writeUInt16BE(number, 4);
  packet.set(hex('03e8', '07d0', '0000', '0000'), 20);
  packet.writeUInt16BE(length - 20, 24);
  return packet;
}

const overEthernet = (packet: Buffer): Buffer =>
  Buffer.concat([hex('020000000001', '020000000002', '0800'), packet]);
const overFrameRelay = (packet: Buffer): Buffer => Buffer.concat([hex('1841', '03cc'), packet]);
const overLlc = (packet: Buffer): Buffer => Buffer.concat([hex('aaaa03', '000000', '0800'), packet]);
const overBridge = (frame: Buffer): Buffer => Buffer.concat([hex('aaaa03', '0080c2', '0007', '0000'), frame]);

/** A whole file: header and log. */
function fileOf(rig: TapRig, format: TapPlan['format'], linkType: PcapLinkType, snaplen: number): Buffer {
  const described = { linkType, snaplen, name: 'R1 e0', description: undefined, filter: undefined };
  const header = format === 'pcap' ? [pcapHeader(linkType, snaplen)] : [SECTION, interfaceBlock(described)];
  return Buffer.concat([...header, rig.drain(0)]);
}

function record(
  plan: Partial<TapPlan>,
  linkType: PcapLinkType,
  play: (pass: (out: boolean, ...frames: Buffer[]) => void) => void,
): Buffer {
  const rig = new TapRig();
  rig.prepare(0);
  const whole = planOf(plan);
  const tap = rig.logs.newTap(whole);
  play((isOut, ...frames) => {
    rig.time += 250.25;
    tap.record(isOut ? 'out' : 'in', rig.batch(...frames));
  });
  tap.close();
  return fileOf(rig, whole.format, linkType, whole.snaplen);
}

const secondsAt = (batch: number): string => {
  const nanoseconds = BigInt(NOON) * 1_000_000n + BigInt(batch) * 250_250_000n;
  return `${nanoseconds / 1_000_000_000n}.${String(nanoseconds % 1_000_000_000n).padStart(9, '0')}`;
};

void t.test('every Ethernet and Frame Relay frame is read, with its time', { skip }, (t) => {
  for (const format of FORMATS) {
    for (const [linkType, wrap, overhead] of [
      [LINK_TYPE.EN10MB, overEthernet, 14],
      [LINK_TYPE.FRELAY, overFrameRelay, 4],
    ] as const) {
      const random = new Random(testSeed(41_601));
      const lengths: number[] = [];
      const file = record({ format }, linkType, (pass) => {
        for (let batch = 0; batch < 40; batch++) {
          const frames = Array.from({ length: 1 + random.below(50) }, () => {
            const length = 40 + random.below(1400);
            lengths.push(length);
            return wrap(ip(lengths.length, length));
          });
          pass(batch % 2 === 1, ...frames);
        }
      });
      const rows = tsharkRows(file, ['ip.id', 'frame.len', 'ip.dst', 'frame.time_epoch']);
      t.equal(rows.length, lengths.length);
      t.same(
        rows.map(([id, length, to]) => [Number(id), Number(length) - overhead, to]),
        lengths.map((length, index) => [index + 1, length, '10.0.0.2']),
      );
      t.equal(rows[0]?.[3], secondsAt(1));
      t.equal(rows.at(-1)?.[3], secondsAt(40));
    }
  }
  t.end();
});

void t.test('frames that were cut tell their length', { skip }, (t) => {
  for (const format of FORMATS) {
    const file = record({ format, snaplen: 61 }, LINK_TYPE.EN10MB, (pass) => {
      pass(false, overEthernet(ip(1, 500)), overEthernet(ip(2, 40)), overEthernet(ip(3, 1000)));
    });
    t.same(tsharkRows(file, ['frame.cap_len', 'frame.len', 'ip.id']), [
      ['61', '514', '0x0001'],
      ['54', '54', '0x0002'],
      ['61', '1014', '0x0003'],
    ]);
  }
  t.end();
});

void t.test('pcapng tells directions, and interfaces that join later', { skip }, (t) => {
  const rig = new TapRig();
  rig.prepare(0);
  const newTap = (name: string, linkType: PcapLinkType): ReturnType<TapRig['logs']['newTap']> => {
    const described = { linkType, snaplen: 0, name, description: 'a link', filter: undefined };
    return rig.logs.newTap(planOf({ format: 'pcapng', opening: interfaceBlock(described) }));
  };
  const one = newTap('lab: R1 e0', LINK_TYPE.EN10MB);
  one.record('in', rig.batch(overEthernet(ip(1))));
  const two = newTap('lab: R2 s0', LINK_TYPE.FRELAY);
  two.record('out', rig.batch(overFrameRelay(ip(2))));
  one.record('out', rig.batch(overEthernet(ip(3))));
  one.close();
  two.record('in', rig.batch(overFrameRelay(ip(4))));
  two.close();
  const file = Buffer.concat([SECTION, rig.drain(0)]);
  t.same(tsharkRows(file, ['ip.id', 'frame.interface_name', 'frame.packet_flags_direction']), [
    ['0x0001', 'lab: R1 e0', '0x00000001'],
    ['0x0002', 'lab: R2 s0', '0x00000002'],
    ['0x0003', 'lab: R1 e0', '0x00000002'],
    ['0x0004', 'lab: R2 s0', '0x00000001'],
  ]);
  t.end();
});

void t.test('AAL5 frames show VPI, VCI, LLC and what is inside', { skip }, (t) => {
  for (const format of FORMATS) {
    const file = record({ format, packets: 'aal5' }, LINK_TYPE.SUNATM, (pass) => {
      pass(false, ...aal5Cells(1, 100, overLlc(ip(1, 1000))));
      pass(true, ...aal5Cells(2, 101, overBridge(overEthernet(ip(2, 60)))));
      pass(false, ...aal5Cells(3, 102, ip(3)), cellOf(3, 102, 5, Buffer.alloc(48)));
      pass(true, ...aal5Cells(255, 65_535, overLlc(ip(4, 9000))));
      pass(false, ...aal5Cells(0, 32, Buffer.concat([hex('0021'), ip(5)])));
    });
    const fields = ['atm.vpi', 'atm.vci', 'frame.protocols', 'ip.id', 'ip.dst', 'frame.len', 'atm.channel'];
    t.same(
      tsharkRows(file, fields).map(([vpi, vci, protocols, ...rest]) => [
        vpi,
        vci,
        protocols?.replace(/:data$/, ''),
        ...rest,
      ]),
      [
        ['1', '100', 'atm:llc:ip:udp', '0x0001', '10.0.0.2', '1008', '1'],
        ['2', '101', 'atm:llc:eth:ethertype:ip:udp', '0x0002', '10.0.0.2', '84', '0'],
        ['3', '102', 'atm:ip:udp', '0x0003', '10.0.0.2', '40', '1'],
        ['255', '65535', 'atm:llc:ip:udp', '0x0004', '10.0.0.2', '9008', '0'],
        ['0', '32', 'atm:ppp:ip:udp', '0x0005', '10.0.0.2', '42', '1'],
      ],
      format,
    );
  }
  t.end();
});

void t.test('AAL5 frames are cut, and the file is still read', { skip }, (t) => {
  for (const snaplen of [0, 1, 4, 30]) {
    const file = record({ packets: 'aal5', snaplen }, LINK_TYPE.SUNATM, (pass) => {
      pass(false, ...aal5Cells(1, 100, overLlc(ip(1, 1000))), ...aal5Cells(1, 101, overLlc(ip(2, 100))));
    });
    t.same(tsharkRows(file, ['frame.len', 'frame.cap_len']), [
      ['1008', String(Math.max(0, snaplen - 4))],
      ['108', String(Math.max(0, snaplen - 4))],
    ]);
  }
  t.end();
});

void t.test(
  'a faulty AAL5 frame is kept, and told; so is a VPI that needs more than eight bits',
  { skip },
  (t) => {
    const play = (pass: (out: boolean, ...frames: Buffer[]) => void): void => {
      const payload = overLlc(ip(1, 60));
      pass(false, ...aal5Cells(1, 100, payload, { crc: 0x100 }));
      pass(false, ...aal5Cells(1, 100, payload, { length: 300 }));
      pass(false, ...aal5Cells(1, 100, payload, { length: 10 }));
      pass(true, ...aal5Cells(300, 100, payload));
      pass(true, ...aal5Cells(4095, 100, payload, { crc: 1 }));
    };
    const errors = ['crc', 'packet_too', 'packet_too_short'].map(
      (name) => `frame.packet_flags_${name}_error`,
    );
    const file = record({ format: 'pcapng', packets: 'aal5' }, LINK_TYPE.SUNATM, play);
    t.same(tsharkRows(file, ['frame.len', 'ip.id', 'atm.vpi', 'frame.comment', ...errors]), [
      ['96', '0x0001', '1', '', '1', '0', '0'],
      ['96', '0x0001', '1', '', '0', '0', '1'],
      ['96', '0x0001', '1', '', '0', '1', '0'],
      ['68', '0x0001', '44', 'VPI 300', '0', '0', '0'],
      ['96', '0x0001', '255', 'VPI 4095', '1', '0', '0'],
    ]);
    const classic = record({ packets: 'aal5' }, LINK_TYPE.SUNATM, play);
    t.same(
      tsharkRows(classic, ['frame.len', 'ip.id']).map(([length]) => length),
      ['96', '96', '96', '68', '96'],
      'with padding and trailer when it is faulty',
    );
    t.end();
  },
);

void t.test('cells show VPI, VCI and payload type', { skip }, (t) => {
  for (const format of FORMATS) {
    const file = record({ format, packets: 'cells', snaplen: 10 }, LINK_TYPE.ERF, (pass) => {
      pass(false, ...aal5Cells(1, 100, overLlc(ip(1))));
      pass(true, cellOf(200, 65_535, 0, Buffer.alloc(48, 1)), cellOf(2, 5, 1, Buffer.alloc(48, 2)));
      pass(false, cellOf(3, 33, 2, Buffer.alloc(48, 3)));
    });
    const fields = [
      'atm.vpi',
      'atm.vci',
      'atm.payload_type',
      'erf.flags.cap',
      'frame.len',
      'frame.time_epoch',
    ];
    t.same(
      tsharkRows(file, fields),
      [
        ['1', '100', '0', '0', '52', secondsAt(1)],
        ['1', '100', '1', '0', '52', secondsAt(1)],
        ['200', '65535', '0', '1', '52', secondsAt(2)],
        ['2', '5', '1', '1', '52', secondsAt(2)],
        ['3', '33', '2', '0', '52', secondsAt(3)],
      ],
      format,
    );
    t.match(tsharkText(file), 'Asynchronous Transfer Mode');
  }
  t.end();
});
