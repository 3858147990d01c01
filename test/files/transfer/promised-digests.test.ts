/** Whether what has come is what was promised. */
import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { checkPromise } from '../../../src/files/transfer/landing.js';

const FOUND = { md5: 'a', 'sha-256': 'b' };

void t.test('right digests are no trouble, and none need to be promised', (t) => {
  checkPromise(FOUND, FOUND);
  checkPromise({ 'sha-256': 'b' }, FOUND);
  checkPromise({}, FOUND);
  t.end();
});

void t.test('another digest is refused by its name, and so is one that nobody made', (t) => {
  const refused = {
    md5: { ...FOUND, md5: 'b' },
    'sha-256': { 'sha-256': 'B' },
    'sha-512': { 'sha-512': 'a' },
  };
  for (const [name, promised] of Object.entries(refused)) {
    t.throws(() => {
      checkPromise(promised, FOUND);
    }, refusals.uploadDiffers(name));
  }
  t.end();
});
