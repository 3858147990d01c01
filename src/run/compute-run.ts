/**
 * Makes an open project of the controller run on this compute, through the same doors as any client of the
 * compute interface: its switches are nodes of a compute project, and each end of a link is a UDP attachment.
 */
import type { AcceptedFilters } from '../lab/topology/filters.js';
import type { Client, LabRun, RunLink } from '../lab/lab-run.js';
import type { Properties } from '../lab/kinds/node-kind.js';
import { storedList } from '../lab/kinds/ports-mapping.js';
import type { StoredLink, StoredNode } from '../lab/gns3-file/topology-schema.js';
import type { ComputeProjects } from './compute-projects.js';
import type { ComputeServices } from './compute-services.js';
import { LinkWires } from './links/link-wires.js';
import { SWITCH_KINDS, type SwitchKind } from './switches/switch-kinds.js';
import type { SwitchNode } from './switches/switch-node.js';

/** The project as it was begun, for what has to be said about it. */
export interface RunOwner {
  readonly name: string;
  warn(message: string): void;
}

/** What goes on beside a run, such as streams of its links. */
export interface RunListener {
  /** Links were connected or disconnected. */
  linksChanged(): void;
  /** Everything is about to be stopped. */
  ending(): void;
}

export class ComputeRun implements LabRun {
  readonly #id: string;
  readonly #projects: ComputeProjects;
  readonly #services: Pick<ComputeServices, 'filterPlans'>;
  readonly #ownerOf: (projectId: string) => RunOwner | undefined;
  readonly #nodes = new Map<string, StoredNode>();
  readonly wires: LinkWires;
  readonly #listeners = new Set<RunListener>();
  /** Of links that are being made. */
  readonly #failures = new Map<string, Error>();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(
    id: string,
    projects: ComputeProjects,
    services: Pick<ComputeServices, 'filterPlans'>,
    ownerOf: (projectId: string) => RunOwner | undefined,
  ) {
    this.#id = id;
    this.#projects = projects;
    this.#services = services;
    this.#ownerOf = ownerOf;
    this.wires = new LinkWires(
      () => projects.find(id),
      services.filterPlans,
      (message) => ownerOf(id)?.warn(message),
    );
    this.#follow('The project', () => projects.adopt(id, ownerOf(id)?.name ?? id));
  }

  nodeStored(node: StoredNode): void {
    const before = this.#nodes.get(node.node_id);
    // Most changes only move a node about.
    if (before?.name === node.name && before.properties === node.properties) return;
    this.#nodes.set(node.node_id, node);
    const what = `Node ${node.name}`;
    this.#follow(what, () => (before === undefined ? this.#create(node) : this.#update(node)));
  }

  nodeRemoved({ node_id: id, name }: StoredNode): void {
    this.#nodes.delete(id);
    this.#follow(`Node ${name}`, async () => {
      const node = this.#find(id);
      if (node !== undefined) await this.#projects.find(this.#id).deleteNode(node.kind, id);
    });
  }

  linkStored(run: RunLink): void {
    const id = run.link.link_id;
    this.#follow(`Link ${id}`, async () => {
      try {
        if ((await this.wires.follow(run)) !== undefined) this.#linksChanged();
      } catch (error) {
        if (!run.isNew || !(error instanceof Error)) throw error;
        this.#failures.set(id, error);
      }
    });
  }

  linkRemoved({ link_id: id }: StoredLink): void {
    this.#failures.delete(id);
    this.#follow(`Link ${id}`, async () => {
      await this.wires.disconnect(id);
      this.#linksChanged();
    });
  }

  settled(): Promise<void> | undefined {
    return this.#waiting === 0 ? undefined : this.#last;
  }

  takeFailure(linkId: string): Error | undefined {
    const failure = this.#failures.get(linkId);
    this.#failures.delete(linkId);
    return failure;
  }

  async checkFilters(node: StoredNode, filters: AcceptedFilters, client: Client): Promise<void> {
    const kind = switchKind(node);
    if (kind === undefined) return;
    await this.#services.filterPlans.check(kind.type, filters, { projectId: this.#id, client });
  }

  /** Returns what ends the listening. */
  listen(listener: RunListener): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  async end(): Promise<void> {
    for (const listener of this.#listeners) listener.ending();
    this.#follow('The project', () => this.#projects.close(this.#id));
    await this.#last;
  }

  /** One thing after the other. What fails is told, and does not keep the next from being done. */
  #follow(what: string, work: () => Promise<void>): void {
    this.#waiting++;
    this.#last = this.#last.then(work).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#ownerOf(this.#id)?.warn(`${what} does not run as it should: ${reason}`);
    });
    this.#last = this.#last.finally(() => {
      this.#waiting--;
    });
  }

  #linksChanged(): void {
    for (const listener of this.#listeners) listener.linksChanged();
  }

  async #create(node: StoredNode): Promise<void> {
    const kind = switchKind(node);
    if (kind === undefined) return;
    await this.#projects.find(this.#id).createNode(kind, {
      name: node.name,
      node_id: node.node_id,
      properties: byPosition(node.properties ?? {}),
      heldConsole: node.console ?? null,
    });
  }

  async #update(node: StoredNode): Promise<void> {
    await this.#find(node.node_id)?.update({
      name: node.name,
      properties: byPosition(node.properties ?? {}),
    });
  }

  #find(id: string): SwitchNode | undefined {
    return this.#projects.find(this.#id).findNode(id);
  }
}

function switchKind(node: StoredNode): SwitchKind | undefined {
  return SWITCH_KINDS.find(({ type }) => type === node.node_type);
}

/** The controller counts the ports of Ethernet nodes by position, and so do its links. */
function byPosition(properties: Properties): Properties {
  if (!('ports_mapping' in properties)) return properties;
  const list = storedList(properties).map((entry, index) => ({ ...(entry as object), port_number: index }));
  return { ...properties, ports_mapping: list };
}
