/** The requests of clients on the nodes of an open project. Each function is one request inside a transaction. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { messageOf, refusals, shortList } from '../../base/errors/errors.js';
import { parseOrRefuse } from '../../base/errors/validation.js';
import type { NodeKind, Properties } from '../kinds/node-kind.js';
import { isProgramKind, kindOfType, servedKind } from '../kinds/node-kinds.js';
import { withProjectNumber } from '../kinds/project-numbers.js';
import { checkChangeWhileRunning } from '../kinds/running-changes.js';
import type { CloudInterface } from '../kinds/host-interface.js';
import type { NodeConsoleType } from '../kinds/console-types.js';
import { customAdapters, type CustomAdapter } from '../kinds/custom-adapters.js';
import { portNaming, portOwnerOf } from './port-owner.js';
import { defaultLabel, DEFAULT_SYMBOL } from './views.js';
import type { NodeAction } from '../lab-run.js';
import type { Topology } from './topology.js';
import type { Label, StoredNode } from '../gns3-file/topology-schema.js';
import type { Transaction } from '../projects/transaction.js';

/** Room on a host that nobody else gets until the node which takes it is stored, or is not. */
export interface ReservedRoom {
  taken(transaction: Transaction): void;
}

/** The settings that a client may send for a node, new or not. */
export interface NodeRequest {
  readonly name?: string | undefined;
  readonly console?: number | null | undefined;
  readonly console_type?: StoredNode['console_type'];
  readonly console_auto_start?: boolean | undefined;
  readonly properties?: Properties | undefined;
  readonly label?: Label | undefined;
  readonly symbol?: string | null | undefined;
  readonly x?: number | undefined;
  readonly y?: number | undefined;
  readonly z?: number | undefined;
  readonly locked?: boolean | undefined;
  readonly port_name_format?: string | undefined;
  readonly port_segment_size?: number | undefined;
  readonly first_port_name?: string | null | undefined;
  readonly custom_adapters?: StoredNode['custom_adapters'];
  /** The room that was found for it, in a farm. */
  readonly room?: ReservedRoom | undefined;
}

/** The settings that ports follow from. */
const PORT_SETTINGS = [
  'custom_adapters',
  'first_port_name',
  'port_name_format',
  'port_segment_size',
  'properties',
] as const;

export interface NewNode extends NodeRequest {
  readonly name: string;
  readonly node_type: StoredNode['node_type'];
  readonly compute_id: string;
  readonly node_id?: string | undefined;
  readonly template_id?: string | null | undefined;
  /** Settings that act once, when the node is created, by the names in its kind. */
  readonly inputs?: Properties | undefined;
  /** The interfaces of the host, for a kind that uses them. */
  readonly interfaces?: readonly CloudInterface[] | undefined;
}

/** Returns the text of the new node, or of the node that has the `node_id` already. */
export function createNode(topology: Topology, transaction: Transaction, wanted: NewNode): string {
  const known = wanted.node_id === undefined ? undefined : topology.nodes.get(wanted.node_id);
  if (known !== undefined) return topology.nodes.textOf(known);

  topology.context.checkCompute(
    wanted.compute_id,
    `POST /projects/${topology.projectId}/${wanted.node_type}/nodes`,
  );
  const kind = servedKind(wanted.node_type);
  if (kind === undefined)
    throw refusals.nodeKindUnavailable(kindOfType(wanted.node_type).unavailable ?? wanted.node_type);

  checkRoom(topology, kind);
  const id = wanted.node_id ?? randomUUID();
  const naming = portNaming(kind);
  const given = checkProperties(kind, wanted.properties ?? {});
  const numbered = withProjectNumber(kind, given, () => propertiesOfKind(topology, kind));
  const created = kind.create(numbered, id, wanted.interfaces);
  // Another compute chooses numbers of its own.
  const isHere = topology.context.isHere(wanted.compute_id);
  const hasConsole = kind.consoleTypes.length > 0;
  const console = isHere && hasConsole ? topology.reserveConsole(transaction, wanted.console) : null;
  const properties = isHere ? topology.context.hostNumbers.takeIn(transaction, kind, created) : created;
  const consoleType = checkConsoleType(kind, wanted.console_type) ?? kind.consoleTypes[0] ?? null;
  const name = takeName(topology, transaction, wanted.name);
  const symbol = wanted.symbol ?? DEFAULT_SYMBOL;
  const size = topology.context.symbolSize(symbol);
  const node: StoredNode = {
    compute_id: wanted.compute_id,
    console,
    console_auto_start: wanted.console_auto_start ?? false,
    console_type: consoleType,
    custom_adapters: wanted.custom_adapters ?? adaptersIn(given) ?? [],
    first_port_name: wanted.first_port_name ?? null,
    height: size.height,
    label: { ...(wanted.label ?? defaultLabel(name, size.height)), text: name },
    locked: wanted.locked ?? false,
    name,
    node_id: id,
    node_type: wanted.node_type,
    port_name_format: wanted.port_name_format ?? naming.format,
    port_segment_size: wanted.port_segment_size ?? naming.segmentSize,
    properties,
    symbol,
    template_id: wanted.template_id ?? null,
    width: size.width,
    x: wanted.x ?? 0,
    y: wanted.y ?? 0,
    z: wanted.z ?? 1,
  };
  kind.checkPorts?.(portOwnerOf(node, kind));
  warnOfTelnet(topology, transaction, node, undefined);
  wanted.room?.taken(transaction);
  return topology.nodes.put(transaction, node.node_id, node, { action: 'created' });
}

/** The label has the name. As in the reference, clients centre a new name again, unless it was placed with it. */
function labelOf(label: Label, name: string, isPlaced: boolean): Label {
  return label.text === name || isPlaced ? { ...label, text: name } : { ...label, text: name, x: null };
}

export function updateNode(
  topology: Topology,
  transaction: Transaction,
  id: string,
  wanted: NodeRequest,
): string {
  const node = findNode(topology, id);
  const changed: Record<string, unknown> = { ...node, ...drawn(topology, node, wanted) };
  const kind = topology.kindOf(node);
  if (kind === undefined) refuseRemoteChange(node, wanted);
  else Object.assign(changed, applied(topology, transaction, kind, node, wanted));

  const next = changed as StoredNode;
  if (PORT_SETTINGS.some((key) => wanted[key] !== undefined)) kind?.checkPorts?.(portOwnerOf(next, kind));
  if (next.label != null) changed['label'] = labelOf(next.label, next.name, wanted.label !== undefined);
  // Settings for the compute are confirmed by an event even when nothing has changed.
  const isConfirmed = kind !== undefined && (wanted.name !== undefined || wanted.properties !== undefined);
  if (!isConfirmed && isDeepStrictEqual(next, node)) return topology.nodes.textOf(node);
  warnOfTelnet(topology, transaction, next, node);
  wanted.room?.taken(transaction);
  return topology.nodes.put(transaction, id, next, { action: 'updated' });
}

export function deleteNode(topology: Topology, transaction: Transaction, id: string): void {
  const node = findNode(topology, id);
  if (node.locked === true) throw refusals.nodeLocked(node.name);
  for (const linkId of topology.portUse.linksOf(id)) {
    const link = topology.links.get(linkId);
    if (link !== undefined) topology.removeLink(transaction, link);
  }
  topology.nodes.remove(transaction, id);
  topology.names.release(node.name);
  transaction.onUndo(() => {
    topology.names.keep(node.name);
  });
  const kind = topology.kindOf(node);
  if (kind === undefined) return;
  transaction.onStored(() => {
    topology.releaseNumbers(kind, node);
  });
}

export interface NodePlace {
  /** The id of the copy. */
  readonly node_id?: string | undefined;
  readonly x: number;
  readonly y: number;
  readonly z?: number | undefined;
  readonly room?: ReservedRoom | undefined;
}

export function duplicateNode(
  topology: Topology,
  transaction: Transaction,
  id: string,
  place: NodePlace,
): string {
  const node = findNode(topology, id);
  checkServed(topology, node, 'duplicate the node');
  const { node_id, console, template_id, ...copied } = node;
  const kind = topology.kindOf(node);
  if (kind?.cannotBeDuplicated === true) throw refusals.nodeNotDuplicable();
  const unique = kind?.uniqueProperties ?? [];
  const properties = Object.entries(node.properties ?? {}).filter(([key]) => !unique.includes(key));
  return createNode(topology, transaction, {
    ...copied,
    node_id: place.node_id,
    properties: Object.fromEntries(properties),
    label: copied.label ?? undefined,
    // As in the reference, the lock is not copied.
    locked: false,
    template_id,
    x: place.x,
    y: place.y,
    z: place.z ?? 0,
    room: place.room,
  });
}

/** Starts, stops, suspends or reloads a node. Returns its text. */
export async function actOnNode(topology: Topology, id: string, action: NodeAction): Promise<string> {
  const node = findNode(topology, id);
  checkAction(topology, node, action);
  if (topology.kindOf(node) !== undefined) await topology.run.act(node, action);
  return topology.nodes.textOf(topology.nodes.get(id) ?? node);
}

/** Acts on every node, also after failures. Refuses (409), by their names, those with which it did not succeed. */
export async function actOnAllNodes(topology: Topology, action: NodeAction): Promise<void> {
  const nodes = [...topology.nodes.values()];
  const acts = await Promise.allSettled(nodes.map((node) => actOnNode(topology, node.node_id, action)));
  const faults = acts.flatMap((act, index) =>
    act.status === 'rejected' ? [`${nodes[index]?.name ?? ''}: ${messageOf(act.reason)}`] : [],
  );
  if (faults.length > 0)
    throw refusals.nodesNotActedOn(action, faults.length, nodes.length, shortList(faults));
}

export function findNode(topology: Topology, id: string): StoredNode {
  const node = topology.nodes.get(id);
  if (node === undefined) throw refusals.nodeUnknown(id);
  return node;
}

/** A node that is not run here is stopped, so it can be stopped and suspended, but not started. */
function checkAction(topology: Topology, node: StoredNode, action: NodeAction): void {
  if (action === 'start' || action === 'reload') checkServed(topology, node, `${action} the node`);
}

function checkServed(topology: Topology, node: StoredNode, doing: string): void {
  if (topology.kindOf(node) !== undefined) return;
  checkAvailable(node, doing);
  throw refusals.nodeComputeNotServed(node.name, node.node_type, doing);
}

/** Refuses (409) what needs the program of a kind that no host has. */
function checkAvailable({ node_type: type }: StoredNode, doing: string): void {
  const { unavailable } = kindOfType(type);
  if (unavailable !== undefined) throw refusals.nodeKindUnavailable(`Cannot ${doing}: ${unavailable}`);
}

/** The new values of settings that only concern how the node is drawn and described. */
function drawn(topology: Topology, node: StoredNode, wanted: NodeRequest): Partial<StoredNode> {
  const { name, console, console_type, properties, room, ...rest } = wanted;
  const { custom_adapters, symbol, ...described } = rest;
  const given = Object.fromEntries(Object.entries(described).filter(([, value]) => value !== undefined));
  if (symbol === undefined || symbol === node.symbol) return given;
  const shown = symbol ?? DEFAULT_SYMBOL;
  return { ...given, symbol: shown, ...topology.context.symbolSize(shown) };
}

/** The new values of settings that concern the compute which runs the node. */
function applied(
  topology: Topology,
  transaction: Transaction,
  kind: NodeKind,
  node: StoredNode,
  wanted: NodeRequest,
): Partial<StoredNode> {
  const given = checkProperties(kind, wanted.properties ?? {});
  const before = node.properties ?? {};
  const updated = kind.update(before, given, topology.portUse.isConnected(node.node_id));
  const isHere = topology.context.isHere(node.compute_id);
  const properties = isHere
    ? topology.context.hostNumbers.moveIn(transaction, kind, before, updated)
    : updated;
  const consoleType = checkConsoleType(kind, wanted.console_type);
  checkConsoleMoves(topology, kind, node, wanted);
  if (isProgramKind(kind) && topology.statusOf(node) !== 'stopped') {
    const before = { name: node.name, properties: node.properties ?? {} };
    checkChangeWhileRunning(kind, before, { name: wanted.name ?? node.name, properties });
  }
  const console = isHere
    ? moveConsole(topology, transaction, kind, node, wanted.console)
    : (wanted.console ?? node.console ?? null);
  const adapters = wanted.custom_adapters ?? adaptersIn(given);
  const isRenamed = wanted.name !== undefined && wanted.name !== node.name;
  return {
    properties,
    console,
    ...(consoleType === undefined ? {} : { console_type: consoleType }),
    ...(adapters === undefined ? {} : { custom_adapters: adapters }),
    ...(isRenamed ? { name: rename(topology, transaction, node.name, wanted.name ?? node.name) } : {}),
  };
}

/** A client may send the same values back. Other values would need the compute of the node, which is not there. */
function refuseRemoteChange(node: StoredNode, wanted: NodeRequest): void {
  const properties = wanted.properties ?? {};
  const isSame =
    (wanted.name === undefined || wanted.name === node.name) &&
    (Object.keys(properties).length === 0 || isDeepStrictEqual(properties, node.properties)) &&
    (wanted.custom_adapters === undefined || isDeepStrictEqual(wanted.custom_adapters, node.custom_adapters));
  if (isSame) return;
  checkAvailable(node, 'change the node');
  throw refusals.nodeComputeNotServed(node.name, node.node_type, 'change the node');
}

function propertiesOfKind(topology: Topology, kind: NodeKind): Properties[] {
  const same = [...topology.nodes.values()].filter((node) => node.node_type === kind.type);
  return same.map(({ properties }) => properties ?? {});
}

/** Refuses (409) one more node of a kind of which a project may have only so many. */
function checkRoom(topology: Topology, kind: NodeKind): void {
  const most = isProgramKind(kind) ? kind.mostInProject : undefined;
  if (most === undefined) return;
  const same = [...topology.nodes.values()].filter((node) => node.node_type === kind.type);
  if (same.length >= most) throw refusals.tooMany(`nodes of type ${kind.type} in this project`, most);
}

/** The console of a program that runs stays as it is: people are at it. */
function checkConsoleMoves(topology: Topology, kind: NodeKind, node: StoredNode, wanted: NodeRequest): void {
  if (!isProgramKind(kind) || topology.statusOf(node) === 'stopped') return;
  if (wanted.console_type != null && wanted.console_type !== node.console_type)
    throw refusals.nodeRunsAlready(node.name, 'change the console type');
  if (wanted.console != null && wanted.console !== node.console)
    throw refusals.nodeRunsAlready(node.name, 'change the console');
}

/** The console port after a change. A wanted port that is taken is replaced by a free one, as in the reference. */
function moveConsole(
  topology: Topology,
  transaction: Transaction,
  kind: NodeKind,
  node: StoredNode,
  wanted: number | null | undefined,
): number | null {
  const before = node.console ?? null;
  if (wanted == null || wanted === before || kind.consoleTypes.length === 0) return before;
  const port = topology.reserveConsole(transaction, wanted);
  if (before !== null) {
    transaction.onStored(() => {
      topology.context.consolePorts.release(before);
    });
  }
  return port;
}

function rename(topology: Topology, transaction: Transaction, from: string, to: string): string {
  topology.names.release(from);
  transaction.onUndo(() => {
    topology.names.keep(from);
  });
  return takeName(topology, transaction, to);
}

function takeName(topology: Topology, transaction: Transaction, wanted: string): string {
  if (wanted.includes('"')) throw refusals.nodeNameRefused();
  if (wanted.trim() === '') throw refusals.nodeNameBlank();
  const name = topology.names.take(wanted);
  transaction.onUndo(() => {
    topology.names.release(name);
  });
  return name;
}

function checkProperties(kind: NodeKind, given: Properties): Properties {
  return parseOrRefuse(kind.properties, given, `properties of ${kind.type}`);
}

/** The desktop client sends the adapters of a node among its properties. */
function adaptersIn(given: Properties): CustomAdapter[] | undefined {
  return customAdapters.safeParse(given['custom_adapters']).data;
}

function checkConsoleType(kind: NodeKind, wanted: StoredNode['console_type']): NodeConsoleType | undefined {
  if (wanted == null || kind.consoleTypes.length === 0) return undefined;
  const type = kind.consoleTypes.find((known) => known === wanted);
  if (type !== undefined) return type;
  throw refusals.schemaViolated('in console_type', `${kind.type} has ${kind.consoleTypes.join(', ')}`);
}

function warnOfTelnet(
  topology: Topology,
  transaction: Transaction,
  node: StoredNode,
  before: StoredNode | undefined,
): void {
  if (node.node_type !== 'ethernet_switch') return;
  if (node.console_type !== 'telnet' || before?.console_type === 'telnet') return;
  const message = `"${node.name}": Telnet access for switches is not available in this version of GNS3`;
  transaction.onStored(() => {
    topology.channel.emit('log.warning', JSON.stringify({ message }));
  });
}
