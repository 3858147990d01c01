/**
 * The room that projects take on the disk. Disks of machines, folders of containers and captures grow without a request, so
 * the folders of projects with running programs are measured again and again, and those of the others in turn. Beyond the limit
 * of a project or its owner its nodes are suspended, none starts or goes on, and no file comes in until there is room
 * again. When the disk itself is nearly full, that goes for all projects.
 */
import { messageOf, refusals } from '../base/errors/errors.js';
import type { Remember } from '../lab/history-event.js';
import type { DiskQuotas, DiskShare } from '../lab/quotas/quotas.js';
import type { ComputeFiles } from './files.js';

/** Nodes are suspended at most two rounds after there is no room any more. */
const ROUND_MS = 4000;
/** Projects without running programs that are measured in a round. */
const OTHERS_A_ROUND = 5;
const OTHERS_AGAIN_MS = 60_000;
const MEBI = 1024 * 1024;
const USUAL_FLOOR = 256 * MEBI;
const USUAL_PART = 0.01;
/** A project is warned beyond the former part of a quota, and again after it was below the latter. */
const NEARLY = 0.9;
const ENOUGH = 0.85;

interface MeasuredProject {
  readonly id: string;
  readonly folder: string;
}

export interface WatchedProject extends MeasuredProject {
  readonly hasPrograms: boolean;
  /** Suspends all that can be. Returns the names of the nodes that are suspended by this; never rejects. */
  suspendPrograms(reason: string): Promise<readonly string[]>;
}

interface ProjectRoomOptions {
  readonly files: Pick<ComputeFiles, 'run'>;
  readonly quotas: DiskQuotas;
  /** The folder of the projects. */
  readonly folder: string;
  /** The projects that are known, open or closed. */
  readonly known: () => Iterable<MeasuredProject>;
  /** Bytes of the disk that guests leave free; undefined is the usual part of it. */
  readonly floor: () => number | undefined;
  readonly warn: (projectId: string, message: string) => void;
  readonly remember: Remember;
}

interface Measurement {
  at: number;
  bytes: number;
  /** The bytes that have come in since it began. */
  added: number;
  /** While it is being measured. */
  running: Promise<void> | undefined;
}

interface Floor {
  readonly at: number;
  readonly free: number;
  readonly floor: number;
}

export class ProjectRoom {
  readonly #options: ProjectRoomOptions;
  readonly #watched = new Set<WatchedProject>();
  readonly #measured = new Map<string, Measurement>();
  /** The scopes of projects that were warned. */
  readonly #warned = new Set<string>();
  #floor: Floor | undefined;
  #isInRound = false;

  constructor(options: ProjectRoomOptions) {
    this.#options = options;
    setInterval(() => void this.#round(), ROUND_MS).unref();
  }

  watch(project: WatchedProject): void {
    this.#watched.add(project);
  }

  forget(project: WatchedProject): void {
    this.#watched.delete(project);
  }

  /** Refuses (507) a start in a project that takes too much. What had room a moment ago is not measured again. */
  async check(project: MeasuredProject): Promise<void> {
    const { free, floor } = await this.#diskFloor();
    if (free < floor) throw refusals.guestFloor(free, floor);
    await this.#update(project, 0);
    this.#checkOver(project.id);
  }

  /** Refuses (507) bytes that would be too many. They count from now on; call what is returned when they have come or not. */
  async take(project: MeasuredProject, bytes: number): Promise<() => void> {
    if (!this.#isLimited(project.id)) return () => undefined;
    await this.#update(project, bytes);
    this.#checkOver(project.id);
    const giveBack = this.#options.quotas.claim(project.id, { disk: bytes });
    return () => {
      giveBack();
      const last = this.#measured.get(project.id);
      if (last === undefined) return;
      last.added += bytes;
      this.#tell(project.id, last);
    };
  }

  #isLimited(projectId: string): boolean {
    return this.#options.quotas.roomOf(projectId).length > 0;
  }

  #checkOver(projectId: string): void {
    const over = this.#options.quotas.roomOf(projectId).find(({ used, allowed }) => used > allowed);
    if (over !== undefined) throw refusals.quotaOfDisk(over.scope, 'disk', over.used, 0, over.allowed);
  }

  /** Measures the project, unless it was a moment ago and there is room for so many bytes more. */
  async #update(project: MeasuredProject, more: number): Promise<void> {
    const rooms = this.#options.quotas.roomOf(project.id);
    if (rooms.length === 0) return;
    const last = this.#measured.get(project.id);
    const isFresh = last !== undefined && performance.now() - last.at < ROUND_MS;
    if (!isFresh || rooms.some(({ used, allowed }) => used + more > allowed)) await this.#measure(project);
  }

  /** A folder that cannot be measured takes nothing. */
  async #measure({ id, folder }: MeasuredProject): Promise<void> {
    const known = this.#measured.get(id);
    if (known?.running !== undefined) return known.running;
    const measurement = known ?? { at: -Infinity, bytes: 0, added: 0, running: undefined };
    this.#measured.set(id, measurement);
    const at = performance.now();
    measurement.bytes += measurement.added;
    measurement.added = 0;
    measurement.running = this.#options.files
      .run('measureFolder', { path: folder })
      .catch(() => 0)
      .then((bytes) => {
        Object.assign(measurement, { at, bytes, running: undefined });
        this.#tell(id, measurement);
      });
    return measurement.running;
  }

  #tell(projectId: string, { bytes, added }: Measurement): void {
    // A project that has gone meanwhile takes nothing.
    if (this.#measured.has(projectId)) this.#options.quotas.measured(projectId, bytes + added);
  }

  async #round(): Promise<void> {
    if (this.#isInRound) return;
    this.#isInRound = true;
    try {
      const running = [...this.#watched].filter(({ hasPrograms }) => hasPrograms);
      if (running.length > 0) await this.#enforceFloor(running);
      for (const project of running) {
        if (!this.#isLimited(project.id)) continue;
        await this.#measure(project);
        await this.#enforce(project);
      }
      await this.#measureOthers();
    } catch (error) {
      for (const { id } of this.#watched)
        this.#options.warn(id, `Disks could not be looked at: ${messageOf(error)}`);
    } finally {
      this.#isInRound = false;
    }
  }

  async #enforceFloor(running: readonly WatchedProject[]): Promise<void> {
    this.#floor = undefined;
    const { free, floor } = await this.#diskFloor();
    if (free >= floor) return;
    const reason = `the disk of the server has only ${inMebi(free)} MiB free, and keeps ${inMebi(floor)} (--guest-floor)`;
    for (const project of running) await this.#suspend(project, reason);
  }

  async #enforce(project: WatchedProject): Promise<void> {
    for (const room of this.#options.quotas.roomOf(project.id)) {
      const { scope, used, allowed } = room;
      if (used > allowed && scope !== 'server') await this.#suspend(project, reasonOf(room));
      const mark = `${project.id} ${scope}`;
      if (used < allowed * ENOUGH) this.#warned.delete(mark);
      else if (used > allowed * NEARLY && !this.#warned.has(mark)) {
        this.#warned.add(mark);
        const message = `The quota of the disk is nearly used: ${reasonOf(room)}`;
        this.#options.warn(project.id, message);
        this.#options.remember(project.id, { kind: 'quota_near', message });
      }
    }
  }

  async #suspend(project: WatchedProject, reason: string): Promise<void> {
    const names = await project.suspendPrograms(`${reason}. Start the node when there is room`);
    if (names.length === 0) return;
    const message = `${names.join(', ')} suspended, because ${reason}. Start them when there is room`;
    this.#options.warn(project.id, message);
    this.#options.remember(project.id, { kind: 'nodes_suspended', message });
  }

  /** Measures some of the projects whose nodes do not run: those first that never were. */
  async #measureOthers(): Promise<void> {
    const all = new Map<string, MeasuredProject>();
    for (const project of [...this.#options.known(), ...this.#watched]) all.set(project.id, project);
    for (const id of this.#measured.keys()) if (!all.has(id)) this.#measured.delete(id);
    const before = performance.now() - OTHERS_AGAIN_MS;
    const due = [...all.values()]
      .map((project) => ({ project, at: this.#measured.get(project.id)?.at ?? -Infinity }))
      .filter(({ project, at }) => at < before && this.#isLimited(project.id))
      .sort((one, other) => (one.at < other.at ? -1 : 1));
    for (const { project } of due.slice(0, OTHERS_A_ROUND)) await this.#measure(project);
  }

  /** The state of the disk, as it was a moment ago. */
  async #diskFloor(): Promise<Floor> {
    const known = this.#floor;
    if (known !== undefined && performance.now() - known.at < ROUND_MS && known.free >= known.floor)
      return known;
    const { files, folder, floor: wanted } = this.#options;
    const at = performance.now();
    const found = await files.run('measureDisk', { folder }).catch(() => ({ size: 0, free: 0 }));
    const usual = Math.min(USUAL_FLOOR, found.size * USUAL_PART);
    this.#floor = { at, free: found.free, floor: found.size === 0 ? 0 : (wanted() ?? usual) };
    return this.#floor;
  }
}

function reasonOf({ scope, used, allowed }: DiskShare): string {
  const whose = scope === 'user' ? 'the projects of its owner take' : `the ${scope} takes`;
  return `${whose} ${inMebi(used)} MiB on the disk, and may take ${inMebi(allowed)}`;
}

function inMebi(bytes: number): number {
  return Math.ceil(bytes / MEBI);
}
