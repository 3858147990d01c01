/** Wirefarm, with files as those of a node. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFolder } from '../../src/files/node-files/node-folder.js';
import { call } from '../compute-client.js';
import { ChildServer } from '../child-server.js';
import type { FileServer } from './file-server.js';

const NODE_TYPE = 'ethernet_switch';

export class WirefarmNode implements FileServer {
  readonly method = 'POST';
  readonly folder: string;
  readonly #server: ChildServer;
  readonly #files: string;

  private constructor(server: ChildServer, folder: string, files: string) {
    this.#server = server;
    this.folder = folder;
    this.#files = files;
  }

  static async start(data: string, args: readonly string[] = []): Promise<WirefarmNode> {
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data, ...args]);
    const { project, node } = await newNode(server.url);
    const folder = join(project.path, nodeFolder({ node_type: NODE_TYPE, node_id: node.id }));
    return new WirefarmNode(server, folder, `${node.url}/files`);
  }

  url(name: string): string {
    return `${this.#files}/${name}`;
  }

  cpuSeconds(): number {
    return this.#server.cpuSeconds();
  }

  /** There is nothing to be done. */
  settled(): Promise<void> {
    return Promise.resolve();
  }

  remove(names: readonly string[]): Promise<void> {
    for (const name of names) rmSync(join(this.folder, name));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }
}

interface NewNode {
  readonly project: { readonly path: string };
  readonly node: { readonly id: string; readonly url: string };
}

/** A node in a project of its own. */
export async function newNode(server: string, name = 'bench'): Promise<NewNode> {
  const project = (await call(`${server}/v2/projects`, 'POST', { name })) as {
    readonly project_id: string;
    readonly path: string;
  };
  const nodes = `${server}/v2/projects/${project.project_id}/nodes`;
  const { node_id: id } = (await call(nodes, 'POST', {
    name: 'SW',
    node_type: NODE_TYPE,
    compute_id: 'local',
  })) as { readonly node_id: string };
  return { project, node: { id, url: `${nodes}/${id}` } };
}
