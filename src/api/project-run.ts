/** The route that tells how the nodes and links of an open project run, wherever they do. */
import { json } from '../http/answer.js';
import { route, type Route } from '../http/route.js';
import type { Controller } from '../lab/controller.js';
import { names } from './schemas.js';
import { projectRun } from './shapes/project-run.js';

export function projectRunRoutes({ projects }: Controller): Route[] {
  return [
    route({
      method: 'GET',
      path: '/v2/projects/{project_id}/run',
      tag: 'Projects',
      access: { right: 'projects:read', project: 'project_id' },
      summary: 'Show which nodes and links of an open project run as they are wanted, and why others do not',
      params: names('project_id'),
      answers: { 200: projectRun },
      handle: ({ params }) => {
        const { nodes, links, run } = projects.find(params.project_id).topology;
        return json(200, {
          links: Object.fromEntries([...links.values()].map((link) => [link.link_id, run.linkReport(link)])),
          nodes: Object.fromEntries(
            [...nodes.values()].map((node) => [
              node.node_id,
              { ...run.nodeReport(node), compute_id: node.compute_id },
            ]),
          ),
        });
      },
    }),
  ];
}
