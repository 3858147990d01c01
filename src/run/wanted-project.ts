/**
 * The wishes of one controller for a project here, followed as one: nodes, and the ends of links at their ports. Each request is
 * compared with what is there, and only what differs is changed, so that one which is repeated does nothing. Those of a
 * controller that has lost the project to another are refused by their epoch.
 */
import { eachAtOnce } from '../base/each-at-once.js';
import { refusals } from '../base/errors/errors.js';
import type { NodeKind, Properties } from '../lab/kinds/node-kind.js';
import type { ComputeProject } from './compute-project.js';
import type { ComputeNode } from './nodes/compute-node.js';
import { Turns } from './nodes/turns.js';
import { HeldAttachment } from './wanted-attachment.js';
import { faultOf } from './wanted-faults.js';
import {
  placeKey,
  type Actual,
  type ActualNode,
  type AttachmentCounts,
  type WantedChange,
  type WantedFault,
  type WantedComputeNode,
} from './wanted-shapes.js';

/** Nodes and attachments that are worked on at the same time. */
const AT_ONCE = 32;
/** An answer does not wait longer for nodes that start: each tells when it runs. */
const STARTS_MS = 5000;

interface HeldNode {
  wanted: WantedComputeNode;
  /** The settings that the node has been given. */
  given: string | undefined;
  fault: WantedFault | null;
}

interface WantedProjectOptions {
  readonly project: ComputeProject;
  /** Refuses a node that cannot run here. */
  readonly checkNode: (kind: NodeKind, properties: Properties) => Promise<void>;
}

export class WantedProject {
  readonly #options: WantedProjectOptions;
  readonly #nodes = new Map<string, HeldNode>();
  readonly #attachments = new Map<string, HeldAttachment>();
  readonly #turns = new Turns();
  #epoch = 0;
  #number = 0;

  constructor(options: WantedProjectOptions) {
    this.#options = options;
  }

  get actual(): Actual {
    return this.#actualOf([...this.#nodes.keys()], [...this.#attachments.keys()]);
  }

  /** The ports at which ends of links are attached. */
  get attached(): { readonly linkId: string; readonly node: ComputeNode; readonly port: number }[] {
    return [...this.#attachments.values()].flatMap((held) => held.place ?? []);
  }

  /** The counters of all ends of links. */
  get counts(): AttachmentCounts[] {
    return [...this.#attachments.values()].flatMap((held) => held.counts ?? []);
  }

  /**
   * Answers with what the request is about, as it is afterwards. Refuses (409) an older epoch, and a difference from a number
   * that was not reached.
   */
  async follow(change: WantedChange): Promise<Actual> {
    this.#check(change);
    const starts = await this.#turns.take(async () => {
      this.#check(change);
      const { epoch, number } = change;
      if (epoch === this.#epoch && number <= this.#number) return [];
      const starting = await this.#bring(change);
      this.#epoch = epoch;
      this.#number = number;
      return starting;
    });
    await inTime(Promise.all(starts), STARTS_MS);
    if (change.since === undefined) return this.actual;
    return this.#actualOf(
      change.nodes.map(({ node_id: id }) => id),
      change.attachments.map(placeKey),
    );
  }

  #check({ epoch, since, number }: WantedChange): void {
    if (epoch < this.#epoch) throw refusals.wantedOlder(epoch, this.#epoch);
    const isRepeated = epoch === this.#epoch && number <= this.#number;
    if (since === undefined || isRepeated) return;
    if (epoch > this.#epoch || since > this.#number) throw refusals.wantedGap(since, this.#number);
  }

  /** Resolves when nodes and attachments are there, with what waits for the starts. */
  async #bring(change: WantedChange): Promise<Promise<void>[]> {
    const { nodes, attachments, since } = change;
    const isAll = since === undefined;
    const keptNodes = new Set(nodes.map(({ node_id: id }) => id));
    const keptPlaces = new Set(attachments.map(placeKey));
    const goneNodes = isAll ? [...this.#nodes.keys()] : change.removed_nodes;
    const gonePlaces = isAll ? [...this.#attachments.keys()] : change.removed_attachments.map(placeKey);
    await eachAtOnce(
      gonePlaces.filter((key) => !keptPlaces.has(key)),
      AT_ONCE,
      (key) => this.#removeAttachment(key),
    );
    await eachAtOnce(
      goneNodes.filter((id) => !keptNodes.has(id)),
      AT_ONCE,
      (id) => this.#removeNode(id),
    );
    await eachAtOnce(nodes, AT_ONCE, (node) => this.#bringNode(node));
    // Ends that had a port here come first, before another one gets it.
    const inOrder = attachments.toSorted((a, b) => Number(b.lport != null) - Number(a.lport != null));
    await eachAtOnce(inOrder, AT_ONCE, async (wanted) => {
      const held =
        this.#attachments.get(placeKey(wanted)) ?? new HeldAttachment(this.#options.project, wanted);
      this.#attachments.set(placeKey(wanted), held);
      await held.follow(wanted);
    });
    return nodes.map((wanted) => this.#bringStatus(wanted));
  }

  async #removeAttachment(key: string): Promise<void> {
    const held = this.#attachments.get(key);
    this.#attachments.delete(key);
    await held?.remove();
  }

  async #removeNode(id: string): Promise<void> {
    const { project } = this.#options;
    this.#nodes.delete(id);
    const node = project.findNode(id);
    if (node !== undefined) await project.deleteNode(node.kind, id);
  }

  /** A node that cannot be made has a fault, and is tried again when it is wanted again. */
  async #bringNode(wanted: WantedComputeNode): Promise<void> {
    const { project, checkNode } = this.#options;
    const { kind, node_id: id, settings } = wanted;
    const held = this.#nodes.get(id) ?? { wanted, given: undefined, fault: null };
    this.#nodes.set(id, held);
    held.wanted = wanted;
    const { inputs, ...rest } = settings;
    const given = JSON.stringify(rest);
    try {
      const node = project.findNode(id);
      if (node !== undefined && given === held.given && held.fault === null) return;
      await checkNode(kind, settings.properties);
      if (node === undefined) await project.createNode(kind, { ...rest, inputs, node_id: id });
      else await project.node(kind, id).update(rest);
      held.given = given;
      held.fault = null;
    } catch (error) {
      held.fault = faultOf(error);
    }
  }

  /** Never rejects. */
  async #bringStatus({ node_id: id, kind, status }: WantedComputeNode): Promise<void> {
    const node = this.#options.project.findNode(id);
    const held = this.#nodes.get(id);
    if (node === undefined || held === undefined || kind.alwaysRuns || status === undefined) return;
    try {
      if (status === 'started' && node.status !== 'started') await node.start();
      else if (status === 'stopped' && node.status !== 'stopped') await node.stop();
      else if (status === 'suspended' && node.status === 'started') await node.suspend();
    } catch (error) {
      held.fault = faultOf(error);
    }
  }

  #actualOf(nodeIds: readonly string[], keys: readonly string[]): Actual {
    return {
      epoch: this.#epoch,
      number: this.#number,
      nodes: nodeIds.map((id) => actualNode(id, this.#options.project.findNode(id), this.#nodes.get(id))),
      attachments: keys.flatMap((key) => this.#attachments.get(key)?.actual ?? []),
    };
  }
}

function actualNode(id: string, node: ComputeNode | undefined, held: HeldNode | undefined): ActualNode {
  const shown = node === undefined ? {} : (JSON.parse(node.text) as Partial<ActualNode>);
  return {
    node_id: id,
    status: node?.status ?? null,
    console: shown.console ?? null,
    command_line: shown.command_line ?? null,
    node_directory: shown.node_directory ?? null,
    fault: held?.fault ?? null,
  };
}

async function inTime(work: Promise<unknown>, afterMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, afterMs);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
