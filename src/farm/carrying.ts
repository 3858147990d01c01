/**
 * Carries records from one store to another, whole or not at all: from a server to a farm, and back. The copies and a mark
 * are one commit of the target. Only when they have been read back does the source lose its own, and then the mark goes.
 * So one that was interrupted is done again: without the mark nothing has happened, with it the copy is whole.
 */
import { createHash } from 'node:crypto';
import { pack } from 'msgpackr';
import type { Change, Key, Store, StoredRecord } from '../base/store/store.js';
import { ABOUT_PROJECTS, PROJECT_RECORDS, type ProjectRecord } from '../lab/projects/records.js';
import { SHARED_RECORDS } from './farm-store.js';

/** Copies whose originals may be there still. The second part is the name of the server. */
const CARRIED = 'carried';

interface Mark {
  readonly digest: string;
  /** The projects, and the digest of their records alone. */
  readonly projects: readonly string[];
  readonly ofProjects: string;
}

interface Carrying {
  readonly source: Store;
  readonly target: Store;
  /** The name of the server. */
  readonly server: string;
  /** The records that are carried, as they are to be, of all that the source has. */
  readonly choose: (records: readonly StoredRecord[]) => readonly StoredRecord[];
  /** Changes that the target gets besides, in the same commit. */
  readonly besides: readonly Change[];
  /** The changes by which the source loses what was carried. */
  readonly cleared: (records: readonly StoredRecord[]) => readonly Change[];
}

export interface Carried {
  readonly projects: number;
  readonly records: number;
  readonly digest: string;
  /** Whether an earlier one, which was interrupted, had copied them. */
  readonly isResumed: boolean;
}

/** These the target keeps as it has them: there is one of each. */
const SINGLE = ['iou_license', 'gns3vm'];
const MOST_NAMED = 5;
/** The first parts of the keys of a project, and of what is known about it; the second part is the project. */
const OF_PROJECTS: readonly string[] = [
  ...PROJECT_RECORDS,
  ...Object.values(ABOUT_PROJECTS).map(([first]) => first),
].filter((first) => SHARED_RECORDS.some(([shared]) => shared === first));
const recordsOf = (id: string): readonly Key[] => OF_PROJECTS.map((first) => [first, id]);

/** Throws an error whose message is for whoever asks. Nothing has changed then. */
export async function carry(carrying: Carrying): Promise<Carried> {
  const { source, target, server, choose, cleared } = carrying;
  const markKey = [CARRIED, server];
  const records = choose(await source.load(...SHARED_RECORDS));
  const [marked] = await target.load(markKey);
  const mark = marked?.value as Mark | undefined;
  const digest = digestOf(records);
  const isResumed = mark !== undefined && (records.length === 0 || mark.digest === digest);
  if (!isResumed && records.length > 0) await copy(carrying, records, mark);
  if (records.length > 0) await source.commit(cleared(records));
  if (marked !== undefined || records.length > 0) await target.commit([{ remove: markKey }]);
  const projects = projectsIn(records).length;
  return { projects, records: records.length, digest: isResumed ? mark.digest : digest, isResumed };
}

/** Copies, and reads back. */
async function copy(
  { target, server, besides }: Carrying,
  records: readonly StoredRecord[],
  mark: Mark | undefined,
): Promise<void> {
  const projects = projectsIn(records).map(({ key: [, id = ''] }) => id);
  const before = await target.load(...SHARED_RECORDS);
  const outdated = mark === undefined ? [] : await outdatedCopies(target, mark);
  const there = before.filter(({ key }) => !outdated.some((id) => isOfProject(key, id)));
  const wanted = records.filter(({ key: [first = ''] }) => !(SINGLE.includes(first) && has(there, first)));
  refuseDoubles(wanted, there);
  const written: Mark = {
    digest: digestOf(records),
    projects,
    ofProjects: digestOf(ofProjects(wanted, projects)),
  };
  await target.commit([
    ...outdated.flatMap(recordsOf).map((clear): Change => ({ clear })),
    ...wanted.map(({ key, value }): Change => ({ put: key, value })),
    ...besides,
    { put: [CARRIED, server], value: written },
  ]);
  const isWanted = new Set(wanted.map(({ key }) => key.join('/')));
  const copies = (await target.load(...SHARED_RECORDS)).filter(({ key }) => isWanted.has(key.join('/')));
  if (copies.length === wanted.length && digestOf(copies) === digestOf(wanted)) return;
  const isNew = wanted.filter(({ key }) => !there.some((other) => other.key.join('/') === key.join('/')));
  await target.commit([...isNew.map(({ key }): Change => ({ remove: key })), { remove: [CARRIED, server] }]);
  throw new Error(
    `what was read back is not what was written (${copies.length} of ${wanted.length} records): nothing was carried`,
  );
}

/** The projects that an interrupted one has copied before their originals changed. Throws when the copies have changed, too. */
async function outdatedCopies(target: Store, mark: Mark): Promise<readonly string[]> {
  const copies = await target.load(...mark.projects.flatMap(recordsOf));
  if (digestOf(ofProjects(copies, mark.projects)) === mark.ofProjects) return mark.projects;
  throw new Error(
    'an earlier try was interrupted when it had copied, and since then both the records and their copies have changed: ' +
      'delete these projects on one of the two sides',
  );
}

/** Throws when the target has a project, or something with the same name, already. */
function refuseDoubles(records: readonly StoredRecord[], there: readonly StoredRecord[]): void {
  const known = new Map(there.map(({ key, value }) => [key.join('/'), digestOf([{ key, value }])]));
  const named = new Set(there.flatMap((record) => uniqueName(record) ?? []));
  const doubles = records.flatMap((record): string[] => {
    const { key } = record;
    const same = known.get(key.join('/'));
    const isProject = key[0] === 'head' && key[2] === 'project';
    const name = uniqueName(record);
    if (same !== undefined && (isProject || same !== digestOf([record]))) return [name ?? key.join(' ')];
    return same === undefined && name !== undefined && named.has(name) ? [name] : [];
  });
  if (doubles.length === 0) return;
  const more = doubles.length > MOST_NAMED ? ` and ${doubles.length - MOST_NAMED} more` : '';
  throw new Error(
    `there are already: ${doubles.slice(0, MOST_NAMED).join(', ')}${more}. Rename or delete them on one of the two sides`,
  );
}

/** The name of what must not be there twice: `project lab`. */
function uniqueName({ key: [first, , kind], value }: StoredRecord): string | undefined {
  if (first === 'head')
    return kind === 'project' ? `project ${(value as ProjectRecord).settings.name}` : undefined;
  if (first !== 'user' && first !== 'group') return undefined;
  const { name } = value as { readonly name?: unknown };
  return typeof name === 'string' ? `${first} ${name}` : undefined;
}

const has = (records: readonly StoredRecord[], first: string): boolean =>
  records.some(({ key }) => key[0] === first);

const isOfProject = ([first, second]: Key, id: string): boolean =>
  OF_PROJECTS.includes(first ?? '') && second === id;

const ofProjects = (records: readonly StoredRecord[], ids: readonly string[]): readonly StoredRecord[] =>
  records.filter(({ key }) => ids.some((id) => isOfProject(key, id)));

export function projectsIn(records: readonly StoredRecord[]): readonly StoredRecord[] {
  return records.filter(({ key }) => key[0] === 'head' && key[2] === 'project');
}

function digestOf(records: readonly StoredRecord[]): string {
  const hash = createHash('sha256');
  const lines = records.map(({ key, value }): [string, Buffer] => [JSON.stringify(key), pack(value)]);
  for (const [key, value] of lines.sort(([a], [b]) => (a < b ? -1 : 1))) {
    hash.update(`${key.length} ${value.length} ${key}`);
    hash.update(value);
  }
  return hash.digest('hex');
}
