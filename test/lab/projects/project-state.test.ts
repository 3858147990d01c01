import t from 'tap';
import { projectText, projectView } from '../../../src/lab/projects/project-state.js';
import { projectSettings } from '../../../src/lab/gns3-file/topology-schema.js';
import { idOf } from '../../support/stored-objects.js';

const record = {
  order: 3,
  path: '/data/projects/p',
  filename: 'lab.gns3',
  settings: projectSettings.parse({ name: 'lab', zoom: 80, supplier: { logo: 'l' } }),
  computes: [{}],
};

void t.test('a project has exactly the 19 keys of the contract, sorted', (t) => {
  const keys = Object.keys(projectView(idOf(1), record, 'opened'));
  t.equal(keys.length, 19);
  t.same(keys, keys.toSorted());
  for (const hidden of ['order', 'computes', 'settings']) t.notOk(keys.includes(hidden), hidden);
  t.end();
});

void t.test('it shows its settings, where it lies, and whether it is open', (t) => {
  t.match(projectView(idOf(1), record, 'closed'), {
    ...record.settings,
    path: record.path,
    filename: 'lab.gns3',
    project_id: idOf(1),
    status: 'closed',
  });
  t.same(JSON.parse(projectText(idOf(1), record, 'opened')), projectView(idOf(1), record, 'opened'));
  t.end();
});
