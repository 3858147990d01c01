/** The records of accounts in the store. */
import type { Key } from '../../base/store/store.js';
import type { Right } from '../../base/rights.js';
import type { Limits } from '../quotas/resources.js';
import { ABOUT_PROJECTS } from '../projects/records.js';
import type { Role } from './roles.js';

export interface User {
  readonly user_id: string;
  readonly name: string;
  readonly role: Role;
  /** The hash of the password; a user without one signs in by tokens only. */
  readonly password: string | null;
  readonly created_at: string;
  /** The limits of this user, in place of those of the settings. */
  readonly quota?: Limits;
}

export interface Token {
  readonly token_id: string;
  readonly user_id: string;
  readonly name: string;
  /** The SHA-256 digest of the token, in hexadecimal. */
  readonly digest: string;
  /** The rights that it has, as far as its owner has them; null is all of its owner. */
  readonly rights: readonly Right[] | null;
  /** The projects that it is for; null is all of its owner. */
  readonly projects: readonly string[] | null;
  readonly expires_at: string | null;
  readonly created_at: string;
}

/** Users who get grants together. */
export interface Group {
  readonly group_id: string;
  readonly name: string;
  /** The ids of users. */
  readonly members: readonly string[];
  /** The ids of users who deal labs to the members. */
  readonly teachers: readonly string[];
  readonly created_at: string;
}

/** The session of a browser. */
export interface Session {
  readonly session_id: string;
  readonly user_id: string;
  /** The SHA-256 digest of the secret, in hexadecimal. */
  readonly digest: string;
  /** The digest of the record of the user when the session began. */
  readonly user_digest: string;
  readonly created_at: string;
}

export const USERS: Key = ['user'];
export const TOKENS: Key = ['token'];
/** When tokens were used last, apart from them, because it is written often. */
export const TOKEN_USES: Key = ['token-use'];
export const SESSIONS: Key = ['session'];
export const SESSION_USES: Key = ['session-use'];
export const GRANTS_OF_PROJECTS: Key = ABOUT_PROJECTS.grants;
export const GROUPS: Key = ['group'];
export const GRANTS_OF_GROUPS: Key = ABOUT_PROJECTS.grantsOfGroups;

export const userKey = (userId: string): Key => [...USERS, userId];
export const tokensOf = (userId: string): Key => [...TOKENS, userId];
export const tokenKey = ({ user_id, token_id }: Token): Key => [...tokensOf(user_id), token_id];
export const usesOf = (userId: string): Key => [...TOKEN_USES, userId];
export const useKey = ({ user_id, token_id }: Token): Key => [...usesOf(user_id), token_id];
export const sessionKey = ({ user_id, session_id }: Session): Key => [...SESSIONS, user_id, session_id];
export const sessionUseKey = ({ user_id, session_id }: Session): Key => [
  ...SESSION_USES,
  user_id,
  session_id,
];
export const grantsOf = (projectId: string): Key => [...GRANTS_OF_PROJECTS, projectId];
export const groupKey = (groupId: string): Key => [...GROUPS, groupId];
export const groupGrantsOf = (projectId: string): Key => [...GRANTS_OF_GROUPS, projectId];
export const groupGrantKey = (projectId: string, groupId: string): Key => [
  ...groupGrantsOf(projectId),
  groupId,
];
export const grantKey = (projectId: string, userId: string): Key => [...grantsOf(projectId), userId];
