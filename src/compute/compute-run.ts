/**
 * Makes an open project of the controller run on this compute, through the same doors as any client of the
 * compute interface: its switches are nodes of a compute project, and each end of a link is a UDP attachment.
 */
import type { LabRun } from '../lab/lab-run.js';
import type { Properties } from '../lab/kinds/node-kind.js';
import { storedList } from '../lab/kinds/ports-mapping.js';
import type { StoredLink, StoredNode } from '../lab/topology-schema.js';
import type { ComputeProjects } from './compute-projects.js';
import type { NioUdp } from './nio.js';
import { SWITCH_KINDS } from './switch-kinds.js';
import type { SwitchNode } from './switch-node.js';

const LOOPBACK = '127.0.0.1';

/** The project as it was begun, for what has to be said about it. */
export interface RunOwner {
  readonly name: string;
  warn(message: string): void;
}

/** A link that is connected. */
interface Wire {
  readonly isSuspended: boolean;
  readonly ends: readonly { readonly node: SwitchNode; readonly port: number }[];
}

export class ComputeRun implements LabRun {
  readonly #id: string;
  readonly #projects: ComputeProjects;
  readonly #ownerOf: (projectId: string) => RunOwner | undefined;
  readonly #nodes = new Map<string, StoredNode>();
  readonly #wires = new Map<string, Wire>();
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(id: string, projects: ComputeProjects, ownerOf: (projectId: string) => RunOwner | undefined) {
    this.#id = id;
    this.#projects = projects;
    this.#ownerOf = ownerOf;
    this.#follow('The project', () => projects.adopt(id, ownerOf(id)?.name ?? id));
  }

  nodeStored(node: StoredNode): void {
    const before = this.#nodes.get(node.node_id);
    // Most changes only move a node about.
    if (before?.name === node.name && before.properties === node.properties) return;
    this.#nodes.set(node.node_id, node);
    const what = `Node ${node.name}`;
    this.#follow(what, () => (before === undefined ? this.#create(node) : this.#update(node)));
  }

  nodeRemoved({ node_id: id, name }: StoredNode): void {
    this.#nodes.delete(id);
    this.#follow(`Node ${name}`, async () => {
      const node = this.#find(id);
      if (node !== undefined) await this.#projects.find(this.#id).deleteNode(node.kind, id);
    });
  }

  linkStored(link: StoredLink): void {
    this.#follow(`Link ${link.link_id}`, async () => {
      if (this.#wires.get(link.link_id)?.isSuspended === isSuspended(link)) return;
      await this.#disconnect(link.link_id);
      await this.#connect(link);
    });
  }

  linkRemoved({ link_id: id }: StoredLink): void {
    this.#follow(`Link ${id}`, () => this.#disconnect(id));
  }

  settled(): Promise<void> | undefined {
    return this.#waiting === 0 ? undefined : this.#last;
  }

  async end(): Promise<void> {
    this.#follow('The project', () => this.#projects.close(this.#id));
    await this.#last;
  }

  /** One thing after the other. What fails is told, and does not keep the next from being done. */
  #follow(what: string, work: () => Promise<void>): void {
    this.#waiting++;
    this.#last = this.#last.then(work).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this.#ownerOf(this.#id)?.warn(`${what} does not run as it should: ${reason}`);
    });
    this.#last = this.#last.finally(() => {
      this.#waiting--;
    });
  }

  async #create(node: StoredNode): Promise<void> {
    const kind = SWITCH_KINDS.find(({ type }) => type === node.node_type);
    if (kind === undefined) return;
    await this.#projects.find(this.#id).createNode(kind, {
      name: node.name,
      node_id: node.node_id,
      properties: byPosition(node.properties ?? {}),
      heldConsole: node.console ?? null,
    });
  }

  async #update(node: StoredNode): Promise<void> {
    await this.#find(node.node_id)?.update({
      name: node.name,
      properties: byPosition(node.properties ?? {}),
    });
  }

  #find(id: string): SwitchNode | undefined {
    return this.#projects.find(this.#id).findNode(id);
  }

  /** Connects both ends or none. A link that leads to a node that does not run here stays unconnected. */
  async #connect(link: StoredLink): Promise<void> {
    const ends = link.nodes.flatMap(({ node_id: id, port_number: port }) => {
      const node = this.#find(id);
      return node === undefined ? [] : [{ node, port }];
    });
    const [near, far] = ends;
    if (near === undefined || far === undefined) return;
    const project = this.#projects.find(this.#id);
    const first = await project.reserveUdpPort();
    const nio = (lport: number, rport: number): NioUdp => {
      return { type: 'nio_udp', lport, rhost: LOOPBACK, rport, suspend: isSuspended(link) };
    };
    let second: number | undefined;
    try {
      second = await project.reserveUdpPort();
      await near.node.attach(near.port, nio(first, second));
    } catch (error) {
      project.releaseUdpPort(first);
      if (second !== undefined) project.releaseUdpPort(second);
      throw error;
    }
    try {
      await far.node.attach(far.port, nio(second, first));
    } catch (error) {
      project.releaseUdpPort(second);
      await near.node.detach(near.port);
      throw error;
    }
    this.#wires.set(link.link_id, { isSuspended: isSuspended(link), ends });
  }

  async #disconnect(linkId: string): Promise<void> {
    const wire = this.#wires.get(linkId);
    if (wire === undefined) return;
    this.#wires.delete(linkId);
    const results = await Promise.allSettled(wire.ends.map(({ node, port }) => node.detach(port)));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

/** A file need not say it. */
function isSuspended({ suspend }: StoredLink): boolean {
  return suspend ?? false;
}

/** The controller counts the ports of Ethernet nodes by position, and so do its links. */
function byPosition(properties: Properties): Properties {
  if (!('ports_mapping' in properties)) return properties;
  const list = storedList(properties).map((entry, index) => ({ ...(entry as object), port_number: index }));
  return { ...properties, ports_mapping: list };
}
