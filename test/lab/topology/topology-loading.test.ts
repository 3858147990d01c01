import { HostNumbers } from '../../../src/lab/topology/host-numbers.js';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { Channel } from '../../../src/base/streams/channel.js';
import { ConsolePorts } from '../../../src/lab/console-ports.js';
import { MOST_OBJECTS } from '../../../src/lab/projects/content-limit.js';
import type { LabRun } from '../../../src/lab/lab-run.js';
import { entityKey, projectKey, type ProjectRecord } from '../../../src/lab/projects/records.js';
import { loadTopology } from '../../../src/lab/topology/topology-loading.js';
import { projectSettings } from '../../../src/lab/gns3-file/topology-schema.js';
import type { Topology } from '../../../src/lab/topology/topology.js';
import { packRecords, recordBatches } from '../../../src/base/store/packing.js';
import type { StoredRecord } from '../../../src/base/store/store.js';
import { FakeStore } from '../../support/fake-store.js';
import { idOf } from '../../support/stored-objects.js';
import { NO_QUOTAS } from '../../support/no-quotas.js';

const PROJECT = idOf(1);
const record: ProjectRecord = {
  order: 0,
  path: '/p',
  filename: 'p.gns3',
  settings: projectSettings.parse({ name: 'p' }),
  computes: [],
};

/** A store with a project of so many drawings. */
function filledStore(drawings: number): FakeStore {
  const store = new FakeStore();
  store.seed(projectKey(PROJECT), record);
  for (let order = 0; order < drawings; order++) {
    const id = idOf(order + 10);
    const object = { drawing_id: id, svg: `<svg>${'x'.repeat(200)}</svg>` };
    store.seed(entityKey(PROJECT, 'drawing', id), { order, object });
  }
  return store;
}

function load(store: FakeStore, onEnd = (): void => undefined): Promise<Topology> {
  const end = (): Promise<void> => {
    onEnd();
    return Promise.resolve();
  };
  const run = {
    settled: () => undefined,
    stateOf: () => ({ status: 'started', commandLine: null, folder: null }),
    end,
  } as unknown as LabRun;
  const consolePorts = new ConsolePorts([5000, 10_000]);
  const context = {
    consoleHost: '127.0.0.1',
    consolePorts,
    hostNumbers: new HostNumbers(consolePorts),
    symbolSize: () => ({ width: 65, height: 59 }),
    checkCompute: () => undefined,
    hasCompute: (id: string) => id === 'local',
    isHere: (id: string) => id === 'local',
    quotas: NO_QUOTAS,
    beginRun: () => run,
  };
  return loadTopology(
    { store, context },
    { id: PROJECT, channel: new Channel(), right: RIGHT, mend: () => Promise.resolve() },
  );
}

const RIGHT = { isShared: false, holds: () => true, epoch: () => Promise.resolve(1) };

void t.test('while a large topology is loaded others have their turns', async (t) => {
  const store = filledStore(MOST_OBJECTS);
  await store.loadPacked();
  let turns = 0;
  const loaded = new AbortController();
  const others = (async () => {
    while (!loaded.signal.aborted) {
      await setImmediate();
      turns++;
    }
  })();
  const topology = await load(store);
  loaded.abort();
  await others;
  t.equal(topology.drawings.size, MOST_OBJECTS);
  t.ok(turns > 10, `${turns} turns`);
});

void t.test('a topology that holds too much is not loaded, and nothing of it runs', async (t) => {
  await t.rejects(load(filledStore(MOST_OBJECTS + 1)), { status: 409, message: /20000/ });
  let ends = 0;
  const store = filledStore(3);
  const svg = `<svg>${'y'.repeat(12 * 1024 * 1024)}</svg>`;
  for (const number of [1, 2, 3]) {
    const drawing_id = idOf(number);
    store.seed(entityKey(PROJECT, 'drawing', drawing_id), { order: number, object: { drawing_id, svg } });
  }
  await t.rejects(
    load(store, () => {
      ends++;
    }),
    { status: 409, message: /characters/ },
  );
  t.equal(ends, 1);
});

void t.test('records come in batches as they do at once', (t) => {
  for (const count of [0, 1, 15, 16, 300, 70_000]) {
    const records: StoredRecord[] = Array.from({ length: count }, (_, index) => ({
      key: ['lab', String(index)],
      value: { index, text: 'ä'.repeat(index % 40), list: [index, null, true, { deep: [index] }] },
    }));
    const batches = [...recordBatches(packRecords(records))];
    t.ok(JSON.stringify(batches.flat()) === JSON.stringify(records), `${count}`);
    if (count > 10_000) t.ok(batches.length > 1);
  }
  t.end();
});
