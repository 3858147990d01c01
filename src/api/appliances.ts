/** Appliances: descriptions of virtual devices, which clients make into templates. */
import { z } from 'zod';
import { jsonText } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { ApplianceLibrary } from '../lab/appliances/appliance-library.js';
import { openObject } from '../lab/gns3-file/topology-schema.js';
import { nothing } from './schemas.js';

const query = z.object({
  /** `yes` reads the folder of the appliances anew. */
  update: z.string().max(16).optional(),
  symbol_theme: z.string().max(255).default('Classic'),
});

export function applianceRoutes(appliances: ApplianceLibrary): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/appliances',
      tag: 'Templates',
      access: { right: 'templates:read' },
      summary: 'List the appliances in the folder of the server, as their files are',
      params: nothing,
      query,
      answers: { 200: z.array(openObject) },
      handle: async ({ query: { update = 'no', symbol_theme: theme } }) => {
        if (update.toLowerCase() === 'yes') appliances.update();
        return jsonText(200, await appliances.list(theme));
      },
    }),
  ];
}
