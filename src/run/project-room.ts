/**
 * The room that an open project may take on the disk. Disks of machines, folders of containers and captures grow without a
 * request, so the folders of projects with running programs are measured again and again. Beyond the limit the nodes that
 * can be suspended are, none starts or goes on, and no file comes in until there is room again.
 */
import { refusals } from '../base/errors/errors.js';
import type { ComputeFiles } from './files.js';

const ROUND_MS = 10_000;
const MEBI = 1024 * 1024;

export interface WatchedProject {
  readonly id: string;
  readonly folder: string;
  readonly hasPrograms: boolean;
  /** Suspends all that can be. Returns the names of the nodes that are suspended by this; never rejects. */
  suspendPrograms(): Promise<readonly string[]>;
}

interface ProjectRoomOptions {
  readonly files: ComputeFiles;
  /** Undefined is no limit. */
  readonly quotaBytes: () => number | undefined;
  readonly warn: (projectId: string, message: string) => void;
}

type MeasuredProject = Pick<WatchedProject, 'folder'>;

interface Measurement {
  readonly at: number;
  readonly bytes: Promise<number>;
  /** The bytes that have come in since. */
  added: number;
}

export class ProjectRoom {
  readonly #options: ProjectRoomOptions;
  readonly #projects = new Set<WatchedProject>();
  readonly #measured = new WeakMap<object, Measurement>();
  /** The bytes that are on their way into a project. */
  readonly #expected = new WeakMap<object, number>();
  /** The projects of which a round is not over. */
  readonly #looking = new Set<WatchedProject>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProjectRoomOptions) {
    this.#options = options;
  }

  watch(project: WatchedProject): void {
    this.#projects.add(project);
    this.#timer ??= setInterval(() => {
      for (const watched of this.#projects) void this.#look(watched);
    }, ROUND_MS).unref();
  }

  forget(project: WatchedProject): void {
    this.#projects.delete(project);
    if (this.#projects.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Refuses (507) a start in a project that takes too much. What had room a moment ago is not measured again. */
  async check(project: MeasuredProject): Promise<void> {
    const quota = this.#options.quotaBytes();
    if (quota === undefined) return;
    const used = await this.#used(project, quota);
    if (used > quota) throw refusals.projectQuota(inMebi(used), inMebi(quota));
  }

  /** Refuses (507) bytes that would be too many. They count from now on; call what is returned when they have come or not. */
  async take(project: MeasuredProject, bytes: number): Promise<() => void> {
    const quota = this.#options.quotaBytes();
    if (quota === undefined) return () => undefined;
    const expected = (): number => this.#expected.get(project) ?? 0;
    const known = await this.#used(project, quota - bytes - expected());
    // Others may have come meanwhile.
    const used = known + expected() + bytes;
    if (used > quota) throw refusals.projectQuota(inMebi(used), inMebi(quota));
    this.#expected.set(project, expected() + bytes);
    return () => {
      this.#expected.set(project, expected() - bytes);
      const last = this.#measured.get(project);
      if (last !== undefined) last.added += bytes;
    };
  }

  /** The bytes that the project takes. It is measured again unless it was a moment ago, and took as little as this. */
  async #used(project: MeasuredProject, enough: number): Promise<number> {
    const last = this.#measured.get(project);
    if (last !== undefined && performance.now() - last.at < ROUND_MS) {
      const used = (await last.bytes) + last.added;
      if (used <= enough) return used;
    }
    return this.#measure(project).bytes;
  }

  async #look(project: WatchedProject): Promise<void> {
    const quota = this.#options.quotaBytes();
    if (quota === undefined || !project.hasPrograms || this.#looking.has(project)) return;
    this.#looking.add(project);
    const used = await this.#measure(project).bytes;
    const names = used > quota ? await project.suspendPrograms() : [];
    if (names.length > 0) {
      const reason = `The project takes ${inMebi(used)} MiB on the disk, and may take ${inMebi(quota)} (--project-quota)`;
      this.#options.warn(project.id, `${reason}: ${names.join(', ')} suspended until there is room`);
    }
    this.#looking.delete(project);
  }

  /** A folder that cannot be measured takes nothing. */
  #measure(project: MeasuredProject): Measurement {
    const bytes = this.#options.files.run('measureFolder', { path: project.folder }).catch(() => 0);
    const measurement = { at: performance.now(), bytes, added: 0 };
    this.#measured.set(project, measurement);
    return measurement;
  }
}

function inMebi(bytes: number): number {
  return Math.ceil(bytes / MEBI);
}
