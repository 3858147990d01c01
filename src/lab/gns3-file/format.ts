/**
 * The format of a `.gns3` topology file, revision 9: writes the records of a project as text, and reads
 * a text, of an earlier revision as well. Pure; it runs in worker threads, because a file may be large.
 */
import { z } from 'zod';
import { refusals } from '../../base/errors/errors.js';
import { describeIssues, fitted, jsonShape } from '../../base/errors/validation.js';
import { converted, type OlderProject } from './older/conversion.js';
import { checkObjects, ContentLimit } from '../projects/content-limit.js';
import type { LabRecords } from '../projects/records.js';
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
} from './topology-schema.js';

const REVISION = 9;
/** Deeper values could overflow the stack. Requests nest less deep, and a file adds few levels to that. */
const DEEPEST = 100;

export interface Gns3Content {
  readonly projectId: string;
  readonly settings: ProjectSettings;
  readonly computes: readonly unknown[];
  readonly nodes: readonly StoredNode[];
  readonly links: readonly StoredLink[];
  readonly drawings: readonly StoredDrawing[];
  /** The file as it was, and its text in this revision; absent for a file of this one. */
  readonly older?: OlderProject & { readonly text: string };
}

const topologyFile = z.strictObject({
  ...projectSettings.shape,
  // As the reference does, variables without a name are left out.
  variables: z.preprocess(
    (given) => (Array.isArray(given) ? given.filter((variable) => !isUnnamed(variable)) : given),
    projectSettings.shape.variables,
  ),
  project_id: uuid,
  type: z.literal('topology'),
  revision: z.literal(REVISION),
  version: z.string(),
  topology: z.strictObject({
    computes: z.array(z.unknown()),
    drawings: z.array(storedDrawing),
    links: z.array(storedLink),
    nodes: z.array(storedNode),
  }),
});

/** Reads a topology file's text. `path` is for error messages. Throws refusals (409). */
export function parseTopology(text: string, path: string): Gns3Content {
  const given = parseJson(text, path);
  const revision = checkedRevision(given, path);
  checkObjects(countObjects(given));
  if (revision === REVISION) return checkedContent(given);
  const { file, older } = converted(given, revision, `${path} ${text}`);
  return { ...checkedContent(file), older: { ...older, text: formatJson(file) } };
}

function checkedContent(json: unknown): Gns3Content {
  const parsed = fitted(topologyFile, json);
  if (!parsed.success) throw refusals.topologyInvalid(describeIssues(parsed.error));
  const { project_id, topology, ...head } = parsed.data;
  const limit = new ContentLimit();
  for (const object of [...topology.nodes, ...topology.links, ...topology.drawings]) {
    limit.add(1, JSON.stringify(object).length);
  }
  checkIds(topology.nodes.map((node) => node.node_id));
  checkIds(topology.links.map((link) => link.link_id));
  checkIds(topology.drawings.map((drawing) => drawing.drawing_id));
  return { projectId: project_id, settings: projectSettings.parse(head), ...topology };
}

/** The text of a project's file: keys sorted, four spaces, ASCII only, as the reference writes it. */
export function renderTopology(projectId: string, records: LabRecords, version: string): string {
  const { project, entities } = records;
  const objects = (kind: 'node' | 'link' | 'drawing'): unknown[] =>
    entities[kind].map(({ object }) => object);
  return formatJson({
    ...project.settings,
    project_id: projectId,
    revision: REVISION,
    topology: {
      computes: project.computes,
      drawings: objects('drawing'),
      links: objects('link'),
      nodes: objects('node'),
    },
    type: 'topology',
    version,
  });
}

/** Reads the id and name from a file that cannot be opened, so that its project can be listed. */
export function identifyTopology(text: string): { projectId: string; name: string } | undefined {
  try {
    const head = z.object({ project_id: uuid, name: z.string().min(1) }).safeParse(JSON.parse(text));
    return head.success ? { projectId: head.data.project_id, name: head.data.name } : undefined;
  } catch {
    return undefined;
  }
}

function isUnnamed(variable: unknown): boolean {
  return typeof variable === 'object' && variable !== null && 'name' in variable && variable.name === '';
}

function parseJson(text: string, path: string): unknown {
  if (jsonShape(text).depth > DEEPEST)
    throw refusals.topologyUnreadable(path, `it is nested deeper than ${DEEPEST} levels`);
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would show a piece of the file, which may be any file of this machine.
    throw refusals.topologyUnreadable(path, 'it is not valid JSON');
  }
}

/** The first files had no revision. */
function checkedRevision(json: unknown, path: string): number {
  const first = z.object({ type: z.literal('topology'), revision: z.undefined().optional() });
  if (first.safeParse(json).success) return 0;
  const head = z.object({ revision: z.int().min(0), version: z.string().optional() }).safeParse(json);
  if (!head.success) throw refusals.topologyUnreadable(path, 'it has no revision number');
  const { revision, version } = head.data;
  if (revision > REVISION) throw refusals.topologyNewer(revision, version ?? 'unknown');
  return revision;
}

/** Counts the entries of all lists of the file, before any is parsed. */
function countObjects(json: unknown): number {
  const lists = z.object({ topology: z.record(z.string(), z.unknown()) }).safeParse(json);
  return Object.values(lists.data?.topology ?? {})
    .filter((list) => Array.isArray(list))
    .reduce((sum, list) => sum + list.length, 0);
}

function checkIds(ids: readonly string[]): void {
  const seen = new Set<string>();
  for (const id of ids) {
    if (seen.has(id)) throw refusals.topologyInvalid(`the id ${id} occurs twice`);
    seen.add(id);
  }
}

function formatJson(value: unknown): string {
  const text = JSON.stringify(value, sortKeys, 4);
  return text.replace(/[\u0080-\uffff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
