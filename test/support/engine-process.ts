/**
 * A process with a busy engine, for tests of how processes end: with `exit` it exits, with `throw` it fails, with
 * `close` it closes its engines. Its engine has a frame that goes round for ever, through sockets.
 */
import { pino } from 'pino';
import { Engines } from '../../src/engine/control/engines.js';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import { ENGINE_WORKER } from './live-engine.js';
import { freePort, UdpPeer } from './udp-peer.js';

const [, , ending, busyness] = process.argv;
const sockets = await hostSockets(process.platform);
const engines = new Engines({
  worker: ENGINE_WORKER,
  newBell: () => sockets.newBell(),
  log: pino({ level: 'silent' }),
  onRestart: () => undefined,
});

const device = engines.newDevice('lab');
await device.install({ kind: 'ethernet_hub', settings: null });
const [one, two] = [await freePort(), await freePort()];
const peer = await UdpPeer.open({ teardown: () => undefined });
let ports = 0;
// The far ends are written in a way in which ends are not compared, so that the link goes through sockets.
for (const [localPort, remoteHost, remotePort] of [
  [one, '127.0.0.01', two],
  [two, '127.0.0.01', one],
  [await freePort(), '127.0.0.1', peer.port],
] as const) {
  const address = { localHost: '127.0.0.1', localPort, remoteHost, remotePort };
  await device.attach(++ports, sockets.opener.open({ type: 'udp', ...address }));
  if (ports === 3 && busyness === 'busy') await peer.send(localPort, [Buffer.alloc(60)]);
}
if (busyness === 'busy')
  while ((device.counters(1)?.frames_in ?? 0) < 1000) await peer.receive(peer.received.length + 1);

process.stdout.write('ready\n');
if (ending === 'exit') process.exit(7);
if (ending === 'throw') {
  setImmediate(() => {
    throw new Error('out of luck');
  });
}
if (ending === 'close') {
  await engines.close();
  process.stdout.write('closed\n');
  process.exitCode = 5;
  peer.close();
}
