/**
 * An engine with two program nodes as the server wires them: each is a patch, whose inner port leads to the sockets of
 * the program and whose outer port to the link. The nodes are linked directly, or with an Ethernet switch between them.
 */
import { pino } from 'pino';
import { Engines } from '../../src/engine/control/engines.js';
import type { DeviceSettings } from '../../src/engine/forwarding/orders.js';
import { hostSockets } from '../../src/engine/sockets/host-sockets.js';
import { freePorts } from './forwarder.js';
import { openEnd, readPath } from './forwarder-path.js';

const INNER = 0;
const OUTER = 1;
const PATCH: DeviceSettings = { kind: 'patch', settings: null };

const path = readPath();
const sockets = await hostSockets(process.platform);
const engines = new Engines({
  worker: new URL('../../workers/engine-worker.js', import.meta.url),
  newBell: () => sockets.newBell(),
  log: pino(pino.destination(2)),
  onRestart: () => undefined,
});

type Device = ReturnType<Engines['newDevice']>;
type End = readonly [device: Device, port: number];

async function newDevice(settings: DeviceSettings): Promise<Device> {
  const device = engines.newDevice('bench');
  await device.install(settings);
  return device;
}

/** Both ends are UDP ports of this host that lead to each other, as those of a link are. */
async function link(first: End, second: End): Promise<void> {
  const [near = 0, far = 0] = await freePorts(2);
  const ends = [
    { end: first, ports: { local: near, remote: far } },
    { end: second, ports: { local: far, remote: near } },
  ];
  for (const { end, ports } of ends) {
    const [device, port] = end;
    await device.attach(port, openEnd(sockets.opener, ports, true));
  }
}

const nodes = [await newDevice(PATCH), await newDevice(PATCH)] as const;
await nodes[0].attach(INNER, openEnd(sockets.opener, path.in, path.gathers));
await nodes[1].attach(INNER, openEnd(sockets.opener, path.out, path.gathers));
if (path.between === 'switch') {
  const port = (number: number): object => ({ port: number, type: 'access', vlan: 1, ethertype: 0x8100 });
  const settings = { ports: [port(0), port(1)] };
  const between = await newDevice({ kind: 'ethernet_switch', settings } as DeviceSettings);
  await link([nodes[0], OUTER], [between, 0]);
  await link([between, 1], [nodes[1], OUTER]);
} else {
  await link([nodes[0], OUTER], [nodes[1], OUTER]);
}
process.stdout.write('ready\n');
process.once('SIGTERM', () => {
  void engines.close().then(() => process.exit(0));
});
setInterval(() => undefined, 60_000);
