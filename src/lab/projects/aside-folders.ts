/**
 * Folders beside the projects: those in which projects are being made, and those of projects that are gone. The store
 * says of each what it is before it is there. Its name is made for it alone, so a start that finds the folder knows
 * that it was not finished with; it goes by nothing else.
 */
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { isBelow } from '../../base/disk/path-order.js';
import type { Change } from '../../base/store/store.js';
import { MAKINGS, TRASH } from './folder-layout.js';
import type { ProjectServices } from './project-state.js';
import { asideKey, ASIDES, forgetting } from './records.js';

export interface AsideFolder {
  readonly id: string;
  /** Absolute. */
  readonly folder: string;
}

export interface AsideRecord {
  readonly folder: string;
  /** The project that is forgotten when the next start finds the folder. */
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

  /** For a project that is to get this place: on the same file system. */
  beginMaking(place: string): Promise<AsideFolder> {
    const id = randomUUID();
    const isInside = isBelow(this.#projects, place);
    const folder = isInside ? join(this.#projects, MAKINGS, id) : join(dirname(place), `.making-${id}`);
    return this.#begin({ id, folder }, null);
  }

  /** For a folder that is to be removed, and with it this project. */
  beginRemoval(forgets: string | null): Promise<AsideFolder> {
    const id = randomUUID();
    return this.#begin({ id, folder: join(this.#projects, TRASH, id) }, forgets);
  }

  /** Of a folder that is there no more. A record that stays all the same says nothing: the next start drops it. */
  async end({ id, folder }: AsideFolder): Promise<void> {
    const { store, log } = this.#services;
    await store.commit([{ remove: asideKey(id) }]).catch((error: unknown) => {
      log.warn({ err: error, folder }, 'the record of a folder that is gone stays until the next start');
    });
  }

  /** What cannot be removed is tried again at the next start. */
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

  /** Completes what the end of the last server has interrupted. */
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
        if (forgets !== null) await store.commit([...forgetting(forgets), noteAside(aside, null)]);
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
