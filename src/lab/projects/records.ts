/** The records of the controller in the store: their keys, and the shape of each. */
import type { Change, Key, StoredRecord } from '../../base/store/store.js';
import type { FolderSwap } from './folder-swap.js';
import type { ProjectSettings } from '../gns3-file/topology-schema.js';

/**
 * `directed` is the kind of the links' `DirectedFilters`, `capture` that of their captures that run, `lab_file` that of the
 * one `LabFileRecord`, `visited` that of the computes that nodes were moved to or from.
 */
export type EntityKind = 'node' | 'link' | 'drawing' | 'directed' | 'capture' | 'lab_file' | 'visited';

export interface ProjectRecord {
  /** Lists of projects are in creation order, by this number; entities have numbers of their own. */
  readonly order: number;
  readonly path: string;
  readonly filename: string;
  readonly settings: ProjectSettings;
  /** The `computes` of the topology file, kept as they were read. */
  readonly computes: readonly unknown[];
}

/** The facts that are remembered of a topology file. */
export interface FileRecord {
  /** Digests that Wirefarm wrote or was about to write, the newest last. */
  readonly digests: readonly string[];
  /** Size and times of the file after the last write: when they still hold, it need not be read. */
  readonly stamp: string;
  /** The version of the project that the file shows; it is out of date when the project has another. */
  readonly version: number;
}

/**
 * The record of a project that is open or being opened. A closed one has none. Of one whose opening has not ended the
 * server may have died: it opens it once more by itself, which is `opening again`, and no third time.
 */
export type OpenState = 'opening' | 'opening again' | 'open';

export interface EntityRecord<Entity> {
  readonly order: number;
  readonly object: Entity;
}

/** The records of projects, apart from their nodes, links and drawings, so that a start reads little. */
export const HEADS: Key = ['head'];
/** The first parts of the keys of all that belongs to projects. */
export const PROJECT_RECORDS: readonly string[] = ['head', 'lab'];
export const TEMPLATES: Key = ['template'];
export const COMPUTES: Key = ['compute'];
export const IOU_LICENSE: Key = ['iou_license'];
export const VIRTUAL_MACHINE: Key = ['gns3vm'];
/** The first parts of the keys of what is kept about projects beside their content: it goes when they are removed. */
export const ABOUT_PROJECTS = {
  grants: ['grant'],
  grantsOfGroups: ['group-grant'],
  quotas: ['quota'],
  uses: ['project-use'],
  endTimes: ['end-time'],
  deals: ['deal'],
} as const satisfies Record<string, Key>;
/** Folders beside the projects: see aside-folders.ts. */
export const ASIDES: Key = ['aside'];

export const headKey = (projectId: string): Key => ['head', projectId];
const labKey = (projectId: string): Key => ['lab', projectId];
/** The prefixes of all keys of a project. */
export const keysOf = (projectId: string): readonly Key[] => [headKey(projectId), labKey(projectId)];
export const projectKey = (projectId: string): Key => [...headKey(projectId), 'project'];
export const fileKey = (projectId: string): Key => [...headKey(projectId), 'file'];
/** The swap that is under way in the project's folder, under its name in data folders of earlier versions. */
export const swapKey = (projectId: string): Key => [...headKey(projectId), 'exchange'];
export const versionKey = (projectId: string): Key => [...headKey(projectId), 'version'];
const openKey = (projectId: string): Key => [...headKey(projectId), 'open'];
/** The name of the server that has the files of the project, in a farm. */
const homeKey = (projectId: string): Key => [...headKey(projectId), 'home'];
/** The room that an open project has given to its nodes, in a farm. */
export const givenKey = (projectId: string): Key => [...headKey(projectId), 'given'];
export const asideKey = (id: string): Key => [...ASIDES, id];
export const entityKey = (projectId: string, kind: EntityKind, id: string): Key => [
  'lab',
  projectId,
  kind,
  id,
];
/** The memory of nodes that was saved when they were stopped. */
export const savedStatesKey = (projectId: string): Key => [...labKey(projectId), 'saved'];
export const templateKey = (id: string): Key => ['template', id];
export const computeKey = (id: string): Key => ['compute', id];

/** The records of one project, sorted out. */
export interface LabRecords {
  readonly project: ProjectRecord;
  readonly file: FileRecord;
  /** Counts the changes of the project; every change stores the next number. */
  readonly version: number;
  /** Whether the project was open; the server that stored this may have died since. */
  readonly openState?: OpenState | undefined;
  /** The swap that is under way in the project's folder. */
  readonly swap?: FolderSwap | undefined;
  readonly entities: Readonly<Record<EntityKind, EntityRecord<unknown>[]>>;
}

export const NEVER_WRITTEN: FileRecord = { digests: [], stamp: '', version: -1 };

/** Undefined when the store has no such project. Entities come in creation order. */
export function sortOut(records: readonly StoredRecord[]): LabRecords | undefined {
  const entities: Record<EntityKind, EntityRecord<unknown>[]> = {
    node: [],
    link: [],
    drawing: [],
    directed: [],
    capture: [],
    lab_file: [],
    visited: [],
  };
  let project: ProjectRecord | undefined;
  let file = NEVER_WRITTEN;
  let version = 0;
  let openState: OpenState | undefined;
  let swap: FolderSwap | undefined;
  for (const { key, value } of records) {
    const kind = key[2] ?? '';
    switch (kind) {
      case 'project':
        project = value as ProjectRecord;
        break;
      case 'file':
        file = value as FileRecord;
        break;
      case 'version':
        version = value as number;
        break;
      case 'open':
        openState = value as OpenState;
        break;
      case 'exchange':
        swap = value as FolderSwap;
        break;
      case 'node':
      case 'link':
      case 'drawing':
      case 'directed':
      case 'capture':
      case 'lab_file':
      case 'visited':
        entities[kind].push(value as EntityRecord<unknown>);
        break;
    }
  }
  if (project === undefined) return undefined;
  for (const list of Object.values(entities)) list.sort((a, b) => a.order - b.order);
  return { project, file, version, openState, swap, entities };
}

/** The projects of these records, in the order in which they were made. */
export function sortOutAll(records: readonly StoredRecord[]): { id: string; state: LabRecords }[] {
  const grouped = new Map<string, StoredRecord[]>();
  for (const record of records) {
    const id = record.key[1] ?? '';
    const group = grouped.get(id);
    if (group === undefined) grouped.set(id, [record]);
    else group.push(record);
  }
  const found = [...grouped].flatMap(([id, group]) => {
    const state = sortOut(group);
    return state === undefined ? [] : [{ id, state }];
  });
  return found.sort((a, b) => a.state.project.order - b.state.project.order);
}

/**
 * The changes that remember whether a project is open: its captures end with it, and what its nodes were given. In a farm,
 * `home` is the server that opens it, which has its files.
 */
export function openStateChanges(
  projectId: string,
  openState: OpenState | undefined,
  home: string | undefined,
): Change[] {
  if (openState === undefined)
    return [
      { remove: openKey(projectId) },
      ...(home === undefined ? [] : [{ remove: givenKey(projectId) }]),
      ...entityChanges(projectId, 'capture', []),
    ];
  const atHome = home === undefined ? [] : [{ put: homeKey(projectId), value: home }];
  return [{ put: openKey(projectId), value: openState }, ...atHome];
}

/** The changes that make the store forget a project. */
export function forgetting(projectId: string): Change[] {
  return keysOf(projectId).map((key) => ({ clear: key }));
}

/** The changes that remove a project: its content, and all that is kept about it. */
export function removing(projectId: string): Change[] {
  const about = Object.values(ABOUT_PROJECTS).map((first) => ({ clear: [...first, projectId] }));
  return [...forgetting(projectId), ...about];
}

/** The changes that make the store hold exactly these entities of a project. */
export function entityChanges(
  projectId: string,
  kind: EntityKind,
  objects: readonly (readonly [id: string, object: unknown])[],
): Change[] {
  return [
    { clear: [...labKey(projectId), kind] },
    ...objects.map(([id, object], order) => ({
      put: entityKey(projectId, kind, id),
      value: { order, object },
    })),
  ];
}
