/** Parsers of bytes that anybody may send over links: frames, cells, filter programs, records of captures. */
import { deepEqual, equal, ok } from 'node:assert/strict';
import t from 'tap';
import { LogReader, LogMemory } from '../../src/captures/log/log-reader.js';
import { lastBoundary } from '../../src/captures/writing/log-drain.js';
import { AtmSwitch } from '../../src/engine/devices/atm-switch.js';
import { EthernetSwitch } from '../../src/engine/devices/ethernet-switch.js';
import { FrameRelaySwitch } from '../../src/engine/devices/frame-relay-switch.js';
import { imageSize } from '../../src/lab/symbols/image-size.js';
import { matcherOf } from '../../src/engine/wire/bpf.js';
import { BPF } from '../../src/engine/wire/bpf-instruction.js';
import { readDlci, writeDlci } from '../../src/engine/wire/frame-relay.js';
import { parseEnquiry } from '../../src/engine/wire/lmi.js';
import { interpretBpf } from '../support/bpf-interpreter.js';
import { ALL_CODES } from '../support/bpf-programs.js';
import { DeviceRig } from '../support/device-rig.js';
import { fuzz } from '../support/fuzzer.js';
import { LogScribe, memoryOf, recordOf } from '../support/log-scribe.js';
import { rounds } from '../support/rounds.js';

const INPUTS = rounds(400, 20_000);
const PORTS = [0, 1, 2, 3];
const VLAN_TAGS = ['\x81\x00', '\x88\xa8', '\x91\x00'].map((tag) => Buffer.from(tag, 'latin1'));

/** A frame for the first port and, behind a bar, one for the second. */
function framesOf(input: Buffer): Buffer[] {
  const end = input.indexOf('|');
  if (end < 0) return [input];
  return [input.subarray(0, end), input.subarray(end + 1)];
}

/** Nothing is lost, and nothing made up, whatever comes in. */
function checkDevice<Settings>(rig: DeviceRig<Settings>, mostAdded: number): (input: Buffer) => void {
  return (input) => {
    framesOf(input).forEach((frame, port) => {
      const before = Buffer.from(frame);
      for (const { bytes } of rig.receive(port, [frame])) ok(bytes.length <= before.length + mostAdded);
      equal(rig.unaccounted, 0);
    });
  };
}

void t.test('frames at an Ethernet switch', async (t) => {
  const rig = new DeviceRig((fabric) => new EthernetSwitch(fabric));
  rig.device.configure({
    ports: [
      { port: 0, type: 'dot1q', vlan: 1, ethertype: 0x8100 },
      { port: 1, type: 'qinq', vlan: 7, ethertype: 0x88a8 },
      { port: 2, type: 'access', vlan: 7, ethertype: 0x8100 },
      { port: 3, type: 'dot1q', vlan: 7, ethertype: 0x8100 },
    ],
  });
  rig.attach(...PORTS);
  const addresses = '020000000001020000000002';
  const frame = (rest: string): Buffer => Buffer.from(addresses + rest, 'hex');
  const samples = [frame('0800'), frame('810060070800aa'), frame('88a8000781000001080012')];
  const check = checkDevice(rig, 4);
  t.ok(await fuzz({ samples, words: [...VLAN_TAGS, '|'], inputs: INPUTS, longest: 200, check }));
});

void t.test('frames and enquiries at a Frame Relay switch', async (t) => {
  const rig = new DeviceRig((fabric) => new FrameRelaySwitch(fabric));
  const connections = [
    { port: 0, dlci: 101, toPort: 1, toDlci: 202, counter: 0 },
    { port: 1, dlci: 202, toPort: 0, toDlci: 101, counter: 1 },
    { port: 0, dlci: 102, toPort: 9, toDlci: 1, counter: 2 },
  ];
  rig.device.configure({ connections });
  rig.attach(...PORTS);
  const samples = [
    '00010308007595010100030200 00',
    '000103080075510100530201 01',
    'fcf10309007501010003020101',
    '1851aabb',
  ];
  const device = checkDevice(rig, 100);
  const check = (input: Buffer): void => {
    device(input);
    const enquiry = parseEnquiry(input, 0, input.length);
    ok(enquiry === undefined || enquiry.report <= 1);
    const dlci = input.length < 2 ? -1 : readDlci(input, 0);
    if (dlci === -1) return;
    const again = Buffer.from(input);
    writeDlci(again, 0, dlci);
    deepEqual(again, input);
  };
  const octets = samples.map((sample) => Buffer.from(sample.replaceAll(' ', ''), 'hex'));
  t.ok(await fuzz({ samples: octets, words: ['|'], inputs: INPUTS, longest: 64, check }));
});

void t.test('cells at an ATM switch', async (t) => {
  const rig = new DeviceRig((fabric) => new AtmSwitch(fabric));
  const connections = [
    { port: 0, vpi: 1, vci: 32, toPort: 1, toVpi: 2, toVci: 33, counter: 0 },
    { port: 0, vpi: 5, vci: undefined, toPort: 1, toVpi: 6, toVci: undefined, counter: 1 },
    { port: 1, vpi: 2, vci: 33, toPort: 9, toVpi: 1, toVci: 32, counter: 2 },
  ];
  rig.device.configure({ connections, refusesBadHec: true });
  rig.attach(...PORTS);
  const cell = (header: string): Buffer => Buffer.concat([Buffer.from(header, 'hex'), Buffer.alloc(48, 1)]);
  const samples = [cell('0010020000'), cell('0050020000'), cell('0020021000')];
  const check = (input: Buffer): void => {
    checkDevice(rig, 0)(input);
    // The last octet of the header is made right by the switch that mends it.
    const mended = Buffer.from(input.subarray(0, 53));
    for (const { bytes } of rig.receive(0, [mended])) equal(bytes.length, 53);
  };
  t.type(await fuzz({ samples, words: ['|'], inputs: INPUTS, longest: 120, check }), 'number');
});

void t.test('programs of the packet filter', async (t) => {
  const EACH = 8;
  const packet = Buffer.from('0200000000010200000000020800450000280000000040060000', 'hex');
  /** Eight octets an instruction, of which the first chooses a code that there is. */
  const numbersOf = (input: Buffer): Uint32Array =>
    Uint32Array.from({ length: Math.floor(input.length / EACH) * 4 }, (_, index) => {
      const at = (index >> 2) * EACH;
      const code = input[at] ?? 0;
      if (index % 4 === 0)
        return code === 0xff ? (input[at + 3] ?? 0) : (ALL_CODES[code % ALL_CODES.length] ?? 0);
      return index % 4 === 3 ? input.readUInt32LE(at + 4) : (input[at + (index % 4)] ?? 0);
    });
  const codeOf = (code: number): number => ALL_CODES.indexOf(code);
  const program = (
    ...lines: readonly (readonly [code: number, yes: number, no: number, k: number])[]
  ): Buffer =>
    Buffer.concat(
      lines.map(([code, yes, no, k]) => Buffer.from([codeOf(code), yes, no, 0, k & 0xff, k >> 8, 0, 0])),
    );
  const check = (input: Buffer): void => {
    const instructions = numbersOf(input);
    let matches;
    try {
      matches = matcherOf({ instructions });
    } catch (error) {
      if (error instanceof RangeError && !/call stack/i.test(error.message)) return;
      throw error;
    }
    const room = Buffer.concat([Buffer.alloc(7, 0xee), packet, Buffer.alloc(9, 0xee)]);
    equal(matches(room, 7, packet.length), interpretBpf(instructions, room, 7, packet.length));
  };
  const samples = [
    program(
      [BPF.loadHalf, 0, 0, 12],
      [BPF.jumpEqual, 0, 1, 0x800],
      [BPF.returnK, 0, 0, 1],
      [BPF.returnK, 0, 0, 0],
    ),
    program([BPF.loadXHeaderLength, 0, 0, 14], [BPF.loadByteAtX, 0, 0, 14], [BPF.returnA, 0, 0, 0]),
    program([BPF.loadByte, 0, 0, 1], [BPF.jumpSet, 1, 0, 2], [BPF.store, 0, 0, 3], [BPF.returnA, 0, 0, 0]),
  ];
  t.ok(await fuzz({ samples, inputs: INPUTS / 2, longest: 240, check }));
});

void t.test('records of captures', async (t) => {
  for (const format of ['pcap', 'pcapng'] as const) {
    const check = (input: Buffer): void => {
      const memory = memoryOf(2);
      new LogReader({ memory, index: 0 }).prepare();
      const scribe = new LogScribe(memory, 0);
      scribe.put(input);
      try {
        const boundary = lastBoundary(new LogMemory(memory, 0), format, 0, scribe.head);
        ok(boundary >= 0 && boundary <= scribe.head);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
      }
    };
    const samples = [Buffer.concat([recordOf(1, format, 50), recordOf(2, format, 50)])];
    t.type(await fuzz({ samples, inputs: INPUTS / 10, longest: 400, check }), 'number');
  }
});

void t.test('the sizes of pictures', async (t) => {
  const check = (input: Buffer): void => {
    const size = imageSize(input);
    if (size === undefined) return;
    for (const side of [size.width, size.height]) ok(Number.isInteger(side) && side >= 1 && side <= 100_000);
  };
  const samples = [
    '<svg width="10px" height=\'20\' viewBox="0 0 1 2">',
    '<svg viewBox="0,0 30 40">',
    Buffer.from('89504e470d0a1a0a0000000d494844520000000a00000014', 'hex'),
    Buffer.from('GIF89a\x01\x00\x02\x00', 'latin1'),
    Buffer.from('ffd8ffe00004aaaaffc0000b080001000200000000', 'hex'),
  ];
  const words = ['<svg', 'width=', 'height=', ' viewBox=', '"', "'", '>', ' ', 'px', '.'];
  t.ok(await fuzz({ samples, words, inputs: INPUTS, check }));
});
