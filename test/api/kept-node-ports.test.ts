/** Nodes that this server keeps and cannot run: their ports follow from their properties, and links fit them. */
import t from 'tap';
import { Client } from '../support/client.js';
import { gns3Node, placeGns3Project, type Json } from '../support/gns3-project.js';
import { startServer } from '../support/server-process.js';

const server = await startServer(t);
const client = new Client(server.url);
const ETHERNET = { data_link_types: { Ethernet: 'DLT_EN10MB' }, link_type: 'ethernet', port_number: 0 };

const port = (adapter: number, name: string, shortName: string, more: Json = {}): Json => ({
  ...ETHERNET,
  adapter_number: adapter,
  name,
  short_name: shortName,
  ...more,
});

/** Opens a project of these nodes; returns its path and what clients see of the nodes. */
async function opened(name: string, nodes: readonly Json[]): Promise<{ lab: string; shown: Json[] }> {
  const { id } = placeGns3Project(`${server.data}/projects`, name, { nodes });
  await client.expect(200, 'POST', '/v2/reload');
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  const lab = `/v2/projects/${id}`;
  return { lab, shown: (await client.get(`${lab}/nodes`)).body as Json[] };
}

const portsOf = (shown: readonly Json[]): unknown[] => shown.map(({ ports }) => ports);

void t.test('the ports of a machine follow from its adapters and the format of their names', async (t) => {
  const vmware = gns3Node('vmware', {
    custom_adapters: [{ adapter_number: 2, port_name: 'wan', adapter_type: 'vmxnet3' }],
    first_port_name: 'mgmt',
    port_name_format: 'Gi{segment0}/{port0}',
    port_segment_size: 2,
    properties: { adapters: 4, adapter_type: 'e1000' },
  });
  const virtualbox = gns3Node('virtualbox', { properties: { adapters: 2 } });
  const traceng = gns3Node('traceng', { properties: { ip_address: '10.0.0.1' } });
  const { shown } = await opened('machines', [vmware, virtualbox, traceng]);
  const e1000 = { adapter_type: 'e1000' };
  t.strictSame(portsOf(shown), [
    [
      port(0, 'mgmt', 'mgmt', e1000),
      port(1, 'Gi0/0', 'Gi0/0', e1000),
      port(2, 'wan', 'wan', { adapter_type: 'vmxnet3' }),
      port(3, 'Gi1/0', 'Gi1/0', e1000),
    ],
    [port(0, 'Ethernet0', 'e0'), port(1, 'Ethernet1', 'e1')],
    [port(0, 'Ethernet0', 'e0')],
  ]);
});

void t.test('whatever a file has instead of numbers and formats, there are ports', async (t) => {
  const nodes = [
    gns3Node('vmware', { properties: {} }),
    gns3Node('vmware', { properties: { adapters: 1e9, adapter_type: 7 } }),
    gns3Node('virtualbox', { properties: { adapters: 1e9 }, port_name_format: '{nonsense' }),
    gns3Node('virtualbox', { properties: { adapters: 'many' } }),
  ];
  const { shown } = await opened('odd', nodes);
  const counts = portsOf(shown).map((ports) => (ports as Json[]).length);
  t.strictSame(counts, [1, 10, 36, 1], 'as many as the program allows at most');
  t.match(shown[2]?.['ports'], [{ name: 'Ethernet0' }]);
});

void t.test('a node of another compute has its ports, too', async (t) => {
  const compute_id = 'c0ffee00-0000-4000-8000-000000000000';
  const relay = gns3Node('frame_relay_switch', { compute_id });
  const router = gns3Node('dynamips', { compute_id });
  const { shown } = await opened('far', [relay, router]);
  const names = portsOf(shown).map((ports) => (ports as Json[]).map(({ short_name }) => short_name));
  t.strictSame(names, [
    ['1', '10'],
    ['f0/0', 'a1/0', 's2/0', 's2/1', 's2/2', 's2/3'],
  ]);
});

void t.test('a client links such nodes, at the ports that they have', async (t) => {
  const machine = gns3Node('vmware', { properties: { adapters: 2 } });
  const hub = gns3Node('ethernet_hub');
  const { lab } = await opened('linked', [machine, hub]);
  const linkAt = (adapter: number, hubPort: number): Promise<{ status: number; body: unknown }> => {
    const nodes = [
      { node_id: machine.node_id, adapter_number: adapter, port_number: 0 },
      { node_id: hub.node_id, adapter_number: 0, port_number: hubPort },
    ];
    return client.post(`${lab}/links`, { nodes });
  };
  t.match(await linkAt(1, 0), { status: 201, body: { link_type: 'ethernet' } });
  t.match(await linkAt(1, 1), { status: 409, body: { message: 'Port is already used' } });
  t.match(await linkAt(2, 1), { status: 404, body: { code: 'port_unknown' } });
  const [link] = (await client.get(`${lab}/links`)).body as Json[];
  const filters = { bpf: ['no such expression'] };
  t.match(await client.put(`${lab}/links/${String(link?.['link_id'])}`, { filters }), { status: 400 });
  await client.expect(204, 'POST', `${lab}/close`);
  await client.expect(201, 'POST', `${lab}/open`);
  const links = (await client.get(`${lab}/links`)).body as Json[];
  t.match(links, [{ nodes: [{ node_id: machine.node_id, adapter_number: 1 }, {}] }]);
});
