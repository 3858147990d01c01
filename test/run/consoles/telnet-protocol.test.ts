/** The server's side of telnet, byte by byte. */
import t from 'tap';
import { telnetBytes, telnetGreeting, TelnetProtocol } from '../../../src/run/consoles/telnet-protocol.js';
import { Random, testSeed } from '../../support/random.js';

const [NUL, LF, CR] = [0, 10, 13];
const [SE, BREAK, SB, WILL, WONT, DO, DONT, IAC] = [240, 243, 250, 251, 252, 253, 254, 255];
const [BINARY, ECHO, SGA, TERMINAL_TYPE, NAWS, LINE_MODE] = [0, 1, 3, 24, 31, 34];

/** So many bytes a connection is answered at most. */
const MOST_ANSWERED = 3000;

/** One connection, with notes of what reached the console. */
class Connection {
  readonly #protocol: TelnetProtocol;
  readonly typed: number[] = [];
  /** Sizes and breaks, each with the number of bytes that were typed before it. */
  readonly notes: string[] = [];
  readonly answers: number[] = [];

  constructor(asksForWindow = true) {
    const note = (what: string): void => {
      this.notes.push(`${what} after ${this.typed.length}`);
    };
    this.#protocol = new TelnetProtocol(
      {
        type: (bytes) => this.typed.push(...bytes),
        resize: (columns, rows) => {
          note(`${columns}x${rows}`);
        },
        sendBreak: () => {
          note('break');
        },
      },
      asksForWindow,
    );
  }

  receive(...bytes: readonly number[]): number[] {
    const answer = [...this.#protocol.receive(Uint8Array.from(bytes))];
    this.answers.push(...answer);
    return answer;
  }
}

void t.test('the server offers its options first', (t) => {
  t.same([...telnetGreeting(false)], [255, 251, 1, 255, 251, 3, 255, 251, 0, 255, 253, 0]);
  t.same([...telnetGreeting(true)], [...telnetGreeting(false), 255, 253, 31]);
  t.end();
});

void t.test('each 255 is doubled for clients', (t) => {
  for (const bytes of [[], [1, 2], [255], [255, 255], [1, 255, 2, 255], [255, 1, 2], [255, 255, 255, 3]]) {
    const doubled = bytes.flatMap((byte) => (byte === 255 ? [255, 255] : [byte]));
    t.same([...telnetBytes(Uint8Array.from(bytes))], doubled);
  }
  const plain = Uint8Array.from([1, 2, 3]);
  t.equal(telnetBytes(plain), plain, 'nothing is copied for nothing');
  t.end();
});

void t.test('each 255 of a client is one byte, and Return is one byte', (t) => {
  const connection = new Connection();
  connection.receive(97, IAC, IAC, CR, NUL, 98, CR, LF, 99, CR, CR, LF, LF, NUL, CR, IAC, IAC, LF);
  t.same(connection.typed, [97, 255, CR, 98, CR, 99, CR, CR, LF, NUL, CR, 255, LF]);
  t.same(connection.answers, []);
  t.end();
});

void t.test('a binary client sends bytes as they are', (t) => {
  const connection = new Connection();
  t.same(connection.receive(CR, LF, IAC, WILL, BINARY, CR, LF, CR, NUL, IAC, IAC), [], 'it was asked for');
  t.same(connection.typed, [CR, CR, LF, CR, NUL, 255]);
  t.same(connection.receive(IAC, WONT, BINARY, CR, NUL), [IAC, DONT, BINARY]);
  t.same(connection.receive(IAC, WILL, BINARY, CR, NUL), [IAC, DO, BINARY]);
  t.same(connection.typed, [CR, CR, LF, CR, NUL, 255, CR, CR, NUL]);
  t.end();
});

void t.test('as the telnet of Debian answers', (t) => {
  const connection = new Connection();
  t.same(
    connection.receive(
      ...[IAC, DO, ECHO, IAC, DO, SGA, IAC, DO, BINARY, IAC, WILL, BINARY, IAC, WILL, NAWS],
      ...[IAC, SB, NAWS, 0, 132, 0, 43, IAC, SE, CR],
    ),
    [],
  );
  t.same(connection.typed, [CR]);
  t.same(connection.notes, ['132x43 after 0']);
  t.end();
});

void t.test('changes are answered once, and so is what is not offered', (t) => {
  const connection = new Connection();
  t.same(connection.receive(IAC, DO, LINE_MODE, IAC, WILL, TERMINAL_TYPE), [
    ...[IAC, WONT, LINE_MODE, IAC, DONT, TERMINAL_TYPE],
  ]);
  t.same(connection.receive(IAC, DO, LINE_MODE, IAC, WILL, TERMINAL_TYPE), []);
  t.same(connection.receive(IAC, DONT, LINE_MODE, IAC, WONT, TERMINAL_TYPE), []);
  t.same(connection.receive(IAC, DONT, ECHO), [], 'an offer that is refused');
  t.same(connection.receive(IAC, DO, ECHO), [IAC, WILL, ECHO]);
  t.same(connection.receive(IAC, DO, ECHO), []);
  t.same(connection.receive(IAC, DONT, ECHO), [IAC, WONT, ECHO]);
  t.same(connection.receive(IAC, WILL, ECHO), [IAC, DONT, ECHO], 'each direction has its own options');
  t.same(connection.typed, []);
  t.end();
});

void t.test('windows, breaks and typed bytes keep their order', (t) => {
  const connection = new Connection();
  connection.receive(97, IAC, BREAK, 98, IAC, SB, NAWS, 1, 44, 0, 24, IAC, SE, 99, IAC, BREAK);
  t.same(connection.typed, [97, 98, 99]);
  t.same(connection.notes, ['break after 1', '300x24 after 2', 'break after 3']);
  connection.receive(IAC, SB, NAWS, 0, IAC, IAC, 0, IAC, IAC, IAC, SE);
  t.equal(connection.notes.at(-1), '255x255 after 3');
  t.end();
});

void t.test('parameters that are wrong, not asked for, endless or broken off', (t) => {
  const connection = new Connection();
  connection.receive(IAC, SB, NAWS, 0, 80, 0, IAC, SE);
  connection.receive(IAC, SB, NAWS, 0, 80, 0, 24, 0, IAC, SE);
  connection.receive(IAC, SB, IAC, SE);
  connection.receive(IAC, SB, TERMINAL_TYPE, 0, 80, 0, 24, IAC, SE);
  t.same(connection.notes, []);
  connection.receive(IAC, SB, NAWS, ...Array.from({ length: 100_000 }, () => 7), IAC, SE, 97);
  t.same(connection.notes, []);
  t.same(connection.typed, [97]);
  t.same(connection.receive(IAC, SB, NAWS, 0, 80, IAC, DO, LINE_MODE, 98), [IAC, WONT, LINE_MODE]);
  t.same(connection.typed, [97, 98]);
  connection.receive(IAC, SE, 99, IAC, 7, 100);
  t.same(connection.typed, [97, 98, 99, 100], 'commands that mean nothing are dropped');

  const fixed = new Connection(false);
  t.same(fixed.receive(IAC, WILL, NAWS), [IAC, DONT, NAWS]);
  fixed.receive(IAC, SB, NAWS, 0, 80, 0, 24, IAC, SE);
  t.same(fixed.notes, []);
  t.end();
});

void t.test('a stream that is split anywhere means the same', (t) => {
  const stream = [
    ...[97, CR, LF, IAC, DO, ECHO, 98, IAC, DO, LINE_MODE, CR, NUL, IAC, IAC, 99, IAC, BREAK],
    ...[IAC, SB, NAWS, 0, 80, 0, IAC, IAC, IAC, SE, IAC, WILL, BINARY, CR, LF, IAC, WONT, BINARY, CR],
    ...[LF, IAC, WILL, TERMINAL_TYPE, IAC, SB, NAWS, 0, IAC, DONT, SGA, 100],
  ];
  const whole = new Connection();
  whole.receive(...stream);
  t.same(whole.notes, ['break after 6', '80x255 after 6']);
  for (let cut = 0; cut <= stream.length; cut++) {
    const connection = new Connection();
    connection.receive(...stream.slice(0, cut));
    connection.receive(...stream.slice(cut));
    t.same(connection, whole, `split after ${cut}`);
    t.same(connection.answers, whole.answers);
  }
  const bytewise = new Connection();
  for (const byte of stream) bytewise.receive(byte);
  t.same([bytewise.typed, bytewise.notes, bytewise.answers], [whole.typed, whole.notes, whole.answers]);
  t.end();
});

void t.test('a client that changes its mind for ever is answered for a while', (t) => {
  const connection = new Connection();
  connection.receive(IAC, DO, ECHO);
  for (let round = 0; round < 10_000; round++) connection.receive(IAC, DONT, ECHO, IAC, DO, ECHO);
  t.equal(connection.answers.length, MOST_ANSWERED);
  connection.receive(97, IAC, WILL, TERMINAL_TYPE, 98);
  t.equal(connection.answers.length, MOST_ANSWERED);
  t.same(connection.typed, [97, 98]);
  t.end();
});

void t.test('whatever a client sends, the talk ends', (t) => {
  const seed = testSeed(2026);
  const random = new Random(seed);
  const verbs = [WILL, WONT, DO, DONT];
  for (let round = 0; round < 2000; round++) {
    const connection = new Connection(random.chance(0.5));
    const stream: number[] = [];
    for (let index = random.below(60); index > 0; index--) {
      const option = random.chance(0.7) ? random.pick([BINARY, ECHO, SGA, NAWS]) : random.below(256);
      if (random.chance(0.6)) stream.push(IAC, random.pick(verbs), option);
      else if (random.chance(0.3)) stream.push(IAC, SB, NAWS, random.below(256), 0, 80, 0, 24, IAC, SE);
      else stream.push(random.chance(0.3) ? IAC : random.below(256));
    }
    const first = connection.receive(...stream);
    if (first.length > stream.length) t.fail(`seed ${seed}, round ${round}: ${first.length} bytes of answer`);
    // A client that says what it hears, beginning with the greeting.
    connection.receive(IAC, SE);
    let mirrored = [...telnetGreeting(true), ...first];
    while (mirrored.length > 0 && connection.answers.length <= MOST_ANSWERED)
      mirrored = connection.receive(...mirrored);
    if (mirrored.length > 0) t.fail(`seed ${seed}, round ${round}: no end`);
  }
  t.pass();
  t.end();
});

void t.test('two servers that talk to each other come to an end', (t) => {
  const [one, other] = [new Connection(), new Connection()];
  let toOne = [...telnetGreeting(true)];
  let toOther = [...telnetGreeting(true)];
  for (let turn = 0; turn < 10; turn++) [toOne, toOther] = [other.receive(...toOther), one.receive(...toOne)];
  t.same([toOne, toOther], [[], []]);
  t.ok(one.answers.length + other.answers.length < 50);
  t.end();
});
