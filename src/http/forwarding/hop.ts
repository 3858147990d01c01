/**
 * The word of a server of the farm to the owner of a scope about a request that it forwards: who asks, and from where. It
 * stands in a header, and another has its signature, which is of this one request to that one server, once.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { z } from 'zod';
import type { HopCredential } from './hop-credential.js';
import { HopNumbers } from './hop-numbers.js';
import type { OwningServer, OwnServer } from './scope-owners.js';

const SIGNATURE = 'x-wirefarm-signature';
const HOP = 'x-wirefarm-hop';
/** No client may send these to a server of a farm. */
export const HOP_HEADERS: readonly string[] = [SIGNATURE, HOP];

const number = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const hop = z.object({
  /** The id of the request, under which both servers log it. */
  id: z.string().regex(/^[\w-]{1,64}$/),
  /** The address of the client. */
  address: z.string().max(64),
  scheme: z.enum(['http', 'https']),
  ticketId: z.string().max(64).optional(),
  pass: z.object({
    as: z.enum(['anyone', 'everybody', 'admin', 'user', 'server']),
    name: z.string().max(200),
    userId: z.string().max(64).optional(),
    tokenId: z.string().max(64).optional(),
    sessionId: z.string().max(64).optional(),
  }),
});
/** By this each word counts once. */
const stamp = z.object({
  /** The life of the server that gets it: what was for an earlier one counts no more. */
  life: z.string().max(64),
  /** The server that has sent it, and its start. */
  from: z.string().min(1).max(64),
  start: number,
  /** Grows from one word of that server to the next. */
  number,
});
const stampedHop = hop.extend({ stamp });

export type Hop = z.output<typeof hop>;

/** The names of the refusals of a word that does not count. */
export type HopFault = 'hopMalformed' | 'hopOutdated' | 'hopUsed';

/** A request from one server to another. */
interface Passage {
  readonly to: OwningServer;
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
}

interface HopsOptions {
  readonly credential: HopCredential;
  /** This server, once it listens. */
  readonly own: () => OwnServer;
}

/** The words that this server gives to others, and those that it gets. */
export class Hops {
  readonly #options: HopsOptions;
  readonly #taken = new HopNumbers();
  #given = 0;

  constructor(options: HopsOptions) {
    this.#options = options;
  }

  /** The headers of a forwarded request, names and values in turn. */
  headers(told: Hop, { to, method, target }: Passage): string[] {
    const { credential, own } = this.#options;
    const { id: from, start } = own();
    const word = { ...told, stamp: { life: to.life, from, start, number: this.#given++ } };
    const text = Buffer.from(JSON.stringify(word)).toString('base64url');
    return [HOP, text, SIGNATURE, credential.sign([to.id, method, target, text])];
  }

  /**
   * The word of another server of the farm to this one; undefined for a request of a client. One without a true signature is
   * malformed: it is nobody's, so that it cannot go around between servers that do not know each other. One that was sent to
   * an earlier life of this server, or by an earlier life of another, is outdated; none counts a second time.
   */
  read(request: HttpRequest): Hop | HopFault | undefined {
    const text = request.getHeader(HOP);
    const signature = request.getHeader(SIGNATURE);
    if (text === '' && signature === '') return undefined;
    const { credential, own } = this.#options;
    const { id, life } = own();
    const [method, path] = [request.getMethod().toUpperCase(), request.getUrl()];
    // Without a query the library returns undefined, which its types do not say.
    const query = (request.getQuery() as string | undefined) ?? '';
    const target = query === '' ? path : `${path}?${query}`;
    if (!credential.hasSigned([id, method, target, text], signature)) return 'hopMalformed';
    const told = stampedHop.safeParse(parsed(text));
    if (!told.success) return 'hopMalformed';
    const { stamp: mark, ...word } = told.data;
    return mark.life === life ? (this.#taken.take(mark) ?? word) : 'hopOutdated';
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
