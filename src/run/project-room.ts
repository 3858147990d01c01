/**
 * The room that a project may take on the disk while its nodes run. Disks of machines, folders of containers and captures
 * grow without a request, so the folders of projects with running programs are measured again and again. Beyond the limit
 * the nodes that can be suspended are, and none starts or goes on until there is room again.
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

export interface ProjectRoomOptions {
  readonly files: ComputeFiles;
  /** Undefined is no limit. */
  readonly quotaBytes: number | undefined;
  readonly warn: (projectId: string, message: string) => void;
}

interface Measurement {
  readonly at: number;
  readonly bytes: Promise<number>;
}

export class ProjectRoom {
  readonly #options: ProjectRoomOptions;
  readonly #projects = new Set<WatchedProject>();
  readonly #measured = new WeakMap<object, Measurement>();
  /** The projects of which a round is not over. */
  readonly #looking = new Set<WatchedProject>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ProjectRoomOptions) {
    this.#options = options;
  }

  watch(project: WatchedProject): void {
    if (this.#options.quotaBytes === undefined) return;
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
  async check(project: Pick<WatchedProject, 'folder'>): Promise<void> {
    const { quotaBytes: quota } = this.#options;
    if (quota === undefined) return;
    const last = this.#measured.get(project);
    const isFresh = last !== undefined && performance.now() - last.at < ROUND_MS;
    const known = isFresh ? await last.bytes : Infinity;
    const used = known > quota ? await this.#measure(project) : known;
    if (used > quota) throw refusals.projectQuota(inMebi(used), inMebi(quota));
  }

  async #look(project: WatchedProject): Promise<void> {
    const { quotaBytes: quota = Infinity, warn } = this.#options;
    if (!project.hasPrograms || this.#looking.has(project)) return;
    this.#looking.add(project);
    const used = await this.#measure(project);
    const names = used > quota ? await project.suspendPrograms() : [];
    if (names.length > 0) {
      const reason = `The project takes ${inMebi(used)} MiB on the disk, and may take ${inMebi(quota)} (--project-quota)`;
      warn(project.id, `${reason}: ${names.join(', ')} suspended until there is room`);
    }
    this.#looking.delete(project);
  }

  /** A folder that cannot be measured takes nothing. */
  #measure(project: Pick<WatchedProject, 'folder'>): Promise<number> {
    const bytes = this.#options.files.run('measureFolder', { path: project.folder }).catch(() => 0);
    this.#measured.set(project, { at: performance.now(), bytes });
    return bytes;
  }
}

function inMebi(bytes: number): number {
  return Math.ceil(bytes / MEBI);
}
