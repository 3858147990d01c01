/** Labs that are dealt to a group: who has which copy, what is collected, and how a copy begins anew. */
import t from 'tap';
import { addUser, firstAdmin, signedIn } from '../support/accounts.js';
import { cli } from '../support/cli.js';
import type { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { startServer } from '../support/server-process.js';

interface Copy {
  readonly member: string;
  readonly project_id: string | null;
  readonly name: string | null;
  readonly state: string;
  readonly problem: string | null;
}

const DAY_MS = 86_400_000;
const TOLD =
  /^ann +routing +(open|closed) +used [-\d]+ [:\d]+ UTC +ends [-\d]+ [:\d]+ UTC\ntess .*\ntom .*\nhal .*\n$/;
const server = await startServer(t);
const admin = await firstAdmin(server);
const teacher = (await addUser(admin, server, 'tess', 'user')).client;
const ann = (await addUser(admin, server, 'ann', 'user')).client;
const bob = (await addUser(admin, server, 'bob', 'user')).client;
const group = { name: 'class', members: ['ann', 'bob'], teachers: ['tess'] };
await admin.expect(201, 'POST', '/v2/groups', group);
const lab = await teacher.expect(201, 'POST', '/v2/projects', { name: 'routing' });
const path = `/v2/projects/${String(lab['project_id'])}`;
const deals = `${path}/deals/class`;
const node = { name: 'SW', node_type: 'ethernet_switch', compute_id: 'local' };
await teacher.expect(201, 'POST', `${path}/nodes`, node);

const refused = (status: number, code: string): object => ({ status, body: { status, code } });
const copies = async (): Promise<Copy[]> => (await teacher.get(deals)).body as Copy[];
const projectOf = async (member: string): Promise<string> => {
  const found = (await copies()).find((copy) => copy.member === member)?.project_id;
  return `/v2/projects/${String(found)}`;
};
const namesOf = async (client: Client, where: string): Promise<string[]> =>
  ((await client.get(where)).body as { name: string }[]).map(({ name }) => name).sort();

/** Begins a job, and waits for its end. */
async function done(where: string, body?: object): Promise<void> {
  const reply = await teacher.post(where, body);
  t.equal(reply.status, 202, reply.text);
  const { job_id: id } = reply.body as { job_id: string };
  t.equal(reply.headers.get('wirefarm-job'), id);
  await eventually('the end of the job', async () => {
    const jobs = (await teacher.get(`${path}/jobs`)).body as { job_id: string }[];
    return jobs.every((job) => job.job_id !== id) || undefined;
  });
}

void t.test('each member gets a copy that is his, and that the teacher edits', async (t) => {
  t.match(await copies(), [
    { member: 'ann', project_id: null, state: 'none' },
    { member: 'bob', project_id: null, state: 'none' },
  ]);
  await teacher.expect(201, 'POST', `${path}/snapshots`, { name: 'solution' });
  await done(deals);
  t.match(await copies(), [
    { member: 'ann', name: 'routing', state: 'closed', problem: null },
    { member: 'bob', name: 'routing', state: 'closed', problem: null },
  ]);
  const ofAnn = await projectOf('ann');
  t.strictSame(await namesOf(ann, '/v2/projects'), ['routing'], 'and not that of the teacher');
  t.match((await ann.get(`${ofAnn}/grants`)).body, [
    { name: 'ann', grant: 'owner' },
    { name: 'tess', grant: 'edit' },
  ]);
  t.match(await bob.get(ofAnn), refused(404, 'project_unknown'));
  await teacher.expect(201, 'POST', `${ofAnn}/open`);
  t.strictSame(await namesOf(teacher, `${ofAnn}/nodes`), ['SW']);
});

void t.test('a member who has a copy is left alone, and one who has lost it gets another', async (t) => {
  const [ofAnn, ofBob] = [await projectOf('ann'), await projectOf('bob')];
  await bob.expect(204, 'DELETE', ofBob);
  await teacher.expect(201, 'POST', `${path}/nodes`, { ...node, name: 'later' });
  await done(deals);
  t.equal(await projectOf('ann'), ofAnn);
  t.strictSame(await namesOf(ann, `${ofAnn}/nodes`), ['SW']);
  const again = await projectOf('bob');
  await bob.expect(201, 'POST', `${again}/open`);
  t.strictSame(await namesOf(bob, `${again}/nodes`), ['SW', 'later']);
});

void t.test('a teacher who comes later reaches copies that were made before', async (t) => {
  const [ofAnn, ofBob] = [await projectOf('ann'), await projectOf('bob')];
  const tom = (await addUser(admin, server, 'tom', 'user')).client;
  const hal = (await addUser(admin, server, 'hal', 'user')).client;
  t.equal((await tom.get(ofAnn)).status, 404);
  await admin.expect(200, 'PUT', '/v2/groups/class', { teachers: ['tess', 'tom'] });
  await teacher.expect(200, 'PUT', `${path}/grants/hal`, { grant: 'edit' });
  for (const copy of [ofAnn, ofBob]) {
    t.equal((await tom.get(copy)).status, 200, 'one who teaches the group now');
    t.equal((await hal.get(copy)).status, 200, 'one who may edit the lab now');
  }
  t.strictSame(await namesOf(tom, '/v2/projects'), ['routing', 'routing']);
  await tom.expect(200, 'PUT', ofAnn, { scene_width: 3000 });
  t.equal((await tom.delete(ofAnn)).status, 403, 'and the copy stays that of the member');
  await teacher.expect(200, 'PUT', `${path}/group-grants/class`, { grant: 'edit' });
  t.equal((await ann.get(ofBob)).status, 404, 'members have no grant on the copies of others');
  await teacher.expect(204, 'DELETE', `${path}/group-grants/class`);
  await admin.expect(200, 'PUT', '/v2/groups/class', { teachers: ['tess'] });
  await teacher.expect(204, 'DELETE', `${path}/grants/hal`);
  for (const client of [tom, hal]) t.equal((await client.get(ofAnn)).status, 404, 'and no longer than that');
});

void t.test('all copies are collected, and begin anew', async (t) => {
  const ofAnn = await projectOf('ann');
  await ann.expect(201, 'POST', `${ofAnn}/nodes`, { ...node, name: 'work' });
  await ann.expect(204, 'POST', `${ofAnn}/close`);
  await done(`${deals}/collect`, { name: 'Monday' });
  await done(`${deals}/collect`, { name: 'Monday' });
  for (const member of ['ann', 'bob'])
    t.strictSame(
      await namesOf(teacher, `${await projectOf(member)}/snapshots`),
      ['As dealt', 'Monday'],
      'and not the solution',
    );
  t.match(await copies(), [
    { state: 'closed', problem: null },
    { state: 'open', problem: null },
  ]);
  await done(`${deals}/reset`, { members: ['ANN'] });
  await ann.expect(201, 'POST', `${ofAnn}/open`);
  t.strictSame(await namesOf(ann, `${ofAnn}/nodes`), ['SW']);
  t.strictSame(await namesOf(ann, `${ofAnn}/snapshots`), ['As dealt', 'Monday'], 'the work is kept');
});

void t.test('a failure for one member is told, and the others are served', async (t) => {
  const ofBob = await projectOf('bob');
  const { body } = await bob.get(`${ofBob}/snapshots`);
  const start = (body as { name: string; snapshot_id: string }[]).find(({ name }) => name === 'As dealt');
  await bob.expect(204, 'DELETE', `${ofBob}/snapshots/${String(start?.snapshot_id)}`);
  await ann.expect(201, 'POST', `${await projectOf('ann')}/nodes`, { ...node, name: 'more' });
  await done(`${deals}/reset`, {});
  t.match(await copies(), [{ problem: null }, { problem: /no snapshot 'As dealt' any more/ }]);
  t.strictSame(await namesOf(ann, `${await projectOf('ann')}/nodes`), ['SW']);
});

void t.test('only a teacher of the group, or an admin, deals', async (t) => {
  await teacher.expect(200, 'PUT', `${path}/group-grants/class`, { grant: 'edit' });
  for (const [method, where] of [
    ['GET', deals],
    ['POST', deals],
    ['POST', `${deals}/reset`],
  ] as const)
    t.match(await ann.request(method, where, {}), refused(403, 'not_teacher'));
  t.match(await teacher.post(`${path}/deals/other`), refused(404, 'group_unknown'));
  t.equal((await admin.get(deals)).status, 200);
});

void t.test('the program deals and collects, also after a start of the server', async (t) => {
  await admin.expect(200, 'PUT', '/v2/groups/class', { members: ['ann', 'tess', 'tom', 'hal'] });
  t.equal((await teacher.post(deals)).status, 202);
  await server.stop('SIGKILL');
  const again = await startServer(t, { data: server.data });
  const root = signedIn(again, 'root');
  const who = { WIREFARM_URL: again.url, WIREFARM_USER: 'tess', WIREFARM_PASSWORD: 'correct horse' };
  const ofAnn = (): Promise<{ project_id: string; last_used_at: string | null }[]> =>
    root.get(deals).then(({ body }) => body as []);
  const copy = `/v2/projects/${String((await ofAnn())[0]?.project_id)}`;
  await root.expect(200, 'PUT', `${copy}/end-time`, { ends_at: new Date(Date.now() + DAY_MS).toISOString() });
  await eventually('the copy is used', async () => (await ofAnn())[0]?.last_used_at ?? undefined);
  const listed = await cli(t, ['deal', 'routing', '--group', 'class', '--list'], who);
  t.match(listed, { code: 0, output: TOLD });
  const ran = await cli(t, ['deal', 'routing', '--group', 'class'], who);
  const dealt = /^ann +routing +\S+\ntess +routing-1 +closed\ntom +routing +closed\nhal +routing +closed\n$/;
  t.match(ran, { code: 0, output: dealt });
  const labs = (await root.get('/v2/projects')).body as unknown[];
  t.equal(
    labs.length,
    6,
    'the lab, and one copy of each of the five who got one: the deal that was killed made no doubles',
  );
  const collected = await cli(t, ['collect', 'routing', '--group', 'class', '--name', 'Friday'], who);
  t.match(collected, { code: 0, output: /^ann +routing/ });
  const mine = await signedIn(again, 'ann').get('/v2/projects');
  const all = mine.body as { project_id: string }[];
  const { project_id: id } = all.find(({ project_id: other }) => other !== lab['project_id']) ?? {
    project_id: '',
  };
  t.ok((await namesOf(signedIn(again, 'ann'), `/v2/projects/${id}/snapshots`)).includes('Friday'));
});
