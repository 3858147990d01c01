/**
 * The word of a server of the farm to the owner of a scope about a request that it forwards: who asks, and from where. It
 * stands in a header, and another has its signature, which is of this one request to that one server.
 */
import type { HttpRequest } from 'uWebSockets.js';
import { z } from 'zod';
import type { HopCredential } from './hop-credential.js';

const SIGNATURE = 'x-wirefarm-signature';
const HOP = 'x-wirefarm-hop';
/** No client may send these to a server of a farm. */
export const HOP_HEADERS: readonly string[] = [SIGNATURE, HOP];

const hop = z.object({
  /** The id of the request, under which both servers log it. */
  id: z.string().regex(/^[\w-]{1,64}$/),
  /** The address of the client. */
  address: z.string().max(64),
  scheme: z.enum(['http', 'https']),
  ticketId: z.string().max(64).optional(),
  pass: z.object({
    as: z.enum(['anyone', 'everybody', 'admin', 'user']),
    name: z.string().max(200),
    userId: z.string().max(64).optional(),
    tokenId: z.string().max(64).optional(),
    sessionId: z.string().max(64).optional(),
  }),
});

export type Hop = z.output<typeof hop>;

/** A request from one server to another. */
interface Passage {
  /** The name of the server that gets it. */
  readonly to: string;
  readonly method: string;
  /** The path with its query. */
  readonly target: string;
}

/** The headers of a forwarded request, names and values in turn. */
export function hopHeaders(credential: HopCredential, told: Hop, passage: Passage): string[] {
  const text = Buffer.from(JSON.stringify(told)).toString('base64url');
  return [HOP, text, SIGNATURE, credential.sign(signed(text, passage))];
}

/**
 * The word of another server of the farm to this one; undefined for a request of a client. One without a true signature is
 * malformed: it is nobody's, so that it cannot go around between servers that do not know each other.
 */
export function readHop(
  credential: HopCredential,
  request: HttpRequest,
  to: string,
): Hop | 'malformed' | undefined {
  const text = request.getHeader(HOP);
  const signature = request.getHeader(SIGNATURE);
  if (text === '' && signature === '') return undefined;
  const [method, path] = [request.getMethod().toUpperCase(), request.getUrl()];
  // Without a query the library returns undefined, which its types do not say.
  const query = (request.getQuery() as string | undefined) ?? '';
  const passage = { to, method, target: query === '' ? path : `${path}?${query}` };
  if (!credential.hasSigned(signed(text, passage), signature)) return 'malformed';
  const told = hop.safeParse(parsed(text));
  return told.success ? told.data : 'malformed';
}

function signed(text: string, { to, method, target }: Passage): string[] {
  return [to, method, target, text];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
