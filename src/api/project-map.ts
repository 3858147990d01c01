/** The map of an open project: nodes and links in one short answer. */
import { SlicedText } from '../http/sliced-text.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { mapText } from '../lab/topology/topology-map.js';
import { names } from './schemas.js';
import { projectMap } from './shapes/project-map.js';

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
      answers: { 200: projectMap },
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
