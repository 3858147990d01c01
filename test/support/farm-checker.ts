/** Clients of a farm have noted the answers to their requests. The checker tells whether the farm has kept its promises. */
import type { Key, StoredRecord } from '../../src/base/store/store.js';

export interface Answered {
  readonly client: number;
  readonly scope: string;
  readonly begun: number;
  readonly ended: number;
}

export interface AnsweredChange extends Answered {
  readonly id: string;
  /** `unknown`: the answer was 503, or none came. */
  readonly outcome: 'stored' | 'refused' | 'unknown';
  /** The version of a stored one; its epoch and server stand beside it. */
  readonly version: number;
  readonly epoch: number;
  readonly server: string;
}

export interface AnsweredRead extends Answered {
  readonly version: number;
}

/** Versions of one scope as a server has followed them: what it was told commit by commit since a reading. */
interface Followed {
  readonly server: string;
  readonly scope: string;
  readonly versions: readonly number[];
}

export interface FarmHistory {
  readonly changes: readonly AnsweredChange[];
  readonly reads: readonly AnsweredRead[];
  /** One after each reading of each server; the last of a server that lives is complete. */
  readonly followed: readonly Followed[];
  /** The last version that each living server knows of a scope, after everything has healed. */
  readonly known: readonly { readonly server: string; readonly scope: string; readonly version: number }[];
  readonly records: readonly StoredRecord[];
}

export const versionKey = (scope: string): Key => ['head', scope, 'version'];
/** Each change puts both. */
export const changeKeys = (scope: string, id: string): readonly Key[] => [
  ['lab', scope, 'one', id],
  ['lab', scope, 'other', id],
];

/** The promises that were broken, as sentences; none when all were kept. */
export function brokenPromises(history: FarmHistory): string[] {
  return [
    ...lostOrHalf(history),
    ...goneBack(history),
    ...epochsMixed(history),
    ...missedByFollowers(history),
  ];
}

/** Acknowledged is there, refused is not, unknown is there or not as a whole; each version is of one change. */
function lostOrHalf({ changes, records }: FarmHistory): string[] {
  const broken: string[] = [];
  const stored = new Map(records.map(({ key, value }) => [JSON.stringify(key), value]));
  const versions = new Map<string, string>();
  for (const { id, scope, outcome, version } of changes) {
    const [one, other] = changeKeys(scope, id).map((key) => stored.get(JSON.stringify(key)));
    if (one !== other) broken.push(`${id} is there by half`);
    if (outcome === 'stored' && one !== version)
      broken.push(`${id} was acknowledged as ${version}, and is not there`);
    if (outcome === 'refused' && one !== undefined) broken.push(`${id} was refused, and is there`);
    if (one === undefined) continue;
    const place = `${scope} ${JSON.stringify(one)}`;
    if (versions.has(place)) broken.push(`${id} and ${versions.get(place) ?? ''} are both ${place}`);
    versions.set(place, id);
  }
  for (const scope of new Set(changes.map((change) => change.scope))) {
    const last = Number(stored.get(JSON.stringify(versionKey(scope))) ?? 0);
    for (let version = 1; version <= last; version++) {
      if (!versions.has(`${scope} ${version}`)) broken.push(`${scope} ${version} is missing`);
    }
  }
  return broken;
}

/** No client sees a version older than one it has seen, or than one that was acknowledged before it asked. */
function goneBack({ changes, reads }: FarmHistory): string[] {
  const seen = [...changes.filter(({ outcome }) => outcome === 'stored'), ...reads];
  return reads.flatMap((read) => {
    const older = seen.find(
      ({ scope, ended, version }) => scope === read.scope && ended < read.begun && version > read.version,
    );
    if (older === undefined) return [];
    return [`${read.scope} was ${older.version} before a read of ${read.version} began at ${read.begun}`];
  });
}

/** One server acknowledges in an epoch, and epochs grow with versions and with time. */
function epochsMixed({ changes }: FarmHistory): string[] {
  const broken: string[] = [];
  const stored = changes.filter(({ outcome }) => outcome === 'stored').sort((a, b) => a.version - b.version);
  for (const scope of new Set(stored.map((change) => change.scope))) {
    let before: AnsweredChange | undefined;
    let latestBegun = 0;
    for (const change of stored.filter((other) => other.scope === scope)) {
      const { id, epoch, server, ended } = change;
      if (before !== undefined && epoch < before.epoch)
        broken.push(`the epoch of ${id} is that of an earlier owner`);
      if (before?.epoch === epoch && before.server !== server) {
        broken.push(`${server} and ${before.server} acknowledged in epoch ${epoch}`);
      }
      if (ended < latestBegun) broken.push(`${id} was acknowledged before an earlier version was asked for`);
      latestBegun = Math.max(latestBegun, change.begun);
      before = change;
    }
  }
  return broken;
}

/** A follower is told every version, in order. */
function missedByFollowers({ followed, known, records }: FarmHistory): string[] {
  const broken: string[] = [];
  for (const { server, scope, versions } of followed) {
    const gap = versions.findIndex(
      (version, index) => index > 0 && version !== (versions[index - 1] ?? 0) + 1,
    );
    if (gap > 0)
      broken.push(`${server} was told ${versions[gap] ?? 0} of ${scope} after ${versions[gap - 1] ?? 0}`);
  }
  for (const { server, scope, version } of known) {
    const record = records.find(({ key }) => JSON.stringify(key) === JSON.stringify(versionKey(scope)));
    if (Number(record?.value ?? 0) !== version)
      broken.push(`${server} knows ${version} of ${scope} at the end`);
  }
  return broken;
}
