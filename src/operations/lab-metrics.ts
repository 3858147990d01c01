/** The labs of this server in numbers. No label is anything that a user has typed. */
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { Project } from '../lab/projects/project.js';
import type { Projects } from '../lab/projects/projects.js';
import type { Topology } from '../lab/topology/topology.js';

/** The loop is given back after so many nodes. */
const NODES_A_SLICE = 500;

/** Only open projects have their nodes and links in memory, and are counted. */
export function* writeLabs(page: MetricPage, projects: Projects): Iterable<void> {
  const all = [...projects.all.values()];
  const open = all.filter(({ isOpen }) => isOpen);
  const nodes = new Map<string, Map<string, number>>();
  let links = 0;
  let count = 0;
  for (const project of open) {
    // It may have been closed since the last slice.
    if (!project.isOpen) continue;
    const { topology } = project;
    links += topology.links.size;
    for (const node of topology.nodes.values()) {
      if (count++ % NODES_A_SLICE === 0) yield;
      if (!hasOpen(project, topology)) break;
      const ofKind = nodes.get(node.node_type) ?? new Map<string, number>();
      const status = topology.statusOf(node);
      nodes.set(node.node_type, ofKind.set(status, (ofKind.get(status) ?? 0) + 1));
    }
  }
  page.gauge('projects', 'Projects, open and closed');
  page.sample(open.length, { state: 'opened' });
  page.sample(all.length - open.length, { state: 'closed' });
  page.gauge('nodes', 'Nodes of open projects');
  for (const [kind, byStatus] of nodes) {
    for (const [status, number] of byStatus) page.sample(number, { kind, status });
  }
  page.gauge('links', 'Links of open projects');
  page.sample(links);
}

function hasOpen(project: Project, topology: Topology): boolean {
  return project.isOpen && project.topology === topology;
}
