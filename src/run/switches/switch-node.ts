/**
 * A switch that runs here: its properties, its device on an engine, and the attachments of its ports. Requests on
 * one node never overlap.
 */
import type { RunningDevice } from '../../engine/control/running-device.js';
import { refusals } from '../../base/errors/errors.js';
import { acceptFilters } from '../../lab/topology/link-filters.js';
import type { Properties, SwitchKind } from '../../lab/kinds/node-kind.js';
import type { DeviceSettings, PortPolicy } from '../../engine/forwarding/orders.js';
import { Attachments } from './attachments.js';
import type { ComputeServices } from '../compute-services.js';
import type { Nio } from '../links/nio.js';
import { connectionStatistics, type ConnectionStatistics, type PortStatistics } from './statistics.js';
import type { NodeStatus } from '../../lab/lab-run.js';
import type { NodeRuntime } from '../node-runtime.js';
import { Turns } from '../turns.js';

export type ConsoleType = 'telnet' | 'none';

/** The settings that a client may send for a new node and for a change. */
export interface SwitchRequest {
  readonly name?: string | undefined;
  readonly console_type?: ConsoleType | undefined;
  readonly properties: Properties;
}

export interface NewSwitch extends SwitchRequest {
  readonly name: string;
  readonly node_id: string;
  readonly console?: number | null | undefined;
  /** The console port that the controller has reserved for the node; the node then reserves none. */
  readonly heldConsole?: number | null | undefined;
}

/** The project of a node. */
export interface NodeProject {
  readonly id: string;
  readonly name: string;
  readonly folder: string;
}

export interface SwitchStatistics {
  readonly connections?: readonly ConnectionStatistics[];
  readonly ports: readonly PortStatistics[];
}

/** Called, and awaited, before a port is detached or all are. */
export type PortListener = (port: number | 'all') => Promise<void>;

export class SwitchNode implements NodeRuntime {
  readonly id: string;
  readonly kind: SwitchKind;
  readonly home: NodeProject;
  /** A switch runs from when it is made until it is removed: to start, stop or suspend it does nothing. */
  readonly status: NodeStatus = 'started';
  /** The console port of a switch is reserved, and nothing listens there. */
  readonly console = undefined;
  readonly #services: ComputeServices;
  readonly #device: RunningDevice;
  readonly #attachments: Attachments;
  readonly #turns = new Turns();
  readonly #portListeners = new Set<PortListener>();
  readonly #ownsConsole: boolean;
  readonly #console: number | null;
  #name: string;
  #consoleType: ConsoleType | undefined;
  #properties: Properties;
  #isRemoved = false;

  /** Refuses properties that cannot work. Nothing runs before `install`; `remove` releases everything. */
  constructor(home: NodeProject, kind: SwitchKind, wanted: NewSwitch, services: ComputeServices) {
    checkName(wanted.name);
    this.#properties = kind.create(wanted.properties);
    this.id = wanted.node_id;
    this.kind = kind;
    this.home = home;
    this.#services = services;
    this.#name = wanted.name;
    const hasConsole = kind.consoleTypes.length > 0;
    this.#consoleType = hasConsole ? (wanted.console_type ?? kind.consoleTypes[0]) : undefined;
    this.#ownsConsole = hasConsole && wanted.heldConsole === undefined;
    const { consolePorts } = services;
    this.#console = this.#ownsConsole ? consolePorts.reserve(wanted.console) : (wanted.heldConsole ?? null);
    this.#device = services.newDevice(home.id);
    const { sockets, udpPorts } = services;
    this.#attachments = new Attachments({ device: this.#device, sockets, udpPorts, projectId: home.id });
  }

  get name(): string {
    return this.#name;
  }

  /** The node as clients see it, as JSON text. */
  get text(): string {
    const hasConsole = this.kind.consoleTypes.length > 0;
    const shown = {
      ...this.#properties,
      ...(hasConsole ? { console: this.#console, console_type: this.#consoleType } : {}),
      name: this.#name,
      node_id: this.id,
      project_id: this.home.id,
      status: this.status,
    };
    return JSON.stringify(Object.fromEntries(Object.entries(shown).sort(([a], [b]) => (a < b ? -1 : 1))));
  }

  /** Call once, before anything else. */
  install(): Promise<void> {
    return this.#turn(async () => {
      await this.#device.install(this.#deviceSettings(this.#properties));
      if (this.#consoleType === 'telnet') this.#warnOfTelnet();
    });
  }

  /** Returns the text when all earlier requests are done. */
  settled(): Promise<string> {
    return this.#turn(() => Promise.resolve(this.text));
  }

  update({ name = this.#name, console_type: consoleType, properties }: SwitchRequest): Promise<string> {
    return this.#turn(async () => {
      if (name !== this.#name) checkName(name);
      const next = this.kind.update(this.#properties, properties, this.#attachments.size > 0);
      if (next !== this.#properties) await this.#device.configure(this.#deviceSettings(next));
      this.#properties = next;
      this.#name = name;
      if (consoleType !== undefined && this.#consoleType !== undefined) {
        const isNews = consoleType === 'telnet' && this.#consoleType !== consoleType;
        this.#consoleType = consoleType;
        if (isNews) this.#warnOfTelnet();
      }
      this.#services.channel.emit('node.updated', this.text, this.home.id);
      return this.text;
    });
  }

  /** Call last. Resolves with false when the node was removed already. */
  remove(): Promise<boolean> {
    return this.#turns.takeSurely(async () => {
      if (this.#isRemoved) return false;
      this.#isRemoved = true;
      try {
        await this.#portsGo('all');
        await this.#device.remove();
      } finally {
        this.#attachments.closeAll();
        if (this.#ownsConsole && this.#console !== null) this.#services.consolePorts.release(this.#console);
      }
      return true;
    });
  }

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

  /** Without a policy, the port is suspended and filtered as the NIO says. */
  attach(port: number, nio: Nio, policy?: PortPolicy): Promise<void> {
    return this.#turn(async () => {
      if (!this.kind.canAttach(this.#properties, port)) throw refusals.portMissing(port);
      await this.#attachments.attach(port, nio, this.home.folder, policy ?? (await this.#policyOf(nio)));
    });
  }

  detach(port: number): Promise<void> {
    return this.#turn(async () => {
      this.#attachments.check(port);
      await this.#portsGo(port);
      await this.#attachments.detach(port);
    });
  }

  /** Suspends or filters an attached port. */
  setPolicy(port: number, policy: PortPolicy): Promise<void> {
    return this.#turn(() => this.#attachments.setPolicy(port, policy));
  }

  /** Runs work on an attached port in its turn among the requests. Refuses (409) a port that is not attached. */
  onPort<Result>(port: number, work: () => Promise<Result>): Promise<Result> {
    return this.#turn(() => {
      this.#attachments.check(port);
      return work();
    });
  }

  /** Refuses (409) a port that is not attached. */
  checkPort(port: number): void {
    this.#attachments.check(port);
  }

  beforeDetach(listener: PortListener): void {
    this.#portListeners.add(listener);
  }

  /** The device, for captures of its ports. */
  get device(): RunningDevice {
    return this.#device;
  }

  statistics(): SwitchStatistics {
    const connections = connectionStatistics(this.kind, this.#properties, this.#device);
    const ports = this.#attachments.statistics();
    return connections === undefined ? { ports } : { connections, ports };
  }

  resetStatistics(): void {
    this.#attachments.resetStatistics();
    this.#device.connections.reset();
  }

  /** Returns the tables of the device, in the form of its kind. */
  inspect(): Promise<unknown> {
    return this.#turn(() => this.#device.inspect());
  }

  /** Call only at the end of the process, when no engine runs any more. */
  closeSockets(): void {
    this.#attachments.closeAll();
  }

  #turn<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#turns.take(() => {
      if (this.#isRemoved) throw refusals.nodeUnknown(this.id);
      return work();
    });
  }

  async #portsGo(port: number | 'all'): Promise<void> {
    await Promise.all([...this.#portListeners].map((listener) => listener(port)));
  }

  async #policyOf(nio: Nio): Promise<PortPolicy> {
    if (nio.type !== 'nio_udp') return { suspended: false, filters: undefined };
    const { filterPlans } = this.#services;
    const both = acceptFilters(nio.filters ?? {});
    const asker = { projectId: this.home.id };
    await filterPlans.check(this.kind.capture.linkType, both, asker);
    const wanted = { both, outward: {}, inward: {}, seed: undefined };
    const filters = await filterPlans.planOf(this.kind.capture.linkType, wanted, asker, () => undefined);
    return { suspended: nio.suspend === true, filters };
  }

  #deviceSettings(properties: Properties): DeviceSettings {
    const { refusesBadHec } = this.#services;
    const countersOf = (names: readonly string[]): number[] => this.#device.connections.assign(names);
    try {
      return this.kind.deviceSettings(properties, { refusesBadHec, countersOf });
    } catch (error) {
      throw error instanceof RangeError ? refusals.engineFull(error.message) : error;
    }
  }

  #warnOfTelnet(): void {
    const message = `"${this.#name}": Telnet access for switches is not available in this version of GNS3`;
    this.#services.channel.emit('log.warning', JSON.stringify({ message }), this.home.id);
  }
}

function checkName(name: string): void {
  if (name.includes('"')) throw refusals.nodeNameRefused();
  if (name.trim() === '') throw refusals.nodeNameBlank();
}
