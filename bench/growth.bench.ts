/**
 * The cost of a node and a link in a large lab, against a small one on the same server: created in turn, one in
 * each, over one connection. And what the server takes for a list of links.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildServer } from './child-server.js';
import { figure, median, type Bench } from './measurement.js';

const LARGE = 2000;
const PAIRS = 100;
const ROUNDS = 5;
const PORTS = 8;
const LISTED = 400;
const LISTS = 200;

export const growth: Bench = {
  name: 'growth',
  async run() {
    const data = mkdtempSync(join(tmpdir(), 'wirefarm-bench-'));
    const server = await ChildServer.start('../src/server/main.js', ['--port', '0', '--data', data]);
    const connection = new Connection(server.url);
    try {
      const nodes = await compare(connection, 'nodes');
      const links = await compare(connection, 'links');
      const lists = await costOfLists(connection, server);
      return [
        figure(`node in a lab of ${LARGE}`, 'ms', nodes.large),
        figure('node in a small lab', 'ms', nodes.small),
        figure('node, ratio', '', nodes.ratios, 'at most 1.3'),
        figure(`link in a lab of ${LARGE}`, 'ms', links.large),
        figure('link in a small lab', 'ms', links.small),
        figure('link, ratio', '', links.ratios, 'at most 1.3'),
        figure(`list of ${LISTED} links, CPU of the server`, 'ms', lists, 'at most 1'),
      ];
    } finally {
      connection.close();
      await server.stop();
      rmSync(data, { recursive: true });
    }
  },
};

interface Comparison {
  readonly large: number[];
  readonly small: number[];
  readonly ratios: number[];
}

async function compare(connection: Connection, what: 'nodes' | 'links'): Promise<Comparison> {
  const large = new Lab(connection, `large-${what}`);
  const comparison: Comparison = { large: [], small: [], ratios: [] };
  await large.open();
  for (let count = 0; count < LARGE - PAIRS * ROUNDS; count++) await large.add(what);
  for (let round = 0; round < ROUNDS; round++) {
    const small = new Lab(connection, `small-${what}-${round}`);
    await small.open();
    // The first few warm the new project up; they count for neither side.
    for (let count = 0; count < 10; count++) await small.add(what);
    const costs: { large: number[]; small: number[] } = { large: [], small: [] };
    for (let pair = 0; pair < PAIRS; pair++) {
      costs.large.push(await large.add(what));
      costs.small.push(await small.add(what));
    }
    comparison.large.push(median(costs.large));
    comparison.small.push(median(costs.small));
    comparison.ratios.push(median(costs.large) / median(costs.small));
  }
  return comparison;
}

/** Milliseconds of CPU that the whole server takes for one list, one request after the other. */
async function costOfLists(connection: Connection, server: ChildServer): Promise<number[]> {
  const lab = new Lab(connection, 'listed');
  await lab.open();
  for (let count = 0; count < LISTED; count++) await lab.add('links');
  const costs: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const before = server.cpuSeconds();
    for (let count = 0; count < LISTS; count++) await lab.list();
    costs.push(((server.cpuSeconds() - before) * 1000) / LISTS);
  }
  // The first round warms the route up.
  return costs.slice(1);
}

/** A project that grows: links go between ports that are still free, on switches made as they are needed. */
class Lab {
  readonly #connection: Connection;
  readonly #name: string;
  #base = '';
  #free: { node_id: string; adapter_number: number; port_number: number }[][] = [];

  constructor(connection: Connection, name: string) {
    this.#connection = connection;
    this.#name = name;
  }

  async open(): Promise<void> {
    const { body } = await this.#connection.post('/v2/projects', { name: this.#name });
    this.#base = `/v2/projects/${String(body['project_id'])}`;
  }

  /** Adds one; returns the milliseconds of its request alone. */
  async add(what: 'nodes' | 'links'): Promise<number> {
    if (what === 'nodes') return (await this.#addNode()).ms;
    if (this.#free.length === 0) await this.#addPorts();
    const { ms } = await this.#connection.post(`${this.#base}/links`, { nodes: this.#free.pop() });
    return ms;
  }

  async list(): Promise<void> {
    await this.#connection.call('GET', `${this.#base}/links`);
  }

  #addNode(): Promise<Reply> {
    const node = { name: 'SW{0}', node_type: 'ethernet_switch', compute_id: 'local' };
    return this.#connection.post(`${this.#base}/nodes`, node);
  }

  async #addPorts(): Promise<void> {
    const [first, second] = [await this.#addNode(), await this.#addNode()];
    for (let port = 0; port < PORTS; port++) {
      this.#free.push(
        [first, second].map(({ body }) => ({
          node_id: String(body['node_id']),
          adapter_number: 0,
          port_number: port,
        })),
      );
    }
  }
}

interface Reply {
  readonly ms: number;
  readonly body: Record<string, unknown>;
}

/** One kept-alive connection, without the overhead of fetch. */
class Connection {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  post(path: string, body: unknown): Promise<Reply> {
    return this.call('POST', path, JSON.stringify(body));
  }

  call(method: 'GET' | 'POST', path: string, body?: string): Promise<Reply> {
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const sent = request(this.#url + path, { method, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => {
          const ms = performance.now() - startedAt;
          const text = Buffer.concat(chunks).toString();
          if (response.statusCode !== (method === 'GET' ? 200 : 201)) reject(new Error(`${path}: ${text}`));
          else resolve({ ms, body: JSON.parse(text) as Record<string, unknown> });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
