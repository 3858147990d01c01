/** From the death of an engine to the first cell that it carries again, and how long busy engines take to end. */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { pino } from 'pino';
import { loopThread } from '../src/base/threads/loop-thread.js';
import { SupervisedEngine } from '../src/engine/control/supervised-engine.js';
import { hostSockets } from '../src/engine/sockets/host-sockets.js';
import { figure, type Bench } from './measurement.js';
import { Forwarder, freePorts } from './traffic/forwarder.js';
import { ATM } from './traffic/setting.js';

const ROUNDS = 5;

export const recovery: Bench = {
  name: 'recovery',
  async run() {
    const restarts: number[] = [];
    const ends: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      restarts.push(await timeRestart());
      ends.push(await timeEnd());
    }
    return [
      figure('killed engine, until it carries cells again', 'ms', restarts, 'less than 1000'),
      figure('process with a running engine, from SIGTERM to its end', 'ms', ends, 'less than 1000'),
    ];
  },
};

async function timeRestart(): Promise<number> {
  const sockets = await hostSockets(process.platform);
  const { opener } = sockets;
  const engine = new SupervisedEngine({
    run: loopThread(new URL('../workers/engine-worker.js', import.meta.url)),
    captureBytes: 0,
    log: pino({ level: 'silent' }),
    newBell: () => sockets.newBell(),
    onDeath: () => ({}),
    onRestart: () => undefined,
  });
  const [near = 0, nearPeer = 0, far = 0, farPeer = 0] = await freePorts(4);
  const open = (localPort: number, remotePort: number): ReturnType<typeof opener.open> =>
    opener.open({ type: 'udp', localHost: '127.0.0.1', localPort, remoteHost: '127.0.0.1', remotePort });
  const connection = { port: 1, vpi: 1, vci: 100, toPort: 2, toVpi: 2, toVci: 200, counter: 0 };
  const settings = { connections: [connection], refusesBadHec: false };
  await engine.order({ do: 'add', device: 1, settings: { kind: 'atm_switch', settings } });
  const endpoints = [open(near, nearPeer), open(far, farPeer)];
  for (const [row, endpoint] of endpoints.entries()) {
    const attachment = { port: row + 1, row, endpoint, policy: { suspended: false, filters: undefined } };
    await engine.order({ do: 'attach', device: 1, attachment });
  }
  const [source, sink] = await Promise.all([bound(nearPeer), bound(farPeer)]);
  const cell = Buffer.alloc(ATM.frame.size);
  cell.write(ATM.frame.sendHeader, 'hex');
  try {
    const warm = once(sink, 'message');
    source.send(cell, near, '127.0.0.1');
    await warm;
    const start = performance.now();
    engine.kill();
    const again = once(sink, 'message');
    source.send(cell, near, '127.0.0.1');
    await again;
    return performance.now() - start;
  } finally {
    source.close();
    sink.close();
    await engine.close();
    for (const endpoint of endpoints) opener.close(endpoint);
  }
}

async function timeEnd(): Promise<number> {
  const [near = 0, nearPeer = 0, far = 0, farPeer = 0] = await freePorts(4);
  const forwarder = await Forwarder.start('engine-forwarder', {
    kind: 'atm_switch',
    in: { local: near, remote: nearPeer },
    out: { local: far, remote: farPeer },
    gathers: true,
  });
  const start = performance.now();
  await forwarder.stop();
  return performance.now() - start;
}

async function bound(port: number): Promise<Socket> {
  const socket = createSocket('udp4');
  socket.bind(port, '127.0.0.1');
  await once(socket, 'listening');
  return socket;
}
