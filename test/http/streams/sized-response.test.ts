/** Responses of known length, from sources that are quick, cold, or break, to clients that take them or do not. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { bytesSource, type PieceSource } from '../../../src/http/streams/sized-response.js';
import { eventually } from '../../support/eventually.js';
import { RandomBytes } from '../../support/random.js';
import { headerOf, RawConnection, rawRequest } from '../../support/raw-client.js';
import { seededRandom } from '../../support/seeded-random.js';
import { startStreamServer } from '../../support/stream-server.js';

/** The source that the next requests are answered from. */
let source: PaperSource;

/** Gives the bytes as it is told to, and counts what is asked of it. */
class PaperSource implements PieceSource {
  asked = 0;
  given = 0;
  closed = 0;
  mostAtOnce = 0;
  /** Resolves when the bytes at the position are in memory; undefined when they already are. */
  cold: (position: number) => Promise<void> | undefined = () => undefined;
  /** May be less than what is wanted. */
  lengthOf: (wanted: number) => number = (wanted) => wanted;

  constructor(readonly bytes: Uint8Array) {}

  get length(): number {
    return this.bytes.length;
  }

  give(position: number, length: number, use: (bytes: Uint8Array) => void): 'given' | Promise<void> {
    this.asked++;
    this.mostAtOnce = Math.max(this.mostAtOnce, length);
    const reading = this.cold(position);
    if (reading !== undefined) return reading;
    const piece = Uint8Array.from(this.bytes.subarray(position, position + this.lengthOf(length)));
    this.given += piece.length;
    use(piece);
    // Nobody may look at them any more.
    piece.fill(0);
    return 'given';
  }

  close(): void {
    this.closed++;
  }
}

const { port } = await startStreamServer(t, { bytes: () => source });

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const content = (seed: number, length: number): Buffer => new RandomBytes(seed).next(length);

async function open(): Promise<RawConnection> {
  const connection = await RawConnection.open(port);
  connection.socket.pause();
  connection.send('GET', '/bytes');
  return connection;
}

void t.test('the whole of it comes, in pieces of any length', async (t) => {
  const random = seededRandom(1);
  for (const length of [1, 1000, 65_537, 3_000_001]) {
    source = new PaperSource(content(length, length));
    source.lengthOf = (wanted) => 1 + Math.floor(random() * wanted);
    const reply = await rawRequest(port, 'GET', '/bytes');
    t.equal(reply.status, 200);
    t.equal(headerOf(reply, 'Content-Length'), String(length));
    t.equal(headerOf(reply, 'X-Test'), 'yes');
    t.equal(sha256(reply.body), sha256(source.bytes));
    t.equal(source.closed, 1);
  }
});

void t.test('a HEAD has the length and asks the source for nothing', async (t) => {
  source = new PaperSource(content(2, 12_345));
  const reply = await rawRequest(port, 'HEAD', '/bytes');
  t.equal(headerOf(reply, 'Content-Length'), '12345');
  t.equal(reply.body.length, 0);
  t.equal(source.asked, 0);
  t.equal(source.closed, 1);
});

void t.test('a source that is cold is asked again when it has read', async (t) => {
  source = new PaperSource(content(3, 2_000_000));
  const known = new Set<number>();
  source.cold = (position) => {
    const page = Math.floor(position / 100_000);
    if (known.has(page)) return undefined;
    known.add(page);
    return wait(1);
  };
  source.lengthOf = (wanted) => Math.min(wanted, 100_000);
  const reply = await rawRequest(port, 'GET', '/bytes');
  t.equal(sha256(reply.body), sha256(source.bytes));
  t.equal(known.size, 20);
  t.equal(source.closed, 1);
});

void t.test('a client that takes nothing is given nothing more, and then has the rest', async (t) => {
  source = new PaperSource(content(4, 40_000_000));
  const connection = await open();
  const { given } = source;
  const held = await eventually('no more is asked for', async () => {
    const before = source.asked;
    await wait(200);
    return source.asked > 0 && source.asked === before ? source.given : undefined;
  });
  t.ok(held > given && held < source.bytes.length);
  connection.socket.resume();
  t.equal(sha256((await connection.reply('GET', 30_000)).body), sha256(source.bytes));
  t.ok(source.mostAtOnce <= 512 * 1024, 'never much at once');
  connection.close();
});

void t.test('little is given twice to a client that takes it in fits and starts', async (t) => {
  source = new PaperSource(content(5, 60_000_000));
  const connection = await open();
  const stutter = setInterval(() => {
    if (connection.socket.isPaused()) connection.socket.resume();
    else connection.socket.pause();
  }, 3);
  t.equal(sha256((await connection.reply('GET', 40_000)).body), sha256(source.bytes));
  clearInterval(stutter);
  // Bytes that a client does not take are given again.
  t.ok(source.given < 2 * source.bytes.length, `${source.given} were given`);
  connection.close();
});

void t.test('a source that fails breaks the connection: nobody takes a part for the whole', async (t) => {
  const failures: Record<string, () => Promise<void>> = {
    'when it reads': () => Promise.reject(new Error('the disk is gone')),
    'when it is asked': () => {
      throw new Error('at once');
    },
  };
  for (const [name, fail] of Object.entries(failures)) {
    source = new PaperSource(content(6, 3_000_000));
    source.cold = (position) => (position > 1_000_000 ? fail() : undefined);
    const connection = await RawConnection.open(port);
    connection.send('GET', '/bytes');
    await t.rejects(connection.reply(), /closed the connection/, name);
    await eventually('it is closed', () => (source.closed > 0 ? true : undefined));
    t.equal(source.closed, 1, name);
  }
});

void t.test('a client that goes away while a disk is waited for is no trouble', async (t) => {
  source = new PaperSource(content(7, 1_000_000));
  let goOn: () => void = () => undefined;
  const reading = new Promise<void>((resolve) => (goOn = resolve));
  source.cold = () => reading;
  const connection = await RawConnection.open(port);
  connection.send('GET', '/bytes');
  await eventually('it was asked', () => (source.asked > 0 ? true : undefined));
  connection.vanish();
  await eventually('it is closed', () => (source.closed > 0 ? true : undefined));
  goOn();
  await wait(20);
  t.equal(source.asked, 1, 'and it is not asked again');
  t.equal(source.closed, 1);
});

void t.test('the connection serves the next request', async (t) => {
  source = new PaperSource(content(9, 1_000_000));
  const connection = await RawConnection.open(port);
  for (let count = 0; count < 3; count++) {
    connection.send('GET', '/bytes');
    t.equal(sha256((await connection.reply()).body), sha256(source.bytes));
  }
  t.equal(source.closed, 3);
  connection.socket.end();
  await once(connection.socket, 'close');
});

void t.test('bytes that are in memory are a source', (t) => {
  const given: number[] = [];
  const bytes = bytesSource(Buffer.from([1, 2, 3, 4]));
  t.equal(
    bytes.give(1, 2, (piece) => given.push(...piece)),
    'given',
  );
  bytes.close();
  t.same(given, [2, 3]);
  t.end();
});
