import t from 'tap';
import { ADDRESS_LENGTH, readDlci, writeDlci } from '../../../src/engine/wire/frame-relay.js';

const LARGEST_DLCI = 1023;

void t.test('the DLCI is six bits of the first octet and four of the second', (t) => {
  const known = [
    { address: [0x00, 0x01], dlci: 0 },
    { address: [0xfc, 0xf1], dlci: LARGEST_DLCI },
    { address: [0x18, 0x41], dlci: 100 },
    { address: [0x1a, 0x6f], dlci: 102 },
    { address: [0x04, 0x01], dlci: 16 },
    { address: [0x00, 0x11], dlci: 1 },
  ];
  for (const { address, dlci } of known) t.equal(readDlci(Uint8Array.from(address), 0), dlci, `DLCI ${dlci}`);
  t.end();
});

void t.test('an address of one octet, or of more than two, has no DLCI', (t) => {
  for (const address of [
    [0x19, 0x41],
    [0x18, 0x40],
    [0x01, 0x00],
    [0xff, 0xff],
  ])
    t.equal(readDlci(Uint8Array.from(address), 0), -1, Buffer.from(address).toString('hex'));
  t.end();
});

void t.test('a written DLCI leaves C/R, FECN, BECN, DE and the extension bits', (t) => {
  const address = Uint8Array.from([0x1a, 0x6f]);
  writeDlci(address, 0, 201);
  t.same([...address], [0x32, 0x9f]);
  t.end();
});

void t.test('every DLCI is read as it was written, over every other and whatever the other bits', (t) => {
  const bytes = new Uint8Array(2 * ADDRESS_LENGTH).fill(0xaa);
  let wrong = 0;
  for (let dlci = 0; dlci <= LARGEST_DLCI; dlci++) {
    for (let flags = 0; flags < 16; flags++) {
      const [upper, lower] = [(flags & 1) << 1, (flags & 0xe) | 1];
      bytes[1] = 0xfc | upper;
      bytes[2] = (~dlci << 4) | lower;
      writeDlci(bytes, 1, dlci);
      const isKept = (bytes[1] & 0x03) === upper && (bytes[2] & 0x0f) === lower;
      if (!isKept || readDlci(bytes, 1) !== dlci) wrong++;
    }
  }
  t.equal(wrong, 0);
  t.same([bytes[0], bytes[3]], [0xaa, 0xaa], 'the octets around the address are not touched');
  t.end();
});
