/** The rule of a route: who may call it. */
import { Refusal, refusals } from '../base/errors/errors.js';
import { grantFor, includesGrant, type Grant, type Right } from '../base/rights.js';
import type { Caller } from './caller.js';

/**
 * The callers that a route serves: anyone, without credentials; every account that has signed in; or those that have the
 * right. `project` is the path parameter that names a project, which the caller must be able to use so far; `grant` says
 * how far, when that is not what the right needs.
 */
export type RouteAccess =
  | 'anyone'
  | 'signed in'
  | { readonly right: Right; readonly project?: 'project_id'; readonly grant?: Grant };

/** Refuses a caller whom the route is not for: 404 for a project that is not to be seen, 403 otherwise. */
export function checkAccess(
  caller: Caller,
  access: RouteAccess,
  params: Readonly<Record<string, string>>,
): void {
  if (typeof access === 'string') return;
  const { right, project, grant = grantFor(right) } = access;
  const found = project === undefined ? undefined : checkSeen(caller, params[project] ?? '');
  if (!caller.has(right)) throw refusals.rightMissing(right);
  if (found !== undefined && grant !== undefined && !includesGrant(found, grant)) {
    throw refusals.grantMissing(grant);
  }
}

/** Whether a caller who was served may be served still. */
export function isServed(
  caller: Caller,
  access: RouteAccess,
  params: Readonly<Record<string, string>>,
): boolean {
  try {
    if (access !== 'anyone' && !caller.counts()) return false;
    checkAccess(caller, access, params);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

/** Returns the grant of the caller on the project. Refuses (404) one that is not to be seen, as one that is not there. */
export function checkSeen(caller: Caller, projectId: string): Grant {
  const grant = caller.grantOn(projectId);
  if (grant === undefined) throw refusals.projectUnknown(projectId);
  return grant;
}
