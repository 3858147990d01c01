/** Users and tokens: those of everybody for admins, and one's own. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import { RIGHTS } from '../base/rights.js';
import { empty, json } from '../http/answer.js';
import type { Caller } from '../http/caller.js';
import { route, type Route } from '../http/route.js';
import type { Token, User } from '../lab/access/access-records.js';
import { userName, userPassword, userRole } from '../lab/access/account-form.js';
import type { Tokens } from '../lab/access/tokens.js';
import type { Users } from '../lab/access/users.js';
import { limits } from '../lab/quotas/resources.js';
import { text, uuid } from '../lab/gns3-file/topology-schema.js';
import { names, nothing } from './schemas.js';
import { account, shownToken, token, user } from './shapes/accounts.js';

const tag = 'Users';
/** A token names so many projects at most. */
const MOST_PROJECTS = 1000;

const time = z.iso.datetime();

const newUser = z.strictObject({
  name: userName,
  role: userRole,
  password: userPassword.nullable().default(null),
  quota: limits.default({}),
});
const changedUser = z.strictObject({
  name: userName.optional(),
  role: userRole.optional(),
  password: userPassword.nullable().optional(),
  quota: limits.optional(),
});
const newToken = z.strictObject({
  name: text(1, 64),
  rights: z.array(z.enum(RIGHTS)).max(RIGHTS.length).nullable().default(null),
  projects: z.array(uuid).max(MOST_PROJECTS).nullable().default(null),
  expires_at: time.nullable().default(null),
});

export function userRoutes(users: Users, tokens: Tokens): Route[] {
  const one = names('user_id');
  return [
    route({
      method: 'GET',
      path: '/v2/users',
      isFollowed: true,
      tag,
      access: { right: 'users:read' },
      summary: 'List the users',
      params: nothing,
      answers: { 200: z.array(user) },
      handle: () => json(200, users.list().map(shownUser)),
    }),
    route({
      method: 'POST',
      path: '/v2/users',
      tag,
      access: { right: 'users:write' },
      summary: 'Create a user; from the first one on, the server asks for credentials',
      params: nothing,
      body: newUser,
      answers: { 201: user },
      handle: async ({ body }) => json(201, shownUser(await users.create(body))),
    }),
    route({
      method: 'GET',
      path: '/v2/users/{user_id}',
      isFollowed: true,
      tag,
      access: { right: 'users:read' },
      summary: 'Show a user',
      params: one,
      answers: { 200: user },
      handle: ({ params }) => json(200, shownUser(users.find(params.user_id))),
    }),
    route({
      method: 'PUT',
      path: '/v2/users/{user_id}',
      tag,
      access: { right: 'users:write' },
      summary: 'Change the name, the role, the password or the quota of a user, who signs in anew then',
      params: one,
      body: changedUser,
      answers: { 200: user },
      handle: async ({ params, body }) => json(200, shownUser(await users.update(params.user_id, body))),
    }),
    route({
      method: 'DELETE',
      path: '/v2/users/{user_id}',
      tag,
      access: { right: 'users:write' },
      summary: 'Delete a user with all tokens; the projects stay',
      params: one,
      answers: { 204: null },
      handle: async ({ params }) => {
        await users.remove(params.user_id);
        return empty(204);
      },
    }),
    ...ownRoutes(users),
    ...tokenRoutes(tokens),
  ];
}

function ownRoutes(users: Users): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/account',
      tag,
      access: 'signed in',
      summary: 'Show who asks, and the rights of these credentials',
      params: nothing,
      answers: { 200: account },
      handle: ({ exchange: { caller } }) => json(200, shownCaller(caller)),
    }),
    route({
      method: 'PUT',
      path: '/v2/account',
      tag,
      access: 'signed in',
      summary: "Change one's own password",
      params: nothing,
      body: z.strictObject({ password: userPassword }),
      answers: { 200: user },
      handle: async ({ body, exchange: { caller } }) =>
        json(200, shownUser(await users.update(ownIdOf(caller), body))),
    }),
  ];
}

function tokenRoutes(tokens: Tokens): Route[] {
  const shown = ({ digest, ...facts }: Token): z.output<typeof token> => ({
    ...facts,
    projects: facts.projects === null ? null : [...facts.projects],
    rights: facts.rights === null ? null : [...facts.rights],
    last_used_at: tokens.lastUse({ digest, ...facts }),
  });
  return [
    route({
      method: 'GET',
      path: '/v2/tokens',
      tag,
      access: 'signed in',
      summary: "List one's own tokens; those of all users with the right users:read",
      params: nothing,
      answers: { 200: z.array(token) },
      handle: ({ exchange: { caller } }) => {
        const found = caller.has('users:read') ? tokens.list() : ownTokens(tokens, caller);
        return json(200, found.map(shown));
      },
    }),
    route({
      method: 'POST',
      path: '/v2/tokens',
      tag,
      access: 'signed in',
      summary: "Create a token of one's own; only this answer shows it",
      params: nothing,
      body: newToken,
      answers: { 201: shownToken },
      handle: async ({ body, exchange: { caller } }) => {
        const [made, secret] = await tokens.create(ownIdOf(caller), body);
        return json(201, { ...shown(made), token: secret });
      },
    }),
    route({
      method: 'DELETE',
      path: '/v2/tokens/{token_id}',
      tag,
      access: 'signed in',
      summary: "Delete a token of one's own, or any with the right users:write: it is refused at once",
      params: names('token_id'),
      answers: { 204: null },
      handle: async ({ params: { token_id: id }, exchange: { caller } }) => {
        const isOwn = ownTokens(tokens, caller).some((own) => own.token_id === id);
        if (!isOwn && !caller.has('users:write')) throw refusals.tokenUnknown(id);
        await tokens.remove(id);
        return empty(204);
      },
    }),
  ];
}

function ownTokens(tokens: Tokens, { userId }: Caller): Token[] {
  return userId === undefined ? [] : tokens.list(userId);
}

/** Refuses callers whom the store does not have, and tokens: one that leaked must not make another that lives on. */
function ownIdOf({ userId, tokenId }: Caller): string {
  if (userId === undefined) throw refusals.accountNeeded();
  if (tokenId !== undefined) throw refusals.passwordNeeded();
  return userId;
}

export function shownCaller(caller: Caller): z.output<typeof account> {
  return {
    name: caller.name,
    rights: RIGHTS.filter((right) => caller.has(right)),
    token_id: caller.tokenId ?? null,
    user_id: caller.userId ?? null,
  };
}

function shownUser({ password: hash, ...facts }: User): z.output<typeof user> {
  return { ...facts, quota: facts.quota ?? {}, has_password: hash !== null };
}
