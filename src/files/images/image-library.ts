/** The images of this server: lists them, finds their files, lands new ones, and removes them. */
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { refusals, shortList } from '../../base/errors/errors.js';
import type { Projects } from '../../lab/projects/projects.js';
import type { Landing } from '../transfer/landing.js';
import { ImageDigests, type ImageDigestsOptions } from './image-digests.js';
import { IMAGE_FOLDERS, imageName, type Emulator } from './image-name.js';
import { findImageUse, usesOfImages } from './image-use.js';

interface ImageLibraryOptions extends ImageDigestsOptions {
  readonly projects: Pick<Projects, 'all'>;
  /** Nodes may name files outside of the images folder. */
  readonly allowsAnyPath: boolean;
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

export class ImageLibrary {
  readonly #options: ImageLibraryOptions;
  readonly #digests: ImageDigests;

  constructor(options: ImageLibraryOptions) {
    this.#options = options;
    this.#digests = new ImageDigests(options);
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

  /** Sorted by name. Digests that are missing here will be computed. */
  async list(emulator: Emulator): Promise<ListedImage[]> {
    const { disk, folder: root } = this.#options;
    const images = await disk.run('listImages', { root, emulator });
    const listed = images.map((image) => ({
      filename: basename(image.path),
      filesize: image.size,
      md5sum: this.#digests.md5Of(image) ?? null,
      path: shownPath(root, image.path, emulator),
    }));
    return listed.sort((a, b) => order(a.filename, b.filename) || order(a.path, b.path));
  }

  /** Refuses (409) an unknown image. */
  async place(emulator: Emulator, filename: string): Promise<PlacedImage> {
    const path = await this.#find(emulator, filename, 'read');
    return {
      root: this.#options.folder,
      path,
      headers: ({ version }) => {
        const sha256 = this.#digests.of(path, version)?.sha256;
        if (sha256 === undefined) return [];
        return [['Repr-Digest', `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`]];
      },
    };
  }

  /**
   * The path of the file that a property of a node names. Refuses (409) a missing image and, unless any path is allowed,
   * an absolute path that leads out of the images folder.
   */
  async pathOf(emulator: Emulator, named: string): Promise<string> {
    const { disk, folder: root, allowsAnyPath } = this.#options;
    if (!isAbsolute(named)) return join(root, await this.#find(emulator, named, 'read'));
    const inner = relative(root, named);
    const isOutside = inner === '' || inner === '..' || inner.startsWith('../') || named.includes('\0');
    if (isOutside && !allowsAnyPath) throw refusals.imageNotAllowed(named, root);
    if (!(await disk.run('isImageAt', { path: named }))) throw refusals.imageMissing(named);
    return named;
  }

  /** Refuses (409) an image that a node of any project uses. */
  async remove(emulator: Emulator, filename: string): Promise<void> {
    const { disk, folder: root, projects } = this.#options;
    const path = await this.#find(emulator, filename, 'delete');
    const names = this.#namesOf(emulator, path);
    const use = await findImageUse([...projects.all.values()], emulator, names);
    if (use !== undefined) throw refusals.imageInUse(basename(path), use.node, use.project);
    await disk.run('removeImage', { root, path });
    this.#digests.removed(path);
  }

  /**
   * Gives an image another name in the folder that it is in. Refuses (409) an image that nodes use, in words that say which
   * labs, and a name that is taken.
   */
  async rename(emulator: Emulator, filename: string, wanted: string): Promise<string> {
    const { disk, folder: root, projects } = this.#options;
    const name = imageName(wanted, 'write');
    if (name.includes('/')) throw refusals.imageNameRefused(wanted, 'it has a folder');
    const path = await this.#find(emulator, filename, 'rename');
    const labs = new Map<string, number>();
    const names = this.#namesOf(emulator, path);
    for await (const { project, images } of usesOfImages([...projects.all.values()], emulator))
      if (images.some((image) => names.includes(image))) labs.set(project, (labs.get(project) ?? 0) + 1);
    const uses = [...labs].map(([lab, nodes]) => `${nodes} of project ${lab}`);
    if (uses.length > 0) throw refusals.imageNotRenamed(basename(path), shortList(uses));
    await disk.run('renameImage', { root, path, target: join(dirname(path), name) });
    this.#digests.removed(path);
    return name;
  }

  /** How many nodes of which projects use each image, by its path. */
  async uses(emulator: Emulator): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
    const listed = await this.#options.disk.run('listImages', { root: this.#options.folder, emulator });
    const pathOf = new Map<string, string>();
    for (const { path } of listed)
      for (const name of this.#namesOf(emulator, path))
        pathOf.set(name, shownPath(this.folder, path, emulator));
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

  async #find(emulator: Emulator, filename: string, doing: 'read' | 'delete' | 'rename'): Promise<string> {
    const name = imageName(filename, doing);
    const { disk, folder: root } = this.#options;
    const path = await disk.run('findImage', { root, emulator, name });
    if (path === undefined) throw refusals.imageMissing(filename);
    return path;
  }
}

function shownPath(root: string, path: string, emulator: Emulator): string {
  const own = `${IMAGE_FOLDERS[emulator]}/`;
  return path.startsWith(own) ? path.slice(own.length) : join(root, path);
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
