/** A project of the compute side, with switches whose ports lead to sockets of the test. */
import { randomUUID } from 'node:crypto';
import type { Client, Reply } from './client.js';
import type { UdpPeer } from './udp-peer.js';

export class ComputeLab {
  readonly id: string;
  readonly path: string;
  readonly #client: Client;

  private constructor(client: Client, id: string) {
    this.#client = client;
    this.id = id;
    this.path = `/v2/compute/projects/${id}`;
  }

  static async open(client: Client, id: string = randomUUID()): Promise<ComputeLab> {
    await client.expect(201, 'POST', '/v2/compute/projects', { name: 'lab', project_id: id });
    return new ComputeLab(client, id);
  }

  /** Makes a switch; returns its path. */
  async node(kind: string, fields: object = {}): Promise<string> {
    const path = `${this.path}/${kind}/nodes`;
    const made = await this.#client.expect(201, 'POST', path, { name: 'SW', ...fields });
    return `${path}/${String(made['node_id'])}`;
  }

  async udpPort(): Promise<number> {
    const { udp_port } = await this.#client.expect(201, 'POST', `${this.path}/ports/udp`);
    return Number(udp_port);
  }

  nio(node: string, port: number | string, nio: unknown): Promise<Reply> {
    return this.#client.post(nioPath(node, port), nio);
  }

  /** Leads a port of a switch to the peer; returns the near port, to which the peer sends. */
  async join(node: string, port: number, peer: Pick<UdpPeer, 'port'>, more: object = {}): Promise<number> {
    const lport = await this.udpPort();
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport: peer.port, ...more };
    await this.#client.expect(201, 'POST', nioPath(node, port), nio);
    return lport;
  }

  /** A link between ports of two switches. */
  async link(
    one: readonly [node: string, port: number],
    other: readonly [node: string, port: number],
  ): Promise<void> {
    const port = await this.udpPort();
    await this.#client.expect(201, 'POST', nioPath(...other), {
      type: 'nio_udp',
      lport: port,
      rhost: '127.0.0.1',
      rport: await this.join(...one, { port }),
    });
  }

  async part(node: string, port: number): Promise<void> {
    await this.#client.expect(204, 'DELETE', nioPath(node, port));
  }

  close(): Promise<unknown> {
    return this.#client.expect(204, 'POST', `${this.path}/close`);
  }
}

export function nioPath(node: string, port: number | string, adapter: number | string = 0): string {
  return `${node}/adapters/${adapter}/ports/${port}/nio`;
}
