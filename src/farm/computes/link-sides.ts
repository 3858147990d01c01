/** The two ends of a link that leads to another compute: each reserves a UDP port and is attached, by its own means. */
import { isRefusal } from '../../base/errors/errors.js';
import type { StoredNode } from '../../lab/gns3-file/topology-schema.js';
import { isSwitchKind, servedKind } from '../../lab/kinds/node-kinds.js';
import type { LinkPlace, RunLink } from '../../lab/lab-run.js';
import { storedFilters } from '../../lab/topology/link-filters.js';
import type { ComputeRun } from '../../run/compute-run.js';
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
  readonly #path: string;

  constructor(part: RemotePart, node: StoredNode, place: LinkPlace) {
    this.#part = part;
    this.node = node;
    const kind = servedKind(node.node_type);
    this.filters = kind !== undefined && !isSwitchKind(kind);
    this.#path = `${part.pathOf(node)}/adapters/${place.adapter_number}/ports/${place.port_number}/nio`;
  }

  takePort(): Promise<number> {
    return this.#part.takePort();
  }

  keepPort(port: number): void {
    this.#part.keepPort(port);
  }

  /** A second NIO at a port is refused: the first may be one of a request whose answer was lost. */
  async attach(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<void> {
    const body = nioBody(run, port, far, isFilterEnd);
    try {
      await this.#part.ask('POST', this.#path, body);
    } catch (error) {
      if (!isRefusal(error, 'compute_refused')) throw error;
      await this.detach();
      await this.#part.ask('POST', this.#path, body);
    }
  }

  async change(run: RunLink, port: number, far: FarPort, isFilterEnd: boolean): Promise<boolean> {
    if (!this.filters) return !isFilterEnd;
    await this.#part.ask('PUT', this.#path, nioBody(run, port, far, isFilterEnd));
    return true;
  }

  /** A port that is not attached any more is refused. */
  async detach(): Promise<void> {
    if (!this.#part.isReady) return;
    await this.#part.ask('DELETE', this.#path).catch((error: unknown) => {
      if (!isRefusal(error, 'compute_refused', 'compute_not_connected')) throw error;
    });
  }
}

/** As GNS3 sends it: a link that is suspended drops everything at the end that filters. */
function nioBody({ link }: RunLink, lport: number, far: FarPort, isFilterEnd: boolean): object {
  const suspend = link.suspend ?? false;
  const filters = suspend ? { frequency_drop: [-1] } : storedFilters(link);
  return {
    type: 'nio_udp',
    ...{ lport, rhost: far.host, rport: far.port, suspend },
    filters: isFilterEnd ? filters : {},
  };
}
