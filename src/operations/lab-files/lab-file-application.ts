/** Does the work of the plan of a lab file, in its order. A failure stops it; whatever is done stays. */
import { randomUUID } from 'node:crypto';
import { refusals } from '../../base/errors/errors.js';
import type { TaskRunner } from '../../base/threads/task-pool.js';
import type { ProjectCaptures } from '../../captures/link-captures.js';
import type { NodeFileTasks } from '../../files/node-files/node-file-tasks.js';
import { farNodeFile, nodeFile } from '../../files/node-files/node-folder.js';
import type { NodeFolders } from '../../files/node-files/node-folders.js';
import type { LabFile } from '../../lab/lab-file/lab-file-form.js';
import {
  bytesOf,
  LAB_FILE,
  withoutContents,
  type LabFileRecord,
} from '../../lab/lab-file/lab-file-record.js';
import type { LabPlan, PlannedLink, PlannedWork } from '../../lab/lab-file/lab-plan.js';
import type { Project } from '../../lab/projects/project.js';
import type { SymbolLibrary } from '../../lab/symbols/symbol-library.js';
import { createDrawing, deleteDrawing, updateDrawing } from '../../lab/topology/drawings.js';
import { changeLink, deleteLink, makeLink } from '../../lab/topology/links.js';
import { actOnNode } from '../../lab/topology/nodes.js';
import type { JobProgress } from '../../snapshots/content/job-progress.js';

export interface ApplicationParts {
  readonly symbols: SymbolLibrary;
  readonly folders: NodeFolders;
  readonly files: TaskRunner<NodeFileTasks>;
  readonly captures: ProjectCaptures;
}

/** Changes of one commit that are under way at the same time. */
const CHANGES_AT_ONCE = 64;
/** Programs that start or stop at the same time. */
const PROGRAMS_AT_ONCE = 8;
/** A file is applied whether or not anybody waits for it. */
const NOBODY = { isGone: false };

export class LabFileApplication {
  readonly #parts: ApplicationParts;
  readonly #project: Project;
  readonly #file: LabFile;
  readonly #work: PlannedWork;
  readonly #progress: JobProgress;
  readonly #nodeIds = new Map<string, string>();
  readonly #linkIds = new Map<string, string>();

  constructor(
    parts: ApplicationParts,
    project: Project,
    file: LabFile,
    plan: LabPlan,
    progress: JobProgress,
  ) {
    this.#parts = parts;
    this.#project = project;
    this.#file = file;
    this.#work = plan.work;
    this.#progress = progress;
    progress.expect(stepsOf(plan));
  }

  /** `record` is what the project has of lab files until now. */
  async run(record: LabFileRecord): Promise<void> {
    await this.#remove();
    // Whatever the earlier files named is gone: from here on a crash leaves parts of this file alone.
    const begun = this.#begun(record);
    await this.#keep(begun);
    await this.#makeNodes();
    await this.#draw(begun.drawings);
    await this.#writeFiles();
    await this.#makeLinks();
    await this.#start();
    await this.#capture();
    const drawings = Object.entries(begun.drawings).filter(([key]) => this.#file.drawings[key] !== undefined);
    await this.#keep({
      applied: withoutContents(this.#file),
      under_way: null,
      drawings: Object.fromEntries(drawings),
    });
  }

  async #remove(): Promise<void> {
    const { endedCaptures, removedLinks, stopped, removedNodes, removedDrawings } = this.#work;
    const project = this.#project;
    await this.#each(endedCaptures, CHANGES_AT_ONCE, (id) => this.#parts.captures.of(project).stop(id));
    await this.#each(stopped, PROGRAMS_AT_ONCE, (id) => actOnNode(project.topology, id, 'stop'));
    await this.#each(removedLinks, CHANGES_AT_ONCE, (id) =>
      project.change((topology, transaction) => {
        deleteLink(topology, transaction, id);
      }),
    );
    await this.#each(removedNodes, PROGRAMS_AT_ONCE, (id) => this.#parts.folders.remove(project, id));
    await this.#each(removedDrawings, CHANGES_AT_ONCE, (id) =>
      project.change((topology, transaction) => {
        deleteDrawing(topology, transaction, id);
      }),
    );
  }

  async #makeNodes(): Promise<void> {
    const { newNodes, changedNodes } = this.#work;
    const { symbols, folders } = this.#parts;
    await this.#each(newNodes, CHANGES_AT_ONCE, async (wanted) => {
      await symbols.size(wanted.symbol ?? '');
      const id = randomUUID();
      await folders.make(this.#project, { ...wanted, node_id: id });
      // Somebody else has made a node of this name since the plan was made.
      if (this.#project.topology.nodes.get(id)?.name !== wanted.name) throw refusals.labFilePlanDiffers();
    });
    await this.#each(changedNodes, CHANGES_AT_ONCE, async ({ id, settings }) => {
      await symbols.size(settings.symbol ?? '');
      await folders.change(this.#project, id, settings);
    });
    for (const { name, node_id: id } of this.#project.topology.nodes.values()) this.#nodeIds.set(name, id);
  }

  async #draw(ids: LabFileRecord['drawings']): Promise<void> {
    await this.#each(this.#work.newDrawings, CHANGES_AT_ONCE, ({ key, settings }) =>
      this.#project.change((topology, transaction) =>
        createDrawing(topology, transaction, { ...settings, drawing_id: ids[key] }),
      ),
    );
    await this.#each(this.#work.changedDrawings, CHANGES_AT_ONCE, ({ id, settings }) =>
      this.#project.change((topology, transaction) => updateDrawing(topology, transaction, id, settings)),
    );
  }

  async #writeFiles(): Promise<void> {
    const project = this.#project;
    await this.#each(this.#work.files, PROGRAMS_AT_ONCE, async ({ node, path, content }) => {
      const bytes = bytesOf(content);
      const far = farNodeFile(project, this.#idOf(node), path);
      if (far !== undefined) {
        const answer = await far.node.open({ method: 'POST', path: far.target, body: bytes });
        answer.body.destroy();
        return;
      }
      const { root, folder, path: below } = nodeFile(project, this.#idOf(node), path);
      const giveBack = await project.takeRoom(bytes.length);
      try {
        const input = { root, folder, files: { [below]: bytes }, replaces: true };
        await project.gate.pass(() => this.#parts.files.run('writeNodeFiles', input));
      } finally {
        giveBack();
      }
    });
  }

  async #makeLinks(): Promise<void> {
    const project = this.#project;
    await this.#each(this.#work.newLinks, CHANGES_AT_ONCE, ({ ends, filters, suspend }) => {
      const nodes = ends.map(({ node, adapter, port }) => ({
        node_id: this.#idOf(node),
        adapter_number: adapter,
        port_number: port,
      }));
      return makeLink(project, NOBODY, { nodes, filters, suspend });
    });
    await this.#each(this.#work.changedLinks, CHANGES_AT_ONCE, ({ id, settings }) =>
      changeLink(project, NOBODY, id, settings),
    );
  }

  /** Starts nodes when those have started that they come after. */
  async #start(): Promise<void> {
    const waiting = new Set(this.#work.started);
    while (waiting.size > 0) {
      const next = [...waiting].filter((name) =>
        (this.#file.nodes[name]?.after ?? []).every((before) => !waiting.has(before)),
      );
      await this.#each(next, PROGRAMS_AT_ONCE, (name) =>
        actOnNode(this.#project.topology, this.#idOf(name), 'start'),
      );
      for (const name of next) waiting.delete(name);
    }
  }

  async #capture(): Promise<void> {
    const { captures } = this.#work;
    if (captures.length === 0) return;
    for (const { link_id: id, nodes } of this.#project.topology.links.values()) {
      for (const end of nodes) {
        this.#linkIds.set(placeOf(end.node_id, end.adapter_number, end.port_number), id);
      }
    }
    await this.#each(captures, CHANGES_AT_ONCE, ({ ends, settings }) =>
      this.#parts.captures.of(this.#project).ensure(this.#linkOf(ends), settings),
    );
  }

  #begun({ applied, drawings }: LabFileRecord): LabFileRecord {
    const added = this.#work.newDrawings.map(({ key }) => [key, drawings[key] ?? randomUUID()]);
    return {
      applied,
      under_way: withoutContents(this.#file),
      drawings: { ...drawings, ...(Object.fromEntries(added) as LabFileRecord['drawings']) },
    };
  }

  async #keep(record: LabFileRecord): Promise<void> {
    await this.#project.change((topology, transaction) => {
      topology.labFiles.put(transaction, LAB_FILE, record);
    });
  }

  #idOf(name: string): string {
    const id = this.#nodeIds.get(name);
    if (id === undefined) throw refusals.labFilePlanDiffers();
    return id;
  }

  #linkOf([{ node, adapter, port }]: PlannedLink['ends']): string {
    const id = this.#linkIds.get(placeOf(this.#idOf(node), adapter, port));
    if (id === undefined) throw refusals.labFilePlanDiffers();
    return id;
  }

  /** Works on so many at once. After a failure no more are begun. */
  async #each<Item>(
    items: readonly Item[],
    atOnce: number,
    work: (item: Item) => Promise<unknown>,
  ): Promise<void> {
    for (let from = 0; from < items.length; from += atOnce) {
      const outcomes = await Promise.allSettled(
        items.slice(from, from + atOnce).map(async (item) => {
          await work(item);
          this.#progress.advance(1);
        }),
      );
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    }
  }
}

function stepsOf({ work }: LabPlan): number {
  const lists: readonly (readonly unknown[])[] = Object.values(work);
  return lists.reduce((sum, list) => sum + list.length, 0);
}

function placeOf(nodeId: string, adapter: number, port: number): string {
  return `${nodeId} ${adapter}/${port}`;
}
