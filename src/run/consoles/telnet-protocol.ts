/**
 * The server's side of telnet (RFC 854, 856, 857, 858, 1073) on one connection: a pure state machine, to which the
 * bytes of the client may come in pieces of any size. It offers to echo, to suppress go-aheads and to be binary, and
 * asks the client to be binary and to tell the size of its window. All else is refused.
 */
import type { ConsoleSeat } from './console-hub.js';

const NUL = 0;
const LINE_FEED = 10;
const RETURN = 13;

const END_OF_PARAMETERS = 240;
const BREAK = 243;
const PARAMETERS = 250;
const WILL = 251;
const WONT = 252;
const DO = 253;
const DONT = 254;
const COMMAND = 255;

const BINARY = 0;
const ECHO = 1;
const SUPPRESS_GO_AHEAD = 3;
const WINDOW_SIZE = 31;

const OFFERED = [ECHO, SUPPRESS_GO_AHEAD, BINARY];
/** Further wishes of a client are ignored: one that repeats what it hears would be answered for ever. */
const MOST_ANSWERS = 1000;
/** More parameters of one option are dropped. */
const MOST_PARAMETERS = 64;
/** The option and two numbers of two bytes. */
const WINDOW_SIZE_LENGTH = 5;

/** The bytes that a client gets first. */
export function telnetGreeting(asksForWindow: boolean): Uint8Array {
  return Uint8Array.from([
    ...OFFERED.flatMap((option) => [COMMAND, WILL, option]),
    ...askedFor(asksForWindow).flatMap((option) => [COMMAND, DO, option]),
  ]);
}

/** The bytes as they are sent to a client: each 255 twice. */
export function telnetBytes(bytes: Uint8Array): Uint8Array {
  let found = bytes.indexOf(COMMAND);
  if (found < 0) return bytes;
  const pieces: Uint8Array[] = [];
  let start = 0;
  for (; found >= 0; found = bytes.indexOf(COMMAND, start + 1)) {
    pieces.push(bytes.subarray(start, found + 1));
    start = found;
  }
  pieces.push(bytes.subarray(start));
  return Buffer.concat(pieces);
}

function askedFor(asksForWindow: boolean): readonly number[] {
  return asksForWindow ? [BINARY, WINDOW_SIZE] : [BINARY];
}

type Answer = 'agreed' | 'refused';

/** The options of one direction. Only a change is answered. */
class Options {
  readonly #states: Map<number, 'proposed' | 'on' | 'off'>;
  readonly #refused = new Set<number>();

  /** The server has proposed these options, and refuses all others. */
  constructor(proposed: readonly number[]) {
    this.#states = new Map(proposed.map((option) => [option, 'proposed']));
  }

  isOn(option: number): boolean {
    return this.#states.get(option) === 'on';
  }

  /** The client wants the option on or off. Returns the answer that it has to get. */
  want(option: number, state: 'on' | 'off'): Answer | undefined {
    const before = this.#states.get(option);
    if (before === undefined) {
      if (state === 'off' || this.#refused.has(option)) return undefined;
      this.#refused.add(option);
      return 'refused';
    }
    this.#states.set(option, state);
    if (before === 'proposed' || before === state) return undefined;
    return state === 'on' ? 'agreed' : 'refused';
  }
}

export class TelnetProtocol {
  readonly #seat: Pick<ConsoleSeat, 'type' | 'resize' | 'sendBreak'>;
  readonly #asksForWindow: boolean;
  /** Options of the server. */
  readonly #own = new Options(OFFERED);
  /** Options of the client. */
  readonly #theirs: Options;
  #state: 'data' | 'command' | 'option' | 'parameters' | 'command in parameters' = 'data';
  #verb = 0;
  #parameters: number[] = [];
  #isAfterReturn = false;
  /** Bytes of the current piece that go to the console, and how many there are. */
  #typed = new Uint8Array(0);
  #typedLength = 0;
  #answer: number[] = [];
  #answersLeft = MOST_ANSWERS;

  /** For a connection on which `telnetGreeting(asksForWindow)` has been sent. */
  constructor(seat: Pick<ConsoleSeat, 'type' | 'resize' | 'sendBreak'>, asksForWindow: boolean) {
    this.#seat = seat;
    this.#asksForWindow = asksForWindow;
    this.#theirs = new Options(askedFor(asksForWindow));
  }

  /** Takes the next bytes of the client. Returns bytes to be sent to it, as they are: never much on one connection. */
  receive(bytes: Uint8Array): Uint8Array {
    this.#typed = new Uint8Array(bytes.length);
    this.#answer = [];
    for (const byte of bytes) this.#take(byte);
    this.#passOn();
    return Uint8Array.from(this.#answer);
  }

  #take(byte: number): void {
    switch (this.#state) {
      case 'data':
        if (byte === COMMAND) this.#state = 'command';
        else this.#type(byte);
        break;
      case 'command':
        this.#command(byte);
        break;
      case 'option':
        this.#state = 'data';
        this.#negotiate(byte);
        break;
      case 'parameters':
        if (byte === COMMAND) this.#state = 'command in parameters';
        else this.#parameter(byte);
        break;
      case 'command in parameters':
        this.#commandInParameters(byte);
        break;
    }
  }

  #command(byte: number): void {
    this.#state = 'data';
    switch (byte) {
      case COMMAND:
        this.#type(byte);
        break;
      case BREAK:
        this.#passOn();
        this.#seat.sendBreak();
        break;
      case PARAMETERS:
        this.#parameters = [];
        this.#state = 'parameters';
        break;
      case WILL:
      case WONT:
      case DO:
      case DONT:
        this.#verb = byte;
        this.#state = 'option';
        break;
    }
  }

  /** A client that is not binary sends Return as CR NUL or CR LF. */
  #type(byte: number): void {
    const isFiller = this.#isAfterReturn && (byte === NUL || byte === LINE_FEED);
    this.#isAfterReturn = byte === RETURN && !this.#theirs.isOn(BINARY);
    if (!isFiller) this.#typed[this.#typedLength++] = byte;
  }

  #negotiate(option: number): void {
    if (this.#answersLeft === 0) return;
    const state = this.#verb === WILL || this.#verb === DO ? 'on' : 'off';
    const isOwn = this.#verb === DO || this.#verb === DONT;
    const answer = (isOwn ? this.#own : this.#theirs).want(option, state);
    if (answer === undefined) return;
    this.#answersLeft--;
    if (answer === 'agreed') this.#answer.push(COMMAND, isOwn ? WILL : DO, option);
    else this.#answer.push(COMMAND, isOwn ? WONT : DONT, option);
  }

  #parameter(byte: number): void {
    if (this.#parameters.length < MOST_PARAMETERS) this.#parameters.push(byte);
  }

  #commandInParameters(byte: number): void {
    if (byte === COMMAND) {
      this.#state = 'parameters';
      this.#parameter(byte);
    } else if (byte === END_OF_PARAMETERS) {
      this.#state = 'data';
      this.#useParameters(this.#parameters);
    } else {
      // The client has broken the parameters off.
      this.#command(byte);
    }
  }

  #useParameters([option, ...values]: readonly number[]): void {
    if (!this.#asksForWindow || option !== WINDOW_SIZE || values.length + 1 !== WINDOW_SIZE_LENGTH) return;
    const [wide = 0, width = 0, high = 0, height = 0] = values;
    this.#passOn();
    this.#seat.resize(wide * 256 + width, high * 256 + height);
  }

  /** Types what the client has typed up to here. */
  #passOn(): void {
    if (this.#typedLength === 0) return;
    this.#seat.type(this.#typed.subarray(0, this.#typedLength));
    this.#typed = this.#typed.subarray(this.#typedLength);
    this.#typedLength = 0;
  }
}
