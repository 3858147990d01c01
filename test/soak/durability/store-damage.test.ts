/** A server whose store is damaged, gone or of an earlier version starts with what can be had, and says so. */
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../../support/client.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';

/** A data folder with a project of one node, whose server has ended. */
async function dataFolder(t: Test): Promise<{ data: string; project: string }> {
  const data = scratchFolder(t);
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  const { project_id } = await client.expect(201, 'POST', '/v2/projects', { name: 'lab', auto_close: false });
  const base = `/v2/projects/${String(project_id)}`;
  await client.expect(201, 'POST', `${base}/nodes`, {
    name: 'S',
    node_type: 'ethernet_switch',
    compute_id: 'local',
  });
  t.equal(await server.stop(), 0);
  return { data, project: base };
}

async function nodesOf(t: Test, data: string, project: string): Promise<{ count: number; log: string }> {
  const server = await startServer(t, { data });
  const client = new Client(server.url);
  await client.expect(201, 'POST', `${project}/open`);
  const nodes = (await client.get(`${project}/nodes`)).body as unknown[];
  t.equal(await server.stop(), 0);
  return { count: nodes.length, log: server.log() };
}

const damages: readonly [string, (journal: Buffer) => Buffer][] = [
  ['random octets', (journal) => Buffer.from(journal.map((_, at) => (at * 7919) % 251))],
  ['a cut in the middle', (journal) => journal.subarray(0, 8192 + 100)],
];

for (const [what, damaged] of damages) {
  void t.test(`a store that is ${what} is put aside, and the lab comes from its file`, async (t) => {
    const { data, project } = await dataFolder(t);
    const state = join(data, 'state');
    writeFileSync(join(state, 'journal'), damaged(readFileSync(join(state, 'journal'))));
    const { count, log } = await nodesOf(t, data, project);
    t.equal(count, 1);
    const [aside = ''] = readdirSync(state).filter((name) => name.startsWith('damaged-'));
    t.match(log, /"level":50.*the store was damaged/);
    t.match(log, new RegExp(`^wirefarm: the store was damaged .*${aside}`, 'm'));
    const again = await nodesOf(t, data, project);
    t.equal(again.count, 1);
    t.notMatch(again.log, /damaged/);
  });
}

void t.test('a store that is gone is told when there are projects', async (t) => {
  const { data, project } = await dataFolder(t);
  rmSync(join(data, 'state'), { recursive: true });
  const { count, log } = await nodesOf(t, data, project);
  t.equal(count, 1);
  t.match(log, /the store knew no project: those in the projects folder were taken in/);
});

void t.test('only the user of the server may read the store', async (t) => {
  const { data } = await dataFolder(t);
  t.equal(statSync(join(data, 'state')).mode & 0o777, 0o700);
  t.equal(statSync(join(data, 'state', 'journal')).mode & 0o777, 0o600);
});
