import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { refusals } from '../../../src/base/errors/errors.js';
import { Engines } from '../../../src/engine/control/engines.js';
import { hostSockets } from '../../../src/engine/sockets/host-sockets.js';
import type { PortEndpoint } from '../../../src/engine/forwarding/transport.js';
import type { DeviceSettings } from '../../../src/engine/forwarding/orders.js';
import { FAULT, STILLBORN } from '../../support/engine-faults.js';
import { eventually } from '../../support/eventually.js';
import { ENGINE_WORKER, FAULTY_WORKER, numbered, numbersOf, upTo } from '../../support/live-engine.js';
import { freePort, UdpPeer } from '../../support/udp-peer.js';

const HUB: DeviceSettings = { kind: 'ethernet_hub', settings: null };
const HOST = '127.0.0.1';
const sockets = await hostSockets(process.platform);

interface Restart {
  readonly labs: readonly string[];
  readonly reason: string;
}

function start(t: Test, worker: URL): { engines: Engines; restarts: Restart[]; log: string[] } {
  const [restarts, log]: [Restart[], string[]] = [[], []];
  const engines = new Engines({
    worker,
    newBell: () => sockets.newBell(),
    log: pino({}, { write: (line: string) => log.push(line) }),
    onRestart: (labs, reason) => restarts.push({ labs, reason }),
  });
  t.teardown(() => engines.close());
  return { engines, restarts, log };
}

function open(t: Test, localPort: number, remotePort: number): PortEndpoint {
  const endpoint = sockets.opener.open({
    type: 'udp',
    localHost: HOST,
    localPort,
    remoteHost: HOST,
    remotePort,
  });
  t.teardown(() => {
    sockets.opener.close(endpoint);
  });
  return endpoint;
}

const openDescriptors = (): number =>
  process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;

void t.test(
  'a link between two devices of a lab is fused, and parted when one end is taken by a program',
  async (t) => {
    const { engines } = start(t, ENGINE_WORKER);
    const [left, right] = [engines.newDevice('lab'), engines.newDevice('lab')];
    await Promise.all([left.install(HUB), right.install(HUB)]);
    const [near, far] = [await UdpPeer.open(t), await UdpPeer.open(t)];
    const [nearPort, farPort, one, two] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    await left.attach(1, open(t, nearPort, near.port));
    await right.attach(1, open(t, farPort, far.port));
    const [end, other] = [
      open(t, one, two),
      sockets.opener.open({
        type: 'udp',
        localHost: HOST,
        localPort: two,
        remoteHost: HOST,
        remotePort: one,
      }),
    ];
    await left.attach(2, end);
    await near.send(nearPort, numbered(0, 5));
    await right.attach(2, other);
    await near.send(nearPort, numbered(5, 30));
    await far.receive(35);
    t.same(
      numbersOf(far.received),
      upTo(35),
      'what was sent before the other end was attached waited for it',
    );
    // An answer comes after the turn, and so after everything in it was counted.
    await left.inspect();
    t.equal(left.counters(2)?.frames_out, 35);
    t.equal(right.counters(2)?.frames_in, 35);
    t.equal(sockets.opener.lost(other), 0);

    await right.detach(2);
    sockets.opener.close(other);
    const program = await UdpPeer.open(t, HOST, two);
    await near.send(nearPort, numbered(35, 10));
    t.same(numbersOf(await program.receive(10)), upTo(45).slice(35));
    await program.send(one, numbered(0, 10));
    t.same(numbersOf(await near.receive(10)), upTo(10));
    t.equal(far.received.length, 35);
  },
);

void t.test('an engine that breaks is started again, and the labs that were on it are told', async (t) => {
  const { engines, restarts, log } = start(t, FAULTY_WORKER);
  const device = engines.newDevice('lab');
  await device.install(HUB);
  const [near, far] = [await UdpPeer.open(t), await UdpPeer.open(t)];
  const [nearPort, farPort] = [await freePort(), await freePort()];
  await device.attach(1, open(t, nearPort, near.port));
  await device.attach(2, open(t, farPort, far.port));
  // Devices are numbered as they come: one of these breaks what it is on.
  let doomed = device;
  for (let number = 2; number <= FAULT.exit; number++) doomed = engines.newDevice('lab');
  const gone = engines.newDevice('gone');
  await gone.install(HUB);
  await gone.remove();
  t.equal(restarts.length, 0);
  await t.rejects(doomed.inspect(), {
    name: 'LoopDeath',
    message: 'the packet engine ended twice with the order inspect: its thread exited with code 3',
  });
  await device.configure(HUB);
  t.equal(restarts.length, 2, 'it was asked twice');
  await near.send(nearPort, numbered(0, 10));
  t.same(numbersOf(await far.receive(10)), upTo(10));
  t.equal(restarts.length, 2);
  for (const { labs, reason } of restarts) {
    t.same(labs, ['lab'], 'no lab that has no device any more');
    t.equal(reason, 'its thread exited with code 3');
  }
  t.match(log.join(''), /a packet engine was restarted/);
});

void t.test('a thread that cannot start is no end of the server', async (t) => {
  const { engines, restarts, log } = start(t, FAULTY_WORKER);
  const device = engines.newDevice('lab');
  await device.install(HUB);
  let doomed = device;
  for (let number = 2; number <= FAULT.exit; number++) doomed = engines.newDevice('lab');
  process.env[STILLBORN] = 'yes';
  t.teardown(() => Reflect.deleteProperty(process.env, STILLBORN));
  const refused = t.rejects(doomed.inspect());
  await eventually('it is logged', () => (log.join('').includes('stillborn') ? true : undefined));
  Reflect.deleteProperty(process.env, STILLBORN);
  await eventually('the next one can', () => (restarts.length >= 2 ? true : undefined));
  await refused;
  t.equal(await device.inspect(), null);
});

void t.test('a thousand attachments leave nothing behind', async (t) => {
  const { engines, restarts } = start(t, ENGINE_WORKER);
  const device = engines.newDevice('lab');
  await device.install(HUB);
  const peer = await UdpPeer.open(t);
  const localPort = await freePort();
  const cycle = async (): Promise<void> => {
    const endpoint = sockets.opener.open({
      type: 'udp',
      localHost: HOST,
      localPort,
      remoteHost: HOST,
      remotePort: peer.port,
    });
    await device.attach(1, endpoint);
    await device.detach(1);
    sockets.opener.close(endpoint);
  };
  await cycle();
  const before = openDescriptors();
  for (let cycles = 0; cycles < 1000; cycles++) await cycle();
  t.equal(openDescriptors(), before);
  const outside = open(t, localPort, peer.port);
  await device.attach(1, outside);
  await device.attach(2, { type: 'null' });
  await peer.send(localPort, numbered(0, 3));
  await device.inspect();
  t.equal(restarts.length, 0);
  t.ok(await sockets.opener.isFree(await freePort()));
});

void t.test(
  'engines that are closed end their threads and descriptors, and answer nothing more',
  async (t) => {
    const before = openDescriptors();
    const listeners = process.listenerCount('exit');
    const { engines } = start(t, ENGINE_WORKER);
    const device = engines.newDevice('lab');
    await device.install(HUB);
    await engines.close();
    t.equal(process.listenerCount('exit'), listeners);
    await t.rejects(device.inspect(), refusals.stopping());
    await t.rejects(device.remove(), refusals.stopping());
    if (process.platform === 'linux') t.equal(openDescriptors(), before);
    await engines.close();
  },
);

const PROGRAM = fileURLToPath(new URL('../../support/engine-process.js', import.meta.url));

for (const busyness of ['busy', 'quiet']) {
  for (const [ending, code, said] of [
    ['exit', 7, 'ready\n'],
    ['throw', 1, 'ready\n'],
    ['close', 5, 'ready\nclosed\n'],
  ] as const) {
    void t.test(`a process whose engines are ${busyness} ends: ${ending}`, async (t) => {
      const child = spawn(process.execPath, [PROGRAM, ending, busyness], {
        env: { ...process.env, NODE_OPTIONS: '' },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      t.teardown(() => child.kill('SIGKILL'));
      const [output, errors]: [string[], string[]] = [[], []];
      child.stdout.on('data', (bytes: Buffer) => output.push(bytes.toString()));
      child.stderr.on('data', (bytes: Buffer) => errors.push(bytes.toString()));
      t.same(await once(child, 'close'), [code, null]);
      t.equal(output.join(''), said);
      if (ending === 'throw') t.match(errors.join(''), /out of luck/);
      else t.equal(errors.join(''), '');
    });
  }
}
