/** `wirefarm farm join` and `leave` are killed at each of their requests to etcd: nothing is lost, and no half is seen. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { StateThread } from '../../../src/base/store/state-thread.js';
import type { Change, Store, StoredRecord } from '../../../src/base/store/store.js';
import { cli, startCli } from '../../support/cli.js';
import { EtcdFolderStore, ETCD } from '../../support/etcd-folder-store.js';
import { EtcdProxy } from '../../support/etcd-proxy.js';
import { EtcdCluster, missingEtcd } from '../../support/etcd.js';
import { seededRandom } from '../../support/seeded-random.js';
import { scratchFolder } from '../../support/scratch.js';

const PROJECTS = ['one', 'two'];
const KILLS = 4;
/** So large that it does not fit in one transaction of etcd. */
const PICTURE = 'x'.repeat(700_000);
const KINDS = [['head'], ['lab'], ['template']];

function records(folder: string): StoredRecord[] {
  return [
    { key: ['template', 't'], value: { name: 'mine' } },
    ...PROJECTS.flatMap((id): StoredRecord[] => {
      const path = join(folder, 'projects', id);
      const project = { order: 0, path, filename: 'a', settings: { name: id }, computes: [] };
      return [
        { key: ['head', id, 'project'], value: project },
        { key: ['lab', id, 'drawing', 'd'], value: { order: 0, object: PICTURE } },
      ];
    }),
  ];
}

const skip = missingEtcd();
if (skip === false) {
  const etcd = await EtcdCluster.start(t);
  const [url = ''] = etcd.urls;
  process.env[ETCD] = etcd.address('').replace(/\/$/, '');
  const random = seededRandom(Number(process.env['WIREFARM_TEST_SEED'] ?? 1));
  const load = async (store: Store): Promise<number> => {
    const { length } = await store.load(...KINDS);
    await store.close();
    return length;
  };
  const trial = async (t: Test, action: 'join' | 'leave', kill: number): Promise<boolean> => {
    const folder = scratchFolder(t);
    const state = join(folder, 'state');
    mkdirSync(state);
    for (const id of PROJECTS) mkdirSync(join(folder, 'projects', id), { recursive: true });
    const whole = records(folder);
    const start = action === 'join' ? new StateThread(state) : new EtcdFolderStore(folder);
    await start.commit(whole.map(({ key, value }): Change => ({ put: key, value })));
    await start.close();

    const proxy = await EtcdProxy.start(t, url);
    const name = folder.split('/').at(-1) ?? '';
    const words = ['farm', action, '--data', folder, '--farm', `${proxy.address}/${name}`];
    const killed = startCli(t, words);
    let requests = 0;
    const fate = random() < 0.5 ? 'swallow' : 'refuse';
    proxy.fate = () => {
      if (++requests <= kill) return 'pass';
      killed.child.kill('SIGKILL');
      return requests === kill + 1 ? fate : 'refuse';
    };
    const isKilled = (await killed.ended).code === null;
    proxy.fate = () => 'pass';
    const [local, farm] = [await load(new StateThread(state)), await load(new EtcdFolderStore(folder, 'x'))];
    const where = `${action}, killed at request ${kill}, ${fate}: ${local} here, ${farm} in the farm`;
    t.ok([0, whole.length].includes(local) && [0, whole.length].includes(farm), `whole or not: ${where}`);
    t.equal(Math.max(local, farm), whole.length, `none is lost: ${where}`);
    const ended = await cli(t, words);
    t.match(ended, { code: 0 }, `${where}, again`);
    const [here, there] = [await load(new StateThread(state)), await load(new EtcdFolderStore(folder, 'x'))];
    t.same(action === 'join' ? [here, there] : [there, here], [0, whole.length], `carried: ${where}`);
    return isKilled;
  };
  for (const action of ['join', 'leave'] as const) {
    void t.test(`${action} is killed`, async (t) => {
      // The last points are those at which something is stored.
      for (let kill = 3, count = 0; count < KILLS; count++, kill += 2 + Math.floor(4 * random())) {
        if (!(await trial(t, action, kill))) break;
      }
    });
  }
} else {
  void t.test('join is killed', { skip }, () => undefined);
}
