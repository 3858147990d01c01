/** The labs of this server in numbers: all together, and project by project. */
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { NodeStatus } from '../lab/lab-run.js';
import type { Project } from '../lab/projects/project.js';
import type { Projects } from '../lab/projects/projects.js';
import type { Topology } from '../lab/topology/topology.js';

const STATUSES: readonly NodeStatus[] = ['started', 'stopped', 'suspended'];
/** The loop is given back after so many nodes. */
const NODES_A_SLICE = 500;

/** Only open projects have their nodes and links in memory, and are counted. No label is anything that a user has typed. */
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

/** One open project, counted at one moment. */
interface CountedProject {
  readonly id: string;
  readonly name: string;
  readonly links: number;
  readonly captures: number;
  readonly nodes: ReadonlyMap<string, number>;
}

/**
 * A few series for each open project. Its name, which a user has typed, is a label of the first family only, from where it
 * can be joined.
 */
export function* writeProjects(page: MetricPage, projects: Projects): Iterable<void> {
  const counted: CountedProject[] = [];
  for (const project of [...projects.all.values()]) {
    if (!project.isOpen) continue;
    counted.push(countsOf(project));
    yield;
  }
  page.info('project', 'The name of an open project');
  for (const { id, name } of counted) page.sample(1, { project: id, name });
  yield;
  page.gauge('project_nodes', 'Nodes of an open project');
  for (const { id, nodes } of counted) {
    for (const [status, number] of nodes) page.sample(number, { project: id, status });
  }
  yield;
  page.gauge('project_links', 'Links of an open project');
  for (const { id, links } of counted) page.sample(links, { project: id });
  yield;
  page.gauge('project_captures', 'Captures of links that run in an open project');
  for (const { id, captures } of counted) page.sample(captures, { project: id });
}

function countsOf({ id, name, topology }: Project): CountedProject {
  const nodes = new Map(STATUSES.map((status) => [status, 0]));
  for (const node of topology.nodes.values()) {
    const status = topology.statusOf(node);
    nodes.set(status, (nodes.get(status) ?? 0) + 1);
  }
  const captures = [...topology.captures.values()].filter(({ isRunning }) => isRunning).length;
  return { id, name, links: topology.links.size, captures, nodes };
}

function hasOpen(project: Project, topology: Topology): boolean {
  return project.isOpen && project.topology === topology;
}
