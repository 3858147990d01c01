/**
 * The computes of the controller: this server itself, and others that clients have put on record. The password of a
 * compute is stored and never shown.
 */
import { randomUUID } from 'node:crypto';
import { hostname, platform } from 'node:os';
import { refusals } from '../base/errors/errors.js';
import { keepRecords } from '../base/store/kept-records.js';
import type { Store } from '../base/store/store.js';
import type { Channel } from '../base/streams/channel.js';
import { Collection } from './projects/collection.js';
import type { ConsolePorts } from './console-ports.js';
import type { HostLoad } from '../base/host-load.js';
import { Lane } from './projects/lane.js';
import { computeKey, COMPUTES } from './projects/records.js';
import { LOCAL_COMPUTE } from './gns3-file/topology-schema.js';
import {
  NO_OTHER_COMPUTES,
  type Compute,
  type ComputeCall,
  type HostPath,
  type OtherComputes,
} from './other-computes.js';

interface ComputeRequest {
  readonly compute_id?: string | undefined;
  readonly name?: string | undefined;
  readonly protocol?: 'http' | 'https' | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | null | undefined;
  readonly password?: string | null | undefined;
}

interface NewCompute extends ComputeRequest {
  readonly protocol: 'http' | 'https';
  readonly host: string;
  readonly port: number;
}

interface ComputePorts {
  readonly console_port_range: readonly number[];
  readonly console_ports: readonly number[];
  readonly udp_port_range: readonly number[];
  readonly udp_ports: readonly number[];
}

/** A range of port numbers, and those that are reserved. */
export interface PortNumbers {
  readonly range: readonly number[];
  readonly reserved: readonly number[];
}

interface ComputesOptions {
  readonly store: Store;
  readonly announcements: Channel;
  readonly consolePorts: ConsolePorts;
  readonly udpPorts: PortNumbers;
  readonly gns3Version: string;
  readonly host: string;
  readonly user: string | null;
  readonly readLoad: () => HostLoad;
}

/** The id and the name that clients use for a virtual machine that this server does not have. */
const GNS3_VM = { id: 'vm', name: 'gns3vm' };
const LONGEST_SHOWN_USER = 14;

export class Computes {
  readonly #options: ComputesOptions;
  /** The word that this server sends to other computes, and by which it knows itself among them. */
  readonly mark = randomUUID();
  readonly #lane: Lane;
  readonly #others: Collection<Compute>;
  readonly #local: Compute;
  /** The types of node that this server can run, as far as it was last asked. */
  #nodeTypes: readonly string[] = [];
  #findNodeTypes: () => Promise<readonly string[]> = () => Promise.resolve([]);
  #connections: OtherComputes = NO_OTHER_COMPUTES;

  constructor(options: ComputesOptions) {
    this.#options = options;
    this.#lane = new Lane(options.store);
    this.#others = new Collection(
      'compute',
      computeKey,
      options.announcements,
      (compute) => this.#textOf(compute),
      {
        stored: (compute) => {
          this.#connections.stored(compute);
        },
        removed: (compute) => {
          this.#connections.removed(compute);
        },
      },
    );
    this.#local = {
      compute_id: LOCAL_COMPUTE,
      name: hostname(),
      protocol: 'http',
      host: options.host,
      // This and the protocol are set when the server listens.
      port: 0,
      user: options.user,
      password: null,
    };
  }

  async start(): Promise<void> {
    await keepRecords(this.#options.store, this.#others.keeper(COMPUTES));
  }

  /** Clients are told from now on which types of node this server can run: it is asked anew each time. */
  async runs(findNodeTypes: () => Promise<readonly string[]>): Promise<void> {
    this.#findNodeTypes = findNodeTypes;
    await this.#look();
  }

  /** Other computes are connected by these from now on. Call before `start`. */
  connectBy(connections: OtherComputes): void {
    this.#connections = connections;
  }

  listensOn(port: number, protocol: Compute['protocol']): void {
    Object.assign(this.#local, { port, protocol });
  }

  get ids(): string[] {
    return [LOCAL_COMPUTE, ...[...this.#others.values()].map((compute) => compute.compute_id)];
  }

  async list(): Promise<string> {
    await this.#look();
    const all = [this.#local, ...this.#others.publishedObjects()];
    return `[${all.map((compute) => this.#textOf(compute)).join(',')}]`;
  }

  async show(id: string): Promise<string> {
    const compute = this.#find(id);
    if (compute === this.#local) await this.#look();
    return this.#textOf(compute);
  }

  /** Announces the present state of another compute. */
  announce(id: string): void {
    const compute = this.#others.get(id);
    if (compute !== undefined) this.#options.announcements.emit('compute.updated', this.#textOf(compute));
  }

  /** Announces the local compute with its present load. */
  announceLoad(): void {
    this.#options.announcements.emit('compute.updated', this.#textOf(this.#local));
  }

  /** Returns the compute that has the id, if there is one. */
  create(wanted: NewCompute): Promise<string> {
    return this.#lane.change((transaction) => {
      const id = wanted.compute_id ?? randomUUID();
      const name = wanted.name ?? defaultName(wanted);
      if (id === GNS3_VM.id || name === GNS3_VM.name) {
        throw refusals.computeReserved(id, name);
      }
      const known = id === LOCAL_COMPUTE ? this.#local : this.#others.get(id);
      if (known !== undefined) {
        const text = this.#textOf(known);
        transaction.onStored(() => {
          this.#options.announcements.emit('compute.updated', text);
        });
        return text;
      }
      this.#checkName(name, id);
      const { protocol, host, port, user = null, password = null } = wanted;
      const compute: Compute = { compute_id: id, name, protocol, host, port, user, password };
      return this.#others.put(transaction, id, compute, { action: 'created' });
    });
  }

  update(id: string, wanted: ComputeRequest): Promise<string> {
    return this.#lane.change((transaction) => {
      if (id === LOCAL_COMPUTE) throw refusals.computeIsLocal();
      const before = this.#others.get(id);
      if (before === undefined) throw refusals.computeUnknown(id);
      if (wanted.name !== undefined) this.#checkName(wanted.name, id);
      const given = Object.entries(wanted).filter(
        ([key, value]) => key !== 'compute_id' && value !== undefined,
      );
      const next = { ...before, ...(Object.fromEntries(given) as Partial<Compute>) };
      return this.#others.put(transaction, id, next, { action: 'updated' });
    });
  }

  /** Whether another compute on record is this server. */
  isSelf(id: string): boolean {
    return this.#connections.reachOf(id).isSelf;
  }

  /** Whether a compute takes no new nodes. */
  isDrained(id: string): boolean {
    return this.#others.get(id)?.isDrained === true;
  }

  /** Lets another compute take no new nodes from now on, or take them again. */
  drain(id: string, isDrained: boolean): Promise<void> {
    return this.#lane.change((transaction) => {
      if (id === LOCAL_COMPUTE) throw refusals.computeNotDrainable();
      const { isDrained: before, ...rest } = this.#find(id);
      if ((before === true) === isDrained) return;
      this.#others.put(transaction, id, isDrained ? { ...rest, isDrained } : rest, { action: 'updated' });
    });
  }

  /** Does nothing when there is no such compute. */
  delete(id: string): Promise<void> {
    return this.#lane.change((transaction) => {
      if (id === LOCAL_COMPUTE) throw refusals.computeIsLocal();
      this.#others.remove(transaction, id);
    });
  }

  async ports(id: string): Promise<unknown> {
    return this.isOther(id) ? this.ask(id, { method: 'GET', path: '/network/ports' }) : this.ownPorts;
  }

  get ownPorts(): ComputePorts {
    const { consolePorts, udpPorts } = this.#options;
    return {
      console_port_range: consolePorts.range,
      console_ports: consolePorts.reserved,
      udp_port_range: udpPorts.range,
      udp_ports: udpPorts.reserved,
    };
  }

  /** The ways from the host of a compute to those of the others. */
  paths(id: string): HostPath[] {
    this.#find(id);
    return this.#connections.pathsOf(id);
  }

  /** Warns everybody who follows the controller. */
  warn(message: string): void {
    this.#options.announcements.emit('log.warning', JSON.stringify({ message }));
  }

  nameOf(id: string): string {
    return this.#find(id).name;
  }

  /** The base URL of a compute. */
  urlOf(id: string): string {
    const { protocol, host, port } = this.#find(id);
    // A compute that listens on all addresses is reached under this one from its own machine.
    const name = host === '0.0.0.0' ? '127.0.0.1' : host;
    return `${protocol}://${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}:${port}`;
  }

  /** Refuses a compute that is unknown (404) or out of reach (409). */
  checkReached(id: string, request: string): void {
    const compute = this.#find(id);
    if (compute === this.#local || this.#connections.reachOf(id).isConnected) return;
    throw refusals.computeNotConnected(compute.name, request);
  }

  /** Refuses another compute than this server: unknown (404), out of reach, or where the request must be made (409). */
  checkServed(id: string, request: string): void {
    this.checkReached(id, request);
    if (this.isOther(id)) throw refusals.requestNotPassedOn(this.nameOf(id), request);
  }

  /** Whether it is on record as another compute than this server. */
  has(id: string): boolean {
    return this.#others.get(id) !== undefined;
  }

  /** Whether requests go to another compute. Refuses a compute that is unknown (404). */
  isOther(id: string): boolean {
    return this.#find(id) !== this.#local;
  }

  /** Asks another compute. Refuses one that is unknown (404) or out of reach (409), and what it refuses itself. */
  ask(id: string, call: ComputeCall): Promise<unknown> {
    this.checkReached(id, `${call.method} ${call.path}`);
    return this.#connections.ask(id, call);
  }

  async #look(): Promise<void> {
    this.#nodeTypes = await this.#findNodeTypes();
  }

  #find(id: string): Compute {
    if (id === LOCAL_COMPUTE) return this.#local;
    const compute = this.#others.get(id);
    if (compute !== undefined) return compute;
    throw id === GNS3_VM.id ? refusals.virtualMachineUnknown() : refusals.computeUnknown(id);
  }

  #checkName(name: string, ownId: string): void {
    const others = [this.#local, ...this.#others.values()];
    if (others.some((other) => other.name === name && other.compute_id !== ownId)) {
      throw refusals.computeExists(name);
    }
  }

  #textOf(compute: Compute): string {
    const isLocal = compute === this.#local;
    const reach = isLocal ? this.#ownReach() : this.#connections.reachOf(compute.compute_id);
    const { isConnected, nodeTypes, platform: system, version, cpu, memory, lastError } = reach;
    return JSON.stringify({
      capabilities: { node_types: nodeTypes, platform: system, version },
      compute_id: compute.compute_id,
      connected: isConnected,
      cpu_usage_percent: cpu,
      host: compute.host,
      last_error: lastError,
      memory_usage_percent: memory,
      name: compute.name,
      port: compute.port,
      protocol: compute.protocol,
      user: compute.user,
    });
  }

  #ownReach() {
    const load = this.#options.readLoad();
    return {
      isConnected: true,
      nodeTypes: this.#nodeTypes,
      platform: platform(),
      version: this.#options.gns3Version,
      cpu: load.cpu_usage_percent,
      memory: load.memory_usage_percent,
      lastError: null,
    };
  }
}

function defaultName({ protocol, host, port, user }: NewCompute): string {
  if (user == null || user === '') return `${protocol}://${host}:${port}`;
  const shown = user.length > LONGEST_SHOWN_USER ? `${user.slice(0, LONGEST_SHOWN_USER - 3)}...` : user;
  return `${protocol}://${shown}@${host}:${port}`;
}
