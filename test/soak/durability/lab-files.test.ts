/** The server dies while it applies a lab file; the next application ends in the wanted lab, without remains of any. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { eventually } from '../../support/eventually.js';
import type { Json } from '../../support/link-lab.js';
import { NotificationLog } from '../../support/notification-log.js';
import { scratchFolder } from '../../support/scratch.js';
import { seededRandom } from '../../support/seeded-random.js';
import { manyUdpPorts, startServer } from '../../support/server-process.js';

const KILLS = 25;
const SEED = Number(process.env['WIREFARM_TEST_SEED'] ?? 17);
const NAME = 'killed';
const NODES = 30;

interface File extends Json {
  readonly nodes: Readonly<Record<string, Json>>;
  readonly links: readonly (readonly [string, string])[];
  readonly drawings: Readonly<Record<string, Json>>;
}

/** Some of thirty nodes in a line, each of one of two kinds, with links and drawings. */
function anyFile(random: () => number): File {
  const names = Array.from({ length: NODES }, (_, index) => `N${index}`).filter(() => random() < 0.7);
  const kinds = ['ethernet_switch', 'ethernet_hub'] as const;
  const nodes = names.map((name) => [name, { kind: kinds[Math.floor(random() * 2)] }] as const);
  const links = names
    .slice(1)
    .map((name, index) => [`${names[index] ?? ''}:e1`, `${name}:e${random() < 0.8 ? 0 : 2}`] as const);
  const drawings = names
    .slice(0, 5)
    .map((name) => [name, { svg: `<svg id="${name}"></svg>`, at: [1, 2] }] as const);
  return { name: NAME, nodes: Object.fromEntries(nodes), links, drawings: Object.fromEntries(drawings) };
}

void t.test('an application that was killed is taken up by the next one', async (t) => {
  t.comment(`WIREFARM_TEST_SEED=${SEED}`);
  const random = seededRandom(SEED);
  const data = scratchFolder(t);
  const environment = { WIREFARM_UDP_PORTS: manyUdpPorts() };
  let server = await startServer(t, { data, environment });
  let client = new Client(server.url);
  const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', {
    name: NAME,
    auto_close: false,
  });
  const path = `/v2/projects/${String(id)}`;
  const apply = (file: File): Promise<Json> =>
    client.expect(202, 'PUT', `${path}/lab-file?allow_recreate=yes`, file);
  const listOf = async (what: string): Promise<Json[]> =>
    (await client.get(`${path}/${what}`)).body as Json[];
  const states: unknown[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const events = await NotificationLog.open(`${server.url}${path}/notifications`);
    const wanted = 1 + Math.floor(random() * 70);
    let heard = 0;
    await apply(anyFile(random));
    await events.next(({ action }) => ++heard >= wanted || action === 'job.ended');
    await server.stop('SIGKILL');
    server = await startServer(t, { data, environment });
    client = new Client(server.url);
    await eventually('the project is open again', async () => {
      return (await client.expect(200, 'GET', path))['status'] === 'opened' ? true : undefined;
    });
    states.push((await client.expect(200, 'GET', `${path}/lab-file`))['state']);
  }
  t.comment(`the states after the kills: ${states.join(' ')}`);
  t.ok(states.includes('unfinished'), 'some kills came in the middle');
  const last = anyFile(random);
  await apply(last);
  const state = await eventually('the end of the job', async () => {
    const found = (await client.expect(200, 'GET', `${path}/lab-file`))['state'];
    return found === 'under_way' ? undefined : found;
  });
  t.equal(state, 'applied');
  t.match(await client.expect(200, 'PUT', `${path}/lab-file?dry_run=yes&prune=yes`, last), { changes: [] });
  t.same((await listOf('nodes')).map(({ name }) => String(name)).sort(), Object.keys(last.nodes).sort());
  t.equal((await listOf('links')).length, last.links.length);
  t.same(
    (await listOf('drawings')).map(({ svg }) => svg).sort(),
    Object.values(last.drawings)
      .map(({ svg }) => svg)
      .sort(),
  );
});
