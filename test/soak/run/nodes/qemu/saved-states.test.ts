/** `on_close: save_vm_state`: a guest that counts aloud goes on where it was when it was stopped. */
import { copyFileSync, existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { COUNTER, hears, placeCounter } from '../../../../support/counting-guest.js';
import { eventually } from '../../../../support/eventually.js';
import { NotificationLog } from '../../../../support/notification-log.js';
import { NodeLab, programsOf, type Json } from '../../../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../../../support/qemu.js';
import { seededRandom } from '../../../../support/seeded-random.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../../../../support/server-process.js';

const SAVED = { ...COUNTER, on_close: 'save_vm_state' };
const SEED = 7;
const KILLS = 5;
const LATEST_KILL_MS = 900;
const skip = missingQemu();
const server = await startQemuServer(t);
placeCounter(server.data);

/** The guest has counted for a while, and is stopped. Returns the last number that was heard. */
async function stopped(t: Test, lab: NodeLab, guest: Json): Promise<number> {
  await lab.act(guest, 'start');
  const last = (await hears(await lab.console(t, guest), 8)).at(-1) ?? 0;
  await lab.act(guest, 'stop');
  t.same(programsOf(guest), [], 'it does not run');
  t.ok(existsSync(stateOf(server, lab, guest)), 'its memory is there');
  return last;
}

/** Whether the guest goes on after this number. */
async function goesOn(t: Test, lab: NodeLab, guest: Json, last: number): Promise<void> {
  const heard = await hears(await lab.console(t, guest), 5);
  const [begins = 0] = heard;
  t.ok(begins >= last, `it goes on with ${begins} after ${last}`);
  t.same(
    heard,
    heard.map((_, index) => begins + index),
  );
}

async function startsAnew(t: Test, lab: NodeLab, guest: Json, last: number): Promise<void> {
  await lab.act(guest, 'start');
  t.notMatch(await lab.show(guest), { command_line: /-incoming/ });
  const [begins = 0] = await hears(await lab.console(t, guest), 1);
  t.ok(begins < last, `it begins with ${begins}`);
}

/** The start of the guest warns for this reason, and it begins anew. */
async function isDropped(t: Test, lab: NodeLab, guest: Json, last: number, reason: string): Promise<void> {
  const stream = await NotificationLog.open(lab.events);
  await startsAnew(t, lab, guest, last);
  const warnings = stream.received.filter(({ action }) => action === 'log.warning');
  t.same(
    warnings.map(({ event }) => event['message']),
    [`The memory of G1 was not loaded: ${reason}. The node starts anew`],
  );
  stream.close();
  t.notOk(existsSync(stateOf(server, lab, guest)), 'its file is removed');
}

function folderOf({ data }: ServerProcess, { id }: NodeLab, { node_id: node }: Json): string {
  return join(data, 'projects', id, 'project-files', 'qemu', String(node));
}

function stateOf(own: ServerProcess, lab: NodeLab, guest: Json): string {
  return join(folderOf(own, lab, guest), 'vm-state');
}

void t.test('a guest that is stopped goes on where it was, and once only', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', SAVED);
  const last = await stopped(t, lab, guest);
  const file = stateOf(server, lab, guest);
  const copy = join(server.data, 'copy');
  copyFileSync(file, copy);

  t.match(await lab.act(guest, 'start'), { status: 'started', command_line: / -incoming defer/ });
  await goesOn(t, lab, guest, last);
  t.notOk(existsSync(file), 'the file is gone');
  process.kill(programsOf(guest)[0] ?? 0, 'SIGKILL');
  await eventually('it is stopped', async () => (await lab.show(guest))['status'] === 'stopped' || undefined);
  await startsAnew(t, lab, guest, last);

  await lab.change(guest, { properties: { on_close: 'power_off' } });
  await lab.act(guest, 'stop');
  t.notOk(existsSync(file));
  copyFileSync(copy, file);
  await isDropped(t, lab, guest, last, 'this server has not saved it');
});

void t.test('a guest whose lab has ended goes on, whatever its settings say', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', { ...SAVED, on_close: 'power_off' });
  await lab.act(guest, 'start');
  const last = (await hears(await lab.console(t, guest), 8)).at(-1) ?? 0;
  await lab.client.expect(200, 'PUT', `${lab.path}/end-time`, { ends_in: 0.5 });
  const isClosed = async (): Promise<true | undefined> =>
    (await lab.client.expect(200, 'GET', lab.path))['status'] === 'closed' || undefined;
  await eventually('the end of the lab', isClosed);
  t.same(programsOf(guest), []);
  await lab.client.expect(201, 'POST', `${lab.path}/open`);
  t.match(await lab.act(guest, 'start'), { command_line: / -incoming defer/ });
  await goesOn(t, lab, guest, last);
});

void t.test('a guest goes on with its configuration disk as it was', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', { ...SAVED, create_config_disk: true });
  const last = await stopped(t, lab, guest);
  const disk = join(folderOf(server, lab, guest), 'config.img');
  const { ino } = statSync(disk);
  t.match(await lab.act(guest, 'start'), { command_line: / -incoming defer/ });
  await goesOn(t, lab, guest, last);
  t.equal(statSync(disk).ino, ino, 'nobody has made it anew');
  await lab.change(guest, { properties: { on_close: 'power_off' } });
  await lab.act(guest, 'stop');
  t.notOk(existsSync(disk));
});

void t.test('a guest goes on when its project is opened again', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', SAVED);
  await lab.act(guest, 'start');
  const last = (await hears(await lab.console(t, guest), 8)).at(-1) ?? 0;
  await lab.client.expect(204, 'POST', `${lab.path}/close`);
  t.same(programsOf(guest), []);
  await lab.client.expect(201, 'POST', `${lab.path}/open`);
  await lab.act(guest, 'start');
  await goesOn(t, lab, guest, last);
  t.match(await lab.act(guest, 'suspend'), { status: 'suspended' });
  await lab.act(guest, 'stop');
  t.match(await lab.act(guest, 'start'), { status: 'started' }, 'one that was suspended runs');
  await goesOn(t, lab, guest, last);
});

void t.test('a guest goes on when the server was ended in order', { skip }, async (t) => {
  const begin = (data?: string): Promise<ServerProcess> => {
    const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(1) };
    return startServer(t, { flags: ['--kvm', 'off'], environment, ...(data === undefined ? {} : { data }) });
  };
  const first = await begin();
  placeCounter(first.data);
  const lab = await NodeLab.left(t.name, first);
  const guest = await lab.node('qemu', 'G1', SAVED);
  await lab.act(guest, 'start');
  const last = (await hears(await lab.console(t, guest), 8)).at(-1) ?? 0;
  await first.stop('SIGTERM');
  const later = new NodeLab(await begin(first.data), lab.id);
  await eventually('it runs', async () => {
    const found = await later.client.get(later.at(guest));
    return (found.body as Json)['status'] === 'started' || undefined;
  });
  await goesOn(t, later, guest, last);
});

void t.test(
  'a server that is killed while it saves leaves the whole memory, or none',
  { skip },
  async (t) => {
    const random = seededRandom(SEED);
    const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(1) };
    const begin = (options: Json = {}): Promise<ServerProcess> =>
      startServer(t, { flags: ['--kvm', 'off'], environment, ...options });
    let life = await begin();
    placeCounter(life.data);
    let lab = await NodeLab.left(t.name, life);
    const guest = await lab.node('qemu', 'G1', SAVED);
    const outcomes: string[] = [];
    for (let round = 0; round < KILLS; round++) {
      await lab.act(guest, 'start');
      const last = (await hears(await lab.console(t, guest), 5)).at(-1) ?? 0;
      const stopping = lab.act(guest, 'stop').catch(() => undefined);
      await delay(Math.floor(random() * LATEST_KILL_MS));
      await life.stop('SIGKILL');
      await stopping;
      life = await begin({ data: life.data });
      lab = new NodeLab(life, lab.id);
      await eventually('the project is open', () => lab.show(guest).catch(() => undefined));
      const { command_line: line } = await lab.act(guest, 'start');
      t.equal(programsOf(guest).length, 1);
      t.notOk(existsSync(stateOf(life, lab, guest)), 'a memory is used once, or removed');
      const isWhole = String(line).includes('-incoming');
      outcomes.push(isWhole ? 'whole' : 'none');
      if (isWhole) await goesOn(t, lab, guest, last);
      else await hears(await lab.console(t, guest), 1);
    }
    t.comment(`the memories were ${outcomes.join(', ')}, seed ${SEED}`);
    await lab.client.expect(204, 'DELETE', lab.path);
    t.same(programsOf(guest), []);
  },
);

void t.test('a memory that does not fit is dropped, and the reason is told', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', SAVED);
  const file = stateOf(server, lab, guest);

  let last = await stopped(t, lab, guest);
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  await isDropped(t, lab, guest, last, 'it is not what was saved');

  last = await stopped(t, lab, guest);
  await lab.client.expect(201, 'POST', `${lab.at(guest)}/files/vm-state`, 'evil');
  await isDropped(t, lab, guest, last, 'it is not what was saved');

  last = await stopped(t, lab, guest);
  utimesSync(join(folderOf(server, lab, guest), 'hda_disk.qcow2'), 1, 1);
  await isDropped(t, lab, guest, last, 'hda_disk.qcow2 has changed since it was saved');

  last = await stopped(t, lab, guest);
  await lab.change(guest, { properties: { ram: 48 } });
  await isDropped(t, lab, guest, last, "it was saved with '-m 32M', and there is '-m 48M'");

  last = await stopped(t, lab, guest);
  const kept = await lab.client.expect(201, 'POST', `${lab.path}/snapshots`, { name: 'kept' });
  await lab.client.expect(201, 'POST', `${lab.path}/snapshots/${String(kept['snapshot_id'])}/restore`);
  t.notOk(existsSync(file), 'no snapshot has it');
  await isDropped(t, lab, guest, last, 'hda_disk.qcow2 has changed since it was saved');
});

void t.test('a guest that cannot be saved is powered off, and the client is told', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', { ...SAVED, hda_disk_interface: 'nvme' });
  await lab.act(guest, 'start');
  const stream = await NotificationLog.open(lab.events);
  const warned = stream.next(({ action }) => action === 'log.warning');
  t.match(await lab.act(guest, 'stop'), { status: 'stopped' });
  t.match(await warned, {
    event: { message: /^The memory of G1 could not be saved: .*nvme.*\. The node was powered off$/ },
  });
  t.notOk(existsSync(stateOf(server, lab, guest)));
  stream.close();
});

void t.test('a node that is reloaded or deleted leaves no memory', { skip }, async (t) => {
  const lab = await NodeLab.make(t, server);
  const guest = await lab.node('qemu', 'G1', SAVED);
  await lab.act(guest, 'start');
  const last = (await hears(await lab.console(t, guest), 8)).at(-1) ?? 0;
  await lab.change(guest, { properties: { process_priority: 'low' } });
  await lab.change(guest, { properties: { ram: 48 } });
  await lab.act(guest, 'reload');
  t.match(await lab.show(guest), { command_line: / -m 48M / });
  const [begins = 0] = await hears(await lab.console(t, guest), 1);
  t.ok(begins < last, 'it boots');
  await lab.client.expect(204, 'DELETE', lab.at(guest));
  t.notOk(existsSync(folderOf(server, lab, guest)));
});
