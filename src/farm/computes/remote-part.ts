/**
 * The part of a project that another compute runs, in GNS3's dialect. What is wanted is kept here, so that a compute which
 * has lost it gets it again: the nodes, and which of them run.
 */
import { z } from 'zod';
import { isRefusal, messageOf, refusals } from '../../base/errors/errors.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import { kindOfType, servedKind, isProgramKind } from '../../lab/kinds/node-kinds.js';
import type { NodeAction, NodeState, NodeStatus, RunEnd } from '../../lab/lab-run.js';
import { DEADLINE_MS } from './deadlines.js';
import { nodeBody, nodePath } from './node-body.js';
import type { ComputeEvent } from './compute-event.js';
import type { RemoteComputes } from './remote-computes.js';

/** Nodes of a compute that is out of reach for so long are shown as stopped. */
const STOPPED_AFTER_MS = 30_000;

const shown = z.object({
  status: z.enum(['started', 'stopped', 'suspended']).optional().catch(undefined),
  console: z.int().min(1).max(65_535).nullable().optional().catch(undefined),
  command_line: z.string().max(65_536).nullable().optional().catch(undefined),
  node_directory: z.string().max(4096).nullable().optional().catch(undefined),
});
const message = z.object({ message: z.string().max(4096) });
const projectList = z.array(z.object({ project_id: z.string() }));
const givenPort = z.object({ udp_port: z.int().min(1).max(65_535) });

interface RemoteNode {
  stored: StoredNode;
  /** The node as the compute has it; undefined when it has none. */
  made: StoredNode | undefined;
  shown: z.output<typeof shown>;
  /** Somebody has started it and nobody has stopped it. */
  shouldRun: boolean;
  fault: Error | undefined;
}

/** The project of the controller. */
export interface PartOwner {
  readonly name: string;
  warn(message: string): void;
  tell(action: string, text: string): void;
  nodeChanged(nodeId: string): void;
}

interface RemotePartOptions {
  readonly projectId: string;
  readonly computeId: string;
  readonly computes: RemoteComputes;
  readonly ownerOf: () => PartOwner | undefined;
  /** The compute is there and has its nodes. `isAnew` says that whatever it had before is gone. */
  readonly ready: (isAnew: boolean) => void;
}

export class RemotePart {
  readonly #options: RemotePartOptions;
  readonly #nodes = new Map<string, RemoteNode>();
  readonly #inputs = new Map<string, Properties>();
  /** Ports that were asked for and never used: a compute takes none back before the project is closed. */
  readonly #sparePorts: number[] = [];
  readonly #unfollow: () => void;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Whether the compute has the project, as far as is known. */
  #hasProject = false;
  #isReady = false;
  #isEnded = false;
  #stopping: NodeJS.Timeout | undefined;

  constructor(options: RemotePartOptions) {
    this.#options = options;
    this.#unfollow = options.computes.follow(options.computeId, {
      connected: () => {
        this.#begin();
      },
      disconnected: (reason) => {
        this.#lost(reason);
      },
      told: (event) => {
        this.#told(event);
      },
    });
    if (this.#isConnected) this.#begin();
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get computeName(): string {
    return this.#options.computes.recordOf(this.#options.computeId)?.name ?? this.#options.computeId;
  }

  /** Resolves when everything reported so far is done, or cannot be; undefined when that is so already. */
  settled(): Promise<void> | undefined {
    return this.#waiting === 0 ? undefined : this.#last;
  }

  giveInputs(nodeId: string, inputs: Properties): void {
    this.#inputs.set(nodeId, inputs);
  }

  nodeStored(stored: StoredNode): void {
    const known = this.#nodes.get(stored.node_id);
    const node: RemoteNode = known ?? {
      ...{ stored, made: undefined, shown: {}, fault: undefined },
      shouldRun: false,
    };
    node.stored = stored;
    this.#nodes.set(stored.node_id, node);
    if (this.#isReady) this.#follow(() => this.#bring(node));
  }

  nodeRemoved({ node_id: id }: StoredNode): void {
    const node = this.#nodes.get(id);
    this.#nodes.delete(id);
    this.#inputs.delete(id);
    if (!this.#isReady || node === undefined) return;
    this.#follow(async () => {
      if (node.made === undefined) return;
      await this.ask('DELETE', this.pathOf(node.stored)).catch((error: unknown) => {
        if (!isRefusal(error, 'compute_refused')) throw error;
      });
    });
  }

  stateOf({ node_id: id, node_type: type, console }: StoredNode): NodeState {
    const node = this.#nodes.get(id);
    const usual: NodeStatus = kindOfType(type).alwaysRuns && this.#isReady ? 'started' : 'stopped';
    const { host = '' } = this.#options.computes.recordOf(this.#options.computeId) ?? {};
    return {
      status: node?.shown.status ?? usual,
      commandLine: node?.shown.command_line ?? null,
      folder: node?.shown.node_directory ?? null,
      console: {
        host: host === '0.0.0.0' ? '127.0.0.1' : host,
        port: node?.shown.console ?? console ?? null,
      },
    };
  }

  checkMade(id: string): void {
    const node = this.#nodes.get(id);
    if (node?.made !== undefined) return;
    throw node?.fault ?? refusals.computeNotConnected(this.computeName, 'POST /nodes');
  }

  async act(stored: StoredNode, action: NodeAction): Promise<void> {
    await this.settled();
    const node = this.#nodes.get(stored.node_id);
    if (!this.#isReady) throw refusals.computeNotConnected(this.computeName, `POST ${action}`);
    if (node?.made === undefined)
      throw refusals.nodeNotStarted(stored.name, node?.fault?.message ?? 'its compute does not have it');
    if (kindOfType(stored.node_type).alwaysRuns) return;
    await this.#act(node, action);
  }

  /** The nodes that run and have content which only their compute has. */
  get runningNames(): string[] {
    return [...this.#nodes.values()].flatMap(({ stored, shown: { status } }) =>
      status !== undefined && status !== 'stopped' && !kindOfType(stored.node_type).alwaysRuns
        ? [stored.name]
        : [],
    );
  }

  get nodes(): StoredNode[] {
    return [...this.#nodes.values()].map(({ stored }) => stored);
  }

  async takePort(): Promise<number> {
    const spare = this.#sparePorts.pop();
    if (spare !== undefined) return spare;
    const { projectId } = this.#options;
    return givenPort.parse(await this.ask('POST', `/projects/${projectId}/ports/udp`)).udp_port;
  }

  /** Takes back a port that was never used. */
  keepPort(port: number): void {
    this.#sparePorts.push(port);
  }

  ask(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    deadline?: number,
  ): Promise<unknown> {
    const { computeId, computes } = this.#options;
    return computes.ask(computeId, { method, path, body }, deadline);
  }

  /** The path of a node of this project, below which its ports are. */
  pathOf(node: StoredNode): string {
    return nodePath(node, this.#options.projectId);
  }

  async end(how: RunEnd): Promise<void> {
    this.#isEnded = true;
    this.#unfollow();
    clearTimeout(this.#stopping);
    await this.settled();
    if (!this.#isConnected || !this.#hasProject) return;
    const path = `/projects/${this.#options.projectId}`;
    const [method, target] =
      how === 'removed' ? (['DELETE', path] as const) : (['POST', `${path}/close`] as const);
    await this.ask(method, target).catch(() => undefined);
  }

  get #isConnected(): boolean {
    return this.#options.computes.reachOf(this.#options.computeId).isConnected;
  }

  /** Makes all that is wanted, as far as the compute does not have it. */
  #begin(): void {
    clearTimeout(this.#stopping);
    this.#follow(async () => {
      if (this.#isEnded || !this.#isConnected) return;
      const isAnew = !(this.#hasProject && (await this.#isKnown()));
      if (isAnew) await this.#makeProject();
      this.#isReady = true;
      for (const node of [...this.#nodes.values()]) await (isAnew ? this.#bring(node) : this.#look(node));
      this.#options.ready(isAnew);
    });
  }

  async #isKnown(): Promise<boolean> {
    const found = projectList.safeParse(await this.ask('GET', '/projects')).data ?? [];
    return found.some(({ project_id: id }) => id === this.#options.projectId);
  }

  /** Begins from nothing: what an earlier life of this server has left there ends, and its ports are free again. */
  async #makeProject(): Promise<void> {
    const { projectId, ownerOf } = this.#options;
    for (const node of this.#nodes.values()) node.made = undefined;
    this.#sparePorts.length = 0;
    await this.ask('POST', `/projects/${projectId}/close`, undefined, DEADLINE_MS.node).catch(
      (error: unknown) => {
        if (!isRefusal(error, 'compute_refused')) throw error;
      },
    );
    await this.ask('POST', '/projects', { name: ownerOf()?.name ?? projectId, project_id: projectId });
    this.#hasProject = true;
  }

  /** The node there is made or changed until it is as wanted. */
  async #bring(node: RemoteNode): Promise<void> {
    const { stored, made } = node;
    const { node_id: id } = stored;
    if (this.#isEnded || this.#nodes.get(id) !== node || servedKind(stored.node_type) === undefined) return;
    const body = nodeBody(stored, node.shown.console);
    if (made !== undefined && JSON.stringify(nodeBody(made, node.shown.console)) === JSON.stringify(body))
      return;
    try {
      const answer =
        made === undefined
          ? await this.ask(
              'POST',
              nodePath(stored, this.#options.projectId, 'all'),
              { ...body, ...this.#inputs.get(id), node_id: id },
              DEADLINE_MS.node,
            )
          : await this.ask('PUT', this.pathOf(stored), body, DEADLINE_MS.node);
      this.#inputs.delete(id);
      node.fault = undefined;
      node.made = stored;
      this.#show(node, answer);
      if (made === undefined && node.shouldRun && node.shown.status === 'stopped')
        await this.#act(node, 'start');
    } catch (error) {
      node.fault = error instanceof Error ? error : new Error(String(error));
      throw new Error(`Node ${stored.name} does not run as it should: ${messageOf(error)}`, { cause: error });
    }
  }

  /** The compute was out of reach and has the node still. */
  async #look(node: RemoteNode): Promise<void> {
    if (node.made !== undefined) this.#show(node, await this.ask('GET', this.pathOf(node.stored)));
    await this.#bring(node);
  }

  async #act(node: RemoteNode, action: NodeAction): Promise<void> {
    const kind = kindOfType(node.stored.node_type);
    const takesInputs = 'startInputs' in kind && kind.startInputs !== undefined && action === 'start';
    const path = `${this.pathOf(node.stored)}/${action}`;
    const wasWanted = node.shouldRun;
    node.shouldRun = action === 'start' || action === 'reload' || (action === 'suspend' && wasWanted);
    try {
      await this.ask('POST', path, takesInputs ? {} : undefined, DEADLINE_MS.node);
    } catch (error) {
      node.shouldRun = wasWanted;
      throw error;
    }
    const after = { start: 'started', reload: 'started', stop: 'stopped', suspend: 'suspended' } as const;
    this.#show(node, { status: after[action] });
  }

  #show(node: RemoteNode, answer: unknown): void {
    const { data = {} } = shown.safeParse(answer);
    const given = Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined));
    node.shown = { ...node.shown, ...given };
    this.#options.ownerOf()?.nodeChanged(node.stored.node_id);
  }

  #told({ action, event, projectId }: ComputeEvent): void {
    if (projectId !== this.#options.projectId || this.#isEnded) return;
    if (action.startsWith('log.')) {
      const text = message.safeParse(event).data;
      if (text !== undefined) this.#options.ownerOf()?.tell(action, JSON.stringify(text));
    }
    const node = this.#nodes.get(String(event['node_id']));
    if (action !== 'node.updated' || node?.made === undefined) return;
    this.#show(node, event);
    if (isProgramKind(kindOfType(node.stored.node_type))) node.shouldRun = node.shown.status !== 'stopped';
  }

  #lost(reason: string): void {
    if (this.#isEnded) return;
    this.#isReady = false;
    const count = this.#nodes.size;
    if (count === 0) return;
    this.#options
      .ownerOf()
      ?.warn(`${reason}: what it runs of this project (nodes: ${count}) is out of reach`);
    this.#stopping = setTimeout(() => {
      for (const node of this.#nodes.values()) this.#show(node, { status: 'stopped' });
    }, STOPPED_AFTER_MS);
    this.#stopping.unref();
  }

  /** Does one piece of work after the other; when one fails, warns the listeners of the project. */
  #follow(work: () => Promise<void>): void {
    this.#waiting++;
    this.#last = this.#last
      .then(work)
      .catch((error: unknown) => {
        this.#options.ownerOf()?.warn(messageOf(error));
      })
      .finally(() => {
        this.#waiting--;
      });
  }
}
