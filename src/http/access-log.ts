/**
 * The access log: one line for each request that has ended. Changes, refusals and slow answers are always told, and of the
 * requests that only read, one of so many. At the level `debug` all are.
 */
import { isChanging } from './dispatcher.js';
import type { Exchange } from './exchange.js';

/** An answer that takes longer to begin is slow. */
const SLOW_MS = 1000;
const LONGEST_TARGET = 1000;
const SECRET_NAME = /password|token|secret|ticket|authorization/i;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g;

type Level = 'debug' | 'info';

/** The lines of the access log. */
export interface RequestLines {
  isLevelEnabled(level: Level): boolean;
  /** Takes the text of a JSON object. */
  add(level: Level, facts: string): void;
}

export class AccessLog {
  readonly #log: RequestLines;
  /** The share of the reads that is told, as one of so many; 0 tells none. */
  readonly #sample: () => number;
  #reads = 0;

  constructor(log: RequestLines, sample: () => number) {
    this.#log = log;
    this.#sample = sample;
  }

  /** Call it when the exchange has ended. */
  ended(exchange: Exchange): void {
    const level = this.#isTold(exchange) ? 'info' : 'debug';
    if (!this.#log.isLevelEnabled(level)) return;
    const { id: req, caller, address, method, template: route, received, sent } = exchange;
    // One literal: objects of so many keys that are put together of others cost ten times of it.
    const facts = {
      req,
      trace: exchange.trace,
      user: caller.name,
      token: caller.tokenId,
      ticket: exchange.ticketId,
      address,
      method,
      route,
      owner: exchange.owner,
      path: shownTarget(exchange.path, exchange.query),
      status: exchange.isGone ? 'gone' : exchange.status,
      in: received,
      out: sent,
      ms: Math.round((performance.now() - exchange.startedAt) * 1000) / 1000,
    };
    this.#log.add(level, JSON.stringify(facts));
  }

  #isTold(exchange: Exchange): boolean {
    if (isChanging(exchange.method) || exchange.status >= 400) return true;
    const begunAt = exchange.answeredAt ?? performance.now();
    if (begunAt - exchange.startedAt > SLOW_MS) return true;
    const sample = this.#sample();
    return sample > 0 && this.#reads++ % sample === 0;
  }
}

/** The path and the query: bounded, without secrets, and without characters that could act on a terminal. */
export function shownTarget(path: string, query: string): string {
  const target = query === '' ? path : `${path}?${query.split('&').map(withoutSecret).join('&')}`;
  return target
    .slice(0, LONGEST_TARGET)
    .replace(CONTROL, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function withoutSecret(pair: string): string {
  const end = pair.indexOf('=');
  return end >= 0 && SECRET_NAME.test(decoded(pair.slice(0, end))) ? `${pair.slice(0, end)}=***` : pair;
}

/** A name that cannot be decoded is looked at as it is. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
