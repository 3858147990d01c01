/** An engine with one switch between two UDP sockets: port 1 to port 2, cells of 1/100 becoming 2/200. */
import { pino } from 'pino';
import { Engines } from '../../src/engine/control/engines.js';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import type { DeviceSettings } from '../../src/engine/forwarding/orders.js';
import { openEnd, readPath, type ForwarderPath } from './forwarder-path.js';

const path = readPath();
const sockets = await hostSockets(process.platform);
const engines = new Engines({
  worker: new URL('../../workers/engine-worker.js', import.meta.url),
  newBell: () => sockets.newBell(),
  log: pino(pino.destination(2)),
  onRestart: () => undefined,
});
const device = engines.newDevice('bench');
await device.install(settingsOf(path.kind));
for (const [port, ends] of [path.in, path.out].entries()) {
  await device.attach(port + 1, openEnd(sockets.opener, ends, path.gathers));
}
process.stdout.write('ready\n');
process.once('SIGTERM', () => {
  void engines.close().then(() => process.exit(0));
});
setInterval(() => undefined, 60_000);

function settingsOf(kind: ForwarderPath['kind']): DeviceSettings {
  if (kind === 'ethernet_switch') {
    const port = (number: number): object => ({ port: number, type: 'access', vlan: 1, ethertype: 0x8100 });
    return { kind, settings: { ports: [port(1), port(2)] } } as DeviceSettings;
  }
  const [there = 0, back = 0] = device.connections.assign(['1:1:100', '2:2:200']);
  return {
    kind,
    settings: {
      refusesBadHec: false,
      connections: [
        { port: 1, vpi: 1, vci: 100, toPort: 2, toVpi: 2, toVci: 200, counter: there },
        { port: 2, vpi: 2, vci: 200, toPort: 1, toVpi: 1, toVci: 100, counter: back },
      ],
    },
  };
}
