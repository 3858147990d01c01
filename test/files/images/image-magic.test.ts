import t from 'tap';
import { isImageOf, MAGIC_LENGTH } from '../../../src/files/images/image-magic.js';
import { EMULATORS } from '../../../src/files/images/image-name.js';

void t.test('the first bytes of a file say which emulator it is for', (t) => {
  for (const [head, owners] of [
    ['7f454c46010201', ['dynamips']],
    ['7f454c46020101', ['iou']],
    ['7f454c46010101', ['iou']],
    ['7f454c46020201', []],
    ['7f454c46010200', []],
    ['7f454c47010101', ['qemu']],
    ['514649fb000000', ['qemu']],
    ['00000000000000', ['qemu']],
  ] as const) {
    const octets = Buffer.from(head, 'hex');
    t.equal(octets.length, MAGIC_LENGTH);
    t.same(
      EMULATORS.filter((emulator) => isImageOf(emulator, octets)),
      owners,
      head,
    );
  }
  t.end();
});
