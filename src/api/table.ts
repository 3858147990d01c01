/** The route table: every path of the server. A new resource adds its file and one line here. */
import { jsonText } from '../http/answer.js';
import { openApi } from '../http/openapi.js';
import { route, type RouteTable } from '../http/route.js';
import type { Farm } from '../lab/farm.js';
import { openObject } from '../lab/topology-schema.js';
import { PRODUCT } from '../product.js';
import { computeRoutes } from './computes.js';
import { drawingRoutes } from './drawings.js';
import { linkRoutes } from './links.js';
import { nodeRoutes } from './nodes.js';
import { notificationRoutes } from './notifications.js';
import { projectFileRoutes } from './project-files.js';
import { projectRoutes } from './projects.js';
import { errorBody, nothing } from './schemas.js';
import { symbolRoutes } from './symbols.js';
import { templateRoutes } from './templates.js';
import { versionRoutes } from './version.js';

/** `shutdown` begins the end of the server. */
export function routeTable(farm: Farm, shutdown: () => void): RouteTable {
  const notifications = notificationRoutes(farm);
  let document: string | undefined;
  const table: RouteTable = {
    routes: [
      ...versionRoutes(farm, shutdown),
      ...computeRoutes(farm),
      ...projectRoutes(farm),
      ...projectFileRoutes(farm),
      ...nodeRoutes(farm),
      ...linkRoutes(farm),
      ...drawingRoutes(farm),
      ...templateRoutes(farm),
      ...symbolRoutes(farm),
      ...notifications.routes,
      route({
        method: 'GET',
        path: '/v2/openapi.json',
        tag: 'Server',
        summary: 'This interface as an OpenAPI 3.1 document',
        params: nothing,
        answers: { 200: openObject },
        handle: () => {
          document ??= JSON.stringify(
            openApi(table, { title: PRODUCT.name, version: PRODUCT.version }, errorBody),
          );
          return jsonText(200, document);
        },
      }),
    ],
    sockets: notifications.sockets,
  };
  return table;
}
