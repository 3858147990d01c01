/** Archives beside everything else, over HTTP. */
import t from 'tap';
import { uploadBesideArchives } from '../../support/archive-load.js';
import { patience } from '../../support/patience.js';

void t.test(
  'while archives are unpacked, uploads wait for none of that',
  { timeout: patience(100_000) },
  async (t) => {
    await uploadBesideArchives(t, 1000);
  },
);
