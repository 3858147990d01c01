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

/** Ends with a larger number are preferred. */
const FILTERING = { none: 0, bothWays: 1, oneWay: 2, here: 3 } as const;
type Filtering = (typeof FILTERING)[keyof typeof FILTERING];

export interface LinkSide {
  readonly node: StoredNode;
  /** Its use for the filters of the link: an end on this server does all, one of a switch of GNS3 changes none. */
  readonly filtering: Filtering;
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
  readonly filtering = FILTERING.here;
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
  readonly #part: RemotePart;
  readonly #at: PortAt;

  constructor(part: RemotePart, at: PortAt) {
    this.#part = part;
    this.#at = at;
    this.node = at.node;
  }

  get filtering(): Filtering {
    const { dialect } = this.#part;
    if (dialect.filtersOneWay) return FILTERING.oneWay;
    const kind = servedKind(this.node.node_type);
    const changes = kind !== undefined && (dialect.changesSwitches || !isSwitchKind(kind));
    return changes ? FILTERING.bothWays : FILTERING.none;
  }

  takePort(): Promise<number> {
    return this.#part.dialect.takePort(this.#at);
  }

  keepPort(port: number): void {
    this.#part.dialect.keepPort(this.#at, port);
  }

  attach(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<void> {
    return this.#part.dialect.attach(this.#at, this.#end(run, port, far, isFilterEnd));
  }

  async change(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<boolean> {
    if (this.filtering === FILTERING.none) return !isFilterEnd;
    await this.#part.dialect.change(this.#at, this.#end(run, port, far, isFilterEnd));
    return true;
  }

  /** A compute that is out of reach is told when it is back. */
  async detach(): Promise<void> {
    await this.#part.dialect.detach(this.#at).catch((error: unknown) => {
      if (this.#part.isReady) throw error;
    });
  }

  /** As GNS3 sends it: a link that is suspended drops everything at the end that filters. */
  #end({ link, directed }: RunLink, lport: number, far: FarPort, isFilterEnd: boolean): TunnelEnd {
    const suspend = link.suspend ?? false;
    const end = { lport, rhost: far.host, rport: far.port, suspend };
    if (!isFilterEnd) return { ...end, filters: {} };
    if (suspend) return { ...end, filters: { frequency_drop: [-1] } };
    const filters = storedFilters(link);
    if (this.filtering !== FILTERING.oneWay) return { ...end, filters };
    const { forward, backward, seed } = directed;
    const isSecond = link.nodes[0]?.node_id !== this.node.node_id;
    const [outward, inward] = isSecond ? [backward, forward] : [forward, backward];
    return { ...end, filters, directed: { outward, inward, seed } };
  }
}
