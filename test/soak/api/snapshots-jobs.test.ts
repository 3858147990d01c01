/** Long work on snapshots over HTTP: how far it is, its end on request, and what comes between. */
import { closeSync, existsSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { asideNames } from '../../support/aside-folders.js';
import { Client } from '../../support/client.js';
import { FaultServer } from '../../support/fault-server.js';
import type { Json, LabHost } from '../../support/link-lab.js';
import type { Notification } from '../../support/notification-log.js';
import { RandomBytes } from '../../support/random.js';
import { scratchFolder } from '../../support/scratch.js';
import { startServer } from '../../support/server-process.js';
import { SnapshotLab } from '../../support/snapshot-lab.js';

const faults = new FaultServer(t, scratchFolder(t));
await faults.start();
const { client, process: server } = faults;
const host = { client, url: server.url };
const MEGABYTE = 1024 * 1024;
/** Enough that reading it takes some hundred milliseconds, whatever the machine. */
const LARGE = 384 * MEGABYTE;
/** Enough for a job that is held. */
const MIDDLING = 20 * MEGABYTE;
const CANCELLED = 'Cancelled on request: nothing was changed';
const MOST_WAITING = 64;

/** A project with a node that has a large file, of which no two parts are equal. */
async function largeLab(
  length: number,
  at: LabHost = host,
): Promise<SnapshotLab & { node: Json; disk: string }> {
  const lab = await SnapshotLab.make(at);
  const node = await lab.lab.hub('H1');
  await lab.write(node, 'disk', 'small');
  const disk = join(lab.folder, `project-files/ethernet_hub/${String(node['node_id'])}/disk`);
  const bytes = new RandomBytes(3).next(4 * MEGABYTE);
  const fd = openSync(disk, 'w');
  for (let done = 0; done < length; done += bytes.length) {
    for (let place = 0; place < bytes.length; place += 4096) bytes.writeUInt32LE(done + place, place);
    writeSync(fd, bytes);
  }
  closeSync(fd);
  return Object.assign(lab, { node, disk });
}

const jobsOf = async ({ path }: SnapshotLab): Promise<Json[]> =>
  (await client.get(`${path}/jobs`)).body as Json[];

function work(lab: SnapshotLab): string[] {
  const folder = join(lab.folder, 'snapshots', '.work');
  return existsSync(folder) ? readdirSync(folder) : [];
}

function objects(lab: SnapshotLab): string[] {
  const folder = join(lab.folder, 'snapshots', 'content');
  return existsSync(folder) ? readdirSync(folder) : [];
}

const isJob =
  (action: string, kind: string, subject?: string) =>
  (told: Notification): boolean =>
    told.action === action &&
    told.event['kind'] === kind &&
    (subject === undefined || told.event['subject'] === subject);

void t.test('a job is listed while it runs, and cancelled', async (t) => {
  const lab = await largeLab(MIDDLING);
  t.same(await jobsOf(lab), []);
  const stream = await lab.listen();
  const held = faults.hold(`${lab.lab.id}/snapshots/`);
  const making = client.post(lab.snapshots, { name: 'large' });
  const { event } = await stream.next(isJob('job.started', 'snapshot.create'));
  const [job, ...others] = await jobsOf(lab);
  t.same(others, []);
  t.match(job, {
    job_id: event['job_id'],
    project_id: lab.lab.id,
    kind: 'snapshot.create',
    subject: 'large',
    state: 'running',
    started_at: /^20..-..-..T..:..:..\....Z$/,
  });
  const one = `${lab.path}/jobs/${String(job?.['job_id'])}`;
  t.equal((await client.delete(`/v2/projects/${lab.lab.id}x/jobs/${String(job?.['job_id'])}`)).status, 404);
  await client.expect(204, 'DELETE', one);
  held.release();
  const { status, body } = await making;
  t.same([status, (body as Json)['message']], [409, CANCELLED]);
  const ended = await stream.next(isJob('job.ended', 'snapshot.create'));
  t.match(ended.event, { outcome: 'failed', reason: CANCELLED, subject: 'large' });
  const gone = await client.delete(one);
  t.same(
    [gone.status, (gone.body as Json)['message']],
    [404, `Job ID ${String(job?.['job_id'])} doesn't exist`],
  );
  t.same(await lab.list(), []);
  t.same([work(lab), objects(lab), await jobsOf(lab)], [[], [], []], 'nothing is left of it');

  const taken = await lab.take('large');
  t.same(await lab.damaged(taken), [], 'the next is whole');
  const done = await stream.next(
    (told) => isJob('job.ended', 'snapshot.create')(told) && told.event['outcome'] === 'done',
  );
  t.same([done.event['done'], done.event['total']], [MIDDLING, MIDDLING]);
  stream.close();
});

void t.test('a restore that is cancelled has changed nothing', async (t) => {
  const lab = await largeLab(MIDDLING);
  const snapshot = await lab.take('then');
  await lab.lab.hub('later');
  await lab.write(lab.node, 'later', 'now');
  const [before, files] = [await lab.objects(), lab.files()];
  const stream = await lab.listen();
  const held = faults.hold(`${lab.lab.id}/snapshots/`);
  const restoring = client.post(`${lab.at(snapshot)}/restore`);
  const { event } = await stream.next(isJob('job.started', 'snapshot.restore'));
  await client.expect(204, 'DELETE', `${lab.path}/jobs/${String(event['job_id'])}`);
  held.release();
  const { status, body } = await restoring;
  t.same([status, (body as Json)['message']], [409, CANCELLED]);
  t.same(await lab.objects(), before);
  t.strictSame([...lab.files()], [...files]);
  t.same(work(lab), []);
  t.same(
    stream.received.filter(({ action }) => !action.startsWith('job.')),
    [],
    'and nobody was told of anything',
  );
  stream.close();
  await lab.restore(snapshot);
  t.equal((await lab.read(lab.node, 'later')).status, 404);
});

void t.test('one after the other in a project, side by side in two, and not without bounds', async (t) => {
  const [lab, other] = [await SnapshotLab.make(host), await SnapshotLab.make(host)];
  const stream = await lab.listen();
  const held = faults.hold(`${lab.lab.id}/snapshots/`);
  const first = lab.take('0');
  await stream.next(isJob('job.started', 'snapshot.create', '0'));
  const quick = await other.take('quick');
  t.match(await jobsOf(lab), [{ subject: '0', state: 'running' }], 'another project need not wait');
  t.same(await other.list(), [quick]);
  const waiting = Array.from({ length: MOST_WAITING - 1 }, (_, index) =>
    client.post(lab.snapshots, { name: String(index + 1) }),
  );
  const listed = async (): Promise<Json[]> => {
    const jobs = await jobsOf(lab);
    return jobs.length < MOST_WAITING ? listed() : jobs;
  };
  const jobs = await listed();
  t.same(new Set(jobs.slice(1).map(({ state }) => state)), new Set(['waiting']));
  t.equal((await client.post(lab.snapshots, { name: 'too many' })).status, 503);
  for (const { job_id: id } of jobs.slice(3))
    await client.expect(204, 'DELETE', `${lab.path}/jobs/${String(id)}`);
  held.release();
  await first;
  const replies = await Promise.all(waiting);
  t.equal(replies.filter(({ status }) => status === 201).length, 2);
  t.equal(replies.filter(({ status }) => status === 409).length, MOST_WAITING - 3);
  const started = stream.received
    .filter(({ action }) => action === 'job.started')
    .map(({ event }) => event['subject']);
  t.same(
    started,
    jobs.slice(0, 3).map(({ subject }) => subject),
    'in the order in which they came',
  );
  t.equal((await lab.list()).length, 3);
  stream.close();
});

void t.test('many requests for one name make one snapshot', async (t) => {
  const lab = await SnapshotLab.make(host);
  const replies = await Promise.all(
    Array.from({ length: 8 }, () => client.post(lab.snapshots, { name: 'same' })),
  );
  t.same(replies.map(({ status }) => status).sort(), [201, ...Array<number>(7).fill(409)]);
  const [one] = await lab.list();
  const deletions = await Promise.all(Array.from({ length: 8 }, () => client.delete(lab.at(one ?? {}))));
  t.same(deletions.map(({ status }) => status).sort(), [204, ...Array<number>(7).fill(404)]);
});

void t.test('a project that is closed or deleted meanwhile', async (t) => {
  const lab = await largeLab(LARGE);
  const stream = await lab.listen();
  const making = client.post(lab.snapshots, { name: 'first' });
  await stream.next(isJob('job.started', 'snapshot.create'));
  await client.expect(204, 'POST', `${lab.path}/close`);
  const { status } = await making;
  t.ok(status === 201 || status === 403, `closed: ${status}`);
  t.equal((await lab.list()).length, status === 201 ? 1 : 0);
  await client.expect(201, 'POST', `${lab.path}/open`);
  t.same(work(lab), []);
  const snapshot = status === 201 ? ((await lab.list())[0] ?? {}) : await lab.take('first');

  const restoring = client.post(`${lab.at(snapshot)}/restore`);
  await stream.next(isJob('job.started', 'snapshot.restore'));
  const waiting = client.post(lab.snapshots, { name: 'waiting' });
  await client.expect(204, 'DELETE', lab.path);
  const restored = await restoring;
  t.ok([403, 404, 409].includes(restored.status), `deleted: ${restored.status} ${restored.text}`);
  t.ok([403, 404, 409].includes((await waiting).status));
  t.notOk(existsSync(lab.folder), 'nothing comes back');
  t.same((await client.get(lab.snapshots)).status, 404);
  stream.close();

  const second = await largeLab(LARGE);
  const watching = await second.listen();
  const dying = client.post(second.snapshots, { name: 'dying' });
  await watching.next(isJob('job.started', 'snapshot.create'));
  await client.expect(204, 'DELETE', second.path);
  const died = await dying;
  t.ok([403, 404, 409].includes(died.status), `deleted: ${died.status} ${died.text}`);
  t.notOk(existsSync(second.folder));
  t.same(asideNames(server.data), []);
  watching.close();
});

void t.test('a client that goes away gets its snapshot all the same', async (t) => {
  const lab = await largeLab(MIDDLING);
  const stream = await lab.listen();
  const held = faults.hold(`${lab.lab.id}/snapshots/`);
  const abort = new AbortController();
  const making = fetch(server.url + lab.snapshots, {
    method: 'POST',
    body: JSON.stringify({ name: 'left' }),
    signal: abort.signal,
  });
  await stream.next(isJob('job.started', 'snapshot.create'));
  abort.abort();
  await t.rejects(making);
  held.release();
  t.match(await stream.next(isJob('job.ended', 'snapshot.create')), { event: { outcome: 'done' } });
  t.match(await lab.list(), [{ name: 'left' }]);
  stream.close();
});

void t.test('a server that is told to stop ends soon, and leaves nothing half', async (t) => {
  const own = await startServer(t);
  const before = await largeLab(LARGE, { client: new Client(own.url), url: own.url });
  const stream = await before.listen();
  const making = before.take('interrupted').catch((error: unknown) => error);
  await stream.next(isJob('job.started', 'snapshot.create'));
  t.equal(await own.stop(), 0);
  const reply = await making;
  stream.close();

  const again = await startServer(t, { data: own.data });
  const next = { client: new Client(again.url), url: again.url };
  await next.client.expect(201, 'POST', `${before.path}/open`);
  const lab = await SnapshotLab.of(next, before.lab);
  t.same(work(lab), []);
  const listed = await lab.list();
  if (!(reply instanceof Error)) t.equal(listed.length, 1, 'what was acknowledged is there');
  for (const snapshot of listed) t.same(await lab.damaged(snapshot), []);
  const taken = await lab.take('next');
  t.same(await lab.damaged(taken), []);
  for (const snapshot of await lab.list()) await lab.remove(snapshot);
  t.same(objects(lab), [], 'no content that belongs to nobody');
});
