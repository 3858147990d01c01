/** The map of a lab as large as the console promises to show. */
import t from 'tap';
import { Client } from '../../support/client.js';
import { LinkLab, type Json } from '../../support/link-lab.js';
import { MOST_UDP_PORTS, startServer } from '../../support/server-process.js';

const server = await startServer(t, { environment: { WIREFARM_UDP_PORTS: MOST_UDP_PORTS } });
const client = new Client(server.url);
const host = { client, url: server.url };

async function batch(lab: LinkLab, body: Json): Promise<Json[]> {
  return (await client.expect(200, 'POST', `${lab.path}/nodes/batch`, body))['results'] as Json[];
}

void t.test(
  '2,000 nodes and 3,000 links are a map of less than a megabyte, and a thousand move in one call',
  async (t) => {
    const lab = await LinkLab.make(host);
    const ids: string[] = [];
    while (ids.length < 2000) {
      const create = Array.from({ length: 250 }, (_, index) => ({
        name: `switch-${ids.length + index}`,
        node_type: 'ethernet_switch',
        compute_id: 'local',
      }));
      ids.push(...(await batch(lab, { create })).map((result) => String(result['node_id'])));
    }
    const port = (node: number, number: number): object => ({
      node_id: ids[node % 2000],
      adapter_number: 0,
      port_number: number,
    });
    const ring = ids.map((_, node) => ({ nodes: [port(node, 0), port(node + 1, 1)] }));
    const chords = Array.from({ length: 1000 }, (_, half) => ({
      nodes: [port(2 * half, 2), port(2 * half + 7, 3)],
    }));
    for (let from = 0; from < 3000; from += 1500) {
      const create = [...ring, ...chords].slice(from, from + 1500);
      const { results } = await client.expect(200, 'POST', `${lab.links}/batch`, { create });
      t.same(new Set((results as Json[]).map(({ status, message }) => message ?? status)), new Set([201]));
    }
    const { text } = await client.get(`${lab.path}/map`);
    t.ok(text.length < 1_000_000, `${text.length} characters`);
    const map = JSON.parse(text) as { nodes: Json[]; links: Json[] };
    t.equal(map.nodes.length, 2000);
    t.equal(map.links.length, 3000);
    const results = await batch(lab, {
      update: ids.slice(0, 1000).map((id, x) => ({ node_id: id, x, y: -x })),
    });
    t.same(new Set(results.map(({ status }) => status)), new Set([200]));
  },
);
