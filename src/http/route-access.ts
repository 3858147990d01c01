/** The rule of a route: who may call it. */
import { refusals } from '../base/errors/errors.js';
import type { Grant, Right } from '../base/rights.js';
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

/** Refuses (403) a caller without the right of the route. */
export function checkAccess(caller: Caller, access: RouteAccess): void {
  if (typeof access === 'string') return;
  if (!caller.has(access.right)) throw refusals.rightMissing(access.right);
}
