/**
 * A node that runs here, of any kind: its name, its console's number, its device on an engine, and the ports of the
 * device that are attached. Requests on one node never overlap.
 */
import { refusals } from '../../base/errors/errors.js';
import type { RunningDevice } from '../../engine/control/running-device.js';
import type { PortPolicy } from '../../engine/forwarding/orders.js';
import type { NodeConsoleType } from '../../lab/kinds/console-types.js';
import { givenAdapters, type CustomAdapter } from '../../lab/kinds/custom-adapters.js';
import type { NodeKind, Properties } from '../../lab/kinds/node-kind.js';
import type { NodeStatus, RunEnd } from '../../lab/lab-run.js';
import { acceptFilters } from '../../lab/topology/link-filters.js';
import { Attachments } from './attachments.js';
import type { ComputeServices } from '../compute-services.js';
import { endCountsOf, type LinkEndCounts } from '../links/end-counts.js';
import type { Nio } from '../links/nio.js';
import type { NodeProject } from './machine.js';
import type { NodeConsole, NodeRuntime } from './node-runtime.js';
import type { ConnectionStatistics, NodeStatistics } from './statistics.js';
import { Turns } from './turns.js';

/** The settings that a client may send for a new node and for a change. */
export interface NodeSettings {
  readonly name?: string | undefined;
  readonly console?: number | null | undefined;
  readonly console_type?: NodeConsoleType | undefined;
  /** The console port that the controller has reserved for the node; the node then reserves none. */
  readonly heldConsole?: number | null | undefined;
  readonly properties: Properties;
  /** A change without them leaves them as they are. */
  readonly custom_adapters?: readonly CustomAdapter[] | undefined;
}

export interface NewComputeNode extends NodeSettings {
  readonly name: string;
  readonly node_id: string;
}

/** Called, and awaited, before a port of the device is detached or all are. */
type PortListener = (port: number | 'all') => Promise<void>;

export abstract class ComputeNode implements NodeRuntime {
  abstract readonly kind: NodeKind;
  abstract readonly status: NodeStatus;
  abstract readonly console: NodeConsole | undefined;
  readonly id: string;
  readonly home: NodeProject;
  /** For captures of its ports. */
  readonly device: RunningDevice;
  #customAdapters: readonly CustomAdapter[];
  protected readonly services: ComputeServices;
  protected readonly attachments: Attachments;
  #consoleType: NodeConsoleType | undefined;
  #name: string;
  #properties: Properties;
  #leaving: RunEnd | undefined;
  #isRemoved = false;
  readonly #turns = new Turns();
  /** The ports at which there is a link that is not suspended. */
  readonly #plugged = new Set<number>();
  /** The ports that wait for their turn because of the node at the far end. */
  readonly #farNews = new Set<number>();
  readonly #portListeners = new Set<PortListener>();
  readonly #ownsConsole: boolean;
  #consolePort: number | null;

  /** Refuses properties that cannot work. Nothing runs before `install`; `remove` releases everything. */
  constructor(home: NodeProject, kind: NodeKind, wanted: NewComputeNode, services: ComputeServices) {
    checkName(wanted.name);
    this.#properties = kind.create(wanted.properties, wanted.node_id);
    this.id = wanted.node_id;
    this.home = home;
    this.services = services;
    this.#name = wanted.name;
    this.#customAdapters = wantedAdapters(wanted) ?? [];
    const hasConsole = kind.consoleTypes.length > 0;
    this.#consoleType = hasConsole ? (wanted.console_type ?? kind.consoleTypes[0]) : undefined;
    this.#ownsConsole = hasConsole && wanted.heldConsole === undefined;
    const { consolePorts, sockets, udpPorts, linkEnds: ends } = services;
    this.#consolePort = this.#ownsConsole
      ? consolePorts.reserve(wanted.console)
      : (wanted.heldConsole ?? null);
    this.device = services.newDevice(home.id);
    this.attachments = new Attachments({
      ...{ device: this.device, sockets, udpPorts, projectId: home.id },
      links: { ends, node: this },
    });
  }

  get name(): string {
    return this.#name;
  }

  protected set name(name: string) {
    this.#name = name;
  }

  get properties(): Properties {
    return this.#properties;
  }

  protected set properties(properties: Properties) {
    this.#properties = properties;
  }

  get customAdapters(): readonly CustomAdapter[] {
    return this.#customAdapters;
  }

  protected set customAdapters(adapters: readonly CustomAdapter[]) {
    this.#customAdapters = adapters;
  }

  get consoleType(): NodeConsoleType | undefined {
    return this.#consoleType;
  }

  protected set consoleType(type: NodeConsoleType | undefined) {
    this.#consoleType = type;
  }

  /** Null for a kind without a console, and when all numbers are taken. */
  get consolePort(): number | null {
    return this.#consolePort;
  }

  /** The node as clients see it, as JSON text. */
  get text(): string {
    const hasConsole = this.kind.consoleTypes.length > 0;
    const shown = {
      ...this.properties,
      ...(hasConsole ? { console: this.consolePort, console_type: this.consoleType } : {}),
      ...this.ownFields(),
      name: this.#name,
      node_id: this.id,
      project_id: this.home.id,
      status: this.status,
    };
    return JSON.stringify(Object.fromEntries(Object.entries(shown).sort(([a], [b]) => (a < b ? -1 : 1))));
  }

  /** The form in which captures record the frames of a port of the device by default. */
  captureAt(port: number): NodeKind['capture'] {
    return this.captureOfPort?.(port) ?? this.kind.capture;
  }

  /** Call once, before anything else. */
  abstract install(): Promise<void>;
  abstract update(wanted: NodeSettings): Promise<string>;
  /** The port of the device to which a link at this port is attached. Refuses (409) a port that the node does not have. */
  abstract portAt(adapter: number, port: number): number;
  /** The adapter and port whose links are attached at a port of the device. */
  protected abstract placeOf(port: number): { readonly adapter_number: number; readonly port_number: number };
  /** The fields that clients see of this kind only, beside the properties. */
  protected abstract ownFields(): object;
  /** Ends whatever runs of the node. Must not fail. */
  protected abstract end(): Promise<void>;

  /** This and the next three do nothing to a node that always runs. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  suspend(): Promise<void> {
    return Promise.resolve();
  }

  reload(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the text when all earlier requests are done. */
  settled(): Promise<string> {
    return this.turn(() => Promise.resolve(this.text));
  }

  /** Call last. Resolves with false when the node was removed already. */
  remove(how: RunEnd): Promise<boolean> {
    this.#leaving = how;
    return this.#turns.takeSurely(async () => {
      if (this.#isRemoved) return false;
      this.#isRemoved = true;
      try {
        await this.end();
        await this.#portsGo('all');
        await this.device.remove();
      } finally {
        this.closeSockets();
        if (this.#ownsConsole && this.consolePort !== null) {
          this.services.consolePorts.release(this.consolePort);
        }
      }
      return true;
    });
  }

  /** Without a policy, the port is suspended and filtered as the NIO says. */
  attach(port: number, nio: Nio, policy?: PortPolicy): Promise<void> {
    return this.turn(async () => {
      this.checkAttachable(port);
      this.attachments.checkFree(port);
      await this.linkComes?.(port);
      try {
        const wanted = policy ?? (await this.#policyOf(port, nio));
        await this.attachments.attach(port, nio, this.home.folder, wanted);
        await this.#plug(port, !wanted.suspended);
      } catch (error) {
        await this.linkWent?.(port);
        throw error;
      }
    });
  }

  detach(port: number): Promise<void> {
    return this.turn(async () => {
      this.attachments.check(port);
      await this.#portsGo(port);
      await this.attachments.detach(port);
      await this.#plug(port, false);
      await this.linkWent?.(port);
    });
  }

  /** Suspends or filters an attached port. */
  setPolicy(port: number, policy: PortPolicy): Promise<void> {
    return this.turn(async () => {
      await this.attachments.setPolicy(port, policy);
      await this.#plug(port, !policy.suspended);
    });
  }

  /** Suspends or filters an attached port as the NIO says. Refuses (409) another NIO than the one that is attached. */
  changeNio(port: number, nio: Nio): Promise<void> {
    return this.turn(async () => {
      this.attachments.checkSame(port, nio);
      const policy = await this.#policyOf(port, nio);
      await this.attachments.setPolicy(port, policy);
      await this.#plug(port, !policy.suspended);
    });
  }

  /** Runs work on an attached port in its turn among the requests. Refuses (409) a port that is not attached. */
  onPort<Result>(port: number, work: () => Promise<Result>): Promise<Result> {
    return this.turn(() => {
      this.attachments.check(port);
      return work();
    });
  }

  /** Refuses (409) a port that is not attached. */
  checkPort(port: number): void {
    this.attachments.check(port);
  }

  beforeDetach(listener: PortListener): void {
    this.#portListeners.add(listener);
  }

  /** Returns the tables of the device, in the form of its kind. */
  inspect(): Promise<unknown> {
    return this.turn(() => this.device.inspect());
  }

  statistics(): NodeStatistics {
    const connections = this.connectionStatistics();
    const ports = this.attachments
      .counted()
      .map(({ port, counters }) => ({ ...this.placeOf(port), counters }));
    return connections === undefined ? { ports } : { connections, ports };
  }

  /** The counts of the link at a port. */
  linkCounts(port: number): LinkEndCounts {
    return endCountsOf(this.device, port);
  }

  resetStatistics(): void {
    this.attachments.resetStatistics();
    this.device.connections.reset();
  }

  farNodeChanged(port: number): void {
    if (this.#farNews.has(port)) return;
    this.#farNews.add(port);
    void this.#turns.takeSurely(async () => {
      this.#farNews.delete(port);
      await this.cable?.(port, this.isPlugged(port));
    });
  }

  /** Call only at the end of the process, when no engine runs any more. */
  closeSockets(): void {
    this.attachments.closeAll();
  }

  /** Refuses (409) a port of the device at which no link may be attached. */
  protected abstract checkAttachable(port: number): void;

  /** Absent for a kind whose ports are all of one type. */
  protected captureOfPort?(port: number): NodeKind['capture'] | undefined;

  /** Called before a link is attached at a port. Refuses (409) what cannot work; nothing is left of it then. */
  protected linkComes?(port: number): Promise<void>;

  /** Called when the link at a port has been detached, or could not be attached. Not called when the node is removed. */
  protected linkWent?(port: number): Promise<void>;

  /**
   * Called when a link has come to a port or gone, when it is suspended or resumed, and when the status of the node at its
   * far end may be another. Must not fail.
   */
  protected cable?(port: number, isPlugged: boolean): Promise<void>;

  /** Undefined for a kind without mappings. */
  protected connectionStatistics(): ConnectionStatistics[] | undefined {
    return undefined;
  }

  /** Whether there is a link at the port that is not suspended. */
  protected isPlugged(port: number): boolean {
    return this.#plugged.has(port);
  }

  /** How it will end in its turn, if it will: work that has not begun need not be done. */
  protected get leaving(): RunEnd | undefined {
    return this.#leaving;
  }

  /** Refuses (409) a name that is new and that no node may have. */
  protected checkName(name: string): void {
    if (name !== this.#name) checkName(name);
  }

  /** Takes the number that the controller has reserved, or a client of the compute wants. */
  protected renumberConsole({ console, heldConsole }: NodeSettings): void {
    if (heldConsole !== undefined) this.#consolePort = heldConsole;
    if (!this.#ownsConsole || console == null || console === this.#consolePort) return;
    const { consolePorts } = this.services;
    const before = this.#consolePort;
    this.#consolePort = consolePorts.reserve(console);
    if (before !== null) consolePorts.release(before);
  }

  /** Notifies the listeners of the compute and of the controller. */
  protected changed(): void {
    this.services.nodeChanged(this.home.id, this.id, this.text);
  }

  protected turn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.take(() => {
      if (this.#isRemoved) throw refusals.nodeUnknown(this.id);
      return work();
    });
  }

  async #plug(port: number, isPlugged: boolean): Promise<void> {
    if (isPlugged) this.#plugged.add(port);
    else this.#plugged.delete(port);
    await this.cable?.(port, isPlugged);
  }

  async #portsGo(port: number | 'all'): Promise<void> {
    await Promise.all([...this.#portListeners].map((listener) => listener(port)));
  }

  async #policyOf(port: number, nio: Nio): Promise<PortPolicy> {
    if (nio.type !== 'nio_udp') return { suspended: false, filters: undefined };
    const { filterPlans } = this.services;
    const { directed, filters: given = {} } = nio;
    const [both, outward, inward] = [given, directed?.outward ?? {}, directed?.inward ?? {}].map(
      acceptFilters,
    );
    const asker = { projectId: this.home.id };
    const { linkType } = this.captureAt(port);
    for (const each of [both, outward, inward]) await filterPlans.check(linkType, each ?? {}, asker);
    const wanted = {
      ...{ both: both ?? {}, outward: outward ?? {}, inward: inward ?? {} },
      seed: directed?.seed ?? undefined,
    };
    const filters = await filterPlans.planOf(linkType, wanted, asker, () => undefined);
    return { suspended: nio.suspend === true, filters };
  }
}

/** Clients of the compute send them among the properties, where they are not kept. */
export function wantedAdapters({
  custom_adapters: adapters,
  properties,
}: NodeSettings): readonly CustomAdapter[] | undefined {
  return adapters ?? givenAdapters.safeParse(properties['custom_adapters']).data;
}

function checkName(name: string): void {
  if (name.includes('"')) throw refusals.nodeNameRefused();
  if (name.trim() === '') throw refusals.nodeNameBlank();
}
