/** The roles of users, and what each may do at most. */
import { RIGHTS, type Grant, type Right } from '../../base/rights.js';

export const ROLES = ['admin', 'operator', 'user', 'auditor'] as const;

export type Role = (typeof ROLES)[number];

const RIGHTS_OF: Readonly<Record<Role, ReadonlySet<Right>>> = {
  admin: new Set(RIGHTS),
  operator: new Set(RIGHTS.filter((right) => !right.startsWith('users:'))),
  user: new Set([
    ...(['projects:read', 'projects:write', 'run', 'console', 'capture'] as const),
    ...(['templates:read', 'images:read', 'computes:read'] as const),
  ]),
  auditor: new Set(RIGHTS.filter((right) => right.endsWith(':read') || right === 'metrics')),
};

export function rightsOf(role: Role): ReadonlySet<Right> {
  return RIGHTS_OF[role];
}

/** The grants that roles have on every project. */
const GRANT_ON_ALL: Readonly<Record<Role, Grant | undefined>> = {
  admin: 'owner',
  operator: 'owner',
  user: undefined,
  auditor: 'view',
};

export function grantOnAll(role: Role): Grant | undefined {
  return GRANT_ON_ALL[role];
}
