/** A lab of nodes that are programs, through the interface of clients. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { Client } from './client.js';
import { NodeTerminal } from './node-terminal.js';

export type Json = Record<string, unknown>;

interface Server {
  readonly url: string;
}

/** A node with its port, or with its adapter and its port. */
export type LabEnd =
  | readonly [node: Json, port: number]
  | readonly [node: Json, adapter: number, port: number];

/** The processes of a node, those beside its program among them. */
export function programsOf(node: Json): number[] {
  const mark = `/${String(node['node_id'])}`;
  return readdirSync('/proc')
    .filter((name) => {
      try {
        if (!/^\d+$/.test(name)) return false;
        const variables = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0');
        return variables.some((entry) => entry.startsWith('WIREFARM_NODE=') && entry.includes(mark));
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Whether the interface of the server is in the network of a process. */
export function reaches(pid: number, { url }: Server): boolean {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  return readFileSync(`/proc/${pid}/net/tcp`, 'latin1').includes(`:${port} `);
}

export class NodeLab {
  readonly id: string;
  readonly client: Client;
  readonly path: string;
  readonly #url: string;

  /** For a project that is there already. */
  constructor({ url }: Server, id: string) {
    this.#url = url;
    this.id = id;
    this.client = new Client(url);
    this.path = `/v2/projects/${id}`;
  }

  /** A new project, which is deleted at the end of the test. */
  static async make(t: Test, server: Server): Promise<NodeLab> {
    const lab = await NodeLab.left(t.name, server);
    t.teardown(() => lab.client.expect(204, 'DELETE', lab.path));
    return lab;
  }

  /** A new project that no test deletes. */
  static async left(name: string, server: Server): Promise<NodeLab> {
    const settings = { name: name.slice(0, 60).replaceAll('/', ' '), auto_close: false };
    const { project_id: id } = await new Client(server.url).expect(201, 'POST', '/v2/projects', settings);
    return new NodeLab(server, String(id));
  }

  get events(): string {
    return `${this.#url}${this.path}/notifications`;
  }

  node(type: string, name: string, properties: Json = {}, more: Json = {}): Promise<Json> {
    const body = { name, node_type: type, compute_id: 'local', properties, ...more };
    return this.client.expect(201, 'POST', `${this.path}/nodes`, body);
  }

  /** A virtual PC that runs, whose script gives it the address. */
  async pc(name: string, address: string): Promise<Json> {
    const pc = await this.node('vpcs', name, { startup_script: `set pcname %h\nip ${address}/24\n` });
    await this.act(pc, 'start');
    return pc;
  }

  at(node: Json): string {
    return `${this.path}/nodes/${String(node['node_id'])}`;
  }

  show(node: Json): Promise<Json> {
    return this.client.expect(200, 'GET', this.at(node));
  }

  act(node: Json, action: string): Promise<Json> {
    return this.client.expect(200, 'POST', `${this.at(node)}/${action}`);
  }

  change(node: Json, change: Json): Promise<Json> {
    return this.client.expect(200, 'PUT', this.at(node), change);
  }

  link(...ends: readonly LabEnd[]): Promise<Json> {
    const nodes = ends.map(([{ node_id }, ...place]) => {
      const [port_number, adapter_number = 0] = place.toReversed();
      return { node_id, adapter_number, port_number };
    });
    return this.client.expect(201, 'POST', `${this.path}/links`, { nodes });
  }

  linkAt(link: Json): string {
    return `${this.path}/links/${String(link['link_id'])}`;
  }

  /** The console of a node that runs. `lineEnd` is what the key Return sends. */
  console(t: Test, node: Json, lineEnd?: string): Promise<NodeTerminal> {
    return NodeTerminal.open(t, `${this.#url}${this.at(node)}/console/ws`, lineEnd);
  }
}
