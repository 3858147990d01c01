/**
 * A project of a server under measurement: pairs of hubs with a link each. What is sent to the entry of a link passes
 * it once, and ends at the other hub.
 */
import { setTimeout } from 'node:timers/promises';
import { call, portPath } from '../compute-client.js';
import { freePorts } from './forwarder.js';

const AT_ONCE = 16;
const ENTRY_PORT = 1;
const LOOK_EVERY_MS = 250;
const MOST_LOOKS = 100;

interface CapturedLink {
  readonly path: string;
  /** Where traffic for it is sent, from the lab's peer port. */
  readonly entry: number;
}

interface CaptureCounts {
  readonly packets: number;
  readonly dropped: number;
}

export class CaptureLab {
  readonly links: readonly CapturedLink[];
  readonly peerPort: number;
  readonly #path: string;

  private constructor(path: string, peerPort: number, links: readonly CapturedLink[]) {
    this.#path = path;
    this.peerPort = peerPort;
    this.links = links;
  }

  static async open(url: string, count: number): Promise<CaptureLab> {
    const { project_id: id } = (await call(`${url}/v2/projects`, 'POST', { name: 'bench' })) as {
      project_id: string;
    };
    const path = `${url}/v2/projects/${id}`;
    const compute = `${url}/v2/compute/projects/${id}`;
    const [peerPort = 0] = await freePorts(1);
    const pairs = await inParallel(count, async (index) => [
      await newHub(path, `A${index}`),
      await newHub(path, `B${index}`),
    ]);
    const create = pairs.map((hubs) => ({
      nodes: hubs.map((hub) => ({ node_id: hub, adapter_number: 0, port_number: 0 })),
    }));
    const made = await batch(path, { create });
    const links = await inParallel(count, async (index) => {
      const { udp_port: entry } = (await call(`${compute}/ports/udp`, 'POST', {})) as { udp_port: number };
      const port = portPath(`${compute}/ethernet_hub/nodes/${pairs[index]?.[0] ?? ''}`, ENTRY_PORT);
      const nio = { type: 'nio_udp', lport: entry, rhost: '127.0.0.1', rport: peerPort };
      await call(`${port}/nio`, 'POST', nio);
      return { path: `${path}/links/${made[index] ?? ''}`, entry };
    });
    return new CaptureLab(path, peerPort, links);
  }

  async startCaptures(): Promise<void> {
    await batch(this.#path, { start_capture: this.#ids.map((id) => ({ link_id: id })) });
  }

  /** When it resolves, the files have everything. */
  async stopCaptures(): Promise<void> {
    await batch(this.#path, { stop_capture: this.#ids });
  }

  /** Waits until so many packets are recorded, or no more come. */
  async settled(sent: number): Promise<void> {
    let before = -1;
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const recorded = (await this.counts()).reduce((sum, { packets }) => sum + packets, 0);
      if (recorded === sent || recorded === before) return;
      before = recorded;
      await setTimeout(LOOK_EVERY_MS);
    }
    throw new Error('packets are still recorded long after the last was sent');
  }

  counts(): Promise<CaptureCounts[]> {
    return inParallel(this.links.length, async (index) => {
      return (await call(`${this.links[index]?.path ?? ''}/capture`, 'GET')) as CaptureCounts;
    });
  }

  get #ids(): string[] {
    return this.links.map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  }
}

async function newHub(path: string, name: string): Promise<string> {
  const node = { node_type: 'ethernet_hub', compute_id: 'local', name };
  return ((await call(`${path}/nodes`, 'POST', node)) as { node_id: string }).node_id;
}

/** Returns the links in the order in which they were named. */
async function batch(path: string, changes: object): Promise<string[]> {
  const { results } = (await call(`${path}/links/batch`, 'POST', changes)) as {
    results: readonly { link_id: string; status: number; message?: string }[];
  };
  const refused = results.find(({ status }) => status >= 400);
  if (refused !== undefined) throw new Error(`${path}: ${refused.status} ${refused.message ?? ''}`);
  return results.map(({ link_id }) => link_id);
}

async function inParallel<Result>(
  count: number,
  work: (index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) {
      const index = next++;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return results;
}
