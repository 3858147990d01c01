/** WebSockets to the owners of scopes. */
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { refusals } from '../../base/errors/errors.js';
import { relayedHead } from './forwarded-headers.js';
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
import { OWNER_CHANGES, queryForNextOwner, takeOver } from './take-over.js';
import { held, Tunnel } from '../streams/tunnel.js';

const HANDSHAKE_MS = 10_000;
/** Far more than any frame of a server. */
const LARGEST_FRAME = 16 * 1024 * 1024;
/** The bound of an answer that is no WebSocket. */
const LARGEST_ANSWER = 64 * 1024;
const COMPLETE = 1000;

interface TunnelJourney extends Journey {
  /** Whether the owner wants the frames of the client. */
  readonly isDuplex: boolean;
}

/** The outcome of a request for a WebSocket. */
type Opening = WebSocket | IncomingMessage | 'failed';

export class OwnerTunnels {
  readonly #options: JourneyOptions;

  constructor(options: JourneyOptions) {
    this.#options = options;
  }

  /** A tunnel to the owner; undefined when that one has answered with something else, which the client has then. */
  async open(journey: TunnelJourney): Promise<Tunnel | undefined> {
    const { exchange, owner, isDuplex, goesOn } = journey;
    const { legs } = this.#options;
    if (legs.size >= MOST_LEGS) throw refusals.tooBusy();
    exchange.owner = owner.id;
    const opening = await this.#ask(journey, exchange.query);
    if (opening === 'failed') throw await refusalFor(journey, false);
    if (!isSocket(opening)) {
      await relay(opening, journey);
      return undefined;
    }
    const tunnel: Tunnel = new Tunnel(opening, {
      isDuplex,
      onLost: goesOn ? () => void this.#takeOver(journey, tunnel, leg) : undefined,
      ended: () => legs.delete(leg),
    });
    const leg: Leg = {
      ...{ scope: journey.scope, owner: owner.id },
      look: (hasMoved, now) => {
        tunnel.look(hasMoved, now);
      },
    };
    legs.add(leg);
    if (exchange.isGone) tunnel.gone();
    return tunnel;
  }

  async #takeOver(journey: TunnelJourney, tunnel: Tunnel, leg: Leg): Promise<void> {
    const { exchange, scope } = journey;
    const query = queryForNextOwner(exchange.query);
    const goesOn = await takeOver({
      ...this.#options,
      scope,
      isWanted: () => tunnel.isOpen,
      attempt: async (owner, tell) => {
        const opening = await this.#ask({ ...journey, owner }, query);
        if (opening === 'failed') return 'failed';
        if (isSocket(opening)) {
          leg.owner = owner.id;
          tell();
          tunnel.goOnWith(opening);
          return 'open';
        }
        opening.destroy();
        return opening.statusCode === UNAVAILABLE ? 'failed' : 'refused';
      },
      tell: () => {
        tunnel.tell(OWNER_CHANGES);
      },
    });
    if (!goesOn) tunnel.end(COMPLETE, '');
  }

  #ask(journey: Journey, query: string): Promise<Opening> {
    const { exchange, owner } = journey;
    const target = targetOf({ path: exchange.path, query });
    const socket = new WebSocket(`${owner.address.replace(/^http/, 'ws')}${target}`, {
      headers: pairs(headersOf(journey, target, this.#options.hops)),
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: LARGEST_FRAME,
      perMessageDeflate: false,
      skipUTF8Validation: true,
      followRedirects: false,
    });
    exchange.atEnd(() => {
      if (exchange.isGone && socket.readyState === socket.CONNECTING) socket.terminate();
    });
    return new Promise((resolve) => {
      socket.once('open', () => {
        resolve(held(socket));
      });
      socket.once('unexpected-response', (_request, answer) => {
        resolve(answer);
      });
      socket.on('error', () => {
        resolve('failed');
      });
    });
  }
}

function isSocket(opening: WebSocket | IncomingMessage): opening is WebSocket {
  return 'readyState' in opening;
}

/** Gives the client what the owner has answered. */
async function relay(answer: IncomingMessage, journey: Journey): Promise<void> {
  const { exchange } = journey;
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Buffer>) {
      length += piece.length;
      if (length > LARGEST_ANSWER) break;
      pieces.push(piece);
    }
  } catch {
    throw await refusalFor(journey, true);
  }
  const { headers } = relayedHead(answer.rawHeaders.map((text) => Buffer.from(text, 'latin1')));
  exchange.answerBytes(answer.statusCode ?? UNAVAILABLE, headers, Buffer.concat(pieces));
}

function pairs(headers: readonly string[]): Record<string, string> {
  const names = headers.filter((_text, index) => index % 2 === 0);
  return Object.fromEntries(names.map((name, index) => [name, headers[index * 2 + 1] ?? '']));
}
