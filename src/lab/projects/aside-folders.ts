/**
 * Folders beside the projects: those of projects that are being made, and those of deleted projects. A record of each
 * is stored before the folder is made. The name of each is unique, so when a start finds a folder that is on record, it
 * knows that the work was interrupted; it needs no other sign.
 */
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { isBelow } from '../../base/disk/path-order.js';
import type { Change } from '../../base/store/store.js';
import { MAKINGS, TRASH } from './folder-layout.js';
import type { ProjectServices } from './project-state.js';
import { asideKey, ASIDES, removing } from './records.js';

export interface AsideFolder {
  readonly id: string;
  /** An absolute path. */
  readonly folder: string;
}

interface AsideRecord {
  readonly folder: string;
  /** The project that the store forgets when the next start finds the folder. */
  readonly forgets: string | null;
}

export type AsideServices = Pick<ProjectServices, 'files' | 'store' | 'log'>;

/** The record that a commit stores of the folder. */
export function noteAside({ id, folder }: AsideFolder, forgets: string | null): Change {
  return { put: asideKey(id), value: { folder, forgets } satisfies AsideRecord };
}

export class AsideFolders {
  readonly #services: AsideServices;
  readonly #projects: string;

  /** `projects` is the projects folder. */
  constructor(services: AsideServices, projects: string) {
    this.#services = services;
    this.#projects = projects;
  }

  /** A folder for a new project with this place, on the same file system. */
  beginMaking(place: string): Promise<AsideFolder> {
    const id = randomUUID();
    const isInside = isBelow(this.#projects, place);
    const folder = isInside ? join(this.#projects, MAKINGS, id) : join(dirname(place), `.making-${id}`);
    return this.#begin({ id, folder }, null);
  }

  /** A folder for the files of a project that is deleted. */
  beginRemoval(forgets: string | null): Promise<AsideFolder> {
    const id = randomUUID();
    return this.#begin({ id, folder: join(this.#projects, TRASH, id) }, forgets);
  }

  /** Removes the record of a folder that is gone. If that fails, the next start does it. */
  async end({ id, folder }: AsideFolder): Promise<void> {
    const { store, log } = this.#services;
    await store.commit([{ remove: asideKey(id) }]).catch((error: unknown) => {
      log.warn({ err: error, folder }, 'the record of a folder that is gone stays until the next start');
    });
  }

  /** Removes the folder. If that fails, the next start tries again. */
  async remove(aside: AsideFolder): Promise<void> {
    const { files, log } = this.#services;
    try {
      await files.run('removeTree', { folder: aside.folder });
    } catch (error) {
      log.error({ err: error, folder: aside.folder }, 'a folder that is to go cannot be removed yet');
      return;
    }
    await this.end(aside);
  }

  /** Completes the work that the end of the last server interrupted. */
  async finish(): Promise<void> {
    const { files, store, log } = this.#services;
    await files.run('makeOwnFolders', { projects: this.#projects });
    for (const { key, value } of await store.load(ASIDES)) {
      const { folder, forgets } = value as AsideRecord;
      const aside = { id: key[1] ?? '', folder };
      if (!(await files.run('isThere', { path: folder }))) {
        await this.end(aside);
        continue;
      }
      try {
        if (forgets !== null) await store.commit([...removing(forgets), noteAside(aside, null)]);
        await this.remove(aside);
      } catch (error) {
        log.error({ err: error, project: forgets }, 'a deleted project cannot be forgotten yet');
      }
    }
  }

  async #begin(aside: AsideFolder, forgets: string | null): Promise<AsideFolder> {
    await this.#services.store.commit([noteAside(aside, forgets)]);
    return aside;
  }
}
