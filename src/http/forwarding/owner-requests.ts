/** HTTP requests to the owners of scopes, over connections that are kept. */
import type { Readable } from 'node:stream';
import { Pool, type Dispatcher } from 'undici';
import { refusals } from '../../base/errors/errors.js';
import type { Answer } from '../answer.js';
import { NO_TAKER, OwnerCall, type BodyTaker, type OwnersAnswer } from './owner-call.js';
import { forwardedBody } from './forwarded-body.js';
import {
  headersOf,
  MOST_LEGS,
  refusalFor,
  targetOf,
  UNAVAILABLE,
  type Journey,
  type JourneyOptions,
  type Leg,
} from './journey.js';
import { RelayedBytes, type BodySender } from './relayed-bytes.js';
import { RelayedLines } from './relayed-lines.js';
import { OWNER_CHANGES, queryForNextOwner, takeOver, type Attempt } from './take-over.js';

/** Answers up to this length leave as a whole. */
const GATHERED = 64 * 1024;
const CONNECT_MS = 2000;
const MOST_CONNECTING = 64;
/** Servers close connections that nothing uses after ten seconds. */
const KEPT_MS = 4000;
/** A request to a server that has lost the scope, and has sent nothing for so long, is given up. */
const QUIET_MS = 10_000;
const NO_CONTENT = new Set([204, 304]);
const OK = 200;

/** The end of a request. */
interface Outcome {
  readonly begun: () => void;
  readonly failed: (isSent: boolean) => void;
}

export class OwnerRequests {
  readonly #options: JourneyOptions;
  readonly #pools = new Map<string, Pool>();
  /** How many wait for a connection to their owner, and what waits for its turn to do so. */
  #connecting = 0;
  readonly #inLine: (() => void)[] = [];

  constructor(options: JourneyOptions) {
    this.#options = options;
  }

  /** Forwards a request whose body is held, and its answer, which has begun when this resolves. */
  async forward(journey: Journey): Promise<Answer> {
    const { exchange, owner, length } = journey;
    if (this.#options.legs.size >= MOST_LEGS) throw refusals.tooBusy();
    exchange.owner = owner.id;
    const body = await forwardedBody(exchange, length);
    const pool = this.#poolOf(owner.address);
    if (exchange.isGone) return 'streamed';
    const path = targetOf(exchange);
    const headers = headersOf(journey, path, this.#options.hops);
    if (isStream(body) && length !== undefined) headers.push('content-length', String(length));
    return new Promise((resolve, reject) => {
      const outcome: Outcome = {
        begun: () => {
          resolve('streamed');
        },
        failed: (isSent) => {
          refusalFor(journey, isSent).then(reject, reject);
        },
      };
      const call = this.#newCall(journey, outcome.failed, (answer, sender) =>
        this.#takerOf(journey, answer, sender, outcome),
      );
      exchange.atEnd(() => {
        if (exchange.isGone) call.abort();
      });
      const method = exchange.method as Dispatcher.HttpMethod;
      const target = { method, path, headers, body: body ?? null };
      this.#inTurn(() => pool.dispatch(target, call));
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  /** Starts a request when there are not too many that wait for a connection: a server takes only so many at a time. */
  #inTurn(start: () => void): void {
    if (this.#connecting >= MOST_CONNECTING) this.#inLine.push(start);
    else {
      this.#connecting++;
      start();
    }
  }

  readonly #connected = (): void => {
    const next = this.#inLine.shift();
    if (next === undefined) this.#connecting--;
    else next();
  };

  #newCall(
    { scope, owner, goesOn }: Journey,
    failed: (isSent: boolean) => void,
    answered: (answer: OwnersAnswer, sender: BodySender) => BodyTaker,
  ): OwnerCall {
    const { legs } = this.#options;
    const connected = this.#connected;
    const call = new OwnerCall({ connected, answered, failed, ended: () => legs.delete(leg) });
    const leg: Leg = {
      scope,
      owner: owner.id,
      look: (hasMoved, now) => {
        if (hasMoved && (goesOn || now - call.movedAt > QUIET_MS)) call.abort();
      },
    };
    legs.add(leg);
    return call;
  }

  /** Begins the answer to the client, but for a short one, which waits until it is whole. */
  #takerOf(journey: Journey, answer: OwnersAnswer, sender: BodySender, outcome: Outcome): BodyTaker {
    const { exchange, goesOn } = journey;
    const { status, headers, length } = answer;
    if (exchange.method === 'HEAD' || length === 0 || NO_CONTENT.has(status)) {
      exchange.answerHead(status, headers, NO_CONTENT.has(status) ? undefined : length);
      outcome.begun();
      return NO_TAKER;
    }
    if (length !== undefined && length <= GATHERED) return gathered(answer, journey, outcome);
    outcome.begun();
    if (length === undefined && goesOn && status === OK) return this.#linesOf(journey, answer, sender);
    const bytes = new RelayedBytes(sender);
    if (length === undefined) exchange.streamTail(undefined, bytes, headers, status);
    else exchange.streamSized(undefined, headers, length, bytes, status);
    return bytes;
  }

  #linesOf(journey: Journey, { headers }: OwnersAnswer, sender: BodySender): BodyTaker {
    const { exchange, scope } = journey;
    const { owners, own } = this.#options;
    const lines = new RelayedLines(sender, () => {
      void takeOver({
        ...{ owners, own, scope },
        isWanted: () => lines.isOpen,
        attempt: (next, tell) => this.#goOn({ ...journey, owner: next }, lines, tell),
        tell: () => {
          lines.tell(OWNER_CHANGES);
        },
      }).then((goesOn) => {
        if (!goesOn) lines.end();
      });
    });
    exchange.streamTail(undefined, lines, headers);
    return lines;
  }

  #goOn(journey: Journey, lines: RelayedLines, tell: () => void): Promise<Attempt> {
    const { exchange, owner } = journey;
    const pool = this.#poolOf(owner.address);
    const { path, query } = exchange;
    const target = targetOf({ path, query: queryForNextOwner(query) });
    const headers = headersOf(journey, target, this.#options.hops);
    return new Promise((resolve) => {
      const failed = (): void => {
        resolve('failed');
      };
      const call = this.#newCall(journey, failed, ({ status }, sender) => {
        if (status === OK) {
          tell();
          lines.goOnWith(sender);
          resolve('open');
          return lines;
        }
        resolve(status === UNAVAILABLE ? 'failed' : 'refused');
        return NO_TAKER;
      });
      this.#inTurn(() => pool.dispatch({ method: 'GET', path: target, headers }, call));
    });
  }

  #poolOf(url: string): Pool {
    const known = this.#pools.get(url);
    if (known !== undefined) return known;
    const pool = new Pool(url, {
      ...{ connections: null, pipelining: 1 },
      ...{ headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: KEPT_MS },
      connect: { timeout: CONNECT_MS },
    });
    this.#pools.set(url, pool);
    return pool;
  }
}

function isStream(body: Uint8Array | Readable | undefined): body is Readable {
  return body !== undefined && !(body instanceof Uint8Array);
}

function gathered({ status, headers }: OwnersAnswer, { exchange }: Journey, outcome: Outcome): BodyTaker {
  const pieces: Uint8Array[] = [];
  return {
    push: (piece) => {
      pieces.push(piece);
      return true;
    },
    complete: () => {
      const [only] = pieces;
      exchange.answerBytes(
        status,
        headers,
        pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces),
      );
      outcome.begun();
    },
    fail: () => {
      outcome.failed(true);
    },
  };
}
