/**
 * The content of an open project: its nodes, links and drawings, and the names, console ports and used ports that
 * follow from them. Lives in memory from open to close; every change goes through a transaction.
 */
import type { Channel } from '../../base/streams/channel.js';
import { Collection } from '../projects/collection.js';
import { ContentLimit } from '../projects/content-limit.js';
import { CountedObjects } from '../quotas/counted-objects.js';
import type { Claims } from '../quotas/quotas.js';
import type { ConsolePorts } from '../console-ports.js';
import { undirected, type DirectedFilters } from './link-filters.js';
import { LAB_FILE, type LabFileRecord } from '../lab-file/lab-file-record.js';
import type { NodeKind, PortOwner } from '../kinds/node-kind.js';
import { kindOfType, servedKind } from '../kinds/node-kinds.js';
import type { LinkMedium, NodePort } from '../kinds/port.js';
import type { BeginRun, LabRun, NodeState, NodeStatus, RunEnd, RunRight } from '../lab-run.js';
import type { HostNumbers } from './host-numbers.js';
import { NodeNames } from './node-names.js';
import { drawingView, linkView, nodeView, type DrawingView, type ShownCapture } from './views.js';
import type { Slices } from '../projects/slices.js';
import { hasSamePorts, portOwnerOf } from './port-owner.js';
import { PortUse } from './port-use.js';
import { entityKey, type EntityKind, type EntityRecord, type LabRecords } from '../projects/records.js';
import { type StoredDrawing, type StoredLink, type StoredNode } from '../gns3-file/topology-schema.js';
import type { Transaction } from '../projects/transaction.js';

/** A capture of a link that runs, as the store knows it. What else is in it is the captures' own. */
export interface StoredCapture {
  readonly link_id: string;
}

interface KnownPorts {
  readonly owner: PortOwner;
  readonly ports: readonly NodePort[];
}

/** The services that all topologies of a controller share. */
export interface TopologyContext {
  readonly consoleHost: string;
  readonly consolePorts: ConsolePorts;
  readonly hostNumbers: HostNumbers;
  readonly quotas: Claims;
  symbolSize(symbol: string): { readonly width: number; readonly height: number };
  /** Refuses (404, 409) a compute on which this server cannot make a node. */
  checkCompute(computeId: string, request: string): void;
  /** Whether nodes of this compute can run: it is this server, or another on record. */
  hasCompute(computeId: string): boolean;
  /** Whether nodes of this compute run on this server, which may be on record for the other servers of a farm. */
  isHere(computeId: string): boolean;
  /** Makes the content of a project run. */
  readonly beginRun: BeginRun;
}

/** A compute that a node was moved to or from, or was about to be. It may have something that no node of the project names. */
interface VisitedCompute {
  readonly compute_id: string;
}

const KEPT: NodeState = { status: 'stopped', commandLine: null, folder: null };

export class Topology {
  readonly projectId: string;
  readonly nodes: Collection<StoredNode>;
  readonly links: Collection<StoredLink>;
  readonly drawings: Collection<StoredDrawing>;
  readonly directed: Collection<DirectedFilters>;
  /** The captures that go on when the content is loaded again. */
  readonly storedCaptures: Collection<StoredCapture>;
  /** At most one, by the id `LAB_FILE`. */
  readonly labFiles: Collection<LabFileRecord>;
  readonly visited: Collection<VisitedCompute>;
  readonly names = new NodeNames();
  readonly portUse = new PortUse();
  readonly context: TopologyContext;
  readonly channel: Channel;
  /** Runs the nodes and links. */
  readonly run: LabRun;
  /** The last capture of each link that had one. */
  readonly captures = new Map<string, ShownCapture>();
  readonly #counted: readonly CountedObjects[];
  readonly #knownPorts = new WeakMap<object, KnownPorts>();

  constructor(projectId: string, channel: Channel, context: TopologyContext, right: RunRight) {
    this.projectId = projectId;
    this.channel = channel;
    this.context = context;
    this.run = context.beginRun(projectId, right);
    const limit = new ContentLimit();
    const count = (resource: 'links' | 'nodes'): CountedObjects =>
      new CountedObjects(limit, context.quotas, projectId, resource);
    const [nodes, links] = [count('nodes'), count('links')];
    this.#counted = [nodes, links];
    const keyOf = (kind: EntityKind) => (id: string) => entityKey(projectId, kind, id);
    this.nodes = new Collection(
      'node',
      keyOf('node'),
      channel,
      (node) => JSON.stringify(this.#viewNode(node)),
      {
        stored: (node) => {
          if (this.kindOf(node) !== undefined) this.run.nodeStored(node);
        },
        removed: (node) => {
          if (this.kindOf(node) !== undefined) this.run.nodeRemoved(node);
        },
      },
      nodes,
    );
    this.links = new Collection(
      'link',
      keyOf('link'),
      channel,
      (link) =>
        JSON.stringify(linkView(link, projectId, this.linkType(link), this.captures.get(link.link_id))),
      {
        stored: (link) => {
          const directed = this.directed.get(link.link_id) ?? undirected(link.link_id);
          this.run.linkStored({ link, directed });
        },
        removed: (link) => {
          this.captures.delete(link.link_id);
          this.run.linkRemoved(link);
        },
      },
      links,
    );
    this.directed = new Collection('directed', keyOf('directed'), channel, (directed) =>
      JSON.stringify(directed),
    );
    this.storedCaptures = new Collection('capture', keyOf('capture'), channel, (capture) =>
      JSON.stringify(capture),
    );
    this.labFiles = new Collection('lab_file', keyOf('lab_file'), channel, () => '');
    this.visited = new Collection('visited', keyOf('visited'), channel, () => '', {
      stored: ({ compute_id: id }) => this.run.visited?.(id),
      removed: () => undefined,
    });
    this.drawings = new Collection(
      'drawing',
      keyOf('drawing'),
      channel,
      (drawing) => JSON.stringify(this.viewDrawing(drawing)),
      undefined,
      limit,
    );
  }

  /** Takes over the stored records and announces them, object by object. */
  async load({ entities }: LabRecords, slices: Slices): Promise<void> {
    for (const record of entities.node as EntityRecord<StoredNode>[]) {
      this.names.keep(record.object.name);
      this.nodes.load(record.object.node_id, { ...record, object: this.#withNumbers(record.object) });
      await slices.rest();
    }
    for (const record of entities.link as EntityRecord<StoredLink>[]) {
      this.portUse.connect(record.object);
      this.links.load(record.object.link_id, record);
      await slices.rest();
    }
    for (const record of entities.directed as EntityRecord<DirectedFilters>[]) {
      this.directed.load(record.object.link_id, record);
    }
    for (const record of entities.capture as EntityRecord<StoredCapture>[]) {
      const { link_id: id } = record.object;
      if (this.links.get(id) !== undefined) this.storedCaptures.load(id, record);
    }
    for (const record of entities.lab_file as EntityRecord<LabFileRecord>[]) {
      this.labFiles.load(LAB_FILE, record);
    }
    for (const record of entities.visited as EntityRecord<VisitedCompute>[]) {
      this.visited.load(record.object.compute_id, record);
      this.run.visited?.(record.object.compute_id);
    }
    for (const record of entities.drawing as EntityRecord<StoredDrawing>[]) {
      this.drawings.load(record.object.drawing_id, record);
    }
    for (const collection of [this.nodes, this.links, this.drawings]) {
      for (const id of collection.ids()) {
        collection.publishOne(id);
        await slices.rest();
      }
    }
  }

  /** Stops everything, and gives back the console ports. */
  async unload(how: RunEnd): Promise<void> {
    await this.run.end(how);
    for (const counted of this.#counted) counted.giveBack();
    for (const node of this.nodes.values()) {
      const kind = this.kindOf(node);
      if (kind !== undefined) this.releaseNumbers(kind, node);
    }
  }

  /** The kind that runs the node; undefined for a node that is not run by this server or a compute of it. */
  kindOf(node: Pick<StoredNode, 'compute_id' | 'node_type'>): NodeKind | undefined {
    return this.context.hasCompute(node.compute_id) ? servedKind(node.node_type) : undefined;
  }

  /** Gives back the numbers that a node of this server has. */
  releaseNumbers(kind: NodeKind, { compute_id: id, console, properties = {} }: StoredNode): void {
    if (!this.context.isHere(id)) return;
    if (console != null) this.context.consolePorts.release(console);
    this.context.hostNumbers.release(kind, properties);
  }

  /** A node that is only kept is stopped. */
  statusOf(node: StoredNode): NodeStatus {
    return this.#stateOf(node).status;
  }

  #stateOf(node: StoredNode): NodeState {
    return this.kindOf(node) === undefined ? KEPT : this.run.stateOf(node);
  }

  /** The node's own ports, and others that its links use nevertheless. */
  portsOf(node: StoredNode): NodePort[] {
    const own = this.#ownPorts(node);
    const strays = this.portUse
      .usedPorts(node.node_id)
      .filter((used) => !own.some((port) => isPort(port, used.adapter, used.port)))
      .map((used) => this.#strayPort(node, used.adapter, used.port, used.linkId));
    return [...own, ...strays];
  }

  findPort(node: StoredNode, adapter: number, number: number): NodePort | undefined {
    return this.portsOf(node).find((port) => isPort(port, adapter, number));
  }

  /** The type of the last end that tells it: a port that is not the node's own does not, when the node does not run here. */
  linkType(link: StoredLink): LinkMedium {
    for (const end of link.nodes.toReversed()) {
      const node = this.nodes.get(end.node_id);
      if (node === undefined) continue;
      const own = this.#ownPorts(node).find((port) => isPort(port, end.adapter_number, end.port_number));
      const type = own?.link_type ?? this.kindOf(node)?.medium;
      if (type !== undefined) return type;
    }
    return 'ethernet';
  }

  viewDrawing(drawing: StoredDrawing): DrawingView {
    return drawingView(drawing, this.projectId);
  }

  removeLink(transaction: Transaction, link: StoredLink): void {
    this.links.remove(transaction, link.link_id);
    this.portUse.disconnectIn(transaction, link);
    this.directed.withdraw(transaction, link.link_id);
    this.storedCaptures.withdraw(transaction, link.link_id);
    for (const end of link.nodes) {
      const node = this.nodes.get(end.node_id);
      // A port that is not the node's own was shown only because of this link.
      if (node !== undefined && this.findPort(node, end.adapter_number, end.port_number) === undefined) {
        this.nodes.refresh(transaction, end.node_id);
      }
    }
  }

  reserveConsole(transaction: Transaction, wanted: number | null | undefined): number | null {
    const { consolePorts } = this.context;
    const port = consolePorts.reserve(wanted);
    if (port !== null) {
      transaction.onUndo(() => {
        consolePorts.release(port);
      });
    }
    return port;
  }

  /** The ports that follow from the settings of the node, whatever runs it; computed once for each version of them. */
  #ownPorts(node: StoredNode): readonly NodePort[] {
    if (node.properties === undefined) return [];
    const kind = kindOfType(node.node_type);
    const owner = portOwnerOf(node, kind);
    const known = this.#knownPorts.get(node.properties);
    if (known !== undefined && hasSamePorts(known.owner, owner)) return known.ports;
    const ports = kind.ports(owner);
    this.#knownPorts.set(node.properties, { owner, ports });
    return ports;
  }

  #viewNode(node: StoredNode): object {
    return nodeView(node, {
      projectId: this.projectId,
      consoleHost: this.context.consoleHost,
      state: this.#stateOf(node),
      ports: this.portsOf(node),
    });
  }

  #withNumbers(node: StoredNode): StoredNode {
    const kind = this.kindOf(node);
    if (kind === undefined || !this.context.isHere(node.compute_id)) return node;
    const hasConsole = kind.consoleTypes.length > 0;
    const console = hasConsole ? this.context.consolePorts.reserve(node.console) : node.console;
    if (kind.hostNumber === undefined || node.properties === undefined) return { ...node, console };
    return { ...node, console, properties: this.context.hostNumbers.take(kind, node.properties) };
  }

  #strayPort(node: StoredNode, adapter: number, port: number, linkId: string): NodePort {
    const link = this.links.get(linkId);
    return {
      adapter_number: adapter,
      data_link_types: {},
      link_type: this.kindOf(node)?.medium ?? (link === undefined ? 'ethernet' : this.linkType(link)),
      name: `${adapter}/${port}`,
      port_number: port,
      short_name: `${adapter}/${port}`,
    };
  }
}

function isPort(port: NodePort, adapter: number, number: number): boolean {
  return port.adapter_number === adapter && port.port_number === number;
}
