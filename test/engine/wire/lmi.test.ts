import t from 'tap';
import {
  answerLength,
  FULL_STATUS,
  isLmiDlci,
  LINK_INTEGRITY,
  parseEnquiry,
  writeAnswer,
  type LmiDialect,
  type PvcStatus,
  type StatusAnswer,
  type StatusEnquiry,
} from '../../../src/engine/wire/lmi.js';
import { Random, testSeed } from '../../support/random.js';

const DIALECTS: readonly LmiDialect[] = ['ansi', 'q933a', 'cisco'];

/** Full status, with send sequence 0x11 and receive sequence 0x22. */
const ENQUIRIES: Readonly<Record<LmiDialect, string>> = {
  ansi: '0001030800 75 95 010100 03021122',
  q933a: '0001030800 75 510100 53021122',
  cisco: 'fcf1030900 75 010100 03021122',
};

const octets = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');

function parse(frame: Uint8Array): StatusEnquiry | undefined {
  return parseEnquiry(frame, 0, frame.length);
}

function written(answer: StatusAnswer): Buffer {
  const bytes = Buffer.alloc(answerLength(answer.dialect, answer.pvcs.length));
  writeAnswer(bytes, 0, answer);
  return bytes;
}

void t.test('a full status enquiry is read in each dialect', (t) => {
  for (const dialect of DIALECTS) {
    t.strictSame(parse(octets(ENQUIRIES[dialect])), {
      dialect,
      report: FULL_STATUS,
      sendSequence: 0x11,
      receiveSequence: 0x22,
    });
  }
  t.end();
});

void t.test('a link integrity enquiry is read as one', (t) => {
  t.equal(parse(octets('0001030800 75 95 010101 03020100'))?.report, LINK_INTEGRITY);
  t.equal(parse(octets('0001030800 75 510101 53024631'))?.report, LINK_INTEGRITY);
  t.equal(parse(octets('fcf1030900 75 010101 0302c6e5'))?.report, LINK_INTEGRITY);
  t.end();
});

void t.test('the elements may come in either order', (t) => {
  const swapped = {
    ansi: '0001030800 75 95 03021122 010100',
    q933a: '0001030800 75 53021122 510100',
    cisco: 'fcf1030900 75 03021122 010100',
  };
  for (const dialect of DIALECTS)
    t.strictSame(parse(octets(swapped[dialect])), parse(octets(ENQUIRIES[dialect])), dialect);
  t.end();
});

void t.test('an enquiry is read where it lies, and what lies around it is not', (t) => {
  for (const dialect of DIALECTS) {
    const enquiry = octets(ENQUIRIES[dialect]);
    const around = Buffer.concat([Buffer.alloc(3, 0x75), enquiry, Buffer.alloc(9, 0x01)]);
    t.strictSame(parseEnquiry(around, 3, enquiry.length), parse(enquiry), dialect);
    t.equal(parseEnquiry(around, 2, enquiry.length), undefined);
    for (let length = 0; length < enquiry.length; length++)
      t.equal(parseEnquiry(around, 3, length), undefined, `${dialect} cut to ${length} octets`);
    for (let more = 1; more <= 9; more++)
      t.equal(parseEnquiry(around, 3, enquiry.length + more), undefined, `${dialect} with ${more} more`);
  }
  t.end();
});

void t.test('an enquiry with any octet changed is none, but for its sequence numbers and its report', (t) => {
  for (const dialect of DIALECTS) {
    const enquiry = octets(ENQUIRIES[dialect]);
    const [report, ...sequences] = [enquiry.length - 5, enquiry.length - 2, enquiry.length - 1];
    for (let at = 0; at < enquiry.length; at++) {
      const accepted: number[] = [];
      for (let octet = 0; octet < 256; octet++) {
        const changed = Buffer.from(enquiry);
        changed[at] = octet;
        if (parse(changed) !== undefined) accepted.push(octet);
      }
      const expected = sequences.includes(at) ? 256 : at === report ? 2 : 1;
      t.equal(accepted.length, expected, `${dialect}, octet ${at}: ${accepted.join(' ')}`);
    }
  }
  t.end();
});

void t.test('frames that are not enquiries are not parsed', (t) => {
  const others = {
    'a status message': '0001030800 7d 95 010100 03021122',
    'ANSI elements without the locking shift': '0001030800 75 010100 03021122',
    'ITU-T elements after a locking shift': '0001030800 75 95 510100 53021122',
    'elements of two dialects': '0001030800 75 510100 03021122',
    'a Cisco enquiry on the DLCI of the others': '0001030900 75 010100 03021122',
    'an ITU-T enquiry on the DLCI of Cisco': 'fcf1030800 75 510100 53021122',
    'one PVC, unasked for': '0001030800 75 95 010102 03021122',
    'no sequence numbers': '0001030800 75 95 010100',
    'no report': '0001030800 75 95 03021122',
    'a report twice': '0001030800 75 510100 510100',
    'a report twice, and sequence numbers': '0001030800 75 95 010100 010100 03021122',
    'an element that is not known': '0001030800 75 95 010100 03021122 070300',
    'an older number of the sequence element': '0001030800 75 95 010100 19021122',
  };
  for (const [what, hex] of Object.entries(others)) t.equal(parse(octets(hex)), undefined, what);
  t.end();
});

void t.test('enquiries come in with DLCI 0 or 1023', (t) => {
  const all = Array.from({ length: 1024 }, (_, dlci) => dlci);
  t.same(
    all.filter((dlci) => isLmiDlci(dlci)),
    [0, 1023],
  );
  t.end();
});

void t.test('an answer to link integrity has no more than its sequence numbers', (t) => {
  const answers = {
    ansi: '0001030800 7d 95 010101 0302ff01',
    q933a: '0001030800 7d 510101 5302ff01',
    cisco: 'fcf1030900 7d 010101 0302ff01',
  };
  for (const dialect of DIALECTS) {
    const answer = { dialect, report: LINK_INTEGRITY, sendSequence: 255, receiveSequence: 1, pvcs: [] };
    t.same(written(answer).toString('hex'), octets(answers[dialect]).toString('hex'), dialect);
  }
  t.end();
});

void t.test('a full status tells of each PVC in the octets of its dialect', (t) => {
  const pvcs: readonly PvcStatus[] = [
    { dlci: 1, isNew: false, isActive: false },
    { dlci: 16, isNew: false, isActive: true },
    { dlci: 100, isNew: true, isActive: false },
    { dlci: 1022, isNew: true, isActive: true },
  ];
  const answers = {
    ansi: '0001030800 7d 95 010100 03020102 0703008880 0703018082 070306a088 07033ff08a',
    q933a: '0001030800 7d 510100 53020102 5703008880 5703018082 570306a088 57033ff08a',
    cisco:
      'fcf1030900 7d 010100 03020102 0706000100000000 0706001002000000 0706006408000000 070603fe0a000000',
  };
  for (const dialect of DIALECTS) {
    const answer = { dialect, report: FULL_STATUS, sendSequence: 1, receiveSequence: 2, pvcs };
    t.equal(written(answer).toString('hex'), octets(answers[dialect]).toString('hex'), dialect);
  }
  t.end();
});

/** Reads the PVCs of an answer by what the dissectors of the world do. */
function readPvcs(answer: Buffer, start: number, dialect: LmiDialect): PvcStatus[] {
  const found: PvcStatus[] = [];
  const size = dialect === 'cisco' ? 8 : 5;
  for (let at = start; at < answer.length; at += size) {
    const [first = 0, second = 0, status = 0] = answer.subarray(at + 2, at + 5);
    const dlci =
      dialect === 'cisco' ? first * 256 + second : (first % 64) * 16 + (Math.floor(second / 8) % 16);
    found.push({ dlci, isNew: (status & 8) !== 0, isActive: (status & 2) !== 0 });
  }
  return found;
}

void t.test('every PVC that a port can have fits into an answer, and is read back', (t) => {
  const random = new Random(testSeed(20_001));
  const pvcs = Array.from({ length: 1022 }, (_, index) => {
    return { dlci: index + 1, isNew: random.chance(0.5), isActive: random.chance(0.5) };
  });
  const lengths = { ansi: 14 + 1022 * 5, q933a: 13 + 1022 * 5, cisco: 13 + 1022 * 8 };
  for (const dialect of DIALECTS) {
    const length = answerLength(dialect, pvcs.length);
    t.equal(length, lengths[dialect]);
    const bytes = Buffer.alloc(length + 20, 0xee);
    writeAnswer(bytes, 10, { dialect, report: FULL_STATUS, sendSequence: 9, receiveSequence: 8, pvcs });
    t.strictSame(readPvcs(bytes.subarray(10, 10 + length), answerLength(dialect, 0), dialect), pvcs, dialect);
    t.equal(bytes.toString('hex', 0, 10), 'ee'.repeat(10), 'nothing is written before');
    t.equal(bytes.toString('hex', 10 + length), 'ee'.repeat(10), 'nothing is written behind');
  }
  t.end();
});

void t.test('noise is no enquiry', (t) => {
  const random = new Random(testSeed(20_002));
  let accepted = 0;
  for (let round = 0; round < 100_000; round++) {
    const frame = octets(ENQUIRIES[random.pick(DIALECTS)]);
    const whole = Buffer.from(frame);
    // Never the report or the sequence numbers: an enquiry may have others.
    for (let left = 1 + random.below(6); left > 0; left--)
      frame[random.below(frame.length - 7)] = random.below(256);
    if (!frame.equals(whole) && parse(frame) !== undefined) accepted++;
  }
  t.equal(accepted, 0);
  t.end();
});
