/** The content of a project besides its files, as snapshots and archives have it. Pure; it runs in worker threads. */
import { z } from 'zod';
import { refusals } from '../base/errors/errors.js';
import type { RanNode } from '../lab/lab-run.js';
import { savedMemory } from '../lab/saved-memory.js';
import { LAB_FILE, labFileRecord, type LabFileRecord } from '../lab/lab-file/lab-file-record.js';
import type { DirectedFilters } from '../lab/topology/link-filters.js';
import {
  entityChanges,
  sortOut,
  type EntityKind,
  type LabRecords,
  type ProjectRecord,
} from '../lab/projects/records.js';
import { derivedId } from '../lab/gns3-file/older/derived-id.js';
import { topologyChanges } from '../lab/gns3-file/reading.js';
import {
  projectSettings,
  storedDrawing,
  storedLink,
  storedNode,
  uuid,
  type ProjectSettings,
  type StoredDrawing,
  type StoredLink,
  type StoredNode,
} from '../lab/gns3-file/topology-schema.js';
import { unpackRecords } from '../base/store/packing.js';
import type { Change, Packed } from '../base/store/store.js';

export interface LabContent {
  readonly settings: ProjectSettings;
  readonly computes: readonly unknown[];
  readonly nodes: readonly StoredNode[];
  readonly links: readonly StoredLink[];
  readonly drawings: readonly StoredDrawing[];
  /** The filters of single directions of links, which topology files lack. */
  readonly directed: readonly DirectedFilters[];
  /** The lab file that was applied last; earlier contents, and labs without one, have none. */
  readonly labFile?: LabFileRecord | undefined;
  /** The nodes that ran; copies and archives for others have none. */
  readonly ran?: readonly RanNode[] | undefined;
}

const labContent = z.object({
  settings: projectSettings,
  computes: z.array(z.unknown()),
  nodes: z.array(storedNode),
  links: z.array(storedLink),
  drawings: z.array(storedDrawing),
  directed: z.array(z.looseObject({ link_id: z.string() })),
  labFile: labFileRecord.optional().catch(undefined),
  ran: z
    .array(z.object({ node_id: uuid, isSuspended: z.boolean(), memory: savedMemory.optional() }))
    .optional(),
});

/** The content in the project's records of the store. */
export function contentOfRecords(projectId: string, records: Packed): LabContent {
  const lab = sortOut(unpackRecords(records));
  if (lab === undefined) throw refusals.projectUnknown(projectId);
  return contentOf(lab);
}

export function contentOf({ project, entities }: LabRecords): LabContent {
  const objects = (kind: EntityKind): never[] => entities[kind].map(({ object }) => object as never);
  return {
    settings: project.settings,
    computes: project.computes,
    nodes: objects('node'),
    links: objects('link'),
    drawings: objects('drawing'),
    directed: objects('directed'),
    labFile: objects('lab_file')[0],
  };
}

/** Reads a value from a file, which may have been changed or damaged. Refuses (409) bad ones. */
export function readLabContent(value: unknown): LabContent {
  const read = labContent.safeParse(value);
  if (!read.success) throw refusals.snapshotDamaged('its topology cannot be read');
  return read.data as unknown as LabContent;
}

/** The changes that make the store hold exactly this content, except the settings. Its captures have ended. */
export function contentChanges(projectId: string, content: LabContent): Change[] {
  return [
    ...topologyChanges(projectId, content),
    ...directedChanges(projectId, content),
    ...labFileChanges(projectId, content),
    ...entityChanges(projectId, 'capture', []),
  ];
}

/** The changes for what a topology file lacks. */
export function directedChanges(projectId: string, { directed }: LabContent): Change[] {
  return entityChanges(
    projectId,
    'directed',
    directed.map((filters) => [filters.link_id, filters]),
  );
}

/** The changes for the lab file, which no topology file has. */
export function labFileChanges(projectId: string, { labFile }: LabContent): Change[] {
  return entityChanges(projectId, 'lab_file', labFile === undefined ? [] : [[LAB_FILE, labFile]]);
}

/** The records that `renderTopology` takes. */
export function recordsOf(content: LabContent, project: ProjectRecord): LabRecords {
  const entities = (objects: readonly unknown[]): { order: number; object: unknown }[] =>
    objects.map((object, order) => ({ order, object }));
  return {
    project: { ...project, settings: content.settings, computes: content.computes },
    file: { digests: [], stamp: '', version: 0 },
    version: 0,
    entities: {
      node: entities(content.nodes),
      link: entities(content.links),
      drawing: entities(content.drawings),
      directed: entities(content.directed),
      capture: [],
      lab_file: [],
      visited: [],
    },
  };
}

/**
 * The id that the thing with this id gets in a copy of the project. The same copy always yields the same id, so that its
 * snapshots and its topology agree.
 */
export function idInCopy(copyId: string, id: string): string {
  return derivedId(copyId, id.toLowerCase());
}

/** The content of a copy, in which everything has a new id. */
export function contentOfCopy(copyId: string, content: LabContent): LabContent {
  const idOf = (id: string): string => idInCopy(copyId, id);
  return {
    ...content,
    ran: undefined,
    nodes: content.nodes.map((node) => ({ ...node, node_id: idOf(node.node_id) })),
    links: content.links.map((link) => ({
      ...link,
      link_id: idOf(link.link_id),
      nodes: link.nodes.map((end) => ({ ...end, node_id: idOf(end.node_id) })),
    })),
    drawings: content.drawings.map((drawing) => ({ ...drawing, drawing_id: idOf(drawing.drawing_id) })),
    directed: content.directed.map((filters) => ({ ...filters, link_id: idOf(filters.link_id) })),
    labFile: content.labFile === undefined ? undefined : labFileOfCopy(content.labFile, idOf),
  };
}

function labFileOfCopy(record: LabFileRecord, idOf: (id: string) => string): LabFileRecord {
  const drawings = Object.entries(record.drawings).map(([key, id]) => [key, idOf(id)]);
  return { ...record, drawings: Object.fromEntries(drawings) as LabFileRecord['drawings'] };
}

/** The path in a copy of this file of the original: folders named by a node's id get the id of its copy. */
export function pathInCopy(copyId: string, nodeIds: ReadonlySet<string>, path: string): string {
  const parts = path.split('/');
  if (parts[0] !== 'project-files') return path;
  return parts
    .map((part, index) => (index === 2 && nodeIds.has(part.toLowerCase()) ? idInCopy(copyId, part) : part))
    .join('/');
}
