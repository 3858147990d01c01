/** A lab with virtual machines on a real server, and a person at its consoles. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { Client } from './client.js';
import { ownConsolePorts, startServer, type ServerProcess } from './server-process.js';
import type { Teardown } from './scratch.js';

export type Json = Record<string, unknown>;

const PROGRAMS = [
  ['qemu-system-x86_64', 'qemu-system-x86'],
  ['qemu-img', 'qemu-utils'],
] as const;

/** False when this host has QEMU. */
export function missingQemu(): string | false {
  for (const [program, name] of PROGRAMS) {
    if (spawnSync('which', [program]).status !== 0)
      return `the program ${program} is missing: install the package ${name}`;
  }
  return false;
}

/** Guests are emulated in tests: a KVM that opens may still run none. */
export function startQemuServer(t: Teardown, flags: readonly string[] = []): Promise<ServerProcess> {
  return startServer(t, {
    flags: ['--kvm', 'off', ...flags],
    environment: { WIREFARM_CONSOLE_PORTS: ownConsolePorts() },
  });
}

/** The processes of a node, those beside its program among them. */
export function processesOf(node: Json): number[] {
  const mark = `/${String(node['node_id'])}`;
  return readdirSync('/proc')
    .filter((name) => {
      try {
        if (!/^\d+$/.test(name)) return false;
        const marks = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0');
        return marks.some((entry) => entry.startsWith('WIREFARM_NODE=') && entry.includes(mark));
      } catch {
        return false;
      }
    })
    .map(Number);
}

export class QemuLab {
  readonly client: Client;
  readonly path: string;
  readonly #server: ServerProcess;

  private constructor(server: ServerProcess, client: Client, id: string) {
    this.#server = server;
    this.client = client;
    this.path = `/v2/projects/${id}`;
  }

  static async make(t: Test, server: ServerProcess): Promise<QemuLab> {
    const client = new Client(server.url);
    const name = t.name.slice(0, 60).replaceAll('/', ' ');
    const { project_id: id } = await client.expect(201, 'POST', '/v2/projects', { name, auto_close: false });
    const lab = new QemuLab(server, client, String(id));
    t.teardown(() => client.expect(204, 'DELETE', lab.path));
    return lab;
  }

  get events(): string {
    return `${this.#server.url}${this.path}/notifications`;
  }

  node(type: string, name: string, properties: Json = {}, more: Json = {}): Promise<Json> {
    const body = { name, node_type: type, compute_id: 'local', properties, ...more };
    return this.client.expect(201, 'POST', `${this.path}/nodes`, body);
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

  /** Each end is a node with its adapter and its port. Returns the path of the link. */
  async link(...ends: readonly (readonly [Json, number, number])[]): Promise<string> {
    const nodes = ends.map(([{ node_id }, adapter_number, port_number]) => ({
      ...{ node_id, adapter_number, port_number },
    }));
    const { link_id: id } = await this.client.expect(201, 'POST', `${this.path}/links`, { nodes });
    return `${this.path}/links/${String(id)}`;
  }

  console(t: Test, node: Json): Promise<QemuTerminal> {
    return QemuTerminal.open(t, `${this.#server.url.replace('http', 'ws')}${this.at(node)}/console/ws`);
  }
}

/** A person at a console. */
export class QemuTerminal {
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

  static async open(t: Test, url: string): Promise<QemuTerminal> {
    const socket = new WebSocket(url);
    const terminal = new QemuTerminal(socket);
    t.teardown(() => {
      socket.terminate();
    });
    await once(socket, 'open');
    return terminal;
  }

  type(line: string): void {
    this.#socket.send(`${line}\r`);
  }

  /** Types a command of a shell and waits for its end. Returns what it printed. */
  async run(command: string): Promise<string> {
    this.type(`${command}; echo "done"-$?`);
    return this.until(/done-\d+\r?\n/);
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
