/**
 * The scope of a route: what of a farm it acts on. A server on its own serves all of them; in a farm a request goes to the
 * server that owns its scope.
 */

/**
 * `project`: the project that the path parameter `project_id` names. `farm`: what belongs to all servers together, such as
 * accounts and templates. `here`: the very server that was asked. `any`: every server gives the same answer.
 */
export type RouteScope = 'project' | 'farm' | 'here' | 'any';

/** A route, or a WebSocket path, with its scope. */
export type Scoped<Head> = Head & { readonly scope: RouteScope };

const OF_COMPUTE = '/v2/compute/';
const OF_PROJECT = '/{project_id}';

interface PlacedHead {
  readonly path: string;
  readonly scope?: RouteScope | undefined;
  readonly isFollowed?: boolean | undefined;
}

/** Gives each of the routes its scope: its own, that which its path or what it answers from tells, or else this one. */
export function placed<Head extends PlacedHead>(scope: RouteScope, routes: readonly Head[]): Scoped<Head>[] {
  return routes.map((route) => ({ ...route, scope: route.scope ?? toldScope(route) ?? scope }));
}

function toldScope({ path, isFollowed = false }: PlacedHead): RouteScope | undefined {
  if (isFollowed) return 'any';
  if (path.startsWith(OF_COMPUTE)) return 'here';
  return path.includes(OF_PROJECT) ? 'project' : undefined;
}
