/** Telnet connections of real sockets to a console. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { ConsoleHub, MOST_CLIENTS, type ConsoleSource } from '../../../src/run/consoles/console-hub.js';
import { TelnetListener } from '../../../src/run/consoles/telnet-listener.js';
import { eventually } from '../../support/eventually.js';

const HOST = '127.0.0.1';
const GREETING = Buffer.from([255, 251, 1, 255, 251, 3, 255, 251, 0, 255, 253, 0]);
const GREETING_FOR_TERMINALS = Buffer.concat([GREETING, Buffer.from([255, 253, 31])]);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A terminal that prints what is typed, as `cat` does. */
class EchoingSource implements ConsoleSource {
  readonly #hub: ConsoleHub;
  readonly sizes: string[] = [];
  breaks = 0;

  constructor(hub: ConsoleHub) {
    this.#hub = hub;
  }

  write(bytes: Uint8Array): void {
    this.#hub.printed(bytes);
  }

  resize(columns: number, rows: number): void {
    this.sizes.push(`${columns}x${rows}`);
  }

  sendBreak(): void {
    this.breaks++;
  }
}

class Terminal {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  received = Buffer.alloc(0);

  constructor(t: Test, port: number) {
    this.socket = connect({ port, host: HOST, noDelay: true });
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
    this.socket.on('error', () => undefined);
    this.socket.on('data', (bytes) => {
      this.received = Buffer.concat([this.received, bytes]);
    });
    t.teardown(() => this.socket.destroy());
  }

  /** Resolves when more has been received; fails when the connection is closed instead. */
  async more(): Promise<void> {
    const closed = this.closed.then(() => {
      throw new Error('the connection was closed');
    });
    await Promise.race([once(this.socket, 'data'), closed]);
  }

  /** Resolves when all of this has been received, and nothing else. */
  async gets(...expected: readonly (Buffer | string)[]): Promise<void> {
    const wanted = Buffer.concat(expected.map((part) => Buffer.from(part)));
    while (this.received.length < wanted.length) await this.more();
    if (!this.received.equals(wanted))
      throw new Error(`received ${JSON.stringify(this.received.toString())}`);
    this.received = Buffer.alloc(0);
  }
}

interface Rig {
  readonly hub: ConsoleHub;
  readonly source: EchoingSource;
  readonly listener: TelnetListener;
  readonly port: number;
}

async function rigOf(t: Test): Promise<Rig> {
  const hub = new ConsoleHub();
  const source = new EchoingSource(hub);
  hub.connect(source);
  const port = await freePort();
  const listener = new TelnetListener(hub, { reach: { host: HOST, serves: () => true }, port });
  await listener.listen();
  t.teardown(() => listener.close());
  return { hub, source, listener, port };
}

void t.test('all see the answer to one client, and a client that comes later sees it, too', async (t) => {
  const { port } = await rigOf(t);
  const early = [new Terminal(t, port), new Terminal(t, port)] as const;
  for (const terminal of early) await terminal.gets(GREETING_FOR_TERMINALS);
  early[0].socket.write(Buffer.from('show ip\r\0'));
  for (const terminal of early) await terminal.gets('show ip\r');
  const late = new Terminal(t, port);
  await late.gets(GREETING_FOR_TERMINALS, 'show ip\r');
  late.socket.write(Buffer.from([120, 255, 255, 121]));
  for (const terminal of [...early, late]) await terminal.gets('x', Buffer.from([255, 255]), 'y');
});

void t.test('a stream that comes byte by byte', async (t) => {
  const { port, source } = await rigOf(t);
  const terminal = new Terminal(t, port);
  await terminal.gets(GREETING_FOR_TERMINALS);
  const stream = [
    ...[97, 13, 10, 255, 253, 1, 255, 251, 31, 255, 250, 31, 0, 132, 0, 43, 255, 240, 255, 253, 34],
    ...[98, 255, 243, 255, 255, 99, 13, 0, 255, 251, 24, 100],
  ];
  for (const byte of stream) {
    terminal.socket.write(Uint8Array.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  const echoed = Buffer.concat([Buffer.from('a\rb'), Buffer.from([255, 255]), Buffer.from('c\rd')]);
  const answers = [Buffer.from([255, 252, 34]), Buffer.from([255, 254, 24])];
  while (terminal.received.length < echoed.length + 6) await terminal.more();
  // The order of answers and echoes depends on how the system has put the bytes together.
  let rest = terminal.received;
  for (const answer of answers) {
    const at = rest.indexOf(answer);
    t.ok(at >= 0);
    rest = Buffer.concat([rest.subarray(0, at), rest.subarray(at + answer.length)]);
  }
  t.ok(rest.equals(echoed));
  t.same(source.sizes, ['132x43']);
  t.equal(source.breaks, 1);
});

void t.test('a source without windows is not asked to follow one', async (t) => {
  const { hub, port } = await rigOf(t);
  let typed = '';
  hub.connect({ write: (bytes) => (typed += Buffer.from(bytes).toString()) });
  const terminal = new Terminal(t, port);
  await terminal.gets(GREETING);
  terminal.socket.write(Buffer.from([255, 251, 31, 97]));
  await terminal.gets(Buffer.from([255, 254, 31]));
  await eventually('it is typed', () => typed === 'a' || undefined);
});

void t.test('a window counts until its client goes', async (t) => {
  const { port, source } = await rigOf(t);
  const [small, large] = [new Terminal(t, port), new Terminal(t, port)];
  for (const terminal of [small, large]) await terminal.gets(GREETING_FOR_TERMINALS);
  large.socket.write(Buffer.from([255, 250, 31, 0, 200, 0, 50, 255, 240]));
  await eventually('one size', () => source.sizes.length === 1 || undefined);
  small.socket.write(Buffer.from([255, 250, 31, 0, 80, 0, 24, 255, 240]));
  await eventually('two sizes', () => source.sizes.length === 2 || undefined);
  small.socket.end();
  await eventually('three sizes', () => source.sizes.length === 3 || undefined);
  t.same(source.sizes, ['200x50', '80x24', '200x50']);
});

void t.test('a client that never reads is cut, and neither the others nor the node wait', async (t) => {
  const { hub, port } = await rigOf(t);
  const deaf = new Terminal(t, port);
  await deaf.gets(GREETING_FOR_TERMINALS);
  deaf.socket.pause();
  const reader = new Terminal(t, port);
  await reader.gets(GREETING_FOR_TERMINALS);
  // More than the system keeps for the one that does not read.
  const pieces = 800;
  const size = 64 * 1024;
  let received = 0;
  let sum = 0;
  reader.socket.removeAllListeners('data').on('data', (bytes) => {
    received += bytes.length;
    for (const byte of bytes) sum = (sum + byte) % 1_000_000;
  });
  let expected = 0;
  for (let index = 0; index < pieces; index++) {
    const value = index % 200;
    hub.printed(Buffer.alloc(size, value));
    expected = (expected + value * size) % 1_000_000;
    while (received < (index - 1) * size) await reader.more();
  }
  while (received < pieces * size) await reader.more();
  t.equal(received, pieces * size);
  t.equal(sum, expected);
  deaf.socket.resume();
  await deaf.closed;
  t.ok(deaf.received.length < pieces * size, 'it was cut');
  reader.socket.write('still there');
  await reader.more();
});

void t.test('reset cuts the clients and forgets what was printed; the node goes on', async (t) => {
  const { hub, port } = await rigOf(t);
  const terminal = new Terminal(t, port);
  await terminal.gets(GREETING_FOR_TERMINALS);
  hub.printed(Buffer.from('before'));
  await terminal.gets('before');
  hub.reset();
  await terminal.closed;
  const next = new Terminal(t, port);
  await next.gets(GREETING_FOR_TERMINALS);
  next.socket.write('after');
  await next.gets('after');
});

void t.test('connections are counted', async (t) => {
  const { port } = await rigOf(t);
  const terminals: Terminal[] = [];
  for (let index = 0; index < MOST_CLIENTS; index++) {
    const terminal = new Terminal(t, port);
    await terminal.gets(GREETING_FOR_TERMINALS);
    terminals.push(terminal);
  }
  const beyond = new Terminal(t, port);
  await beyond.closed;
  t.equal(beyond.received.length, 0);
  terminals[0]?.socket.end();
  await terminals[0]?.closed;
  await eventually('there is room', async () => {
    const next = new Terminal(t, port);
    await Promise.race([next.closed, once(next.socket, 'data').catch(() => undefined)]);
    return next.received.length > 0 || undefined;
  });
});

void t.test('a port that is taken; closing frees it', async (t) => {
  const { hub, listener, port } = await rigOf(t);
  const second = new TelnetListener(hub, { reach: { host: HOST, serves: () => true }, port });
  await t.rejects(second.listen(), { code: 'EADDRINUSE' });
  const terminal = new Terminal(t, port);
  await terminal.gets(GREETING_FOR_TERMINALS);
  await listener.close();
  await terminal.closed;
  await second.listen();
  const next = new Terminal(t, port);
  await next.gets(GREETING_FOR_TERMINALS);
  await second.close();
  await next.closed;
  await second.close();
  await t.rejects(
    new TelnetListener(hub, { reach: { host: '192.0.2.1', serves: () => true }, port }).listen(),
    { code: 'EADDRNOTAVAIL' },
  );
});

void t.test('a port serves the networks that it is for, and its own host', async (t) => {
  const hub = new ConsoleHub();
  const port = await freePort();
  let isServed = false;
  const reach = { host: HOST, serves: (address: string) => isServed && address === '127.0.0.2' };
  const listener = new TelnetListener(hub, { reach, port });
  await listener.listen();
  t.teardown(() => listener.close());
  const visit = async (localAddress: string): Promise<number> => {
    const socket = connect({ host: HOST, port, localAddress });
    socket.on('error', () => undefined);
    let octets = 0;
    socket.on('data', (bytes) => {
      octets += bytes.length;
      if (octets >= GREETING.length) socket.destroy();
    });
    await once(socket, 'close');
    return octets;
  };
  t.equal(await visit('127.0.0.2'), 0, 'it is closed at once');
  t.not(await visit(HOST), 0, 'the address of the port itself');
  isServed = true;
  t.not(await visit('127.0.0.2'), 0, 'it is asked at each connection');
});
