/** The connections with the computes on record. */
import type { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { refusals } from '../../base/errors/errors.js';
import type { Emulator } from '../../files/images/image-name.js';
import type { Computes } from '../../lab/computes.js';
import type { FarAnswer, FarRequest, FarSocket, FarSocketUser } from '../../lab/far-node.js';
import {
  OUT_OF_REACH,
  type Compute,
  type ComputeCall,
  type ComputeReach,
  type HostPath,
  type OtherComputes,
} from '../../lab/other-computes.js';
import type { PathProbes } from '../../run/links/path-probes.js';
import { LOCAL_COMPUTE } from '../../lab/gns3-file/topology-schema.js';
import type { UdpReach } from '../../run/links/udp-reach.js';
import { HostPaths } from './host-paths.js';
import { OwedEnds } from './owed-ends.js';
import { TunnelAddresses } from './tunnel-addresses.js';
import { TunnelHosts } from './tunnel-hosts.js';
import type { ComputeEvent } from './compute-event.js';

/** The use that is made of a connection here: `compute-connection.ts` has it. */
interface Connection {
  readonly reach: ComputeReach;
  ask(call: ComputeCall, deadlineMs?: number): Promise<unknown>;
  open(request: FarRequest): Promise<FarAnswer>;
  connect(path: string, user: FarSocketUser): FarSocket;
  close(): void;
}

/** Follows a compute. */
interface ComputeFollower {
  connected(): void;
  disconnected(reason: string): void;
  told(event: ComputeEvent): void;
  /** Whether nodes of the project run there. */
  runs(projectId: string): boolean;
}

/** Reads images of this server. */
export interface PushedImages {
  /** Undefined when there is no such image. Destroying the body ends the reading. */
  read(
    emulator: Emulator,
    name: string,
  ): Promise<{ readonly size: number; readonly body: Readable } | undefined>;
}

interface RemoteComputesOptions {
  readonly computes: Pick<Computes, 'announce' | 'mark' | 'nameOf' | 'warn'>;
  /** The probes of this server. */
  readonly probes: PathProbes;
  /** The hosts that links of this server lead to. */
  readonly reach: UdpReach;
  readonly gns3Version: string;
  readonly images: PushedImages;
  /** The address under which the other servers of a farm know this one. */
  readonly ownAddress: () => string | undefined;
  readonly now: () => number;
  readonly log: Logger;
}

export class RemoteComputes implements OtherComputes {
  readonly addresses: TunnelAddresses;
  readonly owedEnds: OwedEnds;
  readonly #options: RemoteComputesOptions;
  readonly #hosts: TunnelHosts;
  readonly #paths: HostPaths;
  readonly #connections = new Map<string, Connection>();
  /** The computes on record, also those whose connection is about to be begun. */
  readonly #onRecord = new Map<string, Compute>();
  readonly #followers = new Map<string, Set<ComputeFollower>>();
  /** Images that are on their way, by compute and name. */
  readonly #pushes = new Map<string, Promise<boolean>>();
  #isClosed = false;

  constructor(options: RemoteComputesOptions) {
    this.#options = options;
    const { computes, log, now, probes, reach } = options;
    this.#hosts = new TunnelHosts({
      here: reach,
      isTold: (id) => this.reachOf(id).isConnected && this.reachOf(id).dialect > 0,
      tell: (id, addresses) => {
        const body = { controller: computes.mark, addresses };
        return this.ask(id, { method: 'PUT', path: '/tunnel/hosts', body });
      },
      log,
    });
    this.owedEnds = new OwedEnds((id, call) => this.ask(id, call), log);
    this.addresses = new TunnelAddresses({
      recordOf: (id) => this.recordOf(id),
      tunnelAddressOf: (id) => this.#tunnelAddressOf(id),
      hosts: this.#hosts,
    });
    this.#paths = new HostPaths({
      addresses: this.addresses,
      here: probes,
      nameOf: (id) => (id === LOCAL_COMPUTE ? computes.nameOf(id) : (this.recordOf(id)?.name ?? id)),
      ask: (id, call) => this.ask(id, call),
      warn: (message) => {
        computes.warn(message);
      },
      now,
      log,
    });
  }

  stored(compute: Compute): void {
    const { compute_id: id } = compute;
    const before = this.#onRecord.get(id);
    // A compute that is drained keeps its connection.
    if (before !== undefined && isDeepStrictEqual(undrained(before), undrained(compute))) {
      this.#onRecord.set(id, compute);
      return;
    }
    this.#connections.get(id)?.close();
    this.#connections.delete(id);
    this.#hosts.forget(id);
    this.#onRecord.set(id, compute);
    void this.#begin(compute);
  }

  removed({ compute_id: id }: Compute): void {
    this.#onRecord.delete(id);
    this.#connections.get(id)?.close();
    this.#connections.delete(id);
    this.#hosts.forget(id);
    this.owedEnds.forget(id);
  }

  #tunnelAddressOf(id: string): string | undefined {
    return id === LOCAL_COMPUTE ? this.#options.reach.tunnelAddress : this.reachOf(id).tunnelAddress;
  }

  reachOf(id: string): ComputeReach {
    const reach = this.#connections.get(id)?.reach ?? OUT_OF_REACH;
    return !reach.isSelf && this.#isOwnAddress(id) ? { ...reach, isSelf: true } : reach;
  }

  /** Known before this server has asked itself, which takes a moment after its start. */
  #isOwnAddress(id: string): boolean {
    const own = this.#options.ownAddress();
    const record = this.#onRecord.get(id);
    if (own === undefined || own === '' || record === undefined) return false;
    const { protocol, host, port } = record;
    const address = `${protocol}://${host}:${port}`;
    return URL.canParse(address) && new URL(address).origin === new URL(own).origin;
  }

  /** The record of a compute; undefined when there is none. */
  recordOf(id: string): Compute | undefined {
    return this.#onRecord.get(id);
  }

  async ask(id: string, call: ComputeCall, deadlineMs?: number): Promise<unknown> {
    return this.#connectionTo(id, call).ask(call, deadlineMs);
  }

  async open(id: string, request: FarRequest): Promise<FarAnswer> {
    return this.#connectionTo(id, request).open(request);
  }

  connect(id: string, path: string, user: FarSocketUser): FarSocket {
    return this.#connectionTo(id, { method: 'GET', path }).connect(path, user);
  }

  #connectionTo(id: string, { method, path }: Pick<ComputeCall, 'method' | 'path'>): Connection {
    const connection = this.#connections.get(id);
    if (connection !== undefined) return connection;
    throw refusals.computeNotConnected(this.#onRecord.get(id)?.name ?? id, `${method} ${path}`);
  }

  /** Uploads an image to a compute. Resolves with false when there is none here. */
  async pushImage(id: string, emulator: Emulator, name: string): Promise<boolean> {
    const key = JSON.stringify([id, emulator, name]);
    const running = this.#pushes.get(key);
    if (running !== undefined) return running;
    const push = this.#push(id, emulator, name).finally(() => {
      this.#pushes.delete(key);
    });
    this.#pushes.set(key, push);
    return push;
  }

  async #push(id: string, emulator: Emulator, name: string): Promise<boolean> {
    const image = await this.#options.images.read(emulator, name);
    if (image === undefined) return false;
    const { size, body } = image;
    try {
      const path = `/${emulator}/images/${name.split('/').map(encodeURIComponent).join('/')}`;
      const headers = { 'content-length': String(size) };
      const answer = await this.open(id, { method: 'POST', path, headers, body });
      answer.body.resume();
      this.#options.log.info({ compute: id, emulator, image: name }, 'an image was uploaded to a compute');
      return true;
    } finally {
      body.destroy();
    }
  }

  pathsOf(id: string): HostPath[] {
    return this.#paths.of(
      id,
      [LOCAL_COMPUTE, ...this.#onRecord.keys()].filter((other) => other !== id),
    );
  }

  /** Returns the function that ends the following. */
  follow(id: string, follower: ComputeFollower): () => void {
    const followers = this.#followers.get(id) ?? new Set();
    this.#followers.set(id, followers.add(follower));
    return () => {
      followers.delete(follower);
    };
  }

  /** Whether nodes of the project run on other computes, as far as is known. */
  runs(projectId: string): boolean {
    return [...this.#followers.values()].some((all) => [...all].some((one) => one.runs(projectId)));
  }

  close(): void {
    this.#isClosed = true;
    this.#hosts.close();
    for (const connection of this.#connections.values()) connection.close();
  }

  /** A server without other computes does not load what connects them. */
  async #begin(compute: Compute): Promise<void> {
    const { ComputeConnection } = await import('./compute-connection.js');
    const { compute_id: id, name } = compute;
    if (!isDeepStrictEqual(undrained(this.#onRecord.get(id)), undrained(compute)) || this.#isClosed) return;
    const { computes, gns3Version, log } = this.#options;
    const followers = (): ComputeFollower[] => [...(this.#followers.get(id) ?? [])];
    const connection = new ComputeConnection({
      compute,
      version: gns3Version,
      mark: computes.mark,
      changed: () => {
        if (this.#connections.get(id) === connection) computes.announce(id);
      },
      connected: () => {
        log.info({ compute: id, name }, 'a compute is connected');
        this.#paths.connected(id);
        // The hosts of its links may be unknown there again, and links need them.
        void this.#hosts.connected(id).then(() => {
          for (const follower of followers()) follower.connected();
          void this.owedEnds.connected(id);
        });
      },
      disconnected: (reason) => {
        if (!this.#isClosed) log.warn({ compute: id, name, reason }, 'a compute is not connected any more');
        this.#paths.disconnected(id);
        for (const follower of followers()) follower.disconnected(reason);
      },
      told: (event) => {
        for (const follower of followers()) follower.told(event);
      },
    });
    this.#connections.set(id, connection);
  }
}

/** The record of a compute, but for whether it is drained. */
function undrained(compute: Compute | undefined): Omit<Compute, 'isDrained'> | undefined {
  if (compute === undefined) return undefined;
  const { isDrained, ...rest } = compute;
  return rest;
}
