/** Moves the bytes of a source to one client: at the client's pace, in turns with all other streams. */
import { LARGEST_PIECE, type TailSource } from './tail-source.js';
import { askForTurn, giveUpTurn, type TurnTaker } from './stream-turns.js';

/** The client's end of it. */
export interface TailSink {
  /** Sends one piece; false when nothing more is to be sent until the flow is told to go on. */
  send(bytes: Uint8Array): boolean;
  /** Everything has been sent. */
  end(): void;
  /** The stream cannot go on; the client must be able to tell that from an end. */
  breakOff(error: unknown): void;
}

/** In one turn. */
const TURN_OCTETS = 256 * 1024;
/** What a call costs counts like octets, so that a turn has an end whatever the source gives. */
const COST_OF_A_CALL = 256;

let live = 0;

/** How many flows have not ended. */
export function liveTails(): number {
  return live;
}

export class TailFlow implements TurnTaker {
  readonly #source: TailSource;
  readonly #sink: TailSink;
  #state: 'sending' | 'waiting' | 'reading' | 'over' = 'sending';
  #isBlocked = false;
  #isFinishing = false;
  /** What was read and is not sent yet. */
  #owned: Uint8Array | undefined;
  #turnLeft = 0;

  constructor(source: TailSource, sink: TailSink) {
    this.#source = source;
    this.#sink = sink;
    live++;
    source.onReady(() => {
      if (this.#state !== 'waiting') return;
      this.#state = 'sending';
      askForTurn(this);
    });
    askForTurn(this);
  }

  /** The client has room again. */
  goOn(): void {
    if (!this.#isBlocked) return;
    this.#isBlocked = false;
    if (this.#canSend) askForTurn(this);
  }

  /** The stream ends as soon as the source has nothing at the moment: between two records. */
  finish(): void {
    this.#isFinishing = true;
    if (this.#state !== 'waiting') return;
    this.#state = 'sending';
    askForTurn(this);
  }

  /** The client has gone, or has been told the end. */
  stop(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#owned = undefined;
    live--;
    giveUpTurn(this);
    this.#source.close();
  }

  takeTurn(): boolean {
    this.#turnLeft = TURN_OCTETS;
    while (this.#canSend && this.#turnLeft > 0) {
      this.#turnLeft -= COST_OF_A_CALL;
      if (this.#owned === undefined) this.#pull();
      else this.#sendOwned(this.#owned);
    }
    return this.#canSend;
  }

  get #canSend(): boolean {
    return this.#state === 'sending' && !this.#isBlocked;
  }

  readonly #send = (bytes: Uint8Array): void => {
    const { length } = bytes;
    // To the library, a piece of no bytes is the end.
    if (length === 0) return;
    this.#turnLeft -= length;
    this.#isBlocked = !this.#sink.send(bytes);
  };

  #pull(): void {
    let result;
    try {
      result = this.#source.next(this.#send);
    } catch (error) {
      this.#breakOff(error);
      return;
    }
    if (result === 'given') return;
    if (result === 'over' || (result === 'nothing' && this.#isFinishing)) this.#end();
    else if (result === 'nothing') this.#state = 'waiting';
    else this.#read(result);
  }

  #read(reading: Promise<Uint8Array>): void {
    this.#state = 'reading';
    reading.then(
      (bytes) => {
        if (this.#state !== 'reading') return;
        this.#state = 'sending';
        this.#owned = bytes;
        if (this.#canSend) askForTurn(this);
      },
      (error: unknown) => {
        this.#breakOff(error);
      },
    );
  }

  #sendOwned(owned: Uint8Array): void {
    this.#send(owned.subarray(0, LARGEST_PIECE));
    this.#owned = owned.length > LARGEST_PIECE ? owned.subarray(LARGEST_PIECE) : undefined;
  }

  #end(): void {
    this.stop();
    this.#sink.end();
  }

  #breakOff(error: unknown): void {
    if (this.#state === 'over') return;
    this.stop();
    this.#sink.breakOff(error);
  }
}
