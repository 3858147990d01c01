/** An engine with one Ethernet switch between two guests, at the sockets of which the paths are its arguments. */
import { pino } from 'pino';
import { Engines } from '../../src/engine/control/engines.js';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';

const MOST_MEMORY = 1024 ** 3;

const sockets = await hostSockets(process.platform);
const engines = new Engines({
  worker: new URL('../../workers/engine-worker.js', import.meta.url),
  newBell: () => sockets.newBell(),
  log: pino(pino.destination(2)),
  onRestart: () => undefined,
});
const device = engines.newDevice('bench');
const paths = process.argv.slice(2);
const ports = paths.map((_, index) => ({ port: index, type: 'access', vlan: 1, ethertype: 0x8100 }) as const);
await device.install({ kind: 'ethernet_switch', settings: { ports } });
const endpoints = paths.map((path) =>
  sockets.opener.open({ type: 'vhost-user', path, mostMemory: MOST_MEMORY }),
);
for (const [port, endpoint] of endpoints.entries()) {
  await device.attach(port, endpoint);
  void sockets.opener.guestFault(endpoint).then((reason) => {
    if (reason !== undefined) process.stderr.write(`a guest was cut off: ${reason}\n`);
  });
}
process.stdout.write('ready\n');
process.once('SIGTERM', () => {
  void engines.close().then(() => {
    for (const endpoint of endpoints) sockets.opener.close(endpoint);
    process.exit(0);
  });
});
setInterval(() => undefined, 60_000);
