/** The console of one node, with clients that are told byte by byte what happens. */
import t from 'tap';
import {
  ConsoleHub,
  MOST_UNSENT,
  type ConsoleClient,
  type ConsoleSource,
} from '../../../src/run/consoles/console-hub.js';
import { LONGEST_SCROLLBACK } from '../../../src/run/consoles/scrollback.js';
import { Random, RandomBytes, testSeed } from '../../support/random.js';

/** A client of a test. It reads nothing when `reads` is false. */
class Client implements ConsoleClient {
  readonly isWatching: boolean = false;
  readonly name: string = 'somebody';
  readonly #pieces: Uint8Array[] = [];
  unsent = 0;
  cuts = 0;
  reads = true;

  get text(): string {
    return Buffer.concat(this.#pieces).toString('latin1');
  }

  send(bytes: Uint8Array): number {
    this.#pieces.push(bytes);
    if (!this.reads) this.unsent += bytes.length;
    return this.unsent;
  }

  cut(): void {
    this.cuts++;
  }
}

/** A source that notes what it is given. */
class Source implements Required<ConsoleSource> {
  readonly notes: string[] = [];

  write(bytes: Uint8Array): void {
    this.notes.push(Buffer.from(bytes).toString());
  }

  resize(columns: number, rows: number): void {
    this.notes.push(`${columns}x${rows}`);
  }

  sendBreak(): void {
    this.notes.push('break');
  }
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

function print(hub: ConsoleHub, printed: string): void {
  hub.printed(Buffer.from(printed));
}

void t.test('three clients see the same, whenever they come', (t) => {
  const hub = new ConsoleHub();
  const clients = [new Client(), new Client(), new Client()];
  for (const [index, client] of clients.entries()) {
    hub.join(client);
    print(hub, `line ${index}\r\n`);
  }
  for (const client of clients) t.equal(client.text, 'line 0\r\nline 1\r\nline 2\r\n');
  t.end();
});

void t.test('the scrollback outlives the source, until it is reset', (t) => {
  const hub = new ConsoleHub();
  const source = new Source();
  hub.connect(source);
  print(hub, 'Booting\r\nKernel panic');
  hub.disconnect();
  hub.write(Buffer.from('lost'));
  print(hub, ' at the last\r\n');
  const late = new Client();
  const seat = hub.join(late);
  seat.type(Buffer.from('lost, too'));
  t.equal(late.text, 'Booting\r\nKernel panic at the last\r\n');
  t.equal(text(hub.scrollback), late.text);
  t.same(source.notes, []);

  hub.connect(source);
  hub.reset();
  t.equal(late.cuts, 1);
  t.equal(hub.scrollback.length, 0);
  const next = new Client();
  hub.join(next).type(Buffer.from('a'));
  t.equal(next.text, '', 'nothing is sent when there is nothing');
  print(hub, 'b');
  t.equal(next.text, 'b');
  t.equal(late.text, 'Booting\r\nKernel panic at the last\r\n');
  t.same(source.notes, ['a'], 'the source stays');
  t.end();
});

void t.test('a node that once asked for the place of the cursor is not answered by all who join', (t) => {
  const hub = new ConsoleHub();
  const early = new Client();
  hub.join(early);
  print(hub, '/ # \x1b[6nls\r\n');
  const late = new Client();
  hub.join(late);
  t.equal(early.text, '/ # \x1b[6nls\r\n');
  t.equal(late.text, '/ # ls\r\n');
  t.equal(text(hub.scrollback), early.text);
  t.end();
});

void t.test('whatever is printed, clients and listeners get all of it in order', (t) => {
  const seed = testSeed(7);
  const random = new Random(seed);
  const bytes = new RandomBytes(seed);
  const hub = new ConsoleHub();
  const client = new Client();
  hub.join(client);
  let heard = '';
  const stop = hub.listen((piece) => (heard += text(piece)));
  let all = '';
  for (let piece = 0; piece < 50; piece++) {
    const printed = bytes.next(random.below(random.pick([2, 1000, 4 * LONGEST_SCROLLBACK])));
    all += printed.toString('latin1');
    hub.printed(printed);
  }
  t.ok(client.text === all);
  t.ok(heard === all);
  t.ok(all.endsWith(text(hub.scrollback)));
  stop();
  print(hub, 'more');
  t.ok(heard === all);
  t.end();
});

void t.test('a listener that listens twice hears twice, and ends each by itself', (t) => {
  const hub = new ConsoleHub();
  let calls = 0;
  const listener = (): void => {
    calls++;
  };
  const stop = hub.listen(listener);
  hub.listen(listener);
  print(hub, 'a');
  t.equal(calls, 2);
  stop();
  print(hub, 'a');
  t.equal(calls, 3);
  t.end();
});

void t.test('a client that does not read is cut at the bound, and the others get all', (t) => {
  const hub = new ConsoleHub();
  const source = new Source();
  hub.connect(source);
  const [reader, deaf] = [new Client(), new Client()];
  deaf.reads = false;
  hub.join(reader);
  const seat = hub.join(deaf);
  const line = `${'x'.repeat(1022)}\r\n`;
  const lines = MOST_UNSENT / line.length;
  for (let index = 0; index < lines; index++) print(hub, line);
  t.equal(deaf.cuts, 0, 'at the bound it is not beyond it');
  for (let index = 0; index < lines; index++) print(hub, line);
  t.equal(deaf.cuts, 1);
  t.equal(deaf.unsent, MOST_UNSENT + line.length, 'nothing more was sent to it');
  t.ok(reader.text === line.repeat(2 * lines));
  seat.type(Buffer.from('a'));
  seat.sendBreak();
  seat.resize(1, 1);
  seat.leave();
  t.same(source.notes, [], 'its seat is gone');
  t.end();
});

void t.test('much that is printed at once is given in pieces, so that a cut comes early', (t) => {
  const hub = new ConsoleHub();
  const deaf = new Client();
  deaf.reads = false;
  hub.join(deaf);
  hub.printed(Buffer.alloc(64 * MOST_UNSENT));
  t.equal(deaf.cuts, 1);
  t.ok(deaf.unsent <= MOST_UNSENT + 64 * 1024);
  t.end();
});

void t.test('a client may leave while it is cut, and while something is sent', (t) => {
  const hub = new ConsoleHub();
  const reader = new Client();
  const leaves: (() => void)[] = [];
  let sent = 0;
  for (let index = 0; index < 3; index++) {
    const seat = hub.join({
      name: 'somebody',
      isWatching: false,
      send: () => {
        sent++;
        for (const leave of leaves) leave();
        return 0;
      },
      cut: () => {
        seat.leave();
      },
    });
    leaves.push(() => {
      seat.leave();
    });
  }
  hub.join(reader);
  print(hub, 'a');
  t.equal(sent, 1);
  t.equal(reader.text, 'a');
  hub.close();
  hub.close();
  t.equal(reader.cuts, 1);
  t.end();
});

void t.test('the smallest window wins', (t) => {
  const hub = new ConsoleHub();
  const source = new Source();
  hub.connect(source);
  t.equal(hub.canResize, true);
  const seats = [hub.join(new Client()), hub.join(new Client()), hub.join(new Client())] as const;
  const sizes = (): string[] => source.notes.splice(0);
  seats[0].resize(120, 30);
  t.same(sizes(), ['120x30']);
  seats[1].resize(80, 40);
  t.same(sizes(), ['80x30']);
  seats[1].resize(90, 40);
  t.same(sizes(), ['90x30']);
  seats[2].resize(200, 50);
  t.same(sizes(), [], 'nothing changes');
  seats[1].leave();
  t.same(sizes(), ['120x30'], 'it is worked out anew when one leaves');
  seats[0].resize(0, 24);
  t.same(sizes(), ['200x50'], 'a size that is not known does not count');
  seats[0].leave();
  seats[2].leave();
  t.same(sizes(), [], 'with nobody there it stays');
  hub.disconnect();
  t.equal(hub.canResize, false);
  hub.connect(source);
  t.same(sizes(), ['200x50'], 'the next source gets it');
  hub.connect({ write: () => undefined });
  t.equal(hub.canResize, false);
  hub.join(new Client()).resize(10, 10);
  t.same(sizes(), []);
  t.end();
});

void t.test('a break goes to sources that know breaks', (t) => {
  const hub = new ConsoleHub();
  const seat = hub.join(new Client());
  seat.sendBreak();
  hub.connect({ write: () => undefined });
  seat.sendBreak();
  const source = new Source();
  hub.connect(source);
  seat.sendBreak();
  t.same(source.notes, ['break']);
  t.end();
});

void t.test(
  'clients are told who else is there, and whether the node runs, once for each turn',
  async (t) => {
    class Teller extends Client {
      readonly told: unknown[] = [];

      constructor(
        override readonly name: string,
        override readonly isWatching = false,
      ) {
        super();
      }

      tell(news: unknown): number {
        this.told.push(news);
        return 0;
      }
    }
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const hub = new ConsoleHub();
    const [alice, bob] = [new Teller('alice'), new Teller('bob', true)];
    hub.join(alice);
    const seat = hub.join(bob);
    await turn();
    t.same(alice.told, [{ isRunning: false, others: [{ name: 'bob', isWatching: true }] }]);
    t.same(bob.told, [{ isRunning: false, others: [{ name: 'alice', isWatching: false }] }]);
    const source = new Source();
    hub.connect(source);
    seat.type(Buffer.from('lost'));
    seat.resize(10, 5);
    seat.sendBreak();
    t.same(source.notes, [], 'who watches changes nothing');
    seat.leave();
    await turn();
    t.same(alice.told.slice(1), [{ isRunning: true, others: [] }]);
    t.equal(bob.told.length, 1, 'who has left is told nothing more');
    hub.disconnect();
    await turn();
    t.match(alice.told.at(-1), { isRunning: false });
  },
);
