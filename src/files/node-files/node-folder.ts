/** Where the files of a node lie, what clients may call them (contract A3.1), and how they get there. */
import { join, posix } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import type { Landing } from '../transfer/landing.js';
import { TEMPORARY } from '../../lab/projects/folder-layout.js';
import { findNode } from '../../lab/topology/node-changes.js';
import type { Project } from '../../lab/projects/project.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';

/** What is needed of an open project. */
export type NodeFilesProject = Pick<Project, 'gate' | 'hold' | 'id' | 'place' | 'topology'>;

export interface NodeFile {
  /** Of the project. */
  readonly root: string;
  /** Of the node, below that; it may not be there yet. */
  readonly folder: string;
  /** Below the node's folder; empty for that itself. */
  readonly path: string;
}

/** Kinds whose folder is not called as they are. */
const FOLDERS: Readonly<Partial<Record<StoredNode['node_type'], string>>> = {
  cloud: 'builtin',
  nat: 'builtin',
};
const FILE_MODE = 0o644;

/** Below the project's folder. */
export function nodeFolder({
  node_type: type,
  node_id: id,
}: Pick<StoredNode, 'node_id' | 'node_type'>): string {
  return `project-files/${FOLDERS[type] ?? type}/${id}`;
}

/** A file of a node of an open project. Refuses a closed one (403), an unknown node (404), and hidden names (403). */
export function nodeFile(project: NodeFilesProject, nodeId: string, path: string): NodeFile {
  const found = nodeFiles(project, nodeId, path);
  if (found.path === '') throw refusals.fileForbidden();
  return found;
}

/** The same for a folder; without a path, the node's own. */
export function nodeFiles({ topology, place }: NodeFilesProject, nodeId: string, path = ''): NodeFile {
  const folder = nodeFolder(findNode(topology, nodeId));
  return { root: place.folder, folder, path: normalPath(path) };
}

export function nodeFileLanding(project: NodeFilesProject, nodeId: string, path: string): Landing {
  const file = nodeFile(project, nodeId, path);
  return {
    ...file,
    makesFolders: true,
    temporary: join(file.root, TEMPORARY),
    mode: FILE_MODE,
    subject: { project_id: project.id, node_id: nodeId, path: file.path },
    hold: () => project.hold(),
    turn: (work) => project.gate.pass(work),
  };
}

/** An archive of node files on its way to be unpacked: it is called so in the temporary folder of the project. */
export function nodeArchiveLanding(
  project: NodeFilesProject,
  nodeId: string,
  folder: string,
  name: string,
): Landing {
  const root = project.place.folder;
  return {
    root,
    folder: TEMPORARY,
    path: name,
    makesFolders: true,
    temporary: join(root, TEMPORARY, 'incoming'),
    mode: FILE_MODE,
    subject: { project_id: project.id, node_id: nodeId, path: `${folder}/` },
  };
}

/** As the reference reads a path: a backslash is a slash, and nothing hidden can be named at the top. */
function normalPath(path: string): string {
  if (path.includes('\0')) throw refusals.fileForbidden();
  const relative = path.replaceAll('\\', '/').replace(/^\/+/, '');
  if (relative === '') return '';
  const normal = posix.normalize(relative).replace(/\/$/, '');
  if (normal.startsWith('.')) throw refusals.fileForbidden();
  return normal;
}
