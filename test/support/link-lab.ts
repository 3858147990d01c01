/** A project of the controller with switches and links, whose ports may lead to sockets of the test. */
import type { Client, Reply } from './client.js';
import { ComputeLab } from './compute-lab.js';
import { NotificationLog, type Notification } from './notification-log.js';
import type { Teardown } from './scratch.js';
import { UdpPeer } from './udp-peer.js';

export type Json = Record<string, unknown>;

export interface End {
  readonly node_id: string;
  readonly adapter_number: number;
  readonly port_number: number;
}

export function end(node: Json, port_number: number, adapter_number = 0): End {
  return { node_id: String(node['node_id']), adapter_number, port_number };
}

/** A server that a client talks to. */
export interface LabHost {
  readonly client: Client;
  readonly url: string;
}

export class LinkLab {
  static #count = 0;
  readonly id: string;
  readonly path: string;
  readonly links: string;
  readonly #host: LabHost;

  constructor(host: LabHost, id: string) {
    this.#host = host;
    this.id = id;
    this.path = `/v2/projects/${id}`;
    this.links = `${this.path}/links`;
  }

  static async make(host: LabHost, settings: Json = {}): Promise<LinkLab> {
    const body = { name: `lab ${++LinkLab.#count}`, auto_close: false, ...settings };
    const { project_id: id } = await host.client.expect(201, 'POST', '/v2/projects', body);
    return new LinkLab(host, String(id));
  }

  /** Opens a project folder that somebody else has written. */
  static async open(host: LabHost, id: string): Promise<LinkLab> {
    await host.client.expect(200, 'POST', '/v2/reload');
    await host.client.expect(201, 'POST', `/v2/projects/${id}/open`);
    return new LinkLab(host, id);
  }

  hub(name = 'H{0}'): Promise<Json> {
    return this.node('ethernet_hub', name);
  }

  atm(name = 'A{0}'): Promise<Json> {
    return this.node('atm_switch', name, { mappings: { '1:1': '2:2' } });
  }

  node(node_type: string, name: string, properties: Json = {}): Promise<Json> {
    const body = { name, node_type, compute_id: 'local', properties };
    return this.#host.client.expect(201, 'POST', `${this.path}/nodes`, body);
  }

  post(nodes: readonly unknown[], more: Json = {}): Promise<Reply> {
    return this.#host.client.post(this.links, { nodes, ...more });
  }

  link(nodes: readonly unknown[], more: Json = {}): Promise<Json> {
    return this.#host.client.expect(201, 'POST', this.links, { nodes, ...more });
  }

  at(link: Json): string {
    return `${this.links}/${String(link['link_id'])}`;
  }

  async list(): Promise<Json[]> {
    return (await this.#host.client.get(this.links)).body as Json[];
  }

  /** Where a node is on the compute. */
  onCompute({ node_id, node_type }: Json): string {
    return `/v2/compute/projects/${this.id}/${String(node_type)}/nodes/${String(node_id)}`;
  }

  /** Leads a port of a node to a socket. */
  async peer(t: Teardown, node: Json, port: number): Promise<{ peer: UdpPeer; near: number }> {
    const lab = await ComputeLab.open(this.#host.client, this.id);
    const peer = await UdpPeer.open(t);
    return { peer, near: await lab.join(this.onCompute(node), port, peer) };
  }

  /** The project's notifications about the work, up to the drawing that marks its end. */
  async told(work: () => Promise<unknown>): Promise<readonly Notification[]> {
    const stream = await NotificationLog.open(`${this.#host.url}${this.path}/notifications`);
    await work();
    const { drawing_id } = await this.#host.client.expect(201, 'POST', `${this.path}/drawings`);
    await stream.next(({ event }) => event['drawing_id'] === drawing_id);
    stream.close();
    return stream.received.slice(0, -1);
  }
}

/** An Ethernet frame for everybody, of one octet again and again. */
export function frameOf(mark: number, length = 60): Buffer {
  const bytes = Buffer.alloc(length, mark);
  bytes.fill(0xff, 0, 6);
  bytes.set([2, 0, 0, 0, 0, 1], 6);
  return bytes;
}

/** Two hubs and the link between them, at port 0 of both; a socket at port 1 of each. Its ports are given back. */
export interface HubLine {
  readonly lab: LinkLab;
  readonly near: Json;
  readonly far: Json;
  readonly link: Json;
  readonly at: string;
  /** Sends frames into the near hub, and waits until the far hub has sent so many in all. */
  pass(frames: readonly Buffer[], arrived: number): Promise<Buffer[]>;
  /** The same the other way. */
  passBack(frames: readonly Buffer[], arrived: number): Promise<Buffer[]>;
}

export async function hubLine(t: Teardown, host: LabHost, settings: Json = {}): Promise<HubLine> {
  const lab = await LinkLab.make(host, settings);
  // The server may have gone.
  t.teardown(() => host.client.post(`${lab.path}/close`).catch(() => undefined));
  const [near, far] = [await lab.hub('PC 1'), await lab.hub('SW1')];
  const link = await lab.link([end(near, 0), end(far, 0)]);
  const [left, right] = [await lab.peer(t, near, 1), await lab.peer(t, far, 1)];
  const pass = async (
    from: typeof left,
    to: typeof left,
    frames: readonly Buffer[],
    arrived: number,
  ): Promise<Buffer[]> => {
    await from.peer.send(from.near, frames);
    return to.peer.receive(arrived);
  };
  return {
    lab,
    near,
    far,
    link,
    at: lab.at(link),
    pass: (frames, arrived) => pass(left, right, frames, arrived),
    passBack: (frames, arrived) => pass(right, left, frames, arrived),
  };
}
