/**
 * The number of snapshots of open projects. A project is counted when a scrape asks and its number may be another than at the
 * last one, in the background and one after the other: no scrape reads a folder.
 */
import type { MetricPage } from '../base/metrics/metric-page.js';
import type { TaskRunner } from '../base/threads/task-pool.js';
import type { Projects } from '../lab/projects/projects.js';
import type { SnapshotListTasks } from './snapshot-list-tasks.js';

export class SnapshotCounts {
  readonly #files: TaskRunner<SnapshotListTasks>;
  /** By the id of a project. One whose number may be another is in `#changed`, too. */
  readonly #counts = new Map<string, number>();
  readonly #changed = new Set<string>();
  #isCounting = false;

  constructor(files: TaskRunner<SnapshotListTasks>) {
    this.#files = files;
  }

  changed(projectId: string): void {
    if (this.#counts.has(projectId)) this.#changed.add(projectId);
  }

  writeMetrics(page: MetricPage, projects: Projects): void {
    let sum = 0;
    for (const { id, isOpen } of projects.all.values()) if (isOpen) sum += this.#counts.get(id) ?? 0;
    page.gauge('snapshots', 'Snapshots of open projects, as they were counted before this scrape');
    page.sample(sum);
    if (!this.#isCounting) void this.#count(projects);
  }

  async #count(projects: Projects): Promise<void> {
    this.#isCounting = true;
    for (const id of this.#counts.keys()) if (!projects.all.has(id)) this.#counts.delete(id);
    for (const { id, isOpen, place } of [...projects.all.values()]) {
      if (!isOpen || (this.#counts.has(id) && !this.#changed.delete(id))) continue;
      try {
        const { length } = await this.#files.run('listSnapshots', { root: place.folder, projectId: id });
        this.#counts.set(id, length);
      } catch {
        // The threads are busy, or the folder has gone: the next scrape counts it.
        this.#counts.delete(id);
      }
    }
    this.#isCounting = false;
  }
}
