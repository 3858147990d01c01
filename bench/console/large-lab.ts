/** A lab of many nodes in rows, linked with their neighbours, on a server under measurement. */
import { call } from '../compute-client.js';

const APART = 110;
/** The server takes so many changes at once. */
const AT_ONCE = 256;
const KINDS = ['ethernet_switch', 'ethernet_hub', 'atm_switch', 'frame_relay_switch'];
const ETHERNET = 2;

interface Results {
  readonly results: readonly {
    readonly status: number;
    readonly node_id?: string;
    readonly message?: string;
  }[];
}

/** Returns the id of the lab. Its links join nodes that take each other, three for each two nodes. */
export async function makeLargeLab(url: string, count: number): Promise<string> {
  const { project_id: id } = (await call(`${url}/v2/projects`, 'POST', { name: `bench ${count}` })) as {
    project_id: string;
  };
  const path = `${url}/v2/projects/${id}`;
  const columns = Math.ceil(Math.sqrt(count * 1.25));
  const nodes = Array.from({ length: count }, (_, index) => ({
    name: `node-${index}`,
    // Rows of Ethernet, and now and then a node of another kind, so that several symbols are drawn.
    node_type: KINDS[index % 23 === 0 ? ETHERNET + (index % 2) : index % ETHERNET],
    compute_id: 'local',
    x: APART * (index % columns),
    y: APART * Math.floor(index / columns),
  }));
  const ids = (await inParts(`${path}/nodes/batch`, nodes)).map(({ node_id: node = '' }) => node);
  const isEthernet = (index: number): boolean => index < count && index % 23 !== 0;
  const used = new Map<number, number>();
  const end = (index: number): object => {
    const port = used.get(index) ?? 0;
    used.set(index, port + 1);
    return { node_id: ids[index], adapter_number: 0, port_number: port };
  };
  const pairs = ids
    .flatMap((_, index) => [
      ...((index + 1) % columns === 0 ? [] : [[index, index + 1] as const]),
      [index, index + columns] as const,
    ])
    .filter(([a, b]) => isEthernet(a) && isEthernet(b))
    .slice(0, 1.5 * count);
  const links = pairs.map(([a, b]) => ({ nodes: [end(a), end(b)] }));
  await inParts(`${path}/links/batch`, links);
  return id;
}

async function inParts(path: string, all: readonly object[]): Promise<Results['results']> {
  const made: Results['results'][number][] = [];
  for (let from = 0; from < all.length; from += AT_ONCE) {
    const { results } = (await call(path, 'POST', { create: all.slice(from, from + AT_ONCE) })) as Results;
    const refused = results.find(({ status }) => status >= 400);
    if (refused !== undefined) throw new Error(`${path}: ${refused.status} ${refused.message ?? ''}`);
    made.push(...results);
  }
  return made;
}
