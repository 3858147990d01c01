/** A TCP proxy that does to a connection what networks do, after a number of bytes that the test says. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Teardown } from './scratch.js';

/** `up` is to the server. */
type Direction = 'up' | 'down';
/** `hold`: nothing more gets through on this connection, until it is released. `flip`: the next byte becomes another. */
type Fault = 'cut' | 'hold' | 'flip';

interface Plan {
  readonly direction: Direction;
  /** Bytes of all connections together in this direction. */
  readonly at: number;
  readonly fault: Fault;
  readonly happened: () => void;
}

export class FaultyLine {
  /** How many bytes have got through. */
  readonly passed: Record<Direction, number> = { up: 0, down: 0 };
  /** Where the server is; may change. */
  port: number;
  readonly #plans: Plan[] = [];
  readonly #held: Socket[] = [];
  #url = '';

  private constructor(port: number) {
    this.port = port;
  }

  static async open(t: Teardown, port: number): Promise<FaultyLine> {
    const line = new FaultyLine(port);
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connect(line.port, '127.0.0.1');
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => sockets.delete(socket));
      }
      line.#carry(client, upstream, 'up');
      line.#carry(upstream, client, 'down');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.teardown(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    line.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return line;
  }

  get url(): string {
    return this.#url;
  }

  /** After so many more bytes; resolves when it has happened. */
  after(direction: Direction, bytes: number, fault: Fault): Promise<void> {
    return new Promise((happened) => {
      this.#plans.push({ direction, at: this.passed[direction] + bytes, fault, happened });
    });
  }

  /** Lets go on with the bytes that were held. */
  release(): void {
    for (const socket of this.#held.splice(0)) socket.resume();
  }

  #carry(from: Socket, to: Socket, direction: Direction): void {
    from.on('data', (bytes: Buffer) => {
      const plan = this.#plans.find((plan) => plan.direction === direction);
      const room = plan === undefined ? Infinity : plan.at - this.passed[direction];
      if (plan === undefined || bytes.length <= room) {
        this.#pass(from, to, direction, bytes);
        return;
      }
      this.#plans.splice(this.#plans.indexOf(plan), 1);
      plan.happened();
      if (plan.fault === 'flip') {
        bytes[room] = (bytes[room] ?? 0) ^ 1;
        this.#pass(from, to, direction, bytes);
        return;
      }
      this.#pass(from, to, direction, bytes.subarray(0, room));
      if (plan.fault === 'hold') {
        from.pause();
        this.#held.push(from);
        from.unshift(bytes.subarray(room));
        return;
      }
      // Bytes that have passed arrive.
      to.end();
      from.destroy();
    });
    from.on('close', () => to.end());
  }

  #pass(from: Socket, to: Socket, direction: Direction, bytes: Buffer): void {
    this.passed[direction] += bytes.length;
    if (to.write(bytes)) return;
    from.pause();
    to.once('drain', () => from.resume());
  }
}
