/**
 * The images of computes, for the choice of a place: those of servers of the farm are on record, and lists of others are asked
 * for, and count for a while.
 */
import { posix } from 'node:path';
import { z } from 'zod';
import type { Emulator } from '../files/images/image-name.js';
import type { ComputeCall } from '../lab/other-computes.js';
import type { ImageCopies } from './images/image-copies.js';

interface ComputeImagesOptions {
  readonly copies: Pick<ImageCopies, 'listed'>;
  /** The servers of the farm that live. */
  readonly servers: () => ReadonlyMap<string, unknown>;
  readonly ask: (id: string, call: ComputeCall) => Promise<unknown>;
  readonly now: () => number;
}

interface FoundImages {
  readonly names: ReadonlySet<string>;
  /** Whether the compute brings what it lacks from other servers of the farm. */
  readonly brings: boolean;
}

interface KeptList {
  readonly until: number;
  readonly names: Promise<ReadonlySet<string> | undefined>;
}

const imageList = z.array(z.object({ filename: z.string(), path: z.string().optional() })).max(100_000);
const KEPT_MS = 30_000;
const MOST_KEPT = 200;

export class ComputeImages {
  readonly #options: ComputeImagesOptions;
  readonly #kept = new Map<string, KeptList>();

  constructor(options: ComputeImagesOptions) {
    this.#options = options;
  }

  /** The images of a compute, whose host has this name; undefined when it does not tell. */
  async on(id: string, host: string, emulator: Emulator): Promise<FoundImages | undefined> {
    const { copies, servers } = this.#options;
    if (servers().has(host)) {
      const paths = [...copies.listed(emulator, host).keys()];
      return { names: new Set(paths.flatMap((path) => [path, posix.basename(path)])), brings: true };
    }
    const names = await this.#listed(id, emulator);
    return names && { names, brings: false };
  }

  #listed(id: string, emulator: Emulator): Promise<ReadonlySet<string> | undefined> {
    const key = `${emulator}/${id}`;
    const now = this.#options.now();
    const known = this.#kept.get(key);
    if (known !== undefined && known.until > now) return known.names;
    const names = this.#ask(id, emulator);
    this.#kept.delete(key);
    this.#kept.set(key, { until: now + KEPT_MS, names });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    void names.then((found) => {
      if (found === undefined) this.#kept.delete(key);
    });
    return names;
  }

  async #ask(id: string, emulator: Emulator): Promise<ReadonlySet<string> | undefined> {
    try {
      const found = imageList.parse(
        await this.#options.ask(id, { method: 'GET', path: `/${emulator}/images` }),
      );
      return new Set(
        found.flatMap(({ filename, path }) => (path === undefined ? [filename] : [filename, path])),
      );
    } catch {
      return undefined;
    }
  }
}
