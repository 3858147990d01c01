/** What a snapshot is to clients. */

/** Exactly the contract's six keys (A5.2). */
export interface Snapshot {
  readonly snapshot_id: string;
  readonly name: string;
  /** Seconds since 1970. */
  readonly created_at: number;
  readonly description: string;
  readonly filename: string;
  readonly project_id: string;
}

/**
 * Who made it decides how it is kept: in the content store of the project, or as an archive of its own. What a topology
 * file was changed to by another program is kept as the topology alone: a restore leaves the files as they are.
 */
export type SnapshotForm = 'wirefarm' | 'topology' | 'gns3';

export interface ListedSnapshot {
  readonly snapshot: Snapshot;
  readonly form: SnapshotForm;
}

export interface SnapshotDetails extends Snapshot {
  readonly form: SnapshotForm;
  /** Bytes of its files. */
  readonly size: number;
  /** Bytes on the disk that are gone when it is deleted. */
  readonly unique_size: number;
  /** Null where the archive would have to be read for it. */
  readonly nodes: number | null;
  readonly links: number | null;
  readonly drawings: number | null;
  readonly files: number | null;
  /** `sealing`: the digests of some of its files are being found out. */
  readonly state: 'whole' | 'sealing';
  /** SHA-256 of everything that it says, the digests of its files included. */
  readonly digest: string | null;
}

export const ARCHIVE_EXTENSION = '.gns3snapshot';

export function newSnapshot(
  ids: { readonly snapshotId: string; readonly projectId: string },
  name: string,
  description: string | undefined,
  now: Date,
): Snapshot {
  const [date = '', time = ''] = now.toISOString().split(/[T.]/);
  return {
    snapshot_id: ids.snapshotId,
    name,
    created_at: Math.floor(now.getTime() / 1000),
    description: description ?? `Snapshot '${name}' taken on ${date} at ${time}`,
    filename: `${name}${ARCHIVE_EXTENSION}`,
    project_id: ids.projectId,
  };
}

/** The contract's order. */
export function bySnapshotAge(a: Snapshot, b: Snapshot): number {
  return a.created_at - b.created_at || (a.name < b.name ? -1 : 1);
}
