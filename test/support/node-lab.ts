/** A lab of nodes that are programs, through the interface of clients, and a person at their consoles. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { Client } from './client.js';

export type Json = Record<string, unknown>;

/** The processes of a node. */
export function programsOf(node: Json): string[] {
  const mark = `/${String(node['node_id'])}\0`;
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/environ`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  });
}

export class NodeLab {
  readonly client: Client;
  readonly path: string;
  readonly #url: string;

  private constructor(
    url: string,
    readonly id: string,
  ) {
    this.#url = url;
    this.client = new Client(url);
    this.path = `/v2/projects/${id}`;
  }

  static async make(t: Test, { url }: { readonly url: string }): Promise<NodeLab> {
    const client = new Client(url);
    const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', {
      name: t.name.slice(0, 60).replaceAll('/', ' '),
      auto_close: false,
    });
    const lab = NodeLab.of({ url }, String(id));
    t.teardown(() => client.expect(204, 'DELETE', lab.path));
    return lab;
  }

  /** A project that is there already. */
  static of({ url }: { readonly url: string }, id: string): NodeLab {
    return new NodeLab(url, id);
  }

  node(type: string, name: string, properties: Json = {}): Promise<Json> {
    const body = { name, node_type: type, compute_id: 'local', properties };
    return this.client.expect(201, 'POST', `${this.path}/nodes`, body);
  }

  /** A virtual PC whose script gives it the address. */
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

  link(first: readonly [Json, number], second: readonly [Json, number]): Promise<Json> {
    const nodes = [first, second].map(([{ node_id }, port_number]) => ({
      ...{ node_id, adapter_number: 0, port_number },
    }));
    return this.client.expect(201, 'POST', `${this.path}/links`, { nodes });
  }

  /** The console of a node that runs. */
  async console(t: Test, node: Json): Promise<ConsoleTerminal> {
    return ConsoleTerminal.open(t, `${this.#url.replace('http', 'ws')}${this.at(node)}/console/ws`);
  }
}

/** A person at a console. */
export class ConsoleTerminal {
  text = '';
  readonly #socket: WebSocket;
  readonly #looks = new Set<() => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (bytes: Buffer) => {
      this.text += bytes.toString('latin1');
      for (const look of this.#looks) look();
    });
  }

  static async open(t: Test, url: string): Promise<ConsoleTerminal> {
    const socket = new WebSocket(url);
    const terminal = new ConsoleTerminal(socket);
    t.teardown(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    return terminal;
  }

  get closed(): Promise<unknown> {
    return once(this.#socket, 'close');
  }

  type(line: string): void {
    this.#socket.send(`${line}\r`);
  }

  /** Waits until what was printed since the last call matches; returns it. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text)) {
      await new Promise<void>((resolve) => {
        const look = (): void => {
          this.#looks.delete(look);
          resolve();
        };
        this.#looks.add(look);
      });
    }
    const { text } = this;
    this.text = '';
    return text;
  }
}
