/** The compute interface of a server under measurement, as a client calls it. */
import { randomUUID } from 'node:crypto';

export class ComputeClient {
  readonly #base: string;

  private constructor(base: string) {
    this.#base = base;
  }

  static async withProject(url: string): Promise<ComputeClient> {
    const projectId = randomUUID();
    await call(`${url}/v2/compute/projects`, 'POST', { name: 'bench', project_id: projectId });
    return new ComputeClient(`${url}/v2/compute/projects/${projectId}`);
  }

  /** Returns the path of the node. */
  async newNode(type: string, body: object): Promise<string> {
    const node = await call(`${this.#base}/${type}/nodes`, 'POST', body);
    return `${this.#base}/${type}/nodes/${(node as { node_id: string }).node_id}`;
  }

  async newUdpPort(): Promise<number> {
    const answer = await call(`${this.#base}/ports/udp`, 'POST', {});
    return (answer as { udp_port: number }).udp_port;
  }

  async attach(
    node: string,
    port: number,
    lport: number,
    rport: number,
    filters: object = {},
  ): Promise<void> {
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport, filters };
    await call(`${portPath(node, port)}/nio`, 'POST', nio);
  }

  async detach(node: string, port: number): Promise<void> {
    await call(`${portPath(node, port)}/nio`, 'DELETE');
  }

  async setMappings(node: string, mappings: Readonly<Record<string, string>>): Promise<void> {
    await call(node, 'PUT', { mappings });
  }

  /** Returns the path of the file. */
  async startCapture(node: string, port: number, settings: object): Promise<string> {
    const answer = await call(`${portPath(node, port)}/start_capture`, 'POST', settings);
    return (answer as { pcap_file_path: string }).pcap_file_path;
  }

  async stopCapture(node: string, port: number): Promise<void> {
    await call(`${portPath(node, port)}/stop_capture`, 'POST', {});
  }
}

export function portPath(node: string, port: number): string {
  return `${node}/adapters/0/ports/${port}`;
}

export async function call(url: string, method: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text === '' ? undefined : (JSON.parse(text) as unknown);
}
