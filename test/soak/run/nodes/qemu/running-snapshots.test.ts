/** Snapshots of labs that run: a guest counts aloud, is kept while it counts, and is brought back mid-sentence. */
import { createHash, randomUUID } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { publishManifest, readManifest } from '../../../../../src/snapshots/content/manifest.js';
import { COUNTER, hears, placeCounter } from '../../../../support/counting-guest.js';
import { eventually } from '../../../../support/eventually.js';
import { NotificationLog } from '../../../../support/notification-log.js';
import { NodeLab, programsOf, type Json } from '../../../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../../../support/qemu.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../../../../support/server-process.js';
import { missingVpcs } from '../../../../support/vpcs.js';
import { resultOf } from '../../../../support/client.js';

const skip = missingQemu();
const server = await startQemuServer(t);
placeCounter(server.data);

function folderOf({ id }: NodeLab): string {
  return join(server.data, 'projects', id);
}

function take(lab: NodeLab, name: string, query = '?running=true'): Promise<Json> {
  return lab.client.expect(201, 'POST', `${lab.path}/snapshots${query}`, { name });
}

function at(lab: NodeLab, { snapshot_id: id }: Json): string {
  return `${lab.path}/snapshots/${String(id)}`;
}

/** A server beside the first one. */
function secondServer(t: Test, data?: string): Promise<ServerProcess> {
  const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(1) };
  return startServer(t, { flags: ['--kvm', 'off'], environment, ...(data === undefined ? {} : { data }) });
}

/** Whether a job has begun to write memory. */
function findMemory(project: string): boolean {
  const work = join(project, 'snapshots', '.work');
  return namesIn(work).some((job) => namesIn(join(work, job, 'memory')).length > 0);
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

function memoryOf(lab: NodeLab, { snapshot_id: id }: Json, { node_id: node }: Json): string {
  return join(folderOf(lab), 'snapshots', 'memory', String(id), String(node));
}

/** A guest that has begun to count. */
async function counter(t: Test, lab: NodeLab, name: string, properties: Json = {}): Promise<Json> {
  const node = await lab.node('qemu', name, { ...COUNTER, ...properties });
  await lab.act(node, 'start');
  await hears(await lab.console(t, node), 2);
  return node;
}

function isConsecutive(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || number === (numbers[index - 1] ?? 0) + 1);
}

void t.test(
  'a guest that counts is kept, counts on, and is brought back to where it was',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const guest = await counter(t, lab, 'G1');
    const shell = await lab.console(t, guest);
    const [first = 0] = await hears(shell, 2);
    const { status, body } = await lab.client.post(`${lab.path}/snapshots`, { name: 'plain' });
    t.match(
      { status, body },
      { status: 409, body: { message: 'Project must be stopped in order to export it' } },
    );

    const stream = await NotificationLog.open(lab.events);
    const kept = await take(lab, 'running');
    const [pid] = programsOf(guest);
    t.ok(
      stream.received.some(({ event }) => /stood still for \d+ ms$/.test(String(event['message']))),
      'for how long',
    );
    const after = await hears(shell, 20);
    t.ok(isConsecutive(after), 'it went on where it was');
    t.match(await lab.show(guest), { status: 'started' });
    t.notOk(
      stream.received.some(({ action }) => action === 'node.updated'),
      'nobody was told that it was suspended',
    );
    t.match(await resultOf(lab.client, 'POST', `${at(lab, kept)}/verify`), { is_whole: true });
    const { size } = await lab.client.expect(200, 'GET', at(lab, kept));
    t.ok(Number(size) > readFileSync(memoryOf(lab, kept, guest)).length, 'its memory counts');

    let present = shell;
    for (const round of ['while it runs', 'again']) {
      const last = (await hears(present, 1)).at(-1) ?? 0;
      await lab.client.expect(201, 'POST', `${at(lab, kept)}/restore`);
      t.match(await lab.show(guest), { status: 'started', command_line: / -incoming defer/ }, round);
      // The console of the machine before has ended with it.
      present = await lab.console(t, guest);
      const again = await hears(present, 20);
      const [begins = 0] = again;
      t.ok(begins > first && begins < last, `it goes on with ${begins}, between ${first} and ${last}`);
      t.ok(isConsecutive(again));
    }
    t.not(programsOf(guest)[0], pid, 'it is another process');
    await lab.act(guest, 'stop');
    await lab.act(guest, 'start');
    const [anew = 0] = await hears(await lab.console(t, guest), 1);
    t.ok(anew <= first, 'a start is a start');
    await lab.client.expect(204, 'DELETE', at(lab, kept));
    t.notOk(existsSync(memoryOf(lab, kept, guest)));
    stream.close();
  },
);

void t.test('one guest is brought back to where it was, and another one counts on', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await counter(t, lab, 'G1');
  const other = await counter(t, lab, 'G2');
  const kept = await take(lab, 'running');
  const last = (await hears(await lab.console(t, guest), 20)).at(-1) ?? 0;
  const beside = await lab.console(t, other);
  await hears(beside, 1);
  const [pid] = programsOf(guest);
  const path = `${at(lab, kept)}/nodes/${String(guest['node_id'])}/restore`;
  t.match(await resultOf(lab.client, 'POST', path), {
    status: 'started',
    command_line: / -incoming defer/,
  });
  t.notOk(programsOf(guest).includes(pid ?? 0), 'it was ended');
  const again = await hears(await lab.console(t, guest), 3);
  t.ok((again[0] ?? 0) < last, `it goes on with ${String(again[0])}, before ${last}`);
  t.ok(isConsecutive(again));
  t.ok(isConsecutive(await hears(beside, 3)));
});

void t.test('a guest that was suspended comes back suspended', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await counter(t, lab, 'G1');
  await lab.act(guest, 'suspend');
  const kept = await take(lab, 'suspended');
  t.match(await lab.show(guest), { status: 'suspended' });
  await lab.act(guest, 'start');
  await hears(await lab.console(t, guest), 2);
  await lab.client.expect(201, 'POST', `${at(lab, kept)}/restore`);
  t.match(await lab.show(guest), { status: 'suspended' });
  await lab.act(guest, 'start');
  t.ok(isConsecutive(await hears(await lab.console(t, guest), 3)));
});

void t.test('a memory that this server has not saved is not loaded', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await counter(t, lab, 'G1');
  const kept = await take(lab, 'kept');
  const stream = await NotificationLog.open(lab.events);
  const restored = async (snapshot: Json, reason: RegExp): Promise<void> => {
    const warned = stream.next(
      ({ action, event }) => action === 'log.warning' && reason.test(String(event['message'])),
    );
    await lab.client.expect(201, 'POST', `${at(lab, snapshot)}/restore`);
    await warned;
    t.match(await lab.show(guest), { status: 'stopped' });
    t.same(programsOf(guest), []);
  };

  // The same snapshot under another id, with a memory and a digest of somebody else.
  const planted = { snapshot_id: randomUUID() };
  const folder = join(folderOf(lab), 'snapshots');
  const { head, topology, tree } = readManifest(folder, String(kept['snapshot_id']));
  cpSync(join(folder, 'memory', String(kept['snapshot_id'])), join(folder, 'memory', planted.snapshot_id), {
    recursive: true,
  });
  writeFileSync(memoryOf(lab, planted, guest), 'evil');
  const digest = createHash('sha256').update('evil').digest('hex');
  const content = JSON.parse(JSON.stringify(topology)) as { ran: { memory: { digest: string } }[] };
  for (const { memory } of content.ran) memory.digest = digest;
  const snapshot = { ...head.snapshot, ...planted, name: 'planted' };
  publishManifest(folder, { ...head, snapshot }, content, tree);
  await restored(planted, /G1 ran when .*: The memory of G1 was not loaded: this server has not saved it/);

  const own = memoryOf(lab, kept, guest);
  const bytes = readFileSync(own);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(own, bytes);
  await restored(kept, /The memory of G1 was not loaded: it is not what was saved/);
  t.match(await resultOf(lab.client, 'POST', `${at(lab, kept)}/verify`), {
    is_whole: false,
    damaged: [{ path: `the memory of ${String(guest['node_id'])}`, reason: 'it is not what was saved' }],
  });
  await lab.act(guest, 'start');
  await hears(await lab.console(t, guest), 2);
  // A snapshot that was deleted, and is put back.
  const again = await take(lab, 'again');
  const aside = join(server.data, 'aside');
  cpSync(folder, aside, { recursive: true });
  await lab.client.expect(204, 'DELETE', at(lab, again));
  cpSync(aside, folder, { recursive: true });
  await restored(again, /The memory of G1 was not loaded: this server has not saved it/);
  await lab.act(guest, 'start');
  const path = `${lab.path}/files/snapshots/memory/${String(kept['snapshot_id'])}/${String(guest['node_id'])}`;
  t.equal((await lab.client.post(path, 'evil')).status, 403, 'no client writes there');
  stream.close();
});

void t.test('a memory does not fit another machine, and the difference is told', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await counter(t, lab, 'G1');
  const kept = await take(lab, 'kept');
  const folder = join(folderOf(lab), 'snapshots');
  const { head, topology, tree } = readManifest(folder, String(kept['snapshot_id']));
  const content = JSON.parse(JSON.stringify(topology)) as { nodes: { properties: Json }[] };
  for (const { properties } of content.nodes) properties['ram'] = 64;
  publishManifest(folder, head, content, tree);
  const stream = await NotificationLog.open(lab.events);
  const warned = stream.next(({ action, event }) => {
    const reason = "not loaded: it was saved with '-m 32M', and there is '-m 64M'";
    return action === 'log.warning' && String(event['message']).includes(reason);
  });
  await lab.client.expect(201, 'POST', `${at(lab, kept)}/restore`);
  await warned;
  t.match(await lab.show(guest), { status: 'stopped' });
  stream.close();
});

void t.test('a lab that cannot be kept is refused before anything stands still', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await counter(t, lab, 'G1');
  copyFileSync(
    join(server.data, 'images', 'QEMU', COUNTER.hda_disk_image),
    join(server.data, 'images', 'QEMU', 'own.img'),
  );
  const writer = await counter(t, lab, 'G2', { hda_disk_image: 'own.img', linked_clone: false });
  const stream = await NotificationLog.open(lab.events);
  const refused = async (query: string, message: RegExp): Promise<void> => {
    t.match(await lab.client.post(`${lab.path}/snapshots${query}`, { name: 'x' }), {
      status: 409,
      body: { message },
    });
    t.same((await lab.client.get(`${lab.path}/snapshots`)).body, []);
    t.same(namesIn(join(folderOf(lab), 'snapshots', '.work')), []);
  };
  await refused('?running=true', /nothing was held: G2 runs and writes into an image/);
  t.ok(isConsecutive(await hears(await lab.console(t, guest), 3)));
  await lab.act(writer, 'stop');

  const large = join(folderOf(lab), 'project-files', 'qemu', String(guest['node_id']), 'large');
  writeFileSync(large, '');
  truncateSync(large, 4 * 1024 ** 3);
  await refused('?running=true', /would stand still for about \d+ s.*hold=long/);
  await take(lab, 'long', '?running=true&hold=long');
  t.ok(isConsecutive(await hears(await lab.console(t, guest), 3)));
  stream.close();
});

void t.test(
  'a guest that is killed at any moment of a snapshot leaves a whole one or none',
  { skip },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const victim = await lab.node('qemu', 'G1', COUNTER);
    const other = await counter(t, lab, 'G2');
    const outcomes: number[] = [];
    for (let round = 0; round < 6; round++) {
      await lab.act(victim, 'start');
      await hears(await lab.console(t, victim), 2);
      const [pid = 0] = programsOf(victim);
      const answer = lab.client.post(`${lab.path}/snapshots?running=true`, { name: `round ${round}` });
      await setTimeout(8 * round);
      process.kill(pid, 'SIGKILL');
      const { status, body } = await answer;
      outcomes.push(status);
      const all = (await lab.client.get(`${lab.path}/snapshots`)).body as Json[];
      t.same(namesIn(join(folderOf(lab), 'snapshots', '.work')), [], 'no half snapshot is left');
      t.equal(namesIn(join(folderOf(lab), 'snapshots', 'memory')).length, all.length);
      t.equal(all.length, status === 201 ? 1 : 0, JSON.stringify(body));
      if (status === 201) {
        const kept = body as Json;
        t.match(await resultOf(lab.client, 'POST', `${at(lab, kept)}/verify`), { is_whole: true });
        await lab.client.expect(204, 'DELETE', at(lab, kept));
      } else t.equal(status, 409);
      t.ok(isConsecutive(await hears(await lab.console(t, other), 3)), 'the other guest goes on');
      await eventually(
        'it is stopped',
        async () => (await lab.show(victim))['status'] === 'stopped' || undefined,
      );
    }
    t.comment(`the answers were ${outcomes.join(', ')}`);
  },
);

void t.test('a server that is killed during a snapshot leaves a whole one or none', { skip }, async (t) => {
  const first = await secondServer(t);
  placeCounter(first.data);
  const lab = await NodeLab.left(t.name, first);
  const guest = await counter(t, lab, 'G1');
  const answer = lab.client.post(`${lab.path}/snapshots?running=true`, { name: 'x' }).catch(() => undefined);
  for (let look = 0; look < 100_000 && !findMemory(join(first.data, 'projects', lab.id)); look++)
    await setImmediate();
  await first.stop('SIGKILL');
  await answer;
  const second = await secondServer(t, first.data);
  const later = new NodeLab(second, lab.id);
  await later.client.expect(201, 'POST', `${later.path}/open`);
  const all = (await later.client.get(`${later.path}/snapshots`)).body as Json[];
  t.same(namesIn(join(second.data, 'projects', lab.id, 'snapshots', '.work')), []);
  for (const kept of all)
    t.match(await resultOf(later.client, 'POST', `${at(later, kept)}/verify`), { is_whole: true });
  await eventually('it runs', async () => (await later.show(guest))['status'] === 'started' || undefined);
  await hears(await later.console(t, guest), 3);
});

void t.test('a disk of nvme is kept alone, and the client is told', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const node = await lab.node('qemu', 'G1', { ...COUNTER, hda_disk_interface: 'nvme' });
  await lab.act(node, 'start');
  const stream = await NotificationLog.open(lab.events);
  const warned = stream.next(({ action }) => action === 'log.warning');
  const kept = await take(lab, 'kept');
  t.match(await warned, { event: { message: /^G1: its disks alone are saved, because QEMU cannot .*nvme/ } });
  t.notOk(existsSync(memoryOf(lab, kept, node)));
  t.match(await lab.show(node), { status: 'started' });
  await lab.client.expect(201, 'POST', `${at(lab, kept)}/restore`);
  t.match(await lab.show(node), { status: 'started' });
  stream.close();
});

const withPc = skip === false ? missingVpcs() : skip;
void t.test(
  'a virtual PC is kept by its files beside a guest, and starts anew',
  { skip: withPc },
  async (t) => {
    const lab = await NodeLab.make(t, server);
    const guest = await counter(t, lab, 'G1');
    const pc = await lab.pc('PC1', '10.0.0.1');
    const idle = await lab.node('vpcs', 'PC2');
    const stream = await NotificationLog.open(lab.events);
    const warned = stream.next(({ action }) => action === 'log.warning');
    const kept = await take(lab, 'mixed');
    t.match(await warned, { event: { message: /^PC1: it has no memory that could be saved/ } });
    for (const node of [guest, pc]) await lab.act(node, 'stop');
    await lab.act(idle, 'start');
    await lab.client.expect(201, 'POST', `${at(lab, kept)}/restore`);
    for (const node of [guest, pc]) t.match(await lab.show(node), { status: 'started' });
    t.match(await lab.show(idle), { status: 'stopped' });
    t.ok(isConsecutive(await hears(await lab.console(t, guest), 3)));
    stream.close();
  },
);
