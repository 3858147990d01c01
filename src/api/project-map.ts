/** The map of an open project: nodes and links in one short answer. */
import { z } from 'zod';
import { SlicedText } from '../http/sliced-text.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { consoleType, nodeType, openObject, tcpPort, uuid } from '../lab/gns3-file/topology-schema.js';
import { linkMedium } from '../lab/kinds/port.js';
import { mapText } from '../lab/topology/topology-map.js';
import { names } from './schemas.js';

const flag = z.literal(true).optional();
const filters = openObject.optional();

const map = z.strictObject({
  links: z.array(
    z.strictObject({
      backward: filters,
      capturing: flag,
      /** For each end the place of its node in `nodes`, the adapter and the port. */
      ends: z.array(z.tuple([z.int(), z.int(), z.int()])),
      filters,
      forward: filters,
      link_id: uuid,
      /** Missing for Ethernet. */
      link_type: linkMedium.optional(),
      suspend: flag,
    }),
  ),
  nodes: z.array(
    z.strictObject({
      console: tcpPort.optional(),
      console_type: consoleType.optional(),
      height: z.int(),
      locked: flag,
      name: z.string(),
      node_id: uuid,
      node_type: nodeType,
      status: z.enum(['stopped', 'started', 'suspended']),
      /** The place of the symbol in `symbols`. */
      symbol: z.int(),
      width: z.int(),
      x: z.int(),
      y: z.int(),
      z: z.int(),
    }),
  ),
  project_id: uuid,
  symbols: z.array(z.string()),
  /** The number of the last event that is in the map: notifications go on from there with `since`. */
  version: z.int(),
});

export function projectMapRoutes({ projects }: Controller): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}/map',
      tag: 'Projects',
      access: { right: 'projects:read', project: 'project_id' },
      summary:
        'Show the nodes and links of an open project in short, and the number of its last notification',
      params: names('project_id'),
      answers: { 200: map },
      handle: ({ params, exchange }) => {
        const { events, topology } = projects.find(params.project_id);
        const text = new SlicedText(mapText(topology, events.sequence));
        // The client asks for the events since then.
        exchange.atEnd(events.keepEvents());
        return exchange.streamTail('application/json', text);
      },
    }),
  ];
}
