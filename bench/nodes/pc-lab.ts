/** A server of its own, and a project with virtual PCs in it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from '../child-server.js';
import { call } from '../compute-client.js';
import { delayOptions, delaysSince, endDelays, type Delay } from '../files/loop-delay.js';

export interface LabNode {
  readonly node_id: string;
  readonly name: string;
  readonly console: number;
}

export class PcLab {
  readonly server: ChildServer;
  readonly data: string;
  /** The address of the project. */
  readonly url: string;

  private constructor(server: ChildServer, data: string, url: string) {
    this.server = server;
    this.data = data;
    this.url = url;
  }

  /** `place` is the folder in which its data folder is. */
  static async start(flags: readonly string[] = [], place = tmpdir()): Promise<PcLab> {
    const data = mkdtempSync(join(place, 'wirefarm-bench-'));
    const args = ['--port', '0', '--data', data, ...flags];
    const server = await ChildServer.start('../src/server/main.js', args, delayOptions(delayFile(data)));
    const project = await call(`${server.url}/v2/projects`, 'POST', { name: 'bench', auto_close: false });
    const { project_id: id } = project as { project_id: string };
    return new PcLab(server, data, `${server.url}/v2/projects/${id}`);
  }

  async newNode(type: string, name: string, properties: object = {}): Promise<LabNode> {
    const body = { name, node_type: type, compute_id: 'local', properties };
    return (await call(`${this.url}/nodes`, 'POST', body)) as LabNode;
  }

  /** Returns the address of the link. */
  async link(...ends: readonly (readonly [node: LabNode, port: number])[]): Promise<string> {
    const nodes = ends.map(([{ node_id }, port_number]) => ({ node_id, adapter_number: 0, port_number }));
    const link = await call(`${this.url}/links`, 'POST', { nodes });
    return `${this.url}/links/${(link as { link_id: string }).link_id}`;
  }

  /** How late the HTTP thread was since this was asked last. */
  delays(): Promise<Delay> {
    return delaysSince(this.server.pid, delayFile(this.data));
  }

  /** To be called before the CPU of an idle server is measured. */
  endDelays(): void {
    endDelays(this.server.pid);
  }

  async end(): Promise<void> {
    await this.server.stop();
    rmSync(this.data, { recursive: true, force: true });
  }
}

function delayFile(data: string): string {
  return join(data, 'delay.json');
}
