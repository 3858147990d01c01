/** Lists and counts the objects of a project, open or closed. */
import { refusals } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { FolderTasks } from './folder-tasks.js';
import type { Project } from './project.js';
import type { LabRecords } from './records.js';

interface ProjectStats {
  readonly drawings: number;
  readonly links: number;
  readonly nodes: number;
  readonly snapshots: number;
}

const COLLECTIONS = { node: 'nodes', link: 'links', drawing: 'drawings' } as const;

/** The objects as JSON: of an open project as clients see them, of a closed one as its file has them. */
export async function listObjects(
  project: Project,
  kind: keyof typeof COLLECTIONS,
): Promise<string | Uint8Array> {
  await project.settled();
  if (project.isOpen) return project.topology[COLLECTIONS[kind]].publishedList();
  const { entities } = await recordsOf(project);
  return JSON.stringify(entities[kind].map(({ object }) => object));
}

export async function countObjects(project: Project, files: TaskRunner<FolderTasks>): Promise<ProjectStats> {
  const snapshots = await files.run('countSnapshots', { folder: project.record.path });
  if (project.isOpen) {
    const { nodes, links, drawings } = project.topology;
    return { drawings: drawings.size, links: links.size, nodes: nodes.size, snapshots };
  }
  const { node, link, drawing } = (await recordsOf(project)).entities;
  return { drawings: drawing.length, links: link.length, nodes: node.length, snapshots };
}

/** Refuses (404) a project that was deleted meanwhile. */
async function recordsOf(project: Project): Promise<LabRecords> {
  const records = await project.storedRecords();
  if (records === undefined) throw refusals.projectUnknown(project.id);
  return records;
}
