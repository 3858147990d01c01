/** One upload: a stream of bytes to a new file, which lands when it is complete, or to a part, which it continues. */
import { randomUUID } from 'node:crypto';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { UnpublishedFile } from '../../base/disk/published-file.js';
import type { DiskTasks } from './disk-tasks.js';
import { atOnce, type Content, type Landed, type Landing, type UploadSubject } from './landing.js';
import { SlabStream, type SlabStreamOptions } from './slab-stream.js';
import { placeOf, type OpenPart, type Written } from './transfer-orders.js';

export type Disk = TaskRunner<DiskTasks>;

export interface UploadOptions extends SlabStreamOptions {
  readonly subject: UploadSubject;
  /** Undefined if the client has not given it. */
  readonly size: number | undefined;
  readonly onEnded: (upload: Upload, outcome: 'landed' | 'dropped') => void;
}

/** The collaborators that land a new file. */
interface LandingContext {
  readonly landing: Landing;
  readonly disk: Disk;
  /** Whether the file is synced before it counts as landed. */
  readonly isSynced: boolean;
  /** The file that the loop has made. */
  readonly file: Promise<UnpublishedFile>;
}

export class Upload extends SlabStream {
  readonly id = randomUUID();
  readonly startedAt = Date.now();
  readonly subject: UploadSubject;
  readonly size: number | undefined;
  readonly #onEnded: UploadOptions['onEnded'];
  #landing: LandingContext | undefined;
  #part: { readonly disk: Disk; readonly part: Promise<OpenPart> } | undefined;
  #written: Written | undefined;
  #isEnded = false;

  constructor(options: UploadOptions) {
    super(options);
    this.subject = options.subject;
    this.size = options.size;
    this.#onEnded = options.onEnded;
  }

  /** Continues a part, which must be closed here when the loop dies. */
  continues(disk: Disk, part: Promise<OpenPart>): void {
    this.#part = { disk, part };
  }

  /** Lands in a new file. */
  landsIn(landing: LandingContext): void {
    this.#landing = landing;
  }

  /** Resolves when everything has been written, with the content of this upload, or of the whole new file. */
  async finish(): Promise<Content> {
    this.#written = await this.written();
    if (this.#landing === undefined) this.#end('landed');
    return this.#written.content;
  }

  /** Gives a finished new file its name. If that fails, nothing is left of the file. */
  async land(): Promise<Landed> {
    if (this.#landing === undefined || this.#written === undefined)
      throw new Error('there is nothing to land');
    const { landing, disk, isSynced, file } = this.#landing;
    const { content, unchanged } = this.#written;
    try {
      landing.check?.(content);
    } catch (error) {
      await this.drop();
      throw error;
    }
    this.#written = undefined;
    try {
      const input = { ...landingInput(landing, content, isSynced), file: await file };
      const version = await (landing.turn ?? atOnce)(() =>
        unchanged === undefined
          ? disk.run('landFile', input)
          : disk.run('keepPresent', { ...input, content, compared: unchanged }),
      );
      const landed: Landed = { ...content, isUnchanged: unchanged !== undefined, version };
      landing.landed?.(landed);
      this.#end('landed');
      return landed;
    } catch (error) {
      this.#end('dropped');
      throw error;
    }
  }

  /** Ends the upload. Nothing is left of a new file; a part keeps what has come. */
  async drop(): Promise<void> {
    await this.stop();
    const landing = this.#landing;
    const continued = this.#part;
    const isFinished = this.#written !== undefined;
    this.#landing = undefined;
    this.#part = undefined;
    this.#written = undefined;
    if (landing !== undefined && isFinished) await landing.disk.run('discardFile', await landing.file);
    if (landing !== undefined && this.isLost) {
      // A loop that died before it answered may have left a file, whose name is unknown.
      const file = await landing.file.catch(() => undefined);
      if (file !== undefined) await landing.disk.run('discardLost', file);
    }
    if (continued !== undefined && this.isLost) {
      const part = await continued.part.catch(() => undefined);
      if (part !== undefined) await continued.disk.run('closeLost', part);
    }
    this.#end('dropped');
  }

  #end(outcome: 'landed' | 'dropped'): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onEnded(this, outcome);
  }
}

/** The part of a landing that disk threads need. */
export function landingInput(
  landing: Landing,
  content: Content,
  isSynced: boolean,
): Omit<Parameters<DiskTasks['landFile']>[0], 'file'> {
  return {
    place: placeOf(landing),
    mode: landing.mode,
    isSynced,
    twin: landing.twinOf?.(content),
  };
}
