/** Makes a topology file of an earlier revision one of revision 9, step by step. Pure. */
import { z } from 'zod';
import { refusals } from '../../../base/errors/errors.js';
import { describeIssues, fitted } from '../../../base/errors/validation.js';
import { SNAPSHOTS } from '../../projects/folder-layout.js';
import { uuid } from '../topology-schema.js';
import { fromFirstFormat } from './first-format.js';
import { olderFile, STEPS, type OlderFile } from './revision-steps.js';

/** The first revision of GNS3 2. */
const FIRST_OF_GNS3_2 = 5;
/** From this revision on, the files of a router are in its own folder. */
const FIRST_WITH_ROUTER_FOLDERS = 7;
const ROUTERS = 'project-files/dynamips';
/** The folder of the snapshots of GNS3 1; each is a folder in it. */
export const FIRST_SNAPSHOTS = 'project-files/snapshots';
/** The name of such a folder has the name of the snapshot, and when it was made. */
export const FIRST_SNAPSHOT = /^.+_\d{6}_\d{6}$/;

export interface OlderProject {
  /** The revision that the file has had; 0 for none, as the first versions wrote it. */
  readonly revision: number;
  /** The ids of the routers, by the numbers that the names of their files have. */
  readonly routers: ReadonlyMap<number, string>;
}

const routers = z.object({
  topology: z.object({
    nodes: z.array(z.object({ node_type: z.string(), node_id: uuid, properties: z.unknown() })),
  }),
});
const numbered = z.object({ dynamips_id: z.int() });

/** Derives missing ids from `seed`. Refuses (409) a file that is not as its revision has it. */
export function converted(
  given: unknown,
  revision: number,
  seed: string,
): { readonly file: OlderFile; readonly older: OlderProject } {
  let file: unknown = revision < FIRST_OF_GNS3_2 ? fromFirstFormat(given, seed) : given;
  for (let step = STEPS[revisionOf(file)]; step !== undefined; step = STEPS[revisionOf(file)]) {
    file = step(checked(file));
  }
  return { file: checked(file), older: { revision, routers: routersOf(file) } };
}

interface Entry {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
}

/** The new places of the files that lie elsewhere since then, by their old ones. Nothing gets a place that is taken. */
export function movedFiles(
  { revision, routers }: OlderProject,
  entries: readonly Entry[],
): ReadonlyMap<string, string> {
  const taken = new Set(entries.flatMap(({ path }) => [path, ...foldersOf(path)]));
  const noFolders = new Set(entries.filter(({ kind }) => kind !== 'folder').map(({ path }) => path));
  const moved = new Map<string, string>();
  for (const { path, kind } of entries) {
    const place =
      snapshotPlace(path, revision) ?? (kind === 'file' ? placeOf(path, revision, routers) : undefined);
    if (place === undefined || taken.has(place) || foldersOf(place).some((above) => noFolders.has(above)))
      continue;
    taken.add(place);
    moved.set(path, place);
  }
  return moved;
}

/** Snapshots lie beside the files of the project since then. */
function snapshotPlace(path: string, revision: number): string | undefined {
  if (revision >= FIRST_OF_GNS3_2 || !path.startsWith(`${FIRST_SNAPSHOTS}/`)) return undefined;
  const inner = path.slice(FIRST_SNAPSHOTS.length + 1);
  return FIRST_SNAPSHOT.test(inner.split('/')[0] ?? '') ? `${SNAPSHOTS}/${inner}` : undefined;
}

/** Undefined for a file that stays. */
function placeOf(path: string, revision: number, routers: ReadonlyMap<number, string>): string | undefined {
  if (revision < FIRST_OF_GNS3_2 && path === 'instructions.txt') return 'README.txt';
  if (revision >= FIRST_WITH_ROUTER_FOLDERS || !path.startsWith(`${ROUTERS}/`)) return undefined;
  const rest = path.slice(ROUTERS.length + 1);
  const name = /^configs\/i(\d{1,5})_[^/]+$/.exec(rest) ?? /^[^/]*_i(\d{1,5})_[^/]*$/.exec(rest);
  const router = routers.get(Number(name?.[1]));
  return router === undefined ? undefined : `${ROUTERS}/${router}/${rest}`;
}

function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function revisionOf(file: unknown): number {
  return z.object({ revision: z.int() }).safeParse(file).data?.revision ?? 0;
}

function checked(file: unknown): z.output<typeof olderFile> {
  const parsed = fitted(olderFile, file);
  if (!parsed.success) throw refusals.topologyInvalid(describeIssues(parsed.error));
  return parsed.data;
}

function routersOf(file: unknown): ReadonlyMap<number, string> {
  const nodes = routers.safeParse(file).data?.topology.nodes ?? [];
  return new Map(
    nodes.flatMap(({ node_type: type, node_id: id, properties }): [number, string][] => {
      const number = numbered.safeParse(properties).data?.dynamips_id;
      return type !== 'dynamips' || number === undefined ? [] : [[number, id]];
    }),
  );
}
