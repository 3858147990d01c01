/** An engine on the bench, with guests made by hand at ports of its devices, and UDP sockets at others. Linux only. */
import { join } from 'node:path';
import type { Test } from 'tap';
import { Engine } from '../../src/engine/forwarding/engine.js';
import { FRAMES_LENGTH, SLABS_LENGTH } from '../../src/engine/forwarding/frame-memory.js';
import type { DeviceSettings, PortPolicy } from '../../src/engine/forwarding/orders.js';
import { Outbox } from '../../src/engine/forwarding/port.js';
import type { PortEndpoint, Transport } from '../../src/engine/forwarding/transport.js';
import type { Attachable } from '../../src/engine/sockets/opener.js';
import { GuestPeer, OFFLOADS, MERGED_BUFFERS, PROTOCOL_FEATURES, VERSION_1 } from './guest-peer.js';
import { linuxSockets } from './linux-sockets.js';
import { patience } from './patience.js';
import { PortBooks } from './port-books.js';
import { scratchFolder } from './scratch.js';
import { TapRig } from './tap-rig.js';
import { freePort, UdpPeer } from './udp-peer.js';

const CHUNKS = 64;
const MOST_PORTS = 64;
const MOST_MEMORY = 16 * 1024 * 1024;
const LIMIT_MS = patience(20_000);
const LOCALHOST = '127.0.0.1';
const PLAIN: PortPolicy = { suspended: false, filters: undefined };
export const USUAL_FEATURES = PROTOCOL_FEATURES | VERSION_1 | MERGED_BUFFERS;
export const ALL_OFFLOADS = USUAL_FEATURES | OFFLOADS;

export class GuestLab {
  readonly books = new PortBooks(MOST_PORTS);
  readonly taps = new TapRig(CHUNKS, SLABS_LENGTH, FRAMES_LENGTH);
  readonly engine: Engine;
  readonly #t: Test;
  readonly #folder: string;
  readonly #transport: Transport;
  readonly #bell;
  #rows = 0;

  constructor(t: Test) {
    this.#t = t;
    this.#folder = scratchFolder(t);
    const { memory, logs } = this.taps;
    this.#bell = linuxSockets.sockets.newBell();
    this.#transport = linuxSockets.newTransport(memory, this.#bell.newListener(), () => true);
    const fabric = {
      ...{ memory, outbox: new Outbox() },
      ...{ connectionCounters: new Float64Array(8), seconds: 0 },
    };
    this.engine = new Engine(fabric, this.books.values, this.#transport, logs);
    t.teardown(() => {
      this.#transport.close();
      this.#bell.close();
    });
  }

  add(device: number, settings: DeviceSettings): void {
    this.engine.perform({ do: 'add', device, settings });
  }

  /** A guest at a port whose queues run, with 60 empty buffers. */
  async guest(device: number, port: number, features = ALL_OFFLOADS): Promise<GuestPeer> {
    const path = join(this.#folder, `guest-${device}-${port}`);
    this.attach(device, port, this.open({ type: 'vhost-user', path, mostMemory: MOST_MEMORY }));
    const peer = new GuestPeer(path, { features });
    this.#t.teardown(() => {
      peer.close();
    });
    peer.begin();
    let answers = 0;
    await this.turnUntil('it is answered', () => {
      if (peer.reply() !== undefined) answers++;
      return answers === 3;
    });
    peer.offerBuffers(60);
    return peer;
  }

  /** A socket at the far end of a port. */
  async socket(device: number, port: number, policy = PLAIN): Promise<UdpPeer> {
    const peer = await UdpPeer.open(this.#t);
    const ends = {
      localHost: LOCALHOST,
      localPort: await freePort(),
      remoteHost: LOCALHOST,
      remotePort: peer.port,
    };
    this.attach(device, port, this.open({ type: 'udp', ...ends }), policy);
    return peer;
  }

  /** A link between two ports of this engine. */
  async cable(one: readonly [number, number], two: readonly [number, number]): Promise<void> {
    const [near, far] = [await freePort(), await freePort()];
    for (const [[device, port], localPort, remotePort] of [
      [one, near, far],
      [two, far, near],
    ] as const) {
      const ends = { localHost: LOCALHOST, localPort, remoteHost: LOCALHOST, remotePort };
      this.attach(device, port, this.open({ type: 'udp', ...ends }));
    }
  }

  open(wanted: Attachable): PortEndpoint {
    const endpoint = linuxSockets.sockets.opener.open(wanted);
    this.#t.teardown(() => {
      linuxSockets.sockets.opener.close(endpoint);
    });
    return endpoint;
  }

  /** Returns the row of its counters. */
  attach(device: number, port: number, endpoint: PortEndpoint, policy = PLAIN): number {
    const row = this.#rows++;
    this.engine.perform({ do: 'attach', device, attachment: { port, row, endpoint, policy } });
    return row;
  }

  async turn(): Promise<void> {
    this.#bell.ring();
    await this.engine.turn();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async turnUntil(what: string, isDone: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + LIMIT_MS;
    while (!isDone()) {
      if (performance.now() > giveUpAt) throw new Error(`never happened: ${what}`);
      await this.turn();
    }
  }
}
