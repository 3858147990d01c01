/** Snapshots as clients see them. Pure. */

/** Exactly the six keys of the contract (A5.2). */
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
 * How a snapshot is stored. `wirefarm`: in the content store of the project. `topology`: a manifest without files, made
 * before another program's change of the topology file takes effect; a restore leaves the files alone. `gns3`: an
 * archive that GNS3 made.
 */
type SnapshotForm = 'wirefarm' | 'topology' | 'gns3';

export interface ListedSnapshot {
  readonly snapshot: Snapshot;
  readonly form: SnapshotForm;
}

export interface SnapshotDetails extends Snapshot {
  readonly form: SnapshotForm;
  /** The length of its files. */
  readonly size: number;
  /** The bytes that deleting it frees on the disk. */
  readonly unique_size: number;
  /** These are null if the archive would have to be read for them. */
  readonly nodes: number | null;
  readonly links: number | null;
  readonly drawings: number | null;
  readonly files: number | null;
  /** `sealing`: the digests of some files are still being computed. */
  readonly state: 'whole' | 'sealing';
  /** SHA-256 of the manifest, which has the digests of the files. */
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

/** The order of the contract: by time, then by name. */
export function bySnapshotAge(a: Snapshot, b: Snapshot): number {
  return a.created_at - b.created_at || (a.name < b.name ? -1 : 1);
}
