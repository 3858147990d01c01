/** The one place where an error becomes a status and a body. Every body has `code`, `message` and `status`. */
import { INTERNAL_ERROR, isRefusal, Refusal } from '../base/errors/errors.js';
import type { Headers } from './answer.js';
import { END_OF_SESSION } from './credentials.js';
import type { Exchange } from './exchange.js';
import { MalformedJson } from './json-body.js';

interface ErrorAnswer {
  readonly status: number;
  readonly json: string;
  /** Whether it is a fault of this server, which belongs into the log. */
  readonly isFault: boolean;
}

const LONGEST_ECHO = 4096;
const SECRETS = new Set(['iourc_content', 'password']);
/** A body without this has no secrets. A key may be written with escapes of letters. */
const MAYBE_SECRET = /"(?:iourc_content|password)"|\\u00[4-7]/i;

export function errorAnswer(error: unknown, exchange: Exchange): ErrorAnswer {
  if (!(error instanceof Refusal)) {
    const message = `Internal error in request ${exchange.id}: the server's log has the details`;
    const { status, code } = INTERNAL_ERROR;
    return { status, json: JSON.stringify({ code, message, status }), isFault: true };
  }
  const { status, code, message, details } = error;
  const body =
    status === 400
      ? {
          code,
          ...details,
          message,
          method: exchange.method,
          path: exchange.template ?? exchange.path,
          request: echo(error, exchange.body),
          status,
        }
      : { code, ...details, message, status };
  return { status, json: JSON.stringify(body), isFault: false };
}

/** The further headers of the answer. */
export function errorHeaders(error: unknown, { isFromConsole }: Exchange): Headers {
  if (!(error instanceof Refusal)) return [];
  if (isRefusal(error, 'unauthorized')) {
    // A browser would ask for a password itself, where the console has a page for it.
    return isFromConsole ? [] : [['WWW-Authenticate', 'Basic realm="GNS3 server"']];
  }
  if (isRefusal(error, 'session_ended')) return [END_OF_SESSION];
  const { retryAfterSeconds } = error;
  return retryAfterSeconds === undefined ? [] : [['Retry-After', String(retryAfterSeconds)]];
}

/** The body that the client sent, without secrets and within bounds. */
function echo(error: Refusal, body: unknown): unknown {
  if (error instanceof MalformedJson) return { malformed_json: error.text.slice(0, LONGEST_ECHO) };
  if (body === undefined || body === null) return {};
  const text = shownStart(body, LONGEST_ECHO + 1);
  return text.length > LONGEST_ECHO ? { truncated: text.slice(0, LONGEST_ECHO) } : JSON.parse(text);
}

/** Whether a JSON text may have secrets. */
export function mayHaveSecrets(json: string): boolean {
  return MAYBE_SECRET.test(json);
}

/**
 * A parsed body with passwords replaced by stars. Only what leads to one is copied: to write all of a large body anew would hold
 * the HTTP thread.
 */
export function withoutSecrets(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  if (Array.isArray(body)) {
    let copy: unknown[] | undefined;
    for (const [index, member] of body.entries()) {
      const shown = withoutSecrets(member);
      if (shown !== member) (copy ??= [...(body as unknown[])])[index] = shown;
    }
    return copy ?? body;
  }
  const members = body as Readonly<Record<string, unknown>>;
  let changed: Map<string, unknown> | undefined;
  for (const key of Object.keys(members)) {
    const member = members[key];
    const shown = SECRETS.has(key) ? '***' : withoutSecrets(member);
    if (shown !== member) (changed ??= new Map<string, unknown>()).set(key, shown);
  }
  if (changed === undefined) return body;
  const pairs = Object.entries(members).map(([key, member]) => [key, changed.get(key) ?? member]);
  return Object.fromEntries(pairs) as unknown;
}

/** The JSON text of a body without secrets, from its start to at least this length: a large body is not walked to its end. */
export function shownStart(body: unknown, length: number): string {
  let text = '';
  const write = (value: unknown): void => {
    if (Array.isArray(value)) writeAll('[]', value.entries());
    else if (typeof value === 'object' && value !== null) writeAll('{}', Object.entries(value));
    else text += JSON.stringify(typeof value === 'string' ? value.slice(0, length) : value);
  };
  const writeAll = (brackets: '[]' | '{}', members: Iterable<readonly [number | string, unknown]>): void => {
    text += brackets.slice(0, 1);
    let before = '';
    for (const [key, member] of members) {
      if (text.length >= length) return;
      text += brackets === '{}' ? `${before}${JSON.stringify(key)}:` : before;
      write(SECRETS.has(String(key)) ? '***' : member);
      before = ',';
    }
    text += brackets.slice(1);
  };
  write(body);
  return text;
}
