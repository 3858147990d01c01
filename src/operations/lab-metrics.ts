/** The labs of this server in numbers: all together, and project by project. */
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { NodeStatus } from '../lab/lab-run.js';
import type { Project } from '../lab/projects/project.js';
import type { Projects } from '../lab/projects/projects.js';
import type { Topology } from '../lab/topology/topology.js';

const STATUSES: readonly NodeStatus[] = ['started', 'stopped', 'suspended'];
/** The loop is given back after so many nodes. */
const NODES_A_SLICE = 100;
/** And after the samples of so many projects. */
const PROJECTS_A_SLICE = 50;

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

/** One open project, as it was counted. */
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
    const counts = yield* countsOf(project);
    if (counts !== undefined) counted.push(counts);
    yield;
  }
  const each = function* (write: (project: CountedProject) => void): Generator<void> {
    for (const [index, project] of counted.entries()) {
      write(project);
      if (index % PROJECTS_A_SLICE === 0) yield;
    }
  };
  page.info('project', 'The name of an open project');
  yield* each(({ id, name }) => {
    page.sample(1, { project: id, name });
  });
  page.gauge('project_nodes', 'Nodes of an open project');
  yield* each(({ id, nodes }) => {
    for (const [status, number] of nodes) page.sample(number, { project: id, status });
  });
  page.gauge('project_links', 'Links of an open project');
  yield* each(({ id, links }) => {
    page.sample(links, { project: id });
  });
  page.gauge('project_captures', 'Captures of links that run in an open project');
  yield* each(({ id, captures }) => {
    page.sample(captures, { project: id });
  });
}

/** Undefined when the project is closed meanwhile. */
function* countsOf(project: Project): Generator<void, CountedProject | undefined> {
  const { id, name, topology } = project;
  const nodes = new Map(STATUSES.map((status) => [status, 0]));
  let count = 0;
  for (const node of topology.nodes.values()) {
    if (++count % NODES_A_SLICE === 0) yield;
    if (!hasOpen(project, topology)) return undefined;
    const status = topology.statusOf(node);
    nodes.set(status, (nodes.get(status) ?? 0) + 1);
  }
  let captures = 0;
  for (const { isRunning } of topology.captures.values()) if (isRunning) captures++;
  return { id, name, links: topology.links.size, captures, nodes };
}

function hasOpen(project: Project, topology: Topology): boolean {
  return project.isOpen && project.topology === topology;
}
