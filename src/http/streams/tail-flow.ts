/** Moves the bytes of a source to one client: at the client's pace, in turns with all other streams. */
import { askForTurn, giveUpTurn, type TurnTaker } from './long-stream.js';

/** At most so many bytes are written at once. */
export const LARGEST_PIECE = 64 * 1024;

/** A live stream is pulled from its source, which has bytes now and then, until it is over. */
export interface TailSource {
  /**
   * Gives the next bytes in one of two ways. Either it calls `use` within the call, with at most LARGEST_PIECE bytes
   * that are valid only during that call, and returns `given`; or it returns a promise of bytes that are valid
   * until the next call. It returns `nothing` when there is nothing at the moment, and `over` at the end of the stream. A promise
   * that rejects breaks the stream off.
   */
  next(use: (bytes: Uint8Array) => void): 'given' | 'nothing' | 'over' | Promise<Uint8Array>;
  /** Called once, before any other method. After each `nothing` the source calls `callback` when it has more. */
  onReady(callback: () => void): void;
  /** Called once, as the last method. A promise may still be under way. */
  close(): void;
}

/** The client's end of a flow. */
export interface TailSink {
  /** Sends one piece; false when nothing more is to be sent before `goOn` of the flow. */
  send(bytes: Uint8Array): boolean;
  /** Everything has been sent. */
  end(): void;
  /** The stream cannot go on; the client must be able to tell that from an end. */
  breakOff(error: unknown): void;
}

/** So many bytes are sent in one turn. */
const TURN_BYTES = 256 * 1024;
/** Each call counts like so many bytes, so that a turn ends even when the source gives few or none. */
const COST_OF_A_CALL = 256;

let live = 0;

/** The number of flows that have not ended. */
export function liveTails(): number {
  return live;
}

export class TailFlow implements TurnTaker {
  readonly #source: TailSource;
  readonly #sink: TailSink;
  #state: 'sending' | 'waiting' | 'reading' | 'over' = 'sending';
  #isBlocked = false;
  #isFinishing = false;
  /** Bytes that have been read and not been sent yet. */
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

  /** Ends the stream as soon as the source has nothing at the moment, which is between two records. */
  finish(): void {
    this.#isFinishing = true;
    if (this.#state !== 'waiting') return;
    this.#state = 'sending';
    askForTurn(this);
  }

  /** The client has gone, or the end has been sent. */
  stop(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#owned = undefined;
    live--;
    giveUpTurn(this);
    this.#source.close();
  }

  takeTurn(): boolean {
    this.#turnLeft = TURN_BYTES;
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
    // For the library, an empty piece is the end of the response.
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
