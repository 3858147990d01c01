/** Real virtual PCs that reach each other through switches of this server. */
import t from 'tap';
import { Client } from '../support/client.js';
import { ComputeLab } from '../support/compute-lab.js';
import type { Teardown } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { freePort } from '../support/udp-peer.js';
import { missingVpcs, VirtualPc } from '../support/vpcs.js';

const skip = missingVpcs();

type SwitchPort = Readonly<Record<string, unknown>>;

/** A virtual PC: its number, a node, and a port of that node. */
type Place = readonly [id: number, node: string, port: number];

async function open(t: Teardown): Promise<{ client: Client; lab: ComputeLab }> {
  const client = new Client((await startServer(t)).url);
  return { client, lab: await ComputeLab.open(client) };
}

/** Three virtual PCs, each at a port of a node: 10.0.0.<id>. */
function pcs(
  t: Teardown,
  lab: ComputeLab,
  [first, second, third]: readonly [Place, Place, Place],
): Promise<[VirtualPc, VirtualPc, VirtualPc]> {
  return Promise.all([pc(t, lab, first), pc(t, lab, second), pc(t, lab, third)]);
}

async function pc(t: Teardown, lab: ComputeLab, [id, node, port]: Place): Promise<VirtualPc> {
  const its = await freePort();
  const ours = await lab.join(node, port, { port: its });
  const made = await VirtualPc.start(t, id, its, ours);
  await made.run(`ip 10.0.0.${id}/24`);
  return made;
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
    const { client, lab } = await open(t);
    const node = await lab.node('ethernet_switch', {
      ports_mapping: [access(0, 1), access(1, 1), access(2, 2)],
    });
    const [first, second, third] = await pcs(t, lab, [
      [1, node, 0],
      [2, node, 1],
      [3, node, 2],
    ]);
    t.equal(await reaches(first, 2), true);
    t.equal(await reaches(second, 1), true);
    t.equal(await reaches(first, 3), false);
    await client.put(node, { ports_mapping: [access(0, 1), access(1, 1), access(2, 1)] });
    t.equal(await reaches(third, 1), true, 'the running switch has taken the change');
    const table = (await client.get(`${node}/mac_table`)).text;
    for (const id of [1, 2, 3]) t.match(table, `"00:50:79:66:68:0${id}"`);
  },
);

void t.test('a trunk carries the VLANs of two switches apart', { skip }, async (t) => {
  const { lab } = await open(t);
  const ports = { ports_mapping: [access(0, 10), access(1, 20), trunk(2, 1)] };
  const [left, right] = [await lab.node('ethernet_switch', ports), await lab.node('ethernet_switch', ports)];
  await lab.link([left, 2], [right, 2]);
  const [first] = await pcs(t, lab, [
    [1, left, 0],
    [2, right, 0],
    [3, right, 1],
  ]);
  t.equal(await reaches(first, 2), true);
  t.equal(await reaches(first, 3), false);
});

void t.test('PCs reach each other through a hub', { skip }, async (t) => {
  const { lab } = await open(t);
  const node = await lab.node('ethernet_hub');
  const [first] = await pcs(t, lab, [
    [1, node, 0],
    [2, node, 1],
    [3, node, 2],
  ]);
  t.equal(await reaches(first, 2), true);
  t.equal(await reaches(first, 3), true);
});
