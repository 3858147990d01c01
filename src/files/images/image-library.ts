/** The images of this server: lists them, finds their files, lands new ones, and removes them. */
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { refusals, shortList } from '../../base/errors/errors.js';
import type { Projects } from '../../lab/projects/projects.js';
import type { Landing } from '../transfer/landing.js';
import { ImageDigests, type ImageDigestsOptions } from './image-digests.js';
import { EMULATORS, IMAGE_FOLDERS, imageName, type Emulator } from './image-name.js';
import { findImageUse, usesOfImages } from './image-use.js';
import type { AwayImage, ImageContent, ImagesElsewhere } from './images-elsewhere.js';

interface ImageLibraryOptions extends ImageDigestsOptions {
  readonly projects: Pick<Projects, 'all'>;
  /** Nodes may name files outside of the images folder. */
  readonly allowsAnyPath: boolean;
  /** Where other servers share their images with this one. */
  readonly elsewhere?: ImagesElsewhere | undefined;
}

/** An image as clients see it. */
interface ListedImage {
  readonly filename: string;
  readonly filesize: number;
  /** Null until it is known. */
  readonly md5sum: string | null;
  /** Below the folder of the emulator, or absolute. */
  readonly path: string;
}

/** The file of an image, and the headers of its responses. */
interface PlacedImage {
  readonly root: string;
  readonly path: string;
  readonly headers: (opened: {
    readonly version: string;
  }) => readonly (readonly [name: string, value: string])[];
}

const EXECUTABLE = 0o755;
const PLAIN = 0o644;
/** Images that go to other servers at the same time. */
const MOST_LENT = 4;

export class ImageLibrary {
  readonly #options: ImageLibraryOptions;
  readonly #digests: ImageDigests;
  #lent = 0;

  constructor(options: ImageLibraryOptions) {
    this.#options = options;
    const { elsewhere } = options;
    this.#digests = new ImageDigests(
      options,
      elsewhere && {
        known: (path, { size, md5, sha256 }, hasLanded) => {
          const named = sharedName(path);
          if (named !== undefined && sha256 !== undefined)
            elsewhere.holds(named.emulator, named.name, { size, md5, sha256 }, hasLanded);
        },
        forgotten: (path) => {
          const named = sharedName(path);
          if (named !== undefined) elsewhere.lost(named.emulator, named.name);
        },
      },
    );
  }

  get folder(): string {
    return this.#options.folder;
  }

  get allowsAnyPath(): boolean {
    return this.#options.allowsAnyPath;
  }

  start(): Promise<void> {
    return this.#digests.start();
  }

  /** Ends the work in the background, which needs the disk threads and the store until then. */
  close(): Promise<void> {
    return this.#digests.close();
  }

  /** The landing of an upload of this name. Refuses (400, 403) text that cannot be the name of an image. */
  landing(emulator: Emulator, filename: string): Landing {
    const { elsewhere } = this.#options;
    if (elsewhere === undefined) return this.landingHere(emulator, filename);
    const name = imageName(filename, 'write');
    return {
      ...this.landingHere(emulator, filename),
      check: ({ digests }) => {
        elsewhere.check(emulator, name, digests['sha-256']);
      },
      settled: () => elsewhere.spread(emulator, name),
    };
  }

  /** The same of an image that other servers have, which is for this host alone. */
  landingHere(emulator: Emulator, filename: string): Landing {
    const name = imageName(filename, 'write');
    const { folder, temporary } = this.#options;
    const path = `${IMAGE_FOLDERS[emulator]}/${name}`;
    return {
      root: folder,
      path,
      makesFolders: true,
      temporary,
      // IOU images are programs.
      mode: emulator === 'iou' ? EXECUTABLE : PLAIN,
      subject: { emulator, filename: name },
      digests: ['md5'],
      twinOf: (content) => this.#digests.twinOf(content),
      landed: (landed) => {
        this.#digests.landed(path, landed);
      },
    };
  }

  /** Sorted by name, with those of other servers. Digests that are missing here will be computed. */
  async list(emulator: Emulator): Promise<ListedImage[]> {
    const { elsewhere } = this.#options;
    const own = await this.listHere(emulator);
    if (elsewhere === undefined) return own;
    await elsewhere.catchUp();
    const taken = new Set(own.map(({ path }) => path));
    const away = [...elsewhere.listed(emulator)].filter(([path]) => !taken.has(path));
    return [...own, ...away.map(([path, content]) => listedAway(path, content))].sort(byName);
  }

  /** The images on the disk of this host, sorted by name. */
  async listHere(emulator: Emulator): Promise<ListedImage[]> {
    const { disk, folder: root } = this.#options;
    const images = await disk.run('listImages', { root, emulator });
    const listed = images.map((image) => ({
      filename: basename(image.path),
      filesize: image.size,
      md5sum: this.#digests.md5Of(image) ?? null,
      path: shownPath(root, image.path, emulator),
    }));
    return listed.sort(byName);
  }

  /** Whether the image is on the disk of this host, in the folder of the emulator. */
  async isHere(emulator: Emulator, name: string): Promise<boolean> {
    const { disk, folder: root } = this.#options;
    const path = await disk.run('findImage', { root, emulator, name });
    return path === `${IMAGE_FOLDERS[emulator]}/${name}`;
  }

  /** An image that another server has, and this host has not. Refuses (409) an unknown image. */
  async away(emulator: Emulator, filename: string): Promise<AwayImage | undefined> {
    const { elsewhere, disk, folder: root } = this.#options;
    if (elsewhere === undefined) return undefined;
    const name = imageName(filename, 'read');
    if ((await disk.run('findImage', { root, emulator, name })) !== undefined) return undefined;
    await elsewhere.catchUp();
    return elsewhere.find(emulator, name);
  }

  /**
   * Resolves when the image is on the disk of this host, with its SHA-256 as other servers know it. Refuses (409) one that nobody
   * has, and (503) one that nobody can give.
   */
  async bring(emulator: Emulator, filename: string): Promise<string | undefined> {
    const named = sharedName(await this.#findOrFetch(emulator, filename));
    return named && this.#options.elsewhere?.shared(named.emulator, named.name)?.sha256;
  }

  /** Deletes an image that has been deleted on another server, unless its content is another. Resolves with whether it is gone. */
  async removeCopy(emulator: Emulator, name: string, sha256: string): Promise<boolean> {
    const { disk, folder: root } = this.#options;
    const path = `${IMAGE_FOLDERS[emulator]}/${name}`;
    const facts = (await disk.run('listImages', { root, emulator })).find((one) => one.path === path);
    if (facts === undefined) return !(await this.isHere(emulator, name));
    if (this.#digests.of(path, facts.version)?.sha256 !== sha256) return false;
    await disk.run('removeImage', { root, path });
    this.#digests.removed(path);
    return true;
  }

  /** Counts an image that goes to another server until what is returned is called. Refuses (503) a fifth one. */
  lend(): () => void {
    if (this.#lent >= MOST_LENT) throw refusals.imageLendingBusy();
    this.#lent++;
    return () => {
      this.#lent--;
    };
  }

  /** Refuses (409) an unknown image. */
  async place(emulator: Emulator, filename: string): Promise<PlacedImage> {
    const path = await this.#find(emulator, filename);
    return {
      root: this.#options.folder,
      path,
      headers: ({ version }) => {
        const sha256 = this.#digests.of(path, version)?.sha256;
        if (sha256 === undefined) return [];
        return [['Repr-Digest', reprDigest(sha256)]];
      },
    };
  }

  /**
   * The path of the file that a property of a node names. Refuses (409) a missing image and, unless any path is allowed,
   * an absolute path that leads out of the images folder.
   */
  async pathOf(emulator: Emulator, named: string): Promise<string> {
    const { disk, folder: root, allowsAnyPath } = this.#options;
    if (!isAbsolute(named)) return join(root, await this.#findOrFetch(emulator, named));
    const inner = relative(root, named);
    const isOutside = inner === '' || inner === '..' || inner.startsWith('../') || named.includes('\0');
    if (isOutside && !allowsAnyPath) throw refusals.imageNotAllowed(named, root);
    if (!(await disk.run('isImageAt', { path: named }))) throw refusals.imageMissing(named);
    return named;
  }

  /** Refuses (409) an image that a node of any project uses. */
  async remove(emulator: Emulator, filename: string): Promise<void> {
    const { disk, folder: root, projects, elsewhere } = this.#options;
    const name = imageName(filename, 'delete');
    const found = await disk.run('findImage', { root, emulator, name });
    if (found === undefined && elsewhere === undefined) throw refusals.imageMissing(filename);
    const path = found ?? `${IMAGE_FOLDERS[emulator]}/${name}`;
    const names = this.#namesOf(emulator, path);
    const use = await findImageUse([...projects.all.values()], emulator, names);
    if (use !== undefined) throw refusals.imageInUse(basename(path), use.node, use.project);
    const shared = sharedName(path)?.name ?? name;
    await elsewhere?.checkUnused(emulator, shared);
    const wasElsewhere = await elsewhere?.remove(emulator, shared);
    if (found === undefined) {
      if (wasElsewhere !== true) throw refusals.imageMissing(filename);
      return;
    }
    await disk.run('removeImage', { root, path });
    this.#digests.removed(path);
  }

  /**
   * Gives an image another name in the folder that it is in. Refuses (409) an image that nodes use, in words that say which
   * labs, and a name that is taken.
   */
  async rename(emulator: Emulator, filename: string, wanted: string): Promise<string> {
    const { disk, folder: root, projects, elsewhere } = this.#options;
    const name = imageName(wanted, 'write');
    if (name.includes('/')) throw refusals.imageNameRefused(wanted, 'it has a folder');
    const path = await this.#findOrFetch(emulator, filename);
    const labs = new Map<string, number>();
    const names = this.#namesOf(emulator, path);
    for await (const { project, images } of usesOfImages([...projects.all.values()], emulator))
      if (images.some((image) => names.includes(image))) labs.set(project, (labs.get(project) ?? 0) + 1);
    const uses = [...labs].map(([lab, nodes]) => `${nodes} of project ${lab}`);
    if (uses.length > 0) throw refusals.imageNotRenamed(basename(path), shortList(uses));
    const before = sharedName(path);
    if (before !== undefined) await elsewhere?.checkUnused(emulator, before.name);
    const target = join(dirname(path), name);
    const after = sharedName(target);
    if (after !== undefined && elsewhere?.find(emulator, after.name) !== undefined)
      throw refusals.imageExists(name);
    await disk.run('renameImage', { root, path, target });
    this.#digests.removed(path);
    if (before !== undefined) await elsewhere?.remove(emulator, before.name);
    return name;
  }

  /** How many nodes of which projects use each image, by its path. */
  async uses(emulator: Emulator): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const listed = await this.#options.disk.run('listImages', { root: this.#options.folder, emulator });
    const pathOf = new Map<string, string>();
    for (const { path } of listed)
      for (const name of this.#namesOf(emulator, path))
        pathOf.set(name, shownPath(this.folder, path, emulator));
    for (const path of this.#options.elsewhere?.listed(emulator).keys() ?? [])
      for (const name of this.#namesOf(emulator, `${IMAGE_FOLDERS[emulator]}/${path}`))
        if (!pathOf.has(name)) pathOf.set(name, path);
    const found = new Map<string, Map<string, number>>();
    for await (const { project_id: id, images } of usesOfImages(
      [...this.#options.projects.all.values()],
      emulator,
    )) {
      for (const path of new Set(images.flatMap((image) => pathOf.get(image) ?? []))) {
        const projects = found.get(path) ?? new Map<string, number>();
        found.set(path, projects.set(id, (projects.get(id) ?? 0) + 1));
      }
    }
    return found;
  }

  /** The names by which nodes may name an image. */
  #namesOf(emulator: Emulator, path: string): string[] {
    const { folder: root } = this.#options;
    return [shownPath(root, path, emulator), join(root, path), basename(path)];
  }

  async #find(emulator: Emulator, filename: string): Promise<string> {
    const name = imageName(filename, 'read');
    const { disk, folder: root } = this.#options;
    const path = await disk.run('findImage', { root, emulator, name });
    if (path === undefined) throw refusals.imageMissing(filename);
    return path;
  }

  /** The same of an image that other servers may have: it is brought here. */
  async #findOrFetch(emulator: Emulator, filename: string): Promise<string> {
    const { elsewhere, disk, folder: root } = this.#options;
    const name = imageName(filename, 'read');
    const path = await disk.run('findImage', { root, emulator, name });
    if (path !== undefined) return path;
    if (elsewhere === undefined || !(await elsewhere.fetch(emulator, name)))
      throw refusals.imageMissing(filename);
    return this.#find(emulator, filename);
  }
}

/** The value of the header `Repr-Digest` for a SHA-256. */
export function reprDigest(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`;
}

/** The name by which servers share an image; undefined for one outside of the folders of emulators, which is of this host. */
function sharedName(path: string): { readonly emulator: Emulator; readonly name: string } | undefined {
  const emulator = EMULATORS.find((one) => path.startsWith(`${IMAGE_FOLDERS[one]}/`));
  return emulator && { emulator, name: path.slice(IMAGE_FOLDERS[emulator].length + 1) };
}

function listedAway(path: string, { size, md5 }: ImageContent): ListedImage {
  return { filename: basename(path), filesize: size, md5sum: md5 ?? null, path };
}

function byName(a: ListedImage, b: ListedImage): number {
  return order(a.filename, b.filename) || order(a.path, b.path);
}

function shownPath(root: string, path: string, emulator: Emulator): string {
  const own = `${IMAGE_FOLDERS[emulator]}/`;
  return path.startsWith(own) ? path.slice(own.length) : join(root, path);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
