/** The tasks of images, carried out at once, and what was asked for. */
import { imageTasks, type ImageTasks } from '../../src/files/images/image-tasks.js';
import type { TaskPool } from '../../src/base/threads/task-pool.js';
import { performTask, valueOf } from '../../src/base/threads/task.js';

type Run = TaskPool<ImageTasks>['run'];

export class ImageDisk {
  /** The tasks that were asked for, with their paths. */
  readonly asked: string[] = [];
  /** Is waited for before a task is carried out. */
  before: (task: string) => Promise<void> = () => Promise.resolve();
  /** Is waited for before what came of it is told. */
  after: (task: string) => Promise<void> = () => Promise.resolve();

  readonly run: Run = async (task, input) => {
    const { path } = input as { readonly path?: string };
    this.asked.push(path === undefined ? task : `${task} ${path}`);
    await this.before(task);
    const outcome = await performTask(imageTasks, { task, input });
    await this.after(task);
    return valueOf(outcome) as Awaited<ReturnType<Run>> as never;
  };
}
