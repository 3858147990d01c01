/** An engine in a thread of its own, with real sockets, that can be killed and broken. */
import { loopThread } from '../../src/base/threads/loop-thread.js';
import { RunningDevice } from '../../src/engine/control/running-device.js';
import { SupervisedEngine } from '../../src/engine/control/supervised-engine.js';
import { MOST_LOGS } from '../../src/base/memory/capture-memory.js';
import { MOST_CONNECTIONS, MOST_PORTS } from '../../src/base/memory/engine-memory.js';
import { FreeList } from '../../src/base/memory/free-list.js';
import type { HostSockets } from '../../src/engine/sockets/host-sockets.js';
import type { PortEndpoint } from '../../src/engine/forwarding/transport.js';
import { eventually } from './eventually.js';
import type { Teardown } from './scratch.js';
import { PaperLog } from './paper-log.js';
import { freePort, UdpPeer } from './udp-peer.js';

export const ENGINE_WORKER = new URL('../../workers/engine-worker.js', import.meta.url);
export const FAULTY_WORKER = new URL('./faulty-engine-worker.js', import.meta.url);

const HOST = '127.0.0.1';

/** A port of a device with the program at its far end. */
export interface Outside {
  readonly number: number;
  readonly localPort: number;
  readonly endpoint: PortEndpoint;
  readonly peer: UdpPeer;
}

const CAPTURES = 16 * 1024 * 1024;

export class LiveEngine {
  readonly sockets: HostSockets;
  readonly rows = new FreeList(MOST_PORTS);
  readonly connections = new FreeList(MOST_CONNECTIONS);
  readonly logs = new FreeList(MOST_LOGS);
  readonly log = new PaperLog();
  readonly engine: SupervisedEngine;
  /** Why it was started again, each time. */
  readonly reasons: string[] = [];
  removed = 0;
  #devices = 0;

  constructor(t: Teardown, sockets: HostSockets, worker: URL = ENGINE_WORKER) {
    this.sockets = sockets;
    this.engine = new SupervisedEngine({
      run: loopThread(worker),
      captureBytes: CAPTURES,
      log: this.log.log,
      newBell: () => sockets.newBell(),
      onDeath: () => ({ labs: 1 }),
      onRestart: (reason) => this.reasons.push(reason),
    });
    t.teardown(() => this.engine.close());
  }

  newDevice(): RunningDevice {
    const { engine, rows, connections, logs } = this;
    return new RunningDevice({ engine, rows, connections, logs }, ++this.#devices, () => this.removed++);
  }

  /** Opens a UDP endpoint and what is at its far end. */
  async outside(t: Teardown, number: number): Promise<Outside> {
    const [peer, localPort] = [await UdpPeer.open(t, HOST), await freePort(HOST)];
    const address = { localHost: HOST, localPort, remoteHost: HOST, remotePort: peer.port };
    const endpoint = this.sockets.opener.open({ type: 'udp', ...address });
    t.teardown(() => {
      this.sockets.opener.close(endpoint);
    });
    return { number, localPort, endpoint, peer };
  }

  async attachOutside(t: Teardown, device: RunningDevice, number: number): Promise<Outside> {
    const outside = await this.outside(t, number);
    await device.attach(number, outside.endpoint);
    return outside;
  }

  async restarted(times: number): Promise<void> {
    await eventually(`it is started again ${times} times`, () =>
      this.reasons.length >= times ? true : undefined,
    );
  }
}

/** Numbered frames that no two are alike of. */
export function numbered(from: number, count: number, length = 60): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const frame = Buffer.alloc(length, 0xa5);
    frame.writeUInt32BE(from + index);
    return frame;
  });
}

export const numbersOf = (frames: readonly Buffer[]): number[] => frames.map((frame) => frame.readUInt32BE());

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
