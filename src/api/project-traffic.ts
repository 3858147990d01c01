/** The traffic of the links of an open project. */
import { z } from 'zod';
import { json } from '../http/answer.js';
import { route, type Route, type SocketRoute } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import type { LocalCompute } from '../run/local-compute.js';
import { findLink } from '../lab/topology/links.js';
import { hitsOf, TRAFFIC_COLUMNS, trafficOf, TrafficViewers } from '../run/links/link-traffic.js';
import { names } from './schemas.js';
import { filterHits } from './shapes/links.js';

const tag = 'Links';
const access = { right: 'projects:read', project: 'project_id' } as const;
const params = names('project_id');

const traffic = z.strictObject({
  columns: z.array(z.enum(TRAFFIC_COLUMNS)),
  /** The counts of each link that is connected, by its id. */
  links: z.record(z.string(), z.array(z.number())),
  /** Milliseconds of a clock that only goes forward. */
  time: z.number(),
});

export function projectTrafficRoutes(
  { projects }: Controller,
  compute: LocalCompute,
): { routes: Route[]; sockets: SocketRoute[] } {
  const wiresOf = (id: string) => compute.runOf(id)?.wires.counted() ?? [];
  const viewers = new TrafficViewers(wiresOf);
  return {
    routes: [
      route({
        method: 'GET',
        path: '/v2/projects/{project_id}/traffic',
        tag,
        access,
        summary: 'Show what has passed each link of an open project',
        params,
        answers: { 200: traffic },
        handle: ({ params: { project_id: id } }) => {
          const { projectId } = projects.find(id).topology;
          const links = trafficOf(wiresOf(projectId));
          return json(200, { columns: TRAFFIC_COLUMNS, links, time: performance.now() });
        },
      }),
      route({
        method: 'GET',
        path: '/v2/projects/{project_id}/links/{link_id}/filter_hits',
        tag,
        access,
        summary: 'Count the frames that each filter of a link has dropped, altered, copied or held, each way',
        params: names('project_id', 'link_id'),
        answers: { 200: filterHits },
        handle: ({ params: { project_id: id, link_id: link } }) => {
          const { topology } = projects.find(id);
          findLink(topology, link);
          const hits = hitsOf(compute.runOf(topology.projectId)?.wires.get(link));
          return json(200, { ...hits, link_id: link });
        },
      }),
    ],
    sockets: [
      {
        path: '/v2/projects/{project_id}/traffic/ws',
        tag,
        access,
        summary:
          'Stream what passes each link: text frames number the links, binary frames have Float64 counts of those that changed',
        params,
        check: ({ project_id: id = '' }) => {
          projects.find(id);
        },
        open: ({ project_id: id = '' }, send) => viewers.view(id, send),
      },
    ],
  };
}
