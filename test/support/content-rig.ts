/** A project's folder and the store of its snapshots, as the jobs use them. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ContentStore } from '../../src/snapshots/content/content-store.js';
import { JobProgress } from '../../src/snapshots/content/job-progress.js';
import { publishManifest, readManifest, type Manifest } from '../../src/snapshots/content/manifest.js';
import { freezeFiles, type FrozenTree } from '../../src/snapshots/content/frozen-tree.js';
import { recordTree } from './file-trees.js';

export const SNAPSHOTS = 'snapshots';

export interface Taken {
  readonly id: string;
  readonly added: number;
  /** The paths of what was read or cloned. */
  readonly read: readonly string[];
}

export class ContentRig {
  readonly project: string;
  readonly folder: string;
  readonly store: ContentStore;
  #built = 0;

  constructor(readonly scratch: string) {
    this.project = join(scratch, 'project');
    this.folder = join(this.project, SNAPSHOTS);
    mkdirSync(this.project, { recursive: true });
    this.store = new ContentStore(this.folder);
  }

  freeze(work: string, known: ReadonlyMap<string, string> = new Map()): FrozenTree {
    return freezeFiles(this.project, work, {
      isLeftOut: (path) => path === SNAPSHOTS,
      known: (path) => known.get(path),
      limit: 100_000,
    });
  }

  /** A snapshot; files that this older one has are not read. */
  take(older?: string, id: string = randomUUID()): Taken {
    const work = join(this.folder, '.work', id);
    try {
      const known = older === undefined ? undefined : this.store.versions(older);
      const frozen = settledLater(() => this.freeze(work, known));
      const progress = new JobProgress();
      const { tree, added } = this.store.store(id, frozen, progress);
      if (progress.done !== progress.total) throw new Error(`${progress.done} of ${progress.total} are done`);
      const snapshot = { snapshot_id: id };
      const isSealed = tree.files.every(({ digest }) => digest !== undefined);
      const head = { snapshot, size: frozen.bytes, files: tree.files.length, added, counts: {}, isSealed };
      publishManifest(this.folder, head, { name: 'topology' }, tree);
      const read = frozen.files.filter(({ source }) => source !== undefined).map(({ path }) => path);
      return { id, added, read };
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }

  manifest(id: string): Manifest {
    return readManifest(this.folder, id);
  }

  /** The files of the project. */
  record(): ReadonlyMap<string, string> {
    return recordTree(this.project, [SNAPSHOTS]);
  }

  /** The files of the snapshot when it is built. */
  built(id: string, wants?: (path: string) => boolean): ReadonlyMap<string, string> {
    const target = join(this.scratch, `built-${this.#built++}`);
    const progress = new JobProgress();
    this.store.build(this.manifest(id).tree, target, progress, wants);
    if (progress.done !== progress.total) throw new Error(`${progress.done} of ${progress.total} are done`);
    const found = recordTree(target);
    rmSync(target, { recursive: true });
    return found;
  }

  damage(id: string): { path: string; reason: string }[] {
    return this.store.verify(this.manifest(id).tree, new JobProgress());
  }

  objects(): string[] {
    return readdirSync(join(this.folder, 'content')).sort();
  }
}

/** As if the files had not been changed just now. */
export function settledLater<Result>(act: () => Result): Result {
  const { now } = Date;
  Date.now = () => now() + 60_000;
  try {
    return act();
  } finally {
    Date.now = now;
  }
}
