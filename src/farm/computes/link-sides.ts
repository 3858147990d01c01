/** The two ends of a link that leads to another compute: each reserves a UDP port and is attached, by its own means. */
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import { isSwitchKind, servedKind } from '../../lab/kinds/node-kinds.js';
import type { RunLink } from '../../lab/lab-run.js';
import { storedFilters } from '../../lab/topology/link-filters.js';
import type { ComputeRun } from '../../run/compute-run.js';
import type { PortAt, TunnelEnd } from './dialect.js';
import type { RemotePart } from './remote-part.js';

/** The UDP port of the far end, and its address as it is reached from this one. */
interface FarPort {
  readonly host: string;
  readonly port: number;
}

export interface LinkSide {
  readonly node: StoredNode;
  /** Whether filters of the link can be changed at this end. Here both ways pass. */
  readonly filters: boolean;
  takePort(): Promise<number>;
  /** For a port that was never used. */
  keepPort(port: number): void;
  attach(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<void>;
  /** Resolves with false when the link must be made anew. */
  change(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<boolean>;
  detach(linkId: string): Promise<void>;
}

export class LocalSide implements LinkSide {
  readonly node: StoredNode;
  readonly filters = true;
  readonly #run: ComputeRun;
  readonly #farName: string;

  constructor(run: ComputeRun, node: StoredNode, farName: string) {
    this.#run = run;
    this.node = node;
    this.#farName = farName;
  }

  takePort(): Promise<number> {
    return this.#run.reserveOutward();
  }

  keepPort(port: number): void {
    this.#run.releaseOutward(port);
  }

  attach(run: RunLink, lport: number, { host: rhost, port: rport }: FarPort): Promise<void> {
    return this.#run.connectOutward(run, { name: this.#farName, lport, rhost, rport });
  }

  async change(run: RunLink): Promise<boolean> {
    await this.#run.followOutward(run);
    return true;
  }

  detach(linkId: string): Promise<void> {
    return this.#run.disconnectOutward(linkId);
  }
}

export class RemoteSide implements LinkSide {
  readonly node: StoredNode;
  readonly filters: boolean;
  readonly #part: RemotePart;
  readonly #at: PortAt;

  constructor(part: RemotePart, at: PortAt) {
    this.#part = part;
    this.#at = at;
    this.node = at.node;
    const kind = servedKind(at.node.node_type);
    this.filters = kind !== undefined && (part.dialect.changesSwitches || !isSwitchKind(kind));
  }

  takePort(): Promise<number> {
    return this.#part.dialect.takePort(this.#at);
  }

  keepPort(port: number): void {
    this.#part.dialect.keepPort(this.#at, port);
  }

  attach(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<void> {
    return this.#part.dialect.attach(this.#at, tunnelEnd(run, port, far, isFilterEnd));
  }

  async change(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<boolean> {
    if (!this.filters) return !isFilterEnd;
    await this.#part.dialect.change(this.#at, tunnelEnd(run, port, far, isFilterEnd));
    return true;
  }

  /** A compute that is out of reach is told when it is back. */
  async detach(): Promise<void> {
    await this.#part.dialect.detach(this.#at).catch((error: unknown) => {
      if (this.#part.isReady) throw error;
    });
  }
}

/** As GNS3 sends it: a link that is suspended drops everything at the end that filters. */
function tunnelEnd({ link }: RunLink, lport: number, far: FarPort, isFilterEnd: boolean): TunnelEnd {
  const suspend = link.suspend ?? false;
  const filters = suspend ? { frequency_drop: [-1] } : storedFilters(link);
  return { lport, rhost: far.host, rport: far.port, suspend, filters: isFilterEnd ? filters : {} };
}
