/** Real virtual PCs that reach each other through switches of this server. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { Client } from '../support/client.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { freePort } from '../support/udp-peer.js';
import { missingVpcs, VirtualPc } from '../support/vpcs.js';

const skip = missingVpcs();

type SwitchPort = Readonly<Record<string, unknown>>;

/** Of a virtual PC: its number, a node, and a port of that. */
type Place = readonly [id: number, node: string, port: number];

/** A project of the compute side, and what a test does with it. */
class Lab {
  readonly #t: Teardown;
  readonly client: Client;
  readonly #base: string;

  private constructor(t: Teardown, client: Client, base: string) {
    this.#t = t;
    this.client = client;
    this.#base = base;
  }

  static async open(t: Teardown): Promise<Lab> {
    const client = new Client((await startServer(t)).url);
    const id = randomUUID();
    await client.post('/v2/compute/projects', { name: 'lab', project_id: id });
    return new Lab(t, client, `/v2/compute/projects/${id}`);
  }

  /** Returns the path of the node. */
  async node(type: string, ports: readonly SwitchPort[]): Promise<string> {
    const reply = await this.client.post(`${this.#base}/${type}/nodes`, { name: type, ports_mapping: ports });
    return `${this.#base}/${type}/nodes/${(reply.body as { node_id: string }).node_id}`;
  }

  async attach(node: string, port: number, lport: number, rport: number): Promise<void> {
    const nio = { type: 'nio_udp', lport, rhost: '127.0.0.1', rport };
    const { status, text } = await this.client.post(`${node}/adapters/0/ports/${port}/nio`, nio);
    if (status !== 201) throw new Error(text);
  }

  async udpPort(): Promise<number> {
    const { body } = await this.client.post(`${this.#base}/ports/udp`, {});
    return (body as { udp_port: number }).udp_port;
  }

  /** Three virtual PCs, each at a port of a node: 10.0.0.<id>. */
  pcs(...places: readonly [Place, Place, Place]): Promise<[VirtualPc, VirtualPc, VirtualPc]> {
    const [first, second, third] = places;
    return Promise.all([this.#pc(first), this.#pc(second), this.#pc(third)]);
  }

  async #pc([id, node, port]: Place): Promise<VirtualPc> {
    const [ours, its] = [await this.udpPort(), await freePort()];
    await this.attach(node, port, ours, its);
    const pc = await VirtualPc.start(this.#t, id, its, ours);
    await pc.run(`ip 10.0.0.${id}/24`);
    return pc;
  }
}

const access = (port: number, vlan: number): SwitchPort => ({
  name: `Ethernet${port}`,
  port_number: port,
  type: 'access',
  vlan,
});
const trunk = (port: number, vlan: number): SwitchPort => ({ ...access(port, vlan), type: 'dot1q' });

async function reaches(pc: VirtualPc, id: number): Promise<boolean> {
  return (await pc.run(`ping 10.0.0.${id} -c 1`)).includes(`10.0.0.${id} icmp_seq=1 ttl=`);
}

void t.test(
  'PCs of one VLAN reach each other through a switch, and others when they are let in',
  { skip },
  async (t) => {
    const lab = await Lab.open(t);
    const node = await lab.node('ethernet_switch', [access(0, 1), access(1, 1), access(2, 2)]);
    const [first, second, third] = await lab.pcs([1, node, 0], [2, node, 1], [3, node, 2]);
    t.equal(await reaches(first, 2), true);
    t.equal(await reaches(second, 1), true);
    t.equal(await reaches(first, 3), false);
    await lab.client.put(node, { ports_mapping: [access(0, 1), access(1, 1), access(2, 1)] });
    t.equal(await reaches(third, 1), true, 'the running switch has taken the change');
    const table = (await lab.client.get(`${node}/mac_table`)).text;
    for (const id of [1, 2, 3]) t.match(table, `"00:50:79:66:68:0${id}"`);
  },
);

void t.test('a trunk carries the VLANs of two switches apart', { skip }, async (t) => {
  const lab = await Lab.open(t);
  const ports = [access(0, 10), access(1, 20), trunk(2, 1)];
  const [left, right] = [await lab.node('ethernet_switch', ports), await lab.node('ethernet_switch', ports)];
  const [near, far] = [await lab.udpPort(), await lab.udpPort()];
  await lab.attach(left, 2, near, far);
  await lab.attach(right, 2, far, near);
  const [first] = await lab.pcs([1, left, 0], [2, right, 0], [3, right, 1]);
  t.equal(await reaches(first, 2), true);
  t.equal(await reaches(first, 3), false);
});

void t.test('PCs reach each other through a hub', { skip }, async (t) => {
  const lab = await Lab.open(t);
  const node = await lab.node(
    'ethernet_hub',
    [0, 1, 2].map((port) => ({ name: `E${port}`, port_number: port })),
  );
  const [first] = await lab.pcs([1, node, 0], [2, node, 1], [3, node, 2]);
  t.equal(await reaches(first, 2), true);
  t.equal(await reaches(first, 3), true);
});
