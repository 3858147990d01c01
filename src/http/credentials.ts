/** The credentials of a request: the header of programs, or the session of a browser, which is in a cookie. */
import type { HttpRequest } from 'uWebSockets.js';
import type { Headers } from './answer.js';

export interface Credentials {
  /** The header Authorization, which counts before all others; empty without one. */
  readonly authorization: string;
  /** The secret of a session; empty without one. */
  readonly session: string;
  /** Whether the request may change something. */
  readonly acts: boolean;
}

const COOKIE = 'wf_session';
const IN_COOKIES = /(?:^|; *)wf_session=([\w-]{1,100})(?:;|$)/;
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

export function credentialsOf(request: HttpRequest, acts: boolean): Credentials {
  const [, session = ''] = IN_COOKIES.exec(request.getHeader('cookie')) ?? [];
  return { authorization: request.getHeader('authorization'), session, acts };
}

/** The header that gives a session to a browser, which forgets it when it is closed. */
export function sessionHeader(secret: string, isSecure: boolean): Headers[number] {
  return ['Set-Cookie', `${COOKIE}=${secret}; ${ATTRIBUTES}${isSecure ? '; Secure' : ''}`];
}

/** The header that takes a session from a browser. */
export const END_OF_SESSION: Headers[number] = ['Set-Cookie', `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`];
