/** What the store is to hold for a topology file. Runs in a worker thread. */
import { join } from 'node:path';
import { packChanges } from '../../base/store/packing.js';
import type { Change, Packed } from '../../base/store/store.js';
import { ContentLimit } from '../projects/content-limit.js';
import { withPicture } from '../topology/drawing-pictures.js';
import {
  entityChanges,
  fileKey,
  projectKey,
  versionKey,
  type FileRecord,
  type ProjectRecord,
} from '../projects/records.js';
import { digestOf, stampOf } from './topology-disk.js';
import { parseTopology, type TopologyContent } from './topology-file.js';

export interface ImportedProject {
  readonly projectId: string;
  readonly project: ProjectRecord;
  readonly file: FileRecord;
  /** Makes the store hold what the file says. */
  readonly changes: Packed;
}

/**
 * `order` is the project's place in lists; `written` are the digests of earlier files of ours, which stay known:
 * one of them that is put back later is older than this. Throws refusals (409).
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
  const { projectId } = content;
  const project: ProjectRecord = {
    order,
    path: folder,
    filename,
    settings: content.settings,
    computes: content.computes,
  };
  const file: FileRecord = { digests: [...written, digestOf(bytes)], stamp: stampOf(path) ?? '', version: 0 };
  const changes: Change[] = [
    { put: projectKey(projectId), value: project },
    { put: fileKey(projectId), value: file },
    { put: versionKey(projectId), value: file.version },
    ...contentChanges(folder, content),
  ];
  return { projectId, project, file, changes: packChanges(changes) };
}

function contentChanges(folder: string, { projectId, nodes, links, drawings }: TopologyContent): Change[] {
  const limit = new ContentLimit();
  const pictured = drawings.map((drawing) => {
    const whole = withPicture(folder, drawing);
    limit.add(1, whole.svg?.length ?? 0);
    return whole;
  });
  return topologyChanges(projectId, { nodes, links, drawings: pictured });
}

/** The changes that make the store hold exactly these objects of a project. */
export function topologyChanges(
  projectId: string,
  { nodes, links, drawings }: Pick<TopologyContent, 'nodes' | 'links' | 'drawings'>,
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
