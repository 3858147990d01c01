/**
 * The digests of images: known from uploads and from the store, or computed in the background, one image at a time. Each
 * belongs to one version of one file, so an entry can be out of date but never wrong. Paths are below the images folder.
 */
import { NO_VERSION } from '../../base/disk/content-version.js';
import { join } from 'node:path';
import type { Change, Key, Store } from '../../base/store/store.js';
import type { Content, Landed, Twin } from '../transfer/landing.js';
import type { ImageFacts } from './image-tasks.js';
import { SideFiles, type SideFilesOptions } from './side-files.js';

interface KnownDigests {
  readonly version: string;
  readonly size: number;
  readonly md5?: string | undefined;
  readonly sha256?: string | undefined;
}

export interface ImageDigestsOptions extends SideFilesOptions {
  readonly store: Pick<Store, 'commit' | 'load'>;
}

/** Is told what images are known to be. */
interface DigestListener {
  readonly known: (path: string, digests: KnownDigests, hasLanded: boolean) => void;
  readonly forgotten: (path: string) => void;
}

const BOTH = ['md5', 'sha-256'] as const;
const MD5 = ['md5'] as const;
const RECORDS: Key = ['image'];
const MOST_KNOWN = 30_000;
/** Longer keys do not fit into the store. */
const LONGEST_KEY = 1500;

export class ImageDigests {
  readonly #options: ImageDigestsOptions;
  readonly #listener: DigestListener | undefined;
  readonly #sideFiles: SideFiles;
  readonly #known = new Map<string, KnownDigests>();
  /** Images that wait to be digested, in order. */
  readonly #waiting = new Set<string>();
  /** Set to cancel the digest under way. */
  readonly #cancelled = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #current: string | undefined;
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: ImageDigestsOptions, listener?: DigestListener) {
    this.#options = options;
    this.#listener = listener;
    this.#sideFiles = new SideFiles(options);
  }

  async start(): Promise<void> {
    for (const { key, value } of await this.#options.store.load(RECORDS)) {
      this.#known.set(key[1] ?? '', value as KnownDigests);
    }
  }

  /** Resolves when nothing runs in the background any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.clear();
    Atomics.store(this.#cancelled, 0, 1);
    await this.#running;
    await this.#sideFiles.idle();
  }

  /** The known digests of this version; missing ones will be computed. */
  of(path: string, version: string): KnownDigests | undefined {
    const known = this.#known.get(path);
    const isSame = known?.version === version;
    if (known !== undefined && !isSame) this.#forget(path);
    if (!isSame || known.md5 === undefined || known.sha256 === undefined) this.#want(path);
    if (isSame) this.#listener?.known(path, known, false);
    return isSame ? known : undefined;
  }

  /** The MD5 of an image. A file beside the image that has another MD5 is corrected. */
  md5Of({ path, version, md5 }: ImageFacts): string | undefined {
    const known = this.of(path, version)?.md5;
    if (known !== undefined && known !== md5) this.#sideFiles.settle(path, version, known);
    return known ?? md5;
  }

  /** A file that had this content when it was last digested. */
  twinOf({ size, digests }: Content): Twin | undefined {
    const sha256 = digests['sha-256'];
    if (sha256 === undefined || size === 0) return undefined;
    for (const [path, known] of this.#known) {
      if (known.sha256 !== sha256 || known.size !== size) continue;
      return { path: join(this.#options.folder, path), version: known.version, sha256 };
    }
    return undefined;
  }

  /** Called when an upload has landed. */
  landed(path: string, { version, size, digests, isUnchanged }: Landed): void {
    // Another upload has replaced the file already: these digests are not those of the image that is there.
    if (version === NO_VERSION) return;
    const before = isUnchanged ? this.#known.get(path) : undefined;
    const known = before?.version === version ? before : undefined;
    const md5 = digests.md5 ?? known?.md5;
    const sha256 = digests['sha-256'] ?? known?.sha256;
    this.#drop(path);
    this.#note(path, { version, size, md5, sha256 }, true);
    // The file beside an unchanged image may still be right.
    if (md5 !== undefined || !isUnchanged) this.#sideFiles.settle(path, version, md5);
    if (md5 === undefined || sha256 === undefined) this.#want(path);
  }

  removed(path: string): void {
    this.#listener?.forgotten(path);
    this.#drop(path);
    this.#forget(path);
  }

  #want(path: string): void {
    if (this.#isClosed || path === this.#current || this.#waiting.size >= MOST_KNOWN) return;
    this.#waiting.add(path);
    this.#running ??= this.#work();
  }

  /** Cancels the digest of the image. */
  #drop(path: string): void {
    this.#waiting.delete(path);
    if (path !== this.#current) return;
    this.#current = undefined;
    Atomics.store(this.#cancelled, 0, 1);
  }

  async #work(): Promise<void> {
    for (let [path] = this.#waiting; path !== undefined; [path] = this.#waiting) {
      this.#waiting.delete(path);
      this.#current = path;
      Atomics.store(this.#cancelled, 0, 0);
      await this.#digest(path);
      this.#current = undefined;
    }
    this.#running = undefined;
  }

  async #digest(path: string): Promise<void> {
    const { disk, folder: root } = this.#options;
    const cancelled = this.#cancelled;
    const known = this.#known.get(path);
    // The SHA-256 of an upload is known already.
    const digests = known?.sha256 === undefined ? BOTH : MD5;
    // An image that cannot be read is tried again with the next request for it.
    const found = await disk.run('digestImage', { root, path, digests, cancelled }).catch(() => undefined);
    if (found === undefined || Atomics.load(cancelled, 0) !== 0) return;
    const { version, size } = found;
    const { md5, 'sha-256': sha256 = known?.version === version ? known.sha256 : undefined } = found.digests;
    this.#note(path, { version, size, md5, sha256 }, false);
    this.#sideFiles.settle(path, version, md5);
  }

  #note(path: string, digests: KnownDigests, hasLanded: boolean): void {
    this.#known.delete(path);
    this.#known.set(path, digests);
    this.#listener?.known(path, digests, hasLanded);
    const key = keyOf(path);
    this.#keep(key === undefined ? [] : [{ put: key, value: digests }]);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_KNOWN && oldest !== undefined) this.#forget(oldest);
  }

  #forget(path: string): void {
    if (!this.#known.delete(path)) return;
    const key = keyOf(path);
    this.#keep(key === undefined ? [] : [{ remove: key }]);
  }

  /** Stores changes. The store is only a cache: digests that cannot be stored are computed again after the next start. */
  #keep(changes: readonly Change[]): void {
    if (changes.length > 0) this.#options.store.commit(changes).catch(() => undefined);
  }
}

function keyOf(path: string): Key | undefined {
  return Buffer.byteLength(path) > LONGEST_KEY ? undefined : [...RECORDS, path];
}
