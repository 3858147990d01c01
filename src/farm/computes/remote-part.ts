/**
 * The part of a project that another compute runs, in the dialect that the compute speaks. What is wanted is kept here, so that
 * a compute which has lost it gets it again: the nodes, and which of them run.
 */
import { z } from 'zod';
import { eachAtOnce } from '../../base/each-at-once.js';
import { messageOf, refusals } from '../../base/errors/errors.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import type { Properties } from '../../lab/kinds/node-kind.js';
import { kindOfType, servedKind, isProgramKind } from '../../lab/kinds/node-kinds.js';
import type { NodeAction, NodeState, NodeStatus, RunEnd, RunReport, RunRight } from '../../lab/lab-run.js';
import { DIALECT, SINCE } from '../../run/wanted-shapes.js';
import { DEADLINE_MS } from './deadlines.js';
import type { Ask, Dialect } from './dialect.js';
import { Gns3Dialect } from './gns3-dialect.js';
import { nodeBody, nodePath } from './node-body.js';
import type { ComputeEvent } from './compute-event.js';
import type { RemoteComputes } from './remote-computes.js';
import { WantedDialect } from './wanted-dialect.js';

/** Nodes of a compute that is out of reach for so long are shown as stopped. */
const STOPPED_AFTER_MS = 30_000;
const AGAIN_MS = 1000;

const shown = z.object({
  status: z.enum(['started', 'stopped', 'suspended']).optional().catch(undefined),
  console: z.int().min(1).max(65_535).nullable().optional().catch(undefined),
  command_line: z.string().max(65_536).nullable().optional().catch(undefined),
  node_directory: z.string().max(4096).nullable().optional().catch(undefined),
});
const message = z.object({ message: z.string().max(4096) });

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
  readonly right: RunRight;
  readonly computeId: string;
  readonly computes: RemoteComputes;
  readonly ownerOf: () => PartOwner | undefined;
  /** The whole lab was reported, so that a compute can be told all that is wanted. */
  readonly isLoaded: () => boolean;
  /** The compute is there and has its nodes. Of links for which `hasLost` holds it has no end, or another one. */
  readonly ready: (hasLost: (linkId: string) => boolean) => void;
}

export class RemotePart {
  readonly #options: RemotePartOptions;
  readonly #nodes = new Map<string, RemoteNode>();
  readonly #inputs = new Map<string, Properties>();
  readonly #unfollow: () => void;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  /** Undefined until it has been connected once. */
  #dialect: Dialect | undefined;
  #isReady = false;
  #isEnded = false;
  #stopping: NodeJS.Timeout | undefined;
  #later: NodeJS.Timeout | undefined;

  constructor(options: RemotePartOptions) {
    this.#options = options;
    this.#unfollow = options.computes.follow(options.computeId, {
      connected: () => {
        this.begin();
      },
      disconnected: (reason) => {
        this.#lost(reason);
      },
      told: (event) => {
        this.#told(event);
      },
      runs: (projectId) => projectId === options.projectId && this.runningNames.length > 0,
    });
    this.begin();
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** The number of the dialect between Wirefarms in which both speak; 0 for a compute of GNS3. */
  get spoken(): number {
    const { computes, computeId } = this.#options;
    return Math.min(DIALECT, computes.reachOf(computeId).dialect);
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
    const { isReady } = this;
    const dialect = this.#dialect;
    if (node === undefined || dialect === undefined) return;
    this.#follow(async () => {
      await dialect.remove(node.stored, isReady && node.made !== undefined).catch((error: unknown) => {
        if (this.#isReady) throw error;
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

  nodeReport(id: string): RunReport {
    const node = this.#nodes.get(id);
    if (!this.#isReady) return this.report;
    if (node?.made !== undefined && node.fault === undefined) return { state: 'running' };
    if (this.#waiting > 0) return { state: 'restoring' };
    return { state: 'lost', reason: node?.fault?.message ?? 'Its compute does not have it' };
  }

  /** How the part runs as a whole. */
  get report(): RunReport {
    if (this.#isReady) return { state: 'running' };
    if (this.#isConnected) return { state: 'restoring' };
    return { state: 'unreachable', reason: `The compute ${this.computeName} is not connected` };
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

  /** Refuses (409) when the compute has never been connected. */
  get dialect(): Dialect {
    if (this.#dialect === undefined)
      throw refusals.computeNotConnected(this.computeName, 'the links of a lab');
    return this.#dialect;
  }

  /** Lets go of the ends of links that are not wanted. */
  keepLinks(isWanted: (linkId: string) => boolean): void {
    this.#dialect?.keepLinks(isWanted);
  }

  /** Refuses (503) as soon as another server might have the project: that one says by now what runs. */
  readonly ask: Ask = (method, path, body, deadline) => {
    const { computeId, computes, projectId, right } = this.#options;
    if (!right.holds()) return Promise.reject(refusals.claimLost(projectId));
    return computes.ask(computeId, { method, path, body }, deadline);
  };

  async end(how: RunEnd): Promise<void> {
    this.#isEnded = true;
    this.#unfollow();
    clearTimeout(this.#stopping);
    clearTimeout(this.#later);
    await this.settled();
    // A server that has lost the project leaves what runs to the next owner.
    if (this.#options.right.holds()) await this.#dialect?.end(how).catch(() => undefined);
  }

  get #isConnected(): boolean {
    return this.#options.computes.reachOf(this.#options.computeId).isConnected;
  }

  /** Makes all that is wanted, as far as the compute does not have it. */
  begin(): void {
    const { isLoaded, ownerOf, ready } = this.#options;
    if (!isLoaded() || !this.#isConnected) return;
    clearTimeout(this.#stopping);
    clearTimeout(this.#later);
    this.#follow(async () => {
      if (this.#isEnded || this.#isReady || !this.#isConnected) return;
      if (!this.#options.right.holds()) {
        // The store is silent: nothing is said before this server knows that it has the project still.
        this.#later = setTimeout(() => {
          this.begin();
        }, AGAIN_MS).unref();
        return;
      }
      const dialect = (this.#dialect = this.#spoken());
      const isAnew = await dialect.begin(this.#options.computes.reachOf(this.#options.computeId).life);
      if (isAnew) for (const node of this.#nodes.values()) node.made = undefined;
      this.#isReady = true;
      if (isAnew && this.#nodes.size === 0) await dialect.clear();
      await eachAtOnce([...this.#nodes.values()], dialect.nodesAtOnce, async (node) => {
        await (isAnew ? this.#bring(node) : this.#look(node)).catch((error: unknown) => {
          if (!this.#isConnected) throw error;
          ownerOf()?.warn(messageOf(error));
        });
      });
      ready((linkId) => dialect.hasLost(linkId));
    });
  }

  /** The dialect of the compute: a compute may speak another one than before, when its program is another. */
  #spoken(): Dialect {
    const { projectId, right, ownerOf, computes, computeId } = this.#options;
    const Spoken = this.spoken >= SINCE.wanted ? WantedDialect : Gns3Dialect;
    if (this.#dialect instanceof Spoken) return this.#dialect;
    return new Spoken({
      ...{ projectId, right, ask: this.ask },
      pushImage: (emulator, image) => computes.pushImage(computeId, emulator, image),
      endThere: (epoch, how) => computes.owedEnds.end(computeId, projectId, { epoch, how }),
      name: () => ownerOf()?.name ?? projectId,
      computeName: () => this.computeName,
      spoken: () => this.spoken,
    });
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
      const answer = await this.dialect.bring({
        ...{ stored, made, shouldRun: node.shouldRun },
        ...{ console: node.shown.console, inputs: this.#inputs.get(id) },
      });
      this.#inputs.delete(id);
      node.fault = undefined;
      node.made = stored;
      this.#show(node, answer);
      if (made !== undefined) return;
      if (node.shouldRun && node.shown.status === 'stopped') await this.#act(node, 'start');
      else this.#noteRunning(node);
    } catch (error) {
      node.fault = error instanceof Error ? error : new Error(String(error));
      throw new Error(`Node ${stored.name} does not run as it should: ${messageOf(error)}`, { cause: error });
    }
  }

  /** The compute was out of reach and has the node still. */
  async #look(node: RemoteNode): Promise<void> {
    if (node.made !== undefined) {
      const found = await this.dialect.look(node.stored);
      if (found === undefined) node.made = undefined;
      else this.#show(node, found);
      if (found !== undefined) this.#noteRunning(node);
    }
    await this.#bring(node);
  }

  /** A program that was found running should run, and one that has ended should not. */
  #noteRunning(node: RemoteNode): void {
    if (isProgramKind(kindOfType(node.stored.node_type))) node.shouldRun = node.shown.status !== 'stopped';
  }

  async #act(node: RemoteNode, action: NodeAction): Promise<void> {
    const kind = kindOfType(node.stored.node_type);
    const takesInputs = 'startInputs' in kind && kind.startInputs !== undefined && action === 'start';
    const path = `${nodePath(node.stored, this.#options.projectId)}/${action}`;
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
    this.#noteRunning(node);
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
