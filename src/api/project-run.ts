/** The route that tells how the nodes and links of an open project run, wherever they do. */
import { route, type Route } from '../http/route.js';
import { SlicedText } from '../http/sliced-text.js';
import type { Controller } from '../lab/controller.js';
import type { Topology } from '../lab/topology/topology.js';
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
      handle: ({ params, exchange }) => {
        const text = new SlicedText(runText(projects.find(params.project_id).topology));
        return exchange.streamTail('application/json', text);
      },
    }),
  ];
}

/** A piece is one link or node: a lab may have thousands. */
function* runText({ nodes, links, run }: Topology): Generator<string> {
  let before = '{"links":{';
  for (const link of links.values()) {
    yield `${before}"${link.link_id}":${JSON.stringify(run.linkReport(link))}`;
    before = ',';
  }
  yield before === ',' ? '' : before;
  before = '},"nodes":{';
  for (const node of nodes.values()) {
    const report = { ...run.nodeReport(node), compute_id: node.compute_id };
    yield `${before}"${node.node_id}":${JSON.stringify(report)}`;
    before = ',';
  }
  yield before === ',' ? '}}' : `${before}}}`;
}
