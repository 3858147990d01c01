/** The capture files of projects, open or closed: lists them, counts their packets, and deletes them. */
import { refusals } from '../../base/errors/errors.js';
import type { PacketSpan } from '../../engine/wire/capture-file.js';
import type { CaptureFacts, CaptureFileTasks } from './capture-file-tasks.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { CAPTURES } from '../../lab/projects/folder-layout.js';

/** The file of a running capture; it may not exist yet. */
export interface RunningCaptureFile {
  readonly name: string;
  readonly linkId: string;
  readonly packets: number;
  /** The end of the last packet in the file. */
  readonly wholeBytes: number;
  /** In milliseconds since 1970; null before the first packet. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

type FindRunning = (projectId: string) => readonly RunningCaptureFile[];

/** The part of a project that the library uses. */
interface CapturedProject {
  readonly id: string;
  readonly place: { readonly folder: string };
}

/** A capture file as clients see it. */
interface CaptureFile {
  readonly first_packet_at: string | null;
  readonly format: CaptureFacts['format'];
  readonly last_packet_at: string | null;
  readonly link_id: string | null;
  readonly link_type: number | null;
  readonly modified_at: string;
  readonly name: string;
  /** Null for a file that is too large to be counted. */
  readonly packets: number | null;
  readonly size: number;
  readonly state: 'running' | 'finished';
}

/** The packets of larger files are not counted. */
const LARGEST_COUNTED = 256 * 1024 * 1024;
const MOST_REMEMBERED = 10_000;

type Packets = { readonly [Key in 'packets' | 'firstAt' | 'lastAt']: PacketSpan[Key] | null };
const UNKNOWN: Packets = { packets: null, firstAt: null, lastAt: null };

export class CaptureLibrary {
  readonly #files: TaskRunner<CaptureFileTasks>;
  readonly #findRunning: FindRunning;
  /** By version of file; the oldest is forgotten first. */
  readonly #counted = new Map<string, PacketSpan>();
  /** Only one file is counted at a time, so that the other file threads stay free. */
  #counting: Promise<unknown> = Promise.resolve();

  constructor(files: TaskRunner<CaptureFileTasks>, findRunning: FindRunning) {
    this.#files = files;
    this.#findRunning = findRunning;
  }

  /** Sorted by name. Stops early when `isWanted`, which is asked before every long step, returns false. */
  async list(home: CapturedProject, isWanted: () => boolean): Promise<CaptureFile[]> {
    const root = home.place.folder;
    const facts = await this.#facts(root);
    const running = this.#running(home);
    const shown: CaptureFile[] = [];
    for (const file of facts) {
      const capture = running.get(file.name);
      if (!isWanted()) break;
      shown.push(captureFile(file, capture, capture ?? (await this.#count(root, file))));
    }
    return shown;
  }

  /** The names given, or all names; refuses (404) a name that has no file. */
  async find(home: CapturedProject, names: readonly string[] | undefined): Promise<string[]> {
    const known = (await this.#facts(home.place.folder)).map(({ name }) => name);
    const missing = names?.find((name) => !known.includes(name));
    if (missing !== undefined) throw refusals.captureFileMissing(missing);
    return known.filter((name) => names?.includes(name) !== false);
  }

  /** The path of the file of this name, and how many of its bytes may be read. Refuses (404) text that is no file name. */
  place(home: CapturedProject, name: string): { root: string; path: string; most: number } {
    if (/[/\0]/.test(name) || name === '.' || name === '..') throw refusals.captureFileMissing(name);
    const most = this.#running(home).get(name)?.wholeBytes ?? Infinity;
    return { root: home.place.folder, path: `${CAPTURES}/${name}`, most };
  }

  async remove(home: CapturedProject, name: string): Promise<void> {
    const found = (await this.#facts(home.place.folder)).find((file) => file.name === name);
    const capture = this.#running(home).get(name);
    if (capture !== undefined) throw refusals.captureFileRunning(name, capture.linkId);
    if (found === undefined) throw refusals.captureFileMissing(name);
    const removed = await this.#remove(home, [found]);
    if (removed.length === 0) throw refusals.captureFileChanged(name);
  }

  /** Deletes finished files that are beyond the limits; returns the deleted ones. */
  async prune(home: CapturedProject, limits: RetentionLimits): Promise<CaptureFacts[]> {
    const facts = await this.#facts(home.place.folder);
    const running = this.#running(home);
    const files = facts.map((file) => ({ ...file, isRunning: running.has(file.name) }));
    return this.#remove(home, expired(files, limits, Date.now()));
  }

  async #remove({ place }: CapturedProject, files: readonly CaptureFacts[]): Promise<CaptureFacts[]> {
    const wanted = files.map(({ name, version }) => ({ name, version }));
    const gone = new Set(await this.#files.run('removeCaptures', { root: place.folder, files: wanted }));
    return files.filter(({ name }) => gone.has(name));
  }

  #facts(root: string): Promise<CaptureFacts[]> {
    return this.#files.run('listCaptures', { root });
  }

  #running(home: CapturedProject): ReadonlyMap<string, RunningCaptureFile> {
    return new Map(this.#findRunning(home.id).map((capture) => [capture.name, capture]));
  }

  async #count(root: string, { name, size, version }: CaptureFacts): Promise<Packets> {
    if (size > LARGEST_COUNTED) return UNKNOWN;
    const counted = this.#counting.then(async () => {
      const known = this.#counted.get(version) ?? (await this.#files.run('countCapture', { root, name }));
      this.#remember(version, known);
      return known;
    });
    this.#counting = counted.catch(() => undefined);
    // The file was deleted or cut short since it was listed.
    return counted.catch(() => UNKNOWN);
  }

  #remember(version: string, span: PacketSpan): void {
    this.#counted.delete(version);
    this.#counted.set(version, span);
    const [oldest] = this.#counted.keys();
    if (this.#counted.size > MOST_REMEMBERED && oldest !== undefined) this.#counted.delete(oldest);
  }
}

function captureFile(
  { name, size, modifiedMs, format, linkType }: CaptureFacts,
  capture: RunningCaptureFile | undefined,
  { packets, firstAt, lastAt }: Packets,
): CaptureFile {
  return {
    first_packet_at: isoTime(firstAt),
    format,
    last_packet_at: isoTime(lastAt),
    link_id: capture?.linkId ?? null,
    link_type: linkType,
    modified_at: isoTime(modifiedMs) ?? '',
    name,
    packets,
    size,
    state: capture === undefined ? 'finished' : 'running',
  };
}

/** Null for no time, and for an impossible time of a damaged file. */
export function isoTime(ms: number | null): string | null {
  if (ms === null) return null;
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

export interface RetainedFile {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** A file that is being written is never deleted. */
  readonly isRunning: boolean;
}

interface RetentionLimits {
  readonly olderThanMs?: number | undefined;
  /** Running captures count, too. */
  readonly keepBytes?: number | undefined;
}

/** The files to delete: those that are too old, and then the oldest, until the rest is small enough. */
export function expired<File extends RetainedFile>(
  files: readonly File[],
  { olderThanMs = Infinity, keepBytes = Infinity }: RetentionLimits,
  now: number,
): File[] {
  const finished = files.filter((file) => !file.isRunning).sort(byAge);
  let left = files.reduce((sum, { size }) => sum + size, 0);
  return finished.filter(({ size, modifiedMs }) => {
    const goes = now - modifiedMs > olderThanMs || left > keepBytes;
    if (goes) left -= size;
    return goes;
  });
}

function byAge(a: RetainedFile, b: RetainedFile): number {
  return a.modifiedMs - b.modifiedMs || (a.name < b.name ? -1 : 1);
}
