/** The licence of IOU images. */
import t from 'tap';
import { IouLicense } from '../../src/lab/iou-license.js';
import { FakeStore } from '../support/fake-store.js';

void t.test('the licence is stored, and a part of the settings may be changed', async (t) => {
  const store = new FakeStore();
  const license = new IouLicense(store);
  await license.start();
  t.same(license.settings, { iourc_content: '', license_check: true });
  await license.update({ iourc_content: '[license]\na = 1;\n' });
  t.same(await license.update({ license_check: false }), {
    iourc_content: '[license]\na = 1;\n',
    license_check: false,
  });
  const next = new IouLicense(store);
  await next.start();
  t.same(next.settings, license.settings);
});

void t.test('changes that come together are all kept', async (t) => {
  const license = new IouLicense(new FakeStore());
  await license.start();
  await Promise.all([license.update({ iourc_content: 'a' }), license.update({ license_check: false })]);
  t.same(license.settings, { iourc_content: 'a', license_check: false });
});
