import t from 'tap';
import {
  addressHigh,
  addressLow,
  DOT1Q_ETHERTYPE,
  ethertypeOf,
  formatAddress,
  isGroupAddress,
  isTagEthertype,
  NOT_WRITTEN,
  tagOf,
  TwofoldFrame,
  VLAN_ETHERTYPES,
} from '../../../src/engine/wire/ethernet.js';
import { Random, testSeed } from '../../support/random.js';

const ADDRESSES = '020000000001fe8090a0b0c0';

function hex(bytes: Uint8Array, at: number, length: number): string {
  return Buffer.from(bytes.slice(at, at + length)).toString('hex');
}

function memoryWith(frame: string, at: number): Buffer {
  const bytes = Buffer.alloc(128, 0xee);
  bytes.write(frame, at, 'hex');
  return bytes;
}

void t.test('an address is two integers, and is written as people write it', (t) => {
  const bytes = Buffer.from('ff0102fe8090a0ff', 'hex');
  t.equal(addressHigh(bytes, 1), 0x0102);
  t.equal(addressLow(bytes, 1), 0xfe8090a0 | 0);
  t.equal(formatAddress(addressHigh(bytes, 1), addressLow(bytes, 1)), '01:02:fe:80:90:a0');
  t.equal(formatAddress(0, 0), '00:00:00:00:00:00');
  t.equal(formatAddress(0xffff, -1), 'ff:ff:ff:ff:ff:ff');
  t.equal(formatAddress(0x0a0b, 0x0000000c), '0a:0b:00:00:00:0c');
  t.end();
});

void t.test('every address is written as its bytes read', (t) => {
  const random = new Random(testSeed(1));
  for (let count = 0; count < 1000; count++) {
    const bytes = Buffer.from(Array.from({ length: 6 }, () => random.below(256)));
    const written = formatAddress(addressHigh(bytes, 0), addressLow(bytes, 0));
    if (written.replaceAll(':', '') !== bytes.toString('hex')) t.equal(written, bytes.toString('hex'));
  }
  t.pass();
  t.end();
});

void t.test('a group address is known by the lowest bit of its first octet', (t) => {
  t.equal(isGroupAddress(0xffff), true);
  t.equal(isGroupAddress(0x0180), true);
  t.equal(isGroupAddress(0x0100), true);
  t.equal(isGroupAddress(0x0200), false);
  t.equal(isGroupAddress(0xfeff), false);
  t.equal(isGroupAddress(0), false);
  t.end();
});

void t.test('four ethertypes say that a tag follows, and no others', (t) => {
  const found: number[] = [];
  for (let ethertype = 0; ethertype <= 0xffff; ethertype++) {
    if (isTagEthertype(ethertype)) found.push(ethertype);
  }
  t.same(found, [0x8100, 0x88a8, 0x9100, 0x9200]);
  t.same(found, VLAN_ETHERTYPES);
  t.equal(DOT1Q_ETHERTYPE, 0x8100);
  t.end();
});

void t.test('the first tag is read from where the frame begins', (t) => {
  const bytes = memoryWith(`${ADDRESSES}88a8efff0800`, 3);
  t.equal(ethertypeOf(bytes, 3), 0x88a8);
  t.equal(tagOf(bytes, 3), 0xefff);
  t.end();
});

void t.test('a frame without a tag gets one in a copy', (t) => {
  const bytes = memoryWith(`${ADDRESSES}0800c0ffee`, 5);
  const before = hex(bytes, 0, 64);
  const frame = new TwofoldFrame();
  frame.setUntagged(5, 17, 0x88a8, 0xb064);
  t.equal(frame.vlan, 0x064);
  t.equal(frame.offsetOf(false), 5);
  t.equal(frame.lengthOf(false), 17);
  t.equal(frame.offsetOf(true), NOT_WRITTEN);
  t.equal(frame.lengthOf(true), 21);
  frame.write(bytes, 64, true);
  t.equal(frame.offsetOf(true), 64);
  t.equal(hex(bytes, 64, 22), `${ADDRESSES}88a8b0640800c0ffeeee`);
  t.equal(frame.offsetOf(false), 5);
  t.equal(hex(bytes, 0, 64), before, 'the original is untouched');
  t.end();
});

void t.test('a frame with a tag loses it in a copy', (t) => {
  const bytes = memoryWith(`${ADDRESSES}8100b0640800c0ffee`, 5);
  const before = hex(bytes, 0, 64);
  const frame = new TwofoldFrame();
  frame.setTagged(5, 21, 0x8100, 0xb064, true);
  t.equal(frame.vlan, 0x064);
  t.equal(frame.offsetOf(true), 5);
  t.equal(frame.lengthOf(true), 21);
  t.equal(frame.offsetOf(false), NOT_WRITTEN);
  t.equal(frame.lengthOf(false), 17);
  frame.write(bytes, 64, false);
  t.equal(frame.offsetOf(false), 64);
  t.equal(hex(bytes, 64, 18), `${ADDRESSES}0800c0ffeeee`);
  t.equal(hex(bytes, 0, 64), before, 'the original is untouched');
  t.end();
});

void t.test('a tag that does not stay as it is is written anew, in its place', (t) => {
  const bytes = memoryWith(`${ADDRESSES}9100e0000800c0ffee`, 5);
  const frame = new TwofoldFrame();
  frame.setTagged(5, 21, 0x9100, 0xe007, false);
  t.equal(frame.offsetOf(true), NOT_WRITTEN);
  t.equal(frame.lengthOf(true), 21);
  frame.write(bytes, 64, true);
  t.equal(hex(bytes, 64, 22), `${ADDRESSES}9100e0070800c0ffeeee`);
  t.equal(frame.offsetOf(false), NOT_WRITTEN);
  frame.write(bytes, 96, false);
  t.equal(hex(bytes, 96, 18), `${ADDRESSES}0800c0ffeeee`);
  t.end();
});

void t.test('the next frame knows nothing of the last', (t) => {
  const bytes = memoryWith(`${ADDRESSES}8100b0640800`, 0);
  const frame = new TwofoldFrame();
  frame.setTagged(0, 18, 0x8100, 0xb064, true);
  frame.write(bytes, 64, false);
  frame.setUntagged(0, 18, 0x8100, 0x0001);
  t.equal(frame.offsetOf(true), NOT_WRITTEN);
  t.equal(frame.offsetOf(false), 0);
  t.equal(frame.lengthOf(false), 18);
  t.equal(frame.vlan, 1);
  t.end();
});
