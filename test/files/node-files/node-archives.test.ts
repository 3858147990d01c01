/** Archives beside everything else, over HTTP. */
import t from 'tap';
import { uploadBesideArchives } from '../../support/archive-load.js';

void t.test('while archives are unpacked, uploads wait for none of that', { timeout: 100_000 }, async (t) => {
  await uploadBesideArchives(t, 1000);
});
