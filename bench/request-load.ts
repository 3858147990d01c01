/** The requests of benches: a lab with a node and a link, and 16 connections that read or change them. */
import autocannon from 'autocannon';

const CONNECTIONS = 16;
const SECONDS = 4;

export interface Lab {
  readonly nodePath: string;
  readonly linkPath: string;
  readonly linkSize: number;
  readonly nodeSize: number;
}

type Headers = Readonly<Record<string, string>>;

/**
 * Requests per second. Every change moves the node, so none of them is without effect. `headersOf` tells those of the next
 * request.
 */
export async function loadOf(url: string, method: 'GET' | 'PUT', headersOf?: () => Headers): Promise<number> {
  let x = 0;
  const setupRequest = (request: autocannon.Request): autocannon.Request => ({
    ...request,
    ...(headersOf !== undefined && { headers: { ...request.headers, ...headersOf() } }),
    ...(method === 'PUT' && { body: JSON.stringify({ x: x++ % 1000, y: 7 }) }),
  });
  const isPlain = method === 'GET' && headersOf === undefined;
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: [isPlain ? { method } : { method, setupRequest }],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.average;
}

export async function makeLab(url: string, headers: Headers = {}): Promise<Lab> {
  const post = (path: string, body: unknown): Promise<Record<string, unknown>> =>
    posted(url + path, body, headers);
  const project = await post('/v2/projects', { name: 'bench' });
  const base = `/v2/projects/${String(project['project_id'])}`;
  const node = { node_type: 'ethernet_switch', compute_id: 'local' };
  const first = await post(`${base}/nodes`, { ...node, name: 'SW1' });
  const second = await post(`${base}/nodes`, { ...node, name: 'SW2' });
  const end = (id: unknown): object => ({ node_id: id, adapter_number: 0, port_number: 0 });
  const link = await post(`${base}/links`, { nodes: [end(first['node_id']), end(second['node_id'])] });
  return {
    nodePath: `${base}/nodes/${String(first['node_id'])}`,
    linkPath: `${base}/links/${String(link['link_id'])}`,
    linkSize: JSON.stringify(link).length,
    nodeSize: JSON.stringify(first).length,
  };
}

async function posted(url: string, body: unknown, headers: Headers): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), headers });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Record<string, unknown>;
}
