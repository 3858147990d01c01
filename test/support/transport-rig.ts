/** A transport on the bench: real sockets on this side, turns as the test wants them, and the books kept. */
import { Batch, BATCH_FRAMES, type Port } from '../../src/engine/forwarding/port.js';
import type {
  Bell,
  BellListener,
  PortEndpoint,
  Link,
  Transport,
} from '../../src/engine/forwarding/transport.js';
import { FrameMemory, SLABS_LENGTH, WORKSPACE_LENGTH } from '../../src/engine/forwarding/frame-memory.js';
import type { HostSockets } from '../../src/engine/sockets/host-sockets.js';
import type { Attachable } from '../../src/engine/sockets/opener.js';
import { patience } from './patience.js';
import { PortBooks } from './port-books.js';
import type { Teardown } from './scratch.js';
import { freePort } from './udp-peer.js';

const MOST_PORTS = 512;
const LIMIT_MS = patience(20_000);
/** Between frames in frame memory, so that they are not one piece. */
const GAP = 3;

/** The sockets of a platform, and the transport that goes with them. */
export interface TransportKind {
  readonly sockets: HostSockets;
  newTransport(memory: FrameMemory, listener: BellListener, onBell: () => boolean): Transport;
}

export interface Attached {
  readonly port: Port;
  readonly row: number;
  readonly endpoint: PortEndpoint;
  readonly localPort: number;
  link: Link;
  /** Copies of what was handed over, in order. */
  readonly arrived: Buffer[];
  /** Called with each batch before it is copied. */
  onArrive: (frames: Batch) => void;
}

export class TransportRig {
  readonly memory = new FrameMemory(new Uint8Array(SLABS_LENGTH + WORKSPACE_LENGTH), SLABS_LENGTH);
  readonly books = new PortBooks(MOST_PORTS);
  readonly sockets: HostSockets;
  readonly bell: Bell;
  readonly transport: Transport;
  onBell: () => boolean = () => true;
  #rows = 0;

  constructor(t: Teardown, kind: TransportKind) {
    this.sockets = kind.sockets;
    this.bell = kind.sockets.newBell();
    this.transport = kind.newTransport(this.memory, this.bell.newListener(), () => this.onBell());
    t.teardown(() => {
      this.transport.close();
      this.bell.close();
    });
  }

  /** Opens something, and closes it at the end of the test. */
  open(t: Teardown, wanted: Attachable): PortEndpoint {
    const endpoint = this.sockets.opener.open(wanted);
    t.teardown(() => {
      this.sockets.opener.close(endpoint);
    });
    return endpoint;
  }

  async attachUdp(t: Teardown, remotePort: number, host = '127.0.0.1'): Promise<Attached> {
    const localPort = await freePort(host);
    const address = { localHost: host, localPort, remoteHost: host, remotePort };
    return this.attach(this.open(t, { type: 'udp', ...address }), localPort);
  }

  /** Two links that are each other's far end. */
  async cable(t: Teardown, host = '127.0.0.1'): Promise<[Attached, Attached]> {
    const [one, two] = [await freePort(host), await freePort(host)];
    const open = (localPort: number, remotePort: number): PortEndpoint =>
      this.open(t, { type: 'udp', localHost: host, localPort, remoteHost: host, remotePort });
    const ends = [open(one, two), open(two, one)] as const;
    return [await this.attach(ends[0], one), await this.attach(ends[1], two)];
  }

  async attach(endpoint: PortEndpoint, localPort = 0): Promise<Attached> {
    const row = this.#rows++;
    const port = this.books.newPort(row);
    const attached = { port, row, endpoint, localPort, arrived: [], onArrive: () => undefined };
    return Object.assign(attached, { link: await this.#add(attached) });
  }

  /** Attaches what was removed; it goes on counting and gathering where it was. */
  async attachAgain(attached: Attached): Promise<void> {
    attached.link = await this.#add(attached);
  }

  /** Sends as a device does: by reference, a batch at a time. */
  send({ link, port }: Attached, frames: readonly Uint8Array[]): void {
    for (let first = 0; first < frames.length; first += BATCH_FRAMES) {
      link.send(port, this.batchOf(frames.slice(first, first + BATCH_FRAMES)));
      this.memory.endTurn();
    }
  }

  /** Puts frames into frame memory, some side by side and some not. */
  batchOf(frames: readonly Uint8Array[]): Batch {
    const batch = new Batch();
    frames.forEach((frame, index) => {
      const offset = this.memory.take(frame.length);
      if (offset < 0) throw new RangeError('the workspace is too small for these frames');
      this.memory.bytes.set(frame, offset);
      batch.add(offset, frame.length);
      if (index % 7 === 0) this.memory.take(GAP);
    });
    return batch;
  }

  /** One turn that does not wait. */
  async turn(): Promise<void> {
    this.bell.ring();
    await this.transport.turn();
    // Far ends of this thread get their chance.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async turnUntil(what: string, isDone: () => boolean): Promise<void> {
    const giveUpAt = performance.now() + LIMIT_MS;
    while (!isDone()) {
      if (performance.now() > giveUpAt) throw new Error(`never happened: ${what}`);
      await this.turn();
    }
  }

  #add(attached: Omit<Attached, 'link'>): Link | Promise<Link> {
    return this.transport.add(attached.endpoint, attached.port, (frames) => {
      attached.onArrive(frames);
      attached.arrived.push(...this.bytesOf(frames));
    });
  }

  bytesOf({ offsets, lengths, count }: Batch): Buffer[] {
    return Array.from({ length: count }, (_, index) => {
      const offset = offsets[index] ?? 0;
      return Buffer.from(this.memory.bytes.slice(offset, offset + (lengths[index] ?? 0)));
    });
  }
}
