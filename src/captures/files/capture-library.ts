/** The capture files of projects, open or closed: what there is, what is in them, and their removal. */
import { refusals } from '../../base/errors/errors.js';
import type { PacketSpan } from '../../engine/wire/capture-file.js';
import type { CaptureFacts, CaptureFileTasks } from './capture-file-tasks.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import { CAPTURES } from '../../lab/projects/folder-layout.js';

/** A capture that is being written, or is about to be. */
export interface RunningCaptureFile {
  /** Of its file. */
  readonly name: string;
  readonly linkId: string;
  readonly packets: number;
  /** Where the last packet ends that is in the file. */
  readonly wholeBytes: number;
  /** In milliseconds since 1970; null before there is a packet. */
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

export type FindRunning = (projectId: string) => readonly RunningCaptureFile[];

/** What is needed of a project. */
export interface CapturedProject {
  readonly id: string;
  readonly place: { readonly folder: string };
}

/** As clients see it. */
export interface CaptureFile {
  readonly first_packet_at: string | null;
  readonly format: CaptureFacts['format'];
  readonly last_packet_at: string | null;
  readonly link_id: string | null;
  readonly link_type: number | null;
  readonly modified_at: string;
  readonly name: string;
  /** Null when nobody has counted them: the file is too large for that. */
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
  /** By what tells one content of one file from every other; the oldest goes first. */
  readonly #counted = new Map<string, PacketSpan>();
  /** One file at a time is counted, so that the other file threads are there for everybody else. */
  #counting: Promise<unknown> = Promise.resolve();

  constructor(files: TaskRunner<CaptureFileTasks>, findRunning: FindRunning) {
    this.#files = files;
    this.#findRunning = findRunning;
  }

  /** By name. `isWanted` is asked before every long step. */
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

  /** Those of these names, or all; refuses (404) a name that is not there. */
  async find(home: CapturedProject, names: readonly string[] | undefined): Promise<string[]> {
    const known = (await this.#facts(home.place.folder)).map(({ name }) => name);
    const missing = names?.find((name) => !known.includes(name));
    if (missing !== undefined) throw refusals.captureFileMissing(missing);
    return known.filter((name) => names?.includes(name) !== false);
  }

  /** Where the file of this name lies, and how much of it may be read. Refuses (404) what is no name. */
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

  /** Removes finished files that are beyond the limits; returns what has gone. */
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
    // It has gone, or was cut short, since it was found.
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

/** Null for no time, and for what a damaged file calls one. */
function isoTime(ms: number | null): string | null {
  if (ms === null) return null;
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? null : time.toISOString();
}

/** Which capture files are to go: by their age, and by what all of them together may take. */

export interface RetainedFile {
  readonly name: string;
  readonly size: number;
  readonly modifiedMs: number;
  /** Being written: it stays, whatever it takes. */
  readonly isRunning: boolean;
}

export interface RetentionLimits {
  readonly olderThanMs?: number | undefined;
  /** Running captures count, too. */
  readonly keepBytes?: number | undefined;
}

/** Those that are too old, and then the oldest until the rest is small enough. */
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
