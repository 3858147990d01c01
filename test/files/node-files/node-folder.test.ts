import t from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import {
  nodeArchiveLanding,
  nodeFile,
  nodeFileLanding,
  nodeFiles,
  nodeFolder,
  type NodeFilesProject,
} from '../../../src/files/node-files/node-folder.js';

const ID = 'cccccccc-0000-4000-8000-000000000001';
const nodes = new Map([[ID, { node_id: ID, node_type: 'qemu' }]]);
const home = {
  id: 'project',
  place: { folder: '/lab', filename: 'a.gns3' },
  topology: { nodes, run: {} },
} as unknown as NodeFilesProject;

void t.test('the folder of a node is called by its type, but those without a server of their own', (t) => {
  t.equal(nodeFolder({ node_id: ID, node_type: 'qemu' }), `project-files/qemu/${ID}`);
  t.equal(nodeFolder({ node_id: ID, node_type: 'cloud' }), `project-files/builtin/${ID}`);
  t.equal(nodeFolder({ node_id: ID, node_type: 'nat' }), `project-files/builtin/${ID}`);
  t.equal(nodeFolder({ node_id: ID, node_type: 'ethernet_hub' }), `project-files/ethernet_hub/${ID}`);
  t.end();
});

void t.test('paths are made normal', (t) => {
  const folder = `project-files/qemu/${ID}`;
  for (const [given, path] of [
    ['a', 'a'],
    ['a/b', 'a/b'],
    ['a\\b', 'a/b'],
    ['./a//b/../c/', 'a/c'],
    ['//etc/passwd', 'etc/passwd'],
    ['a/.b', 'a/.b'],
    ['a/..b', 'a/..b'],
  ] as const)
    t.same(nodeFile(home, ID, given), { root: '/lab', folder, path }, given);
  for (const given of [
    '',
    '.',
    '/',
    '..',
    '../a',
    'a/..',
    'a/../..',
    '.a',
    '...',
    '\\..\\a',
    '/.a',
    '/../a',
    'a\0',
  ])
    t.throws(() => nodeFile(home, ID, given), refusals.fileForbidden(), given);
  t.end();
});

void t.test('a node has a folder of its own, and below that others', (t) => {
  t.equal(nodeFiles(home, ID).path, '');
  t.equal(nodeFiles(home, ID, '/').path, '');
  t.equal(nodeFiles(home, ID, 'a/').path, 'a');
  t.throws(() => nodeFiles(home, ID, '.'), refusals.fileForbidden());
  t.throws(() => nodeFiles(home, 'other', ''), refusals.nodeUnknown('other'));
  t.end();
});

void t.test('a file lands in the folder of the node, by way of the folder for unfinished ones', (t) => {
  const { hold, turn, takeRoom, ...landing } = nodeFileLanding(home, ID, 'a\\b');
  t.equal(typeof hold, 'function', 'the project stays open meanwhile');
  t.equal(typeof turn, 'function', 'and its files may be held still');
  t.equal(typeof takeRoom, 'function', 'and its quota holds');
  t.same(landing, {
    root: '/lab',
    folder: `project-files/qemu/${ID}`,
    path: 'a/b',
    makesFolders: true,
    temporary: '/lab/tmp',
    mode: 0o644,
    subject: { project_id: 'project', node_id: ID, path: 'a/b' },
  });
  t.match(nodeArchiveLanding(home, ID, 'sub', 'x.tar'), {
    root: '/lab',
    folder: 'tmp',
    path: 'x.tar',
    temporary: '/lab/tmp/incoming',
    subject: { project_id: 'project', node_id: ID, path: 'sub/' },
  });
  t.end();
});
