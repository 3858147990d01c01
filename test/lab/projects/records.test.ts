import t from 'tap';
import {
  entityChanges,
  entityKey,
  fileKey,
  forgetting,
  keysOf,
  NEVER_WRITTEN,
  projectKey,
  sortOut,
  versionKey,
} from '../../../src/lab/projects/records.js';
import { FakeStore } from '../../support/fake-store.js';

const record = (order: number): { order: number; object: { n: number } } => ({ order, object: { n: order } });

void t.test('everything of a project lies below its prefixes, each under a key of its own', (t) => {
  const keys = [projectKey('p'), fileKey('p'), versionKey('p'), entityKey('p', 'node', 'n')];
  for (const key of keys) {
    t.ok(
      keysOf('p').some((prefix) => prefix.every((part, index) => key[index] === part)),
      key.join('/'),
    );
  }
  t.equal(new Set(keys.map((key) => key.join('/'))).size, keys.length);
  t.end();
});

void t.test('forgetting a project leaves the others', async (t) => {
  const store = new FakeStore();
  for (const id of ['p', 'pp']) {
    for (const key of [projectKey(id), fileKey(id), versionKey(id), entityKey(id, 'node', 'n')]) {
      store.seed(key, record(0));
    }
  }
  await store.commit(forgetting('p'));
  t.equal((await store.load(...keysOf('p'))).length, 0);
  t.equal((await store.load(...keysOf('pp'))).length, 4);
});

void t.test('records are sorted out by kind, in creation order', (t) => {
  const project = { order: 0 };
  const file = { digests: ['d'], stamp: 's', version: 3 };
  const sorted = sortOut([
    { key: entityKey('p', 'node', 'a'), value: record(12) },
    { key: entityKey('p', 'node', 'b'), value: record(2) },
    { key: entityKey('p', 'node', 'c'), value: record(7) },
    { key: entityKey('p', 'link', 'd'), value: record(0) },
    { key: entityKey('p', 'drawing', 'e'), value: record(1) },
    { key: entityKey('p', 'directed', 'd'), value: record(3) },
    { key: entityKey('p', 'capture', 'd'), value: record(4) },
    { key: entityKey('p', 'lab_file', 'p'), value: record(5) },
    { key: entityKey('p', 'visited', 'b'), value: record(6) },
    { key: fileKey('p'), value: file },
    { key: projectKey('p'), value: project },
    { key: versionKey('p'), value: 5 },
    { key: ['lab', 'p', 'later kind', 'x'], value: 1 },
  ]);
  t.same(sorted, {
    project,
    file,
    version: 5,
    entities: {
      node: [record(2), record(7), record(12)],
      link: [record(0)],
      drawing: [record(1)],
      directed: [record(3)],
      capture: [record(4)],
      lab_file: [record(5)],
      visited: [record(6)],
    },
  });
  t.end();
});

void t.test('without a project record there is no project', (t) => {
  t.equal(sortOut([]), undefined);
  t.equal(sortOut([{ key: entityKey('p', 'node', 'a'), value: record(0) }]), undefined);
  t.end();
});

void t.test('a new project was never written, and its file is out of date', (t) => {
  const sorted = sortOut([{ key: projectKey('p'), value: {} }]);
  t.match(sorted, { file: NEVER_WRITTEN, version: 0 });
  t.not(sorted?.file.version, sorted?.version);
  t.end();
});

void t.test('entity changes make the store hold exactly these entities', async (t) => {
  const store = new FakeStore();
  store.seed(entityKey('p', 'node', 'old'), record(0));
  store.seed(entityKey('p', 'link', 'kept'), record(0));
  store.seed(entityKey('pp', 'node', 'kept'), record(0));
  await store.commit(
    entityChanges('p', 'node', [
      ['b', { n: 0 }],
      ['a', { n: 1 }],
    ]),
  );
  t.same(await store.load(...keysOf('p')), [
    { key: entityKey('p', 'link', 'kept'), value: record(0) },
    { key: entityKey('p', 'node', 'a'), value: record(1) },
    { key: entityKey('p', 'node', 'b'), value: record(0) },
  ]);
  t.equal((await store.load(...keysOf('pp'))).length, 1);
});
