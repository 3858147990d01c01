/** Bytes move from a source to a client, which is a list here. */
import t from 'tap';
import {
  LARGEST_PIECE,
  liveTails,
  TailFlow,
  type TailSink,
  type TailSource,
} from '../../../src/http/streams/tail-flow.js';
import { eventually } from '../../support/eventually.js';
import { TailLog } from '../../support/tail-log.js';

/** Takes so many pieces before it has to be told to go on. */
class Client implements TailSink {
  readonly pieces: Buffer[] = [];
  room = Infinity;
  ended = 0;
  readonly failures: unknown[] = [];

  send(bytes: Uint8Array): boolean {
    this.pieces.push(Buffer.from(bytes));
    this.room--;
    return this.room > 0;
  }

  end(): void {
    this.ended++;
  }

  breakOff(error: unknown): void {
    this.failures.push(error);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.pieces);
  }
}

const turns = async (count = 3): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

void t.test(
  'everything arrives in order, in pieces that are small enough, whatever way it came',
  async (t) => {
    for (const promised of [0, 0.3, 1]) {
      const log = new TailLog(3_000_000, 1);
      const client = new Client();
      new TailFlow(log.source(2, promised), client);
      for (let length = 1; log.head < log.bytes.length; length *= 3) {
        log.append(length);
        await turns();
      }
      log.end();
      await eventually('the end', () => client.ended || undefined);
      t.equal(client.ended, 1);
      t.equal(log.closed, 1);
      t.ok(client.bytes.equals(log.bytes));
      t.ok(client.pieces.every(({ length }) => length > 0 && length <= LARGEST_PIECE));
      t.equal(liveTails(), 0);
    }
  },
);

void t.test('nothing is sent while the client has no room, and all of it afterwards', async (t) => {
  const log = new TailLog(2_000_000, 3);
  log.append(log.bytes.length);
  const client = new Client();
  client.room = 1;
  const flow = new TailFlow(log.source(4, 0.5), client);
  log.end();
  let sent = 0;
  while (client.ended === 0) {
    await turns();
    if (client.room > 0) continue;
    t.ok(client.pieces.length > sent);
    sent = client.pieces.length;
    await turns();
    if (client.pieces.length !== sent) t.fail('it goes on without being told');
    client.room = 2;
    flow.goOn();
  }
  t.ok(client.bytes.equals(log.bytes));
});

void t.test('a turn is bounded, and others have theirs between', async (t) => {
  const log = new TailLog(8_000_000, 5);
  log.append(log.bytes.length);
  const clients = [new Client(), new Client()];
  const flows = clients.map((client, index) => new TailFlow(log.source(index, 0), client));
  const [first, second] = flows;
  t.equal(first?.takeTurn(), true);
  t.ok((clients[0]?.bytes.length ?? 0) < 400_000, 'not everything in one turn');
  t.equal(clients[1]?.pieces.length, 0);
  t.equal(second?.takeTurn(), true);
  for (const flow of flows) flow.stop();
  t.equal(first?.takeTurn(), false);
  await turns();
  t.equal(log.closed, 2);
  t.equal(liveTails(), 0);
});

void t.test('a source that gives nothing for ever holds nobody up', async (t) => {
  let calls = 0;
  const empty: TailSource = {
    next(use) {
      calls++;
      use(new Uint8Array(0));
      return 'given';
    },
    onReady: () => undefined,
    close: () => undefined,
  };
  const client = new Client();
  const flow = new TailFlow(empty, client);
  await turns(10);
  t.ok(calls > 0);
  t.equal(client.pieces.length, 0, 'no bytes are no piece');
  flow.stop();
  const atEnd = calls;
  await turns();
  t.equal(calls, atEnd);
});

void t.test(
  'a client that goes while bytes are on their way gets none, and the source is closed once',
  async (t) => {
    let give: (bytes: Uint8Array) => void = () => undefined;
    let closed = 0;
    const source: TailSource = {
      next: () => new Promise((resolve) => (give = resolve)),
      onReady: () => undefined,
      close: () => closed++,
    };
    const client = new Client();
    const flow = new TailFlow(source, client);
    await turns();
    t.equal(liveTails(), 1);
    flow.stop();
    flow.stop();
    give(Buffer.from('late'));
    await turns();
    t.same([closed, client.pieces.length, client.ended, client.failures.length], [1, 0, 0, 0]);
    t.equal(liveTails(), 0);
  },
);

void t.test('a failing source breaks the stream off, which is no proper end', async (t) => {
  const sources: Record<string, TailSource['next']> = {
    promise: () => Promise.reject(new Error('promise')),
    call: () => {
      throw new Error('call');
    },
  };
  for (const [what, next] of Object.entries(sources)) {
    let closed = 0;
    const client = new Client();
    new TailFlow({ next, onReady: () => undefined, close: () => closed++ }, client);
    await turns();
    t.match(client.failures, [{ message: what }]);
    t.same([closed, client.ended, liveTails()], [1, 0, 0]);
  }
});

void t.test('a stream that is to finish gives what there is, and ends where there is no more', async (t) => {
  for (const isWaiting of [false, true]) {
    const log = new TailLog(500_000, 6);
    log.append(400_000);
    const client = new Client();
    const flow = new TailFlow(log.source(7, 0.5), client);
    if (isWaiting) await eventually('it waits', () => log.waiting || undefined);
    flow.finish();
    await eventually('the end', () => client.ended || undefined);
    t.ok(client.bytes.equals(log.bytes.subarray(0, 400_000)));
    t.equal(log.closed, 1);
  }
});
