/** Archives of very many files beside everything else, over HTTP. */
import t from 'tap';
import { uploadBesideArchives } from '../../support/archive-load.js';

void t.test('while large archives are unpacked, uploads wait for none of that', async (t) => {
  await uploadBesideArchives(t, 60_000);
});
