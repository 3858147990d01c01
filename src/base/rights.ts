/** The words for what a caller may do: rights on resources of the server, and grants on projects. */

/** A `read` right changes nothing. */
export const RIGHTS = [
  'projects:read',
  'projects:write',
  /** Opens and closes projects, starts and stops nodes, suspends links and sets their filters. */
  'run',
  'console',
  'capture',
  /** Templates, symbols and appliances. */
  'templates:read',
  'templates:write',
  /** Images, and the uploads that become images or files of nodes. */
  'images:read',
  'images:write',
  'computes:read',
  'computes:write',
  /** The interface of computes, which knows projects of all owners. */
  'compute',
  /** Accounts and tokens of others; everybody has those of his own. */
  'users:read',
  'users:write',
  'metrics',
  'admin',
] as const;

export type Right = (typeof RIGHTS)[number];

/** How far somebody may use a project; each grant has those before it. */
export const GRANTS = ['view', 'use', 'edit', 'owner'] as const;

export type Grant = (typeof GRANTS)[number];

export function includesGrant(has: Grant, needed: Grant): boolean {
  return GRANTS.indexOf(has) >= GRANTS.indexOf(needed);
}

/** The grant that reaches further; undefined when there is neither. */
export function furtherGrant(one: Grant | undefined, other: Grant | undefined): Grant | undefined {
  return other === undefined || (one !== undefined && includesGrant(one, other)) ? one : other;
}

/** Rights that are used on a project, and the grant on it that each needs. */
const GRANT_FOR: Readonly<Partial<Record<Right, Grant>>> = {
  'projects:read': 'view',
  'projects:write': 'edit',
  run: 'use',
  console: 'use',
  capture: 'use',
};

export function grantFor(right: Right): Grant | undefined {
  return GRANT_FOR[right];
}
