/** Sessions of browsers: signing in by a form, and out. */
import { z } from 'zod';
import { isRefusal, refusals } from '../base/errors/errors.js';
import { empty, json } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { END_OF_SESSION, sessionHeader } from '../http/credentials.js';
import type { Gate } from '../http/gate.js';
import { route, type Route } from '../http/route.js';
import type { Sessions } from '../lab/access/sessions.js';
import type { Users } from '../lab/access/users.js';
import { nothing } from './schemas.js';
import { session } from './shapes/accounts.js';
import { shownCaller } from './users.js';

const tag = 'Users';
const path = '/v2/session';
/** Without a colon, at which HTTP Basic cuts: a name with one is nobody's. */
const name = z
  .string()
  .max(64)
  .regex(/^[^:]*$/, 'must not have a colon');
const signIn = z.strictObject({ user: name, password: z.string().max(1024) });

export function sessionRoutes(gate: Gate, users: Users, sessions: Sessions): Route[] {
  const shown = (caller: Caller, id = caller.sessionId): z.output<typeof session> => {
    const end = id === undefined ? undefined : sessions.endOf(id);
    return { ...shownCaller(caller), expires_at: end === undefined ? null : new Date(end).toISOString() };
  };
  return [
    route({
      method: 'POST',
      path,
      tag,
      access: 'anyone',
      summary: 'Sign in: the answer gives the browser a session, which ends twelve hours after its last use',
      params: nothing,
      body: signIn,
      answers: { 201: session },
      handle: async ({ body, exchange }) => {
        const { address, scheme } = exchange;
        const caller = await gate.signIn(body.user, body.password, address).catch(withoutChallenge);
        exchange.caller = caller;
        if (caller.tokenId !== undefined) throw refusals.passwordNeeded();
        const user = caller.userId === undefined ? undefined : users.find(caller.userId);
        const { id, secret } = await sessions.begin(user);
        const headers = [sessionHeader(secret, gate.isSecure(scheme))];
        return { ...json(201, shown(caller, id)), headers };
      },
    }),
    route({
      method: 'GET',
      path,
      tag,
      access: 'signed in',
      summary: 'Show who asks, the rights of these credentials, and until when the session lasts',
      params: nothing,
      answers: { 200: session },
      handle: ({ exchange: { caller } }) => json(200, shown(caller)),
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      access: 'signed in',
      summary: 'Sign out: this session ends, and no other of the same user',
      params: nothing,
      answers: { 204: null },
      handle: async ({ exchange: { caller } }) => {
        if (caller.sessionId === undefined) throw refusals.sessionMissing();
        await sessions.end(caller.sessionId);
        return empty(204, [END_OF_SESSION]);
      },
    }),
  ];
}

/** Browsers ask for a password themselves when an answer has the challenge of `unauthorized`. */
function withoutChallenge(error: unknown): never {
  throw isRefusal(error, 'unauthorized') ? refusals.signInWrong() : error;
}
