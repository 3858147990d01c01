/** Reads a topology file from the disk, into the records of its project. Runs in worker threads. */
import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularFile } from '../../base/disk/regular-file.js';
import { packChanges } from '../../base/store/packing.js';
import type { Change, Packed } from '../../base/store/store.js';
import { convertFolder } from './older/older-folder.js';
import { withPictures } from './drawing-pictures.js';
import {
  entityChanges,
  fileKey,
  projectKey,
  versionKey,
  type FileRecord,
  type ProjectRecord,
} from '../projects/records.js';
import { parseTopology, type Gns3Content } from './format.js';

const LARGEST_TOPOLOGY = 256 * 1024 * 1024;

export function readTopology(path: string): Buffer {
  return readRegularFile(path, LARGEST_TOPOLOGY);
}

/** The size and times of a file, which show that it is unchanged. Undefined when there is no such file. */
export function stampOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found?.isFile() === true ? `${found.size}:${found.mtimeNs}:${found.ino}` : undefined;
}

/** Recognises the content of a file. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 32);
}

export interface ImportedProject {
  readonly projectId: string;
  readonly project: ProjectRecord;
  readonly file: FileRecord;
  /** The changes that make the store hold the content of the file. */
  readonly changes: Packed;
}

/**
 * A file of an earlier revision is converted in its place. `order` is the project's place in lists. `written` are the digests of files that we wrote before: if one of those is put
 * back later, it counts as older than this one. Throws refusals (409).
 */
export function importTopology(
  folder: string,
  filename: string,
  bytes: Buffer,
  order: number,
  written: readonly string[] = [],
): ImportedProject {
  const path = join(folder, filename);
  const content = parseTopology(bytes.toString('utf8'), path);
  const { projectId, older } = content;
  const current = older === undefined ? bytes : convertFolder(folder, filename, bytes, older);
  const project: ProjectRecord = {
    order,
    path: folder,
    filename,
    settings: content.settings,
    computes: content.computes,
  };
  const file: FileRecord = {
    digests: [...written, digestOf(current)],
    stamp: stampOf(path) ?? '',
    version: 0,
  };
  const changes: Change[] = [
    { put: projectKey(projectId), value: project },
    { put: fileKey(projectId), value: file },
    { put: versionKey(projectId), value: file.version },
    ...contentChanges(folder, content),
  ];
  return { projectId, project, file, changes: packChanges(changes) };
}

function contentChanges(folder: string, { projectId, nodes, links, drawings }: Gns3Content): Change[] {
  return topologyChanges(projectId, { nodes, links, drawings: withPictures(folder, drawings) });
}

/** The changes that make the store hold exactly these objects of a project. */
export function topologyChanges(
  projectId: string,
  { nodes, links, drawings }: Pick<Gns3Content, 'nodes' | 'links' | 'drawings'>,
): Change[] {
  return [
    ...entityChanges(
      projectId,
      'node',
      nodes.map((node) => [node.node_id, node]),
    ),
    ...entityChanges(
      projectId,
      'link',
      links.map((link) => [link.link_id, link]),
    ),
    ...entityChanges(
      projectId,
      'drawing',
      drawings.map((drawing) => [drawing.drawing_id, drawing]),
    ),
  ];
}
