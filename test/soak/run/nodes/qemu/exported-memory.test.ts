/** Exports with the memory of guests, and what an import takes of it. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { COUNTER, hears, placeCounter } from '../../../../support/counting-guest.js';
import { NotificationLog, type Notification } from '../../../../support/notification-log.js';
import { NodeLab, type Json } from '../../../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../../../support/qemu.js';
import { ownConsolePorts, startServer, type ServerProcess } from '../../../../support/server-process.js';

const skip = missingQemu();
const server = await startQemuServer(t);
placeCounter(server.data);

interface Exported {
  readonly lab: NodeLab;
  readonly guest: Json;
  readonly archive: Buffer;
  /** The last number that was heard before the snapshot was made. */
  readonly before: number;
}

/** The archive of a project with a snapshot in which a guest counts. The project is stopped. */
async function exported(t: Test, query: string): Promise<Exported> {
  const lab = await NodeLab.left(t.name, server);
  const guest = await lab.node('qemu', 'G1', COUNTER);
  await lab.act(guest, 'start');
  const before = (await hears(await lab.console(t, guest), 8)).at(-1) ?? 0;
  await lab.client.expect(201, 'POST', `${lab.path}/snapshots?running=true`, { name: 'kept' });
  await lab.act(guest, 'stop');
  const answer = await fetch(`${server.url}${lab.path}/export?include_snapshots=yes${query}`);
  t.equal(answer.status, 200);
  return { lab, guest, archive: Buffer.from(await answer.arrayBuffer()), before };
}

/** Imports the archive, opens the project and restores its snapshot. Returns the warnings that were told meanwhile. */
async function restored(
  t: Test,
  { url }: ServerProcess,
  id: string,
  archive: Buffer,
): Promise<{ lab: NodeLab; warnings: string[] }> {
  const stream = await NotificationLog.open(`${url}/v2/notifications`);
  const answer = await fetch(`${url}/v2/projects/${id}/import?name=${randomUUID()}`, {
    method: 'POST',
    body: new Uint8Array(archive),
  });
  t.equal(answer.status, 201, await answer.text());
  const lab = new NodeLab({ url }, id);
  t.teardown(() => lab.client.expect(204, 'DELETE', lab.path));
  await lab.client.expect(201, 'POST', `${lab.path}/open`);
  const [snapshot] = (await lab.client.get(`${lab.path}/snapshots`)).body as Json[];
  const path = `${lab.path}/snapshots/${String(snapshot?.['snapshot_id'])}/restore`;
  await lab.client.expect(201, 'POST', path);
  const isWarning = ({ action }: Notification): boolean => action === 'log.warning';
  const warnings = stream.received.filter(isWarning).map(({ event }) => String(event['message']));
  stream.close();
  return { lab, warnings };
}

async function statusOfGuest({ client, path }: NodeLab): Promise<unknown> {
  const [node] = (await client.get(`${path}/nodes`)).body as Json[];
  return node?.['status'];
}

void t.test('an export with memory is imported again after its project was deleted', { skip }, async (t) => {
  const { lab, guest, archive, before } = await exported(t, '&include_memory=yes');
  await lab.client.expect(204, 'DELETE', lab.path);
  const { warnings } = await restored(t, server, lab.id, archive);
  t.same(warnings, []);
  t.match(await lab.show(guest), { status: 'started', command_line: / -incoming defer/ });
  const [begins = 0] = await hears(await lab.console(t, guest), 3);
  t.ok(begins >= before, `it goes on with ${begins} after ${before}`);
});

void t.test('an export has no memory unless it is asked for', { skip }, async (t) => {
  const { lab, archive } = await exported(t, '');
  t.notOk(archive.includes('snapshots/memory'), 'none is in the archive');
  await lab.client.expect(204, 'DELETE', lab.path);
  const { lab: back, warnings } = await restored(t, server, lab.id, archive);
  t.same(warnings, []);
  t.equal(await statusOfGuest(back), 'stopped');
});

void t.test('a memory is not imported into another project, nor by another server', { skip }, async (t) => {
  const { lab, archive } = await exported(t, '&include_memory=yes');
  const copy = await restored(t, server, randomUUID(), archive);
  t.match(copy.warnings, [/^The memory of .* was left out: a project with another id has other machines$/]);
  t.equal(await statusOfGuest(copy.lab), 'stopped');
  await lab.client.expect(204, 'DELETE', lab.path);

  const environment = { WIREFARM_CONSOLE_PORTS: ownConsolePorts(1) };
  const stranger = await startServer(t, { flags: ['--kvm', 'off'], environment });
  const far = await restored(t, stranger, lab.id, archive);
  t.match(far.warnings, [
    /^The memory of .* in the snapshot 'kept' was left out: this server has not saved it$/,
  ]);
  t.equal(await statusOfGuest(far.lab), 'stopped');
});
