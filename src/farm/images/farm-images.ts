/**
 * The images of this server in its farm: tells the others what it has, brings what they have, and sees to it that an upload
 * counts only when enough servers have it. What lies on the disks counts; the records say it to the others.
 */
import type { Logger } from 'pino';
import { z } from 'zod';
import { refusals, shortList } from '../../base/errors/errors.js';
import type { Change, SharedStore } from '../../base/store/store.js';
import { EMULATORS, type Emulator } from '../../files/images/image-name.js';
import type { ImageLibrary } from '../../files/images/image-library.js';
import type { AwayImage, ImageContent, ImagesElsewhere } from '../../files/images/images-elsewhere.js';
import type { Transfers } from '../../files/transfer/transfers.js';
import { ranking } from '../ranking.js';
import type { ServerRecord } from '../servers.js';
import { copyKey, type ImageCopies, type ImageCopy } from './image-copies.js';
import { ImagePieces, type CallServer, type Holder } from './image-pieces.js';
import { pullImage } from './image-pull.js';

interface FarmImagesOptions {
  /** The name of this server. */
  readonly own: string;
  /** This member of the farm. */
  readonly member: {
    readonly images: ImageCopies;
    readonly hasJoined: boolean;
    readonly servers: ReadonlyMap<string, ServerRecord>;
    readonly freshness: { catchUp(): Promise<number | undefined> };
  };
  readonly store: Pick<SharedStore, 'commit'>;
  readonly call: CallServer;
  readonly transfers: Pick<Transfers, 'begin'>;
  /** So many servers have an image before its upload is answered. */
  readonly copies: number;
  readonly log: Logger;
}

/** The part of the images of this host that is needed here. */
type Library = Pick<ImageLibrary, 'landingHere' | 'listHere' | 'isHere' | 'removeCopy'>;

/** Images that are being brought at the same time, and those that wait for their turn. */
const MOST_PULLS = 4;
const MOST_WAITING = 256;
/** How long another server may take to bring an image. */
const SPREAD_MS = 10 * 60 * 1000;
const ASK_MS = 5000;
const LARGEST_ANSWER = 8 * 1024 * 1024;
/** Images that were put into the folder by hand are noticed that often. */
const LOOK_MS = 60_000;
const OK = 200;

const usesAnswer = z.record(z.string(), z.object({ nodes: z.int() }));
const broughtAnswer = z.object({ sha256: z.string().nullable() });

export class FarmImages implements ImagesElsewhere {
  readonly #options: FarmImagesOptions;
  readonly #copies: ImageCopies;
  readonly #pieces: ImagePieces;
  readonly #pulls = new Map<string, Promise<boolean>>();
  readonly #inLine: (() => void)[] = [];
  /** Changes of the records of this server that are not stored yet, by emulator and name. */
  #due = new Map<string, Change>();
  #storing: Promise<void> = Promise.resolve();
  #working = 0;
  #isTidying = false;
  #library: Library | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FarmImagesOptions) {
    const { member, call, log } = options;
    this.#options = options;
    this.#copies = member.images;
    this.#pieces = new ImagePieces({ call, log, now: () => performance.now() });
  }

  /** Call it when this server has joined. */
  start(library: Library): void {
    this.#library = library;
    this.#copies.onChanged = () => {
      this.#tidy();
    };
    const look = (): void => {
      this.#look().catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'the images of this server could not be told to the farm');
      });
    };
    this.#timer = setInterval(look, LOOK_MS).unref();
    look();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#copies.onChanged = () => undefined;
    this.#library = undefined;
  }

  catchUp(): Promise<unknown> {
    return this.#options.member.freshness.catchUp();
  }

  listed(emulator: Emulator): ReadonlyMap<string, ImageContent> {
    return this.#copies.listed(emulator);
  }

  shared(emulator: Emulator, name: string): ImageContent | undefined {
    const copy = this.#copies.of(this.#options.own, emulator, name);
    return copy?.isDeleted === true ? undefined : copy;
  }

  find(emulator: Emulator, name: string): AwayImage | undefined {
    const full = this.#fullName(emulator, name);
    if (full === undefined) return undefined;
    const content = this.#contentOf(emulator, full);
    return {
      ...{ ...content, name: full },
      read: async (start, end, signal) => {
        const image = { emulator, name: full, ...content };
        return (await this.#pieces.read(image, this.#live(image), { start, end }, signal)).bytes;
      },
    };
  }

  async fetch(emulator: Emulator, name: string): Promise<boolean> {
    await this.catchUp();
    const full = this.#fullName(emulator, name);
    if (full === undefined) return false;
    const key = `${emulator}/${full}`;
    const running = this.#pulls.get(key);
    if (running !== undefined) return running;
    if (this.#inLine.length >= MOST_WAITING) throw refusals.imageFetchingBusy();
    const pull = this.#inTurn(() => this.#pull(emulator, full)).finally(() => {
      this.#pulls.delete(key);
    });
    this.#pulls.set(key, pull);
    return pull;
  }

  check(emulator: Emulator, name: string, sha256: string | undefined): void {
    const others = [...this.#others(emulator, name)].filter(([, copy]) => copy.sha256 !== sha256);
    if (others.length > 0) throw refusals.imageDiffers(name, shortList(others.map(([server]) => server)));
  }

  holds(emulator: Emulator, name: string, { size, sha256, md5 }: ImageContent, hasLanded: boolean): void {
    const { own } = this.#options;
    const known = this.#copies.of(own, emulator, name);
    const isKnown = known?.sha256 === sha256 && known.size === size;
    if (isKnown && (known.isDeleted === true ? !hasLanded : known.md5 === md5)) return;
    this.#store({ put: copyKey(own, emulator, name), value: { size, sha256, md5 } });
  }

  lost(emulator: Emulator, name: string): void {
    const { own } = this.#options;
    if (this.#copies.of(own, emulator, name) !== undefined)
      this.#store({ remove: copyKey(own, emulator, name) });
  }

  async spread(emulator: Emulator, name: string): Promise<void> {
    const { own, member, copies: wanted, log } = this.#options;
    if (!member.hasJoined) throw refusals.ownerMissing();
    await this.#stored();
    if ((await member.freshness.catchUp()) !== undefined) throw refusals.storeUnreachable();
    const content = this.shared(emulator, name);
    if (content === undefined || (await this.#library?.isHere(emulator, name)) !== true)
      throw refusals.imageGone(name);
    this.check(emulator, name, content.sha256);
    const have = new Set([own]);
    const others = ranking(
      `${emulator}/${name}`,
      [...this.#present()].filter((id) => id !== own),
    );
    for (const id of others) if (this.#copies.holders(emulator, name).has(id)) have.add(id);
    for (const id of others) {
      if (have.size >= wanted) break;
      if (!have.has(id) && (await this.#giveTo(id, emulator, name, content.sha256))) have.add(id);
    }
    const possible = Math.min(wanted, others.length + 1);
    if (have.size < possible) throw refusals.imageCopiesMissing(name, have.size, possible);
    if (have.size < wanted)
      log.warn(
        { emulator, image: name, copies: have.size, wanted },
        'an image is on fewer servers than it should be: there are not so many',
      );
  }

  async checkUnused(emulator: Emulator, name: string): Promise<void> {
    const { own, call, member } = this.#options;
    await this.catchUp();
    const asked = [...member.servers].filter(([id]) => id !== own);
    await Promise.all(
      asked.map(async ([id, server]) => {
        const signal = AbortSignal.timeout(ASK_MS);
        const reply = await call(
          { id, ...server },
          { method: 'GET', target: `/v2/images/${emulator}/uses`, largest: LARGEST_ANSWER, signal },
        ).catch(() => undefined);
        const uses = reply?.status === OK ? usesAnswer.safeParse(parsed(reply.bytes)).data : undefined;
        if (uses === undefined) throw refusals.imageUseUnknown(name, id);
        const nodes = uses[name]?.nodes ?? 0;
        if (nodes > 0) throw refusals.imageUsedElsewhere(name, nodes, id);
      }),
    );
  }

  async remove(emulator: Emulator, name: string): Promise<boolean> {
    const holders = this.#others(emulator, name);
    const changes = [...holders].map(([server, copy]): Change => ({
      put: copyKey(server, emulator, name),
      value: { ...copy, isDeleted: true },
    }));
    if (changes.length > 0) await this.#commit(changes);
    return changes.length > 0;
  }

  /** The name of an image that others have; a name without folders may be that of one in a folder. */
  #fullName(emulator: Emulator, name: string): string | undefined {
    if (this.#others(emulator, name).size > 0) return name;
    if (name.includes('/')) return undefined;
    const { own } = this.#options;
    return [...this.#copies.listed(emulator).keys()]
      .filter((listed) => listed.endsWith(`/${name}`))
      .sort()
      .find((listed) => [...this.#copies.holders(emulator, listed).keys()].some((id) => id !== own));
  }

  #others(emulator: Emulator, name: string): Map<string, ImageCopy> {
    const holders = new Map(this.#copies.holders(emulator, name));
    holders.delete(this.#options.own);
    return holders;
  }

  /** The content that all others have. */
  #contentOf(emulator: Emulator, name: string): ImageContent {
    const others = this.#others(emulator, name);
    const [first] = others.values();
    if (first === undefined) throw refusals.imageMissing(name);
    if ([...others.values()].some(({ sha256 }) => sha256 !== first.sha256))
      throw refusals.imageDiffers(name, shortList([...others.keys()]));
    return first;
  }

  /** The servers that have the image and live. */
  #live({ emulator, name, sha256 }: { emulator: Emulator; name: string; sha256: string }): Holder[] {
    const { servers } = this.#options.member;
    return [...this.#others(emulator, name)].flatMap(([id, copy]) => {
      const server = servers.get(id);
      return server === undefined || copy.sha256 !== sha256 ? [] : [{ id, ...server }];
    });
  }

  /** The servers that live and stay. */
  *#present(): Generator<string> {
    for (const [id, { isLeaving }] of this.#options.member.servers) if (isLeaving !== true) yield id;
  }

  async #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#working >= MOST_PULLS) await new Promise<void>((resolve) => this.#inLine.push(resolve));
    else this.#working++;
    try {
      return await work();
    } finally {
      const next = this.#inLine.shift();
      if (next === undefined) this.#working--;
      else next();
    }
  }

  async #pull(emulator: Emulator, name: string): Promise<boolean> {
    const library = this.#library;
    if (library === undefined) throw refusals.ownerMissing();
    if (await library.isHere(emulator, name)) return true;
    const { transfers, log } = this.#options;
    const image = { emulator, name, ...this.#contentOf(emulator, name) };
    await pullImage({
      ...{ image, pieces: this.#pieces, transfers, log },
      holders: () => this.#live(image),
      landing: library.landingHere(emulator, name),
    });
    await this.#stored();
    return true;
  }

  /** Resolves with whether the server has the image by now. */
  async #giveTo(id: string, emulator: Emulator, name: string, sha256: string): Promise<boolean> {
    const { call, member, log } = this.#options;
    const server = member.servers.get(id);
    if (server === undefined) return false;
    try {
      const { status, bytes } = await call(
        { id, ...server },
        {
          ...{ method: 'POST', target: `/v2/images/${emulator}/pull`, body: { filename: name } },
          ...{ largest: LARGEST_ANSWER, signal: AbortSignal.timeout(SPREAD_MS) },
        },
      );
      if (status === OK && broughtAnswer.safeParse(parsed(bytes)).data?.sha256 === sha256) return true;
      log.warn({ server: id, emulator, image: name, status }, 'a server does not take a copy of an image');
    } catch (error) {
      log.warn(
        { err: error, server: id, emulator, image: name },
        'a server does not take a copy of an image',
      );
    }
    return false;
  }

  #store(change: Change): void {
    this.#copies.apply(change);
    const [, , emulator = '', name = ''] =
      'put' in change ? change.put : 'remove' in change ? change.remove : [];
    this.#due.set(`${emulator}/${name}`, change);
    // An answer waits for it; all else is told again by the next look.
    this.#stored().catch(() => undefined);
  }

  /** Resolves when the records of this server say what it has. */
  #stored(): Promise<void> {
    const storing = this.#storing.then(async () => {
      const due = this.#due;
      if (due.size === 0) return;
      this.#due = new Map();
      try {
        await this.#commit([...due.values()]);
      } catch (error) {
        this.#due = new Map([...due, ...this.#due]);
        throw error;
      }
    });
    this.#storing = storing.catch(() => undefined);
    return storing;
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    await this.#options.store.commit(changes);
    for (const change of changes) this.#copies.apply(change);
  }

  /** Compares what lies on the disk with the records. Missing digests are computed, and told when they are there. */
  async #look(): Promise<void> {
    for (const emulator of EMULATORS) await this.#library?.listHere(emulator);
    for (const { emulator, name } of [...this.#copies.ofServer(this.#options.own)])
      if ((await this.#library?.isHere(emulator, name)) === false) this.lost(emulator, name);
    this.#tidy();
    await this.#stored();
  }

  /** Deletes the copies of images that another server has deleted. */
  #tidy(): void {
    const isDue = [...this.#copies.ofServer(this.#options.own)].some(({ copy }) => copy.isDeleted);
    if (!isDue || this.#isTidying) return;
    this.#isTidying = true;
    this.#deleteCopies()
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error }, 'a copy of an image that was deleted could not be deleted');
      })
      .finally(() => {
        this.#isTidying = false;
      });
  }

  async #deleteCopies(): Promise<void> {
    const { own, log } = this.#options;
    for (const { emulator, name, copy } of [...this.#copies.ofServer(own)]) {
      if (copy.isDeleted !== true || this.#copies.of(own, emulator, name) !== copy) continue;
      const isGone = await this.#library?.removeCopy(emulator, name, copy.sha256);
      if (isGone === undefined) return;
      if (isGone) {
        this.lost(emulator, name);
        log.info(
          { emulator, image: name },
          'the copy of an image that was deleted on another server is gone',
        );
      }
    }
  }
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return undefined;
  }
}
