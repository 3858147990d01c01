import t from 'tap';
import { sortOut } from '../../src/lab/projects/records.js';
import { projectSettings } from '../../src/lab/gns3-file/topology-schema.js';
import {
  contentChanges,
  contentOf,
  contentOfCopy,
  idInCopy,
  pathInCopy,
  readLabContent,
  recordsOf,
  type LabContent,
} from '../../src/snapshots/lab-content.js';
import { idOf, storedLinkOf, storedNodeOf } from '../support/stored-objects.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const PROJECT = idOf(1);
const COPY = idOf(2);
const [NEAR, FAR] = [storedNodeOf(3), storedNodeOf(4)];
const LINK = storedLinkOf(5, 3, [4, 1]);
const CONTENT: LabContent = {
  settings: projectSettings.parse({ name: 'lab' }),
  computes: [{ compute_id: 'other' }],
  nodes: [NEAR, FAR],
  links: [LINK],
  drawings: [],
  directed: [{ link_id: LINK.link_id, forward: {}, backward: {}, seed: 5 }],
};
const RECORD = { order: 1, path: '/p', filename: 'lab.gns3', settings: CONTENT.settings, computes: [] };

void t.test('from records and back', (t) => {
  t.same(contentOf(recordsOf(CONTENT, RECORD)), CONTENT);
  const stored = contentChanges(PROJECT, CONTENT).flatMap((change) =>
    'put' in change ? [{ key: change.put, value: change.value }] : [],
  );
  const head = { key: ['lab', PROJECT, 'project'], value: { ...RECORD, computes: CONTENT.computes } };
  const lab = sortOut([head, ...stored.toReversed()]);
  t.ok(lab);
  if (lab !== undefined) t.same(contentOf(lab), CONTENT, 'in the same order');
  t.end();
});

void t.test('damaged content in a file is refused', (t) => {
  t.same(readLabContent(JSON.parse(JSON.stringify(CONTENT))), CONTENT);
  for (const damaged of [undefined, null, {}, { ...CONTENT, nodes: [{}] }, { ...CONTENT, links: 5 }])
    t.throws(() => readLabContent(damaged), { status: 409, message: /^The snapshot is damaged/ });
  t.end();
});

void t.test('everything in a copy has an id of its own, always the same', (t) => {
  const copy = contentOfCopy(COPY, CONTENT);
  t.same(contentOfCopy(COPY, CONTENT), copy);
  t.notSame(contentOfCopy(PROJECT, CONTENT), copy);
  const ids = [...copy.nodes.map(({ node_id }) => node_id), ...copy.links.map(({ link_id }) => link_id)];
  for (const id of ids) t.match(id, UUID);
  t.equal(new Set([...ids, NEAR.node_id, FAR.node_id, LINK.link_id]).size, 6);
  t.same(
    copy.links[0]?.nodes.map(({ node_id }) => node_id),
    ids.slice(0, 2),
    'links lead to the copies',
  );
  t.equal(copy.directed[0]?.link_id, ids[2]);
  t.equal(idInCopy(COPY, NEAR.node_id.toUpperCase()), ids[0]);
  t.end();
});

void t.test('folders of nodes get the ids of the copies', (t) => {
  const ids = new Set([NEAR.node_id]);
  const id = idInCopy(COPY, NEAR.node_id);
  for (const [path, wanted] of [
    [`project-files/vpcs/${NEAR.node_id}/a`, `project-files/vpcs/${id}/a`],
    [`project-files/vpcs/${NEAR.node_id.toUpperCase()}`, `project-files/vpcs/${id}`],
    [`project-files/vpcs/${FAR.node_id}/a`, `project-files/vpcs/${FAR.node_id}/a`],
    [`project-files/vpcs/x/${NEAR.node_id}`, `project-files/vpcs/x/${NEAR.node_id}`],
    [`notes/vpcs/${NEAR.node_id}`, `notes/vpcs/${NEAR.node_id}`],
    ['README', 'README'],
  ] as const)
    t.equal(pathInCopy(COPY, ids, path), wanted, path);
  t.end();
});
