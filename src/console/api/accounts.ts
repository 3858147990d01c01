/** Users and tokens. */
import type { ShownTokenShape, TokenShape, UserShape } from '../../api/shapes/accounts.js';
import type { Right } from '../../base/rights.js';
import { segment, type Call } from './call.js';

export type UserRole = UserShape['role'];

interface UserFields {
  readonly name?: string;
  readonly role?: UserRole;
  readonly password?: string | null;
  readonly quota?: UserShape['quota'];
}

interface TokenFields {
  readonly name: string;
  readonly rights: readonly Right[] | null;
  readonly projects: readonly string[] | null;
  readonly expires_at: string | null;
}

const users = 'v2/users';
const tokens = 'v2/tokens';

export const listUsers = (): Call<UserShape[]> => ({ method: 'GET', path: users });

export const createUser = (fields: Required<Omit<UserFields, 'quota'>>): Call<UserShape> => ({
  method: 'POST',
  path: users,
  body: fields,
});

export const updateUser = (id: string, fields: UserFields): Call<UserShape> => ({
  method: 'PUT',
  path: `${users}/${segment(id)}`,
  body: fields,
});

export const deleteUser = (id: string): Call<void> => ({ method: 'DELETE', path: `${users}/${segment(id)}` });

export const listTokens = (): Call<TokenShape[]> => ({ method: 'GET', path: tokens });

export const createToken = (fields: TokenFields): Call<ShownTokenShape> => ({
  method: 'POST',
  path: tokens,
  body: fields,
});

export const deleteToken = (id: string): Call<void> => ({
  method: 'DELETE',
  path: `${tokens}/${segment(id)}`,
});
