/** The server is killed at seeded points under changes: each one that was answered has its line, once, in an unbroken chain. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { AuditChain } from '../../../src/operations/audit-chain.js';
import { Client, type Reply } from '../../support/client.js';
import { EtcdCluster, missingEtcd } from '../../support/etcd.js';
import { eventually } from '../../support/eventually.js';
import { quickFolder } from '../../support/small-disk.js';
import { seededRandom } from '../../support/seeded-random.js';
import { startServer } from '../../support/server-process.js';

const POINTS = 92;
const POINTS_OF_FARM = 8;
const CLIENTS = 4;
const MOST_ANSWERS = 20;
const HUB = { name: 'HUB', node_type: 'ethernet_hub', compute_id: 'local' };

void t.test('killed under changes', (t) => killedUnderChanges(t, POINTS, []));

void t.test('killed under changes of a farm', { skip: missingEtcd() }, async (t) => {
  const etcd = await EtcdCluster.start(t);
  const flags = ['--farm', etcd.address('audit'), '--advertise', 'http://127.0.0.1:0'];
  await killedUnderChanges(t, POINTS_OF_FARM, flags);
});

async function killedUnderChanges(t: Test, points: number, more: readonly string[]): Promise<void> {
  const flags = ['--audit', ...more];
  const seed = Number(process.env['SEED'] ?? Date.now() % 1e6);
  t.comment(`SEED=${seed}`);
  const random = seededRandom(seed);
  const data = quickFolder(t);
  const folder = join(data, 'audit');
  const answered: string[] = [];
  const lines = (): string[] =>
    readdirSync(folder)
      .sort()
      .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1));

  for (let point = 0; point < points; point++) {
    const server = await startServer(t, { data, flags });
    const client = new Client(server.url);
    const made = await project(client, `lab ${point}`);
    const noted = [made];
    const path = `/v2/projects/${(made.body as { project_id: string }).project_id}`;
    const wanted = 1 + Math.floor(random() * MOST_ANSWERS);
    let killed: Promise<unknown> | undefined;
    const change = async (worker: number): Promise<void> => {
      for (let turn = 0; killed === undefined; turn++) {
        const work = [
          () => client.post(`${path}/nodes`, HUB),
          () => client.put(path, { scene_width: 1000 + turn }),
          () => client.request('POST', `${path}/files/notes-${worker}.txt`, `${turn}`),
          () => client.post(`${path}/drawings`, { svg: '<svg/>', x: turn }),
        ];
        const reply = await work[Math.floor(random() * work.length)]?.().catch(() => undefined);
        if (reply !== undefined) noted.push(reply);
        if (noted.length >= wanted) killed ??= server.stop('SIGKILL');
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, worker) => change(worker)));
    await killed;
    for (const { status, headers } of noted) {
      if (status >= 400) t.fail(`a change was refused: ${status}`);
      answered.push(headers.get('x-request-id') ?? '');
    }
  }

  const server = await startServer(t, { data, flags });
  const last = await project(new Client(server.url), 'last');
  const mark = `"req":"${last.headers.get('x-request-id')}"`;
  await eventually('the last line', () => lines().some((line) => line.includes(mark)) || undefined);
  const all = lines();
  const chain = new AuditChain([]);
  t.same(
    all.flatMap((line, row) => chain.next(line, String(row))),
    [],
  );
  const requests = all.map((line) => (JSON.parse(line) as { req: string }).req);
  t.equal(new Set(requests).size, requests.length, 'no line twice');
  const seen = new Set(requests);
  t.same(
    answered.filter((req) => !seen.has(req)),
    [],
    `all of ${answered.length} answered changes have a line`,
  );
}

/** Makes a project. A server of a farm has to have its claims back first. */
function project(client: Client, name: string): Promise<Reply> {
  return eventually('a project is made', async () => {
    const made = await client.request('POST', '/v2/projects', { name, auto_close: false });
    return made.status === 503 ? undefined : made;
  });
}
