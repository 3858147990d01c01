/** The roles of users, and what each may do at most. */
import { RIGHTS, type Right } from '../../base/rights.js';

export const ROLES = ['admin', 'operator', 'auditor'] as const;

export type Role = (typeof ROLES)[number];

const RIGHTS_OF: Readonly<Record<Role, ReadonlySet<Right>>> = {
  admin: new Set(RIGHTS),
  operator: new Set(RIGHTS.filter((right) => !right.startsWith('users:'))),
  auditor: new Set(RIGHTS.filter((right) => right.endsWith(':read') || right === 'metrics')),
};

export function rightsOf(role: Role): ReadonlySet<Right> {
  return RIGHTS_OF[role];
}
