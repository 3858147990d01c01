/** The folder of a node, the names of its files for clients, and the landings of uploads. */
import { join, posix } from 'node:path';
import { refusals } from '../../base/errors/errors.js';
import type { Landing } from '../transfer/landing.js';
import { TEMPORARY } from '../../lab/projects/folder-layout.js';
import { findNode } from '../../lab/topology/nodes.js';
import type { Project } from '../../lab/projects/project.js';
import type { FarNode } from '../../lab/far-node.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';

/** The part of an open project that is used here. */
export type NodeFilesProject = Pick<Project, 'takeRoom' | 'gate' | 'hold' | 'id' | 'place' | 'topology'>;

export interface NodeFile {
  /** The folder of the project. */
  readonly root: string;
  /** The folder of the node, below the root; it may not exist yet. */
  readonly folder: string;
  /** Below the folder of the node; empty for the folder itself. */
  readonly path: string;
}

/** The node types whose folder has another name. */
const FOLDERS: Readonly<Partial<Record<StoredNode['node_type'], string>>> = {
  cloud: 'builtin',
  nat: 'builtin',
};
const FILE_MODE = 0o644;

/** The folder of a node, below the folder of the project. */
export function nodeFolder({
  node_type: type,
  node_id: id,
}: Pick<StoredNode, 'node_id' | 'node_type'>): string {
  return `project-files/${FOLDERS[type] ?? type}/${id}`;
}

/** A file of a node. Refuses a closed project (403), an unknown node (404), and hidden names (403). */
export function nodeFile(project: NodeFilesProject, nodeId: string, path: string): NodeFile {
  const found = nodeFiles(project, nodeId, path);
  if (found.path === '') throw refusals.fileForbidden();
  return found;
}

/** A file of a node on another compute, which has it: below the project there. Undefined for a node of this server. */
export function farNodeFile(
  { topology }: NodeFilesProject,
  nodeId: string,
  path: string,
): (Pick<NodeFile, 'folder' | 'path'> & { readonly node: FarNode; readonly target: string }) | undefined {
  const folder = nodeFolder(findNode(topology, nodeId));
  const node = topology.run.farNode?.(nodeId);
  if (node === undefined) return undefined;
  const normal = normalPath(path);
  if (normal === '') throw refusals.fileForbidden();
  const target = `/files/${[...folder.split('/'), ...normal.split('/')].map(encodeURIComponent).join('/')}`;
  return { folder, path: normal, node, target };
}

/** The same for a folder; without a path, the folder of the node. Refuses (409) a node on another compute, which has its files. */
export function nodeFiles({ topology, place }: NodeFilesProject, nodeId: string, path = ''): NodeFile {
  const node = findNode(topology, nodeId);
  const folder = nodeFolder(node);
  if (topology.run.farNode?.(nodeId) !== undefined)
    throw refusals.notOnOtherComputes('This request about files', node.name);
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
    takeRoom: (bytes) => project.takeRoom(bytes),
    hold: () => project.hold(),
    turn: (work) => project.gate.pass(work),
  };
}

/** The landing of an archive that will be unpacked: a file of this name in the temporary folder of the project. */
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
    takeRoom: (bytes) => project.takeRoom(bytes),
  };
}

/** Normalizes a path as the reference does: a backslash is a slash, and the first part may not be hidden. */
function normalPath(path: string): string {
  if (path.includes('\0')) throw refusals.fileForbidden();
  const relative = path.replaceAll('\\', '/').replace(/^\/+/, '');
  if (relative === '') return '';
  const normal = posix.normalize(relative).replace(/\/$/, '');
  if (normal.startsWith('.')) throw refusals.fileForbidden();
  return normal;
}
