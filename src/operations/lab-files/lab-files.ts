/** The lab files of projects: their plans, and their application as a job that goes on where an earlier one ended. */
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { Logger } from 'pino';
import { messageOf, Refusal, refusals, shortList } from '../../base/errors/errors.js';
import type { Controller } from '../../lab/controller.js';
import { drawnLabFile } from '../../lab/lab-file/drawn-lab-file.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { LabTextTasks } from '../../lab/lab-file/lab-text-tasks.js';
import type { LabFile } from '../../lab/lab-file/lab-file-form.js';
import { LAB_FILE, NO_LAB_FILE, type LabFileRecord } from '../../lab/lab-file/lab-file-record.js';
import type { LabPlan } from '../../lab/lab-file/lab-plan.js';
import { planLab } from '../../lab/lab-file/planning.js';
import { servedKind } from '../../lab/kinds/node-kinds.js';
import type { Project } from '../../lab/projects/project.js';
import { Slices } from '../../lab/projects/slices.js';
import type { Jobs } from '../../snapshots/jobs.js';
import { LabFileApplication, type ApplicationParts } from './lab-file-application.js';

interface LabFilesOptions extends Omit<ApplicationParts, 'symbols'> {
  readonly files: ApplicationParts['files'] & TaskRunner<LabTextTasks>;
  readonly controller: Controller;
  readonly jobs: Jobs;
  readonly log: Logger;
}

interface LabFileState {
  /** The file that was applied last, to its end; of files of nodes it has the digests. */
  readonly lab_file: LabFile | null;
  readonly state: 'none' | 'applied' | 'under_way' | 'unfinished';
  /** Why the last application failed, if this server knows. */
  readonly reason: string | null;
}

interface ApplyOptions {
  readonly prunes: boolean;
  /** Whether nodes may be made anew that lose their content. */
  readonly allowsRecreation: boolean;
  /** The plan that is to be done, and no other. */
  readonly digest?: string | undefined;
}

export class LabFiles {
  readonly #options: LabFilesOptions;
  /** The reasons for which applications failed. */
  readonly #failures = new WeakMap<Project, string>();

  constructor(options: LabFilesOptions) {
    this.#options = options;
  }

  /** Refuses (403) a closed project. */
  state(project: Project): LabFileState {
    const { applied, under_way: begun } = recordOf(project);
    const isUnderWay = this.#options.jobs.of(project.id).some(({ kind }) => kind === 'lab_file.apply');
    const reason = isUnderWay ? null : (this.#failures.get(project) ?? null);
    const isUnfinished = begun !== null || reason !== null;
    const ended = isUnfinished ? 'unfinished' : applied === null ? 'none' : 'applied';
    return { lab_file: applied, state: isUnderWay ? 'under_way' : ended, reason };
  }

  /** The lab as it is, in the form of a lab file. Refuses (403) a closed project. */
  drawn(project: Project): Promise<LabFile> {
    return drawnLabFile(project.name, project.topology, recordOf(project), new Slices());
  }

  /** The same in YAML. */
  async drawnText(project: Project): Promise<string> {
    return this.#options.files.run('writeLabText', { file: await this.drawn(project) });
  }

  /** Reads YAML: JSON text with the file and its faults. */
  read(text: string): Promise<string> {
    return this.#options.files.run('readLabText', { text });
  }

  /** Parses a lab file, which takes long, on another thread; or says why it is none. */
  check(given: unknown): Promise<Awaited<ReturnType<LabTextTasks['checkLabFile']>>> {
    return this.#options.files.run('checkLabFile', { given });
  }

  /** Refuses (400) a file with faults, (403) a closed project, and (409) the file of another lab. */
  async plan(project: Project, file: LabFile, prunes: boolean): Promise<LabPlan> {
    const { topology, name } = project;
    if (file.name !== name) throw refusals.labFileNameDiffers(file.name, name);
    const usesInterfaces = Object.values(file.nodes).some(({ kind, template }) => {
      return template !== undefined || servedKind(kind ?? '')?.usesHostInterfaces === true;
    });
    const interfaces = usesInterfaces ? await topology.run.hostInterfaces(LOCAL_COMPUTE) : [];
    const { templates } = this.#options.controller;
    const record = recordOf(project);
    return planLab({ file, record, topology, templates, interfaces, prunes }, new Slices());
  }

  /** Begins to apply the file. Refuses what `plan` refuses, and (409) another plan than the one that was allowed. */
  async apply(
    project: Project,
    file: LabFile,
    options: ApplyOptions,
  ): Promise<{ readonly plan: LabPlan; readonly jobId: string }> {
    const plan = await this.#checkedPlan(project, file, options);
    const { id, result } = this.#options.jobs.begin(
      project,
      'lab_file.apply',
      file.name,
      async ({ progress }) => {
        // Jobs before this one may have changed the lab.
        const current = await this.#checkedPlan(project, file, options);
        const { controller, folders, files, captures } = this.#options;
        const parts = { symbols: controller.symbols, folders, files, captures };
        this.#failures.delete(project);
        try {
          await new LabFileApplication(parts, project, file, current, progress).run(recordOf(project));
        } catch (error) {
          if (!(error instanceof Refusal))
            this.#options.log.error({ err: error, project: project.id }, 'a lab file');
          throw refusals.labFileUnfinished(progress.done, progress.total, messageOf(error));
        }
      },
    );
    result.catch((error: unknown) => {
      this.#failures.set(project, messageOf(error));
    });
    return { plan, jobId: id };
  }

  async #checkedPlan(project: Project, file: LabFile, options: ApplyOptions): Promise<LabPlan> {
    const plan = await this.plan(project, file, options.prunes);
    if (options.digest !== undefined && options.digest !== plan.digest) throw refusals.labFilePlanDiffers();
    const anew = plan.changes.filter(
      ({ action, what, cost }) => action === 'remove' && what === 'node' && cost === 'recreate',
    );
    if (anew.length > 0 && !options.allowsRecreation)
      throw refusals.labFileRecreates(shortList(anew.map(({ name }) => name)));
    return plan;
  }
}

function recordOf(project: Project): LabFileRecord {
  return project.topology.labFiles.get(LAB_FILE) ?? NO_LAB_FILE;
}
