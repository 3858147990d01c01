/** A server tells systemd, which has started it, of its life. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import t from 'tap';
import { Client } from '../support/client.js';
import { withEngineKiller } from '../support/engine-killer.js';
import { FaultServer } from '../support/fault-server.js';
import { listeningSystemd } from '../support/listening-systemd.js';
import { missingPython } from '../support/python.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { startCli, type Program } from '../support/cli.js';
import { Keeper } from '../../src/run/keeper/keeper.js';
import { serverMark } from '../../src/server/folders.js';
import { shell } from '../run/keeper/keeper-rig.js';

/** Words of the watchdog come every 50 ms. */
const WATCHDOG_USEC = '100000';

void t.test('the server tells its life', { skip: missingPython() }, async (t) => {
  const folder = scratchFolder(t);
  const socket = join(folder, 'notify');
  const noEngines = join(folder, 'no engines');
  const systemd = await listeningSystemd(t, socket);
  const server = await startServer(t, {
    environment: { ...withEngineKiller(noEngines), NOTIFY_SOCKET: socket, WATCHDOG_USEC },
  });
  const client = new Client(server.url);
  const ready = await systemd.hears(/^READY=1$/);
  t.ok((await systemd.hears(/^EXTEND_TIMEOUT_USEC=30000000$/)) < ready, 'a start may take long');
  await systemd.hears(/^STATUS=Takes new work: 0 open labs, \d+ engines run$/, ready);
  t.ok((await systemd.hears(/^WATCHDOG=1$/)) > ready);

  await client.expect(201, 'POST', '/v2/projects', { name: 'first' });
  await systemd.hears(/^STATUS=Takes new work: 1 open labs/);

  server.child.kill('SIGHUP');
  const reloading = await systemd.hears(/^RELOADING=1\nMONOTONIC_USEC=\d+$/);
  await systemd.hears(/^READY=1$/, reloading);
  t.equal((await client.get('/v2/version')).status, 200, 'it serves on');

  writeFileSync(noEngines, '');
  server.child.kill('SIGUSR2');
  const without = await systemd.hears(/^STATUS=Takes no new work \(engines: none runs\): 1 open labs, 0 /);
  await systemd.hears(/^WATCHDOG=1$/, without);
  rmSync(noEngines);
  await systemd.hears(/^STATUS=Takes new work/, without);

  const running = systemd.heard.length - 1;
  t.equal(await server.stop(), 0);
  await systemd.hears(/^STOPPING=1\n/, running);
  t.notMatch(server.log(), /systemd/);
});

void t.test('a state thread that stands silences the watchdog', { skip: missingPython() }, async (t) => {
  const NOTIFY_SOCKET = `@wirefarm-test-${process.pid}`;
  const systemd = await listeningSystemd(t, NOTIFY_SOCKET);
  const server = new FaultServer(t, scratchFolder(t), [], { NOTIFY_SOCKET, WATCHDOG_USEC });
  await server.start();
  await systemd.hears(/^WATCHDOG=1$/);
  const held = server.hold('/state/');
  const standing = await systemd.hears(/^STATUS=Takes no new work \(state: no commit for \d+ s\)/);
  await systemd.hears(/^STATUS=Takes no new work/, standing);
  held.release();
  const again = await systemd.hears(/^STATUS=Takes new work/, standing);
  t.notOk(systemd.heard.slice(standing, again - 1).includes('WATCHDOG=1'), 'it was silent');
  await systemd.hears(/^WATCHDOG=1$/, again);
});

void t.test('a keeper that is a service is awaited, left and ended', { skip: missingPython() }, async (t) => {
  const data = scratchFolder(t);
  const NOTIFY_SOCKET = join(data, 'notify');
  const systemd = await listeningSystemd(t, NOTIFY_SOCKET);
  const serves = (): Program => startCli(t, ['keeper', '--data', data], { NOTIFY_SOCKET });
  const first = serves();
  const ready = await systemd.hears(/^READY=1$/);
  const lost: (readonly string[])[] = [];
  const newServer = (): Keeper =>
    new Keeper({
      folder: join(data, 'run'),
      mark: serverMark({ state: join(data, 'state') }),
      isService: true,
      graceSeconds: 600,
      log: pino({ level: 'silent' }),
      onLost: (ids) => lost.push(ids),
    });
  const former = newServer();
  t.same(await former.start(), []);
  const { pid } = await former.spawn(shell('kept', 'read line'));
  await former.close(true);

  const server = newServer();
  const [kept] = await server.start();
  t.match(kept, { id: 'kept', pid, isRunning: true }, 'the next server has the program');
  first.child.kill('SIGTERM');
  t.match(
    await first.ended,
    { code: 0, errors: '' },
    'the manager ends the keeper although a server is there',
  );
  const second = serves();
  await systemd.hears(/^READY=1$/, ready);
  await kept?.ended;
  const again = await server.spawn(shell('again', 'read line'));
  t.same(lost, [], 'its end was told in an orderly way');
  await server.close();
  t.match(await second.ended, { code: 0, errors: '' }, 'a server that keeps nothing ends it');
  await again.ended;
});

void t.test('a socket of another kind is told in the log', async (t) => {
  const server = await startServer(t, { environment: { NOTIFY_SOCKET: 'vsock:2:1234' } });
  await server.logged(/systemd cannot be told.*vsock|vsock.*systemd cannot be told/);
});
