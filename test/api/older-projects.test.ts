/** Projects of GNS3 1.0 to 2.1: opened in their folders, and imported, over HTTP. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Client } from '../support/client.js';
import { gns3Problems } from '../support/gns3-schema.js';
import type { Json } from '../support/gns3-project.js';
import {
  firstLab,
  firstLink,
  firstNode,
  placeOlder,
  secondLab,
  secondLink,
  secondNode,
  type OlderLab,
} from '../support/older-projects.js';
import { importPath } from '../support/project-archive-lab.js';
import { scratchFolder } from '../support/scratch.js';
import { startServer } from '../support/server-process.js';
import { plainArchive } from '../support/zip-archives.js';

const data = scratchFolder(t);
const projects = join(data, 'projects');
mkdirSync(projects);
const server = await startServer(t, { data });
const client = new Client(server.url);
const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000000700000003', 'hex');
const INTERNET = '8ebc5a6ec53a1c05b7aa101b5ceefe31';

interface Opened {
  readonly nodes: readonly Json[];
  readonly links: readonly Json[];
  readonly drawings: readonly Json[];
}

async function contentOf(id: string): Promise<Opened> {
  await client.expect(201, 'POST', `/v2/projects/${id}/open`);
  const list = async (what: string): Promise<Json[]> =>
    (await client.get(`/v2/projects/${id}/${what}`)).body as Json[];
  return { nodes: await list('nodes'), links: await list('links'), drawings: await list('drawings') };
}

function named(nodes: readonly Json[], name: string): Json {
  return nodes.find((node) => node['name'] === name) ?? {};
}

/** The ends of each link as `name adapter/port`. */
function endsOf({ nodes, links }: Opened): string[] {
  return links.map((link) =>
    (link['nodes'] as Json[])
      .map((end) => {
        const node = nodes.find(({ node_id: id }) => id === end['node_id']);
        return `${String(node?.['name'])} ${String(end['adapter_number'])}/${String(end['port_number'])}`;
      })
      .join(' - '),
  );
}

/** Opens it in its folder and imports it: `check` looks at both. */
async function inBothWays(
  t: Test,
  name: string,
  lab: OlderLab,
  files: Readonly<Record<string, string | Uint8Array>>,
  check: (t: Test, content: Opened, folder: string, kept: boolean) => void,
): Promise<void> {
  const { revision = 0 } = JSON.parse(lab.text) as { revision?: number };
  await t.test('opened in its folder', async (t) => {
    const { folder, path } = placeOlder(projects, name, lab, files);
    await client.expect(200, 'POST', '/v2/reload');
    t.equal(readFileSync(`${path}.backup${revision}`, 'utf8'), lab.text, 'the original is kept beside');
    t.match(JSON.parse(readFileSync(path, 'utf8')), { revision: 9, project_id: lab.id });
    const content = await contentOf(lab.id);
    check(t, content, folder, true);
    for (const link of content.links)
      t.ok(portsOf(content, link), 'each end of a link is a port of its node');
    await client.expect(201, 'POST', `/v2/projects/${lab.id}/drawings`, {});
    await client.expect(204, 'POST', `/v2/projects/${lab.id}/close`);
    const ids = [
      ...content.nodes.map((node) => node['node_id']),
      ...content.links.map((link) => link['link_id']),
      ...content.drawings.map((drawing) => drawing['drawing_id']),
    ];
    const problems = gns3Problems(readFileSync(path, 'utf8'), new Set(ids.map(String)));
    t.same(problems, [], 'and it is a file of GNS3 2.2 from then on');
    t.same(
      readdirSync(folder)
        .filter((each) => each.includes('.gns3'))
        .sort(),
      [`${name}.gns3`, `${name}.gns3.backup${revision}`],
    );
  });
  await t.test('imported', async (t) => {
    const id = randomUUID();
    const archive = plainArchive({ 'project.gns3': lab.text, ...files });
    const imported = await client.request('POST', importPath(id), archive);
    t.equal(imported.status, 201, JSON.stringify(imported.body));
    check(t, await contentOf(id), String((imported.body as Json)['path']), false);
    await client.expect(204, 'DELETE', `/v2/projects/${id}`);
  });
}

function portsOf({ nodes }: Opened, link: Json): boolean {
  return (link['nodes'] as Json[]).every((end) => {
    const node = nodes.find(({ node_id: id }) => id === end['node_id']);
    return (node?.['ports'] as Json[]).some(
      (port) =>
        port['adapter_number'] === end['adapter_number'] && port['port_number'] === end['port_number'],
    );
  });
}

for (const revision of [1, 2, 3, 4]) {
  void t.test(`a lab of revision ${revision}, of GNS3 1`, async (t) => {
    const pc = firstNode('VPCSDevice', 'PC1', {
      properties: { console: 4501, startup_script_path: 'startup.vpc' },
      symbol: ':/symbols/vpcs_guest.svg',
    });
    const sw = firstNode('EthernetSwitch', 'SW1', { vm_id: undefined, device_id: randomUUID() }, [
      { port_number: 1, type: 'access', vlan: 1 },
      { port_number: 2, type: 'dot1q', vlan: 7 },
      { port_number: 3, type: 'qinq', vlan: 9 },
    ]);
    const hub = firstNode('EthernetHub', 'HUB1', {}, [{ port_number: 1 }, { port_number: 2 }]);
    const router = firstNode(
      'C3745',
      'R1',
      {
        dynamips_id: 3,
        default_symbol: ':/symbols/router.normal.svg',
        hover_symbol: ':/symbols/router.selected.svg',
        properties: {
          image: 'c3745.image',
          ram: 256,
          slot0: 'GT96100-FE',
          startup_config: 'configs/i3_startup-config.cfg',
        },
      },
      [{ name: 'FastEthernet0/0' }, { name: 'FastEthernet0/1' }],
    );
    const lab = firstLab(revision, {
      nodes: [pc, sw, hub, router],
      links: [
        firstLink([pc, 0], [sw, 1]),
        firstLink([sw, 2], [hub, 1]),
        firstLink([router, 1], [hub, 0]),
        { ...firstLink([pc, 0], [sw, 0]), source_port_id: 999_999 },
      ],
    });
    const files = {
      [`project-files/vpcs/${String(pc['vm_id'])}/startup.vpc`]: 'ip 10.0.0.1/24\n',
      'project-files/dynamips/c3745_i3_nvram': 'nvram',
      'project-files/dynamips/c3745_i4_nvram': 'of nobody',
      'project-files/dynamips/configs/i3_startup-config.cfg': 'hostname R1\n',
      'instructions.txt': 'read me',
    };
    await inBothWays(t, `first-${revision}`, lab, files, (t, content, folder, kept) => {
      const { nodes } = content;
      t.same(
        nodes.map(({ name, node_type: type, x, y }) => [name, type, x, y]),
        [
          ['PC1', 'vpcs', -12, 7],
          ['SW1', 'ethernet_switch', -12, 7],
          ['HUB1', 'ethernet_hub', -12, 7],
          ['R1', 'dynamips', -12, 7],
        ],
      );
      t.same(endsOf(content), ['PC1 0/0 - SW1 0/1', 'SW1 0/2 - HUB1 0/1', 'R1 0/1 - HUB1 0/0'], 'links');
      t.match(named(nodes, 'PC1'), {
        console_type: 'telnet',
        properties: {},
        symbol: ':/symbols/vpcs_guest.svg',
        label: {
          rotation: 0,
          style: 'font-family: TypeWriter;font-size: 10;font-weight: bold;fill: #000000;fill-opacity: 1.0;',
          text: 'PC1',
          x: 6,
          y: -25,
        },
      });
      t.match(named(nodes, 'SW1')['properties'], {
        ports_mapping: [
          { name: 'Ethernet0', port_number: 0, type: 'access', vlan: 1 },
          { name: 'Ethernet1', port_number: 1, type: 'dot1q', vlan: 7 },
          { name: 'Ethernet2', port_number: 2, type: 'qinq', vlan: 9 },
        ],
      });
      const { properties, symbol, node_id: routerId } = named(nodes, 'R1');
      t.match(properties, { platform: 'c3745', ram: 256, dynamips_id: 3, slot0: 'GT96100-FE' });
      t.notOk(Object.hasOwn(properties as Json, 'startup_config'), 'configurations are files only');
      t.equal(symbol, ':/symbols/router.svg');
      const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
      const own = `project-files/dynamips/${String(routerId)}`;
      t.equal(read(`${own}/c3745_i3_nvram`), 'nvram');
      t.equal(read(`${own}/configs/i3_startup-config.cfg`), 'hostname R1\n');
      t.equal(read('project-files/dynamips/c3745_i4_nvram'), 'of nobody');
      t.equal(read('README.txt'), 'read me');
      t.equal(
        read(`project-files/vpcs/${String(named(nodes, 'PC1')['node_id'])}/startup.vpc`),
        'ip 10.0.0.1/24\n',
      );
      if (kept) t.equal(named(nodes, 'PC1')['node_id'], pc['vm_id'], 'ids stay');
    });
  });
}

void t.test('a lab of all other kinds of GNS3 1', async (t) => {
  const iou = firstNode('IOUDevice', 'IOU1', { properties: { path: 'l2-iou.bin', ethernet_adapters: 2 } }, [
    { adapter_number: 1, port_number: 3 },
  ]);
  const qemu = firstNode('QemuVM', 'Q1', {
    linked_clone: true,
    port_name_format: 'Gi{0}',
    properties: { adapters: 1, ram: 64, acpi_shutdown: true, hda_disk_image: 'a.img' },
  });
  const internet = firstNode('QemuVM', 'Internet', { properties: { hda_disk_image_md5sum: INTERNET } });
  const docker = firstNode('DockerVM', 'D1', { properties: { image: 'busybox:latest', adapters: 1 } });
  const cloud = firstNode('Cloud', 'Cloud 1', { vm_id: undefined, properties: { nios: ['nio_tap:tap0'] } }, [
    { name: 'nio_vde:/tmp/c:/tmp/l' },
    { name: 'nio_tap:tap0' },
    { name: 'nio_gen_eth:eth0' },
    { name: 'nio_udp:30000:127.0.0.1:20000' },
    { name: 'nio_nat:42' },
  ]);
  const host = firstNode('Host', 'Host 1', { vm_id: undefined }, [{ name: 'nio_gen_linux:eth1' }]);
  const nat = firstNode('Cloud', 'Way out', { vm_id: undefined }, [{ name: 'nio_nat:1' }]);
  const atm = firstNode('ATMSwitch', 'ATM1', { properties: { mappings: { '1:0:100': '10:0:200' } } }, [
    { port_number: 1 },
    { port_number: 10 },
  ]);
  const frames = firstNode('FrameRelaySwitch', 'FR1', { properties: { mappings: { '1:101': '10:202' } } }, [
    { port_number: 1 },
  ]);
  const switching = firstNode('EtherSwitchRouter', 'ESW1', { dynamips_id: 1 });
  const c3620 = firstNode('C3620', 'R3620', { dynamips_id: 2 });
  const typeless = firstNode(undefined, 'R7200', {
    dynamips_id: 4,
    properties: { platform: 'c7200', ram: 512 },
  });
  const vmware = firstNode('VMwareVM', 'VM', {
    properties: { adapters: 1, enable_remote_console: true, use_ubridge: true },
  });
  const virtualbox = firstNode('VirtualBoxVM', 'VB', { linked_clone: true, properties: { adapters: 1 } });
  const lab = firstLab(4, {
    nodes: [
      iou,
      qemu,
      internet,
      docker,
      cloud,
      host,
      nat,
      atm,
      frames,
      switching,
      c3620,
      typeless,
      vmware,
      virtualbox,
    ],
    links: [
      firstLink([iou, 0], [cloud, 3]),
      firstLink([qemu, 0], [nat, 0]),
      firstLink([docker, 0], [cloud, 0]),
      firstLink([host, 0], [cloud, 1]),
      firstLink([vmware, 0], [internet, 0]),
    ],
  });
  await inBothWays(t, 'first-kinds', lab, {}, (t, content) => {
    const { nodes } = content;
    t.same(
      nodes.map(({ node_type: type }) => type),
      [
        'iou',
        'qemu',
        'nat',
        'docker',
        'cloud',
        'cloud',
        'nat',
        'atm_switch',
        'frame_relay_switch',
        'dynamips',
        'dynamips',
        'dynamips',
        'vmware',
        'virtualbox',
      ],
    );
    t.same(
      endsOf(content),
      ['IOU1 1/3 - Cloud 1 0/2', 'Q1 0/0 - Way out 0/0', 'Host 1 0/0 - Cloud 1 0/0', 'VM 0/0 - Internet 0/0'],
      'links, but to what clouds no longer have',
    );
    t.match(named(nodes, 'IOU1'), {
      symbol: ':/symbols/multilayer_switch.svg',
      port_name_format: 'Ethernet{segment0}/{port0}',
      port_segment_size: 4,
    });
    t.match(named(nodes, 'Q1'), {
      port_name_format: 'Gi{0}',
      properties: { on_close: 'shutdown_signal', linked_clone: true, ram: 64 },
    });
    t.match(named(nodes, 'Cloud 1')['properties'], {
      ports_mapping: [
        { type: 'tap', interface: 'tap0', name: 'tap0', port_number: 0 },
        { type: 'ethernet', interface: 'eth0', name: 'eth0', port_number: 1 },
        { type: 'udp', lport: 30000, rhost: '127.0.0.1', rport: 20000, name: 'UDP tunnel 1', port_number: 2 },
      ],
    });
    t.match(named(nodes, 'ATM1')['properties'], { mappings: { '1:0:100': '10:0:200' } });
    t.match(named(nodes, 'FR1')['properties'], { mappings: { '1:101': '10:202' } });
    t.match(named(nodes, 'ESW1'), {
      symbol: ':/symbols/multilayer_switch.svg',
      properties: { platform: 'c3725', ram: 128 },
    });
    t.match(named(nodes, 'R3620')['properties'], { platform: 'c3600', chassis: '3620', ram: 192 });
    t.match(named(nodes, 'R7200')['properties'], { platform: 'c7200', ram: 512 });
    t.same(named(nodes, 'VM')['properties'], { linked_clone: false, adapters: 1 });
    t.match(named(nodes, 'VB')['properties'], { linked_clone: true });
  });
});

void t.test('drawings of GNS3 1, of a project that had no id yet', async (t) => {
  const lab = firstLab(
    4,
    {
      ellipses: [{ x: 179.5, y: -44, width: 200, height: 100, border_style: 2 }],
      notes: [
        {
          x: 1,
          y: 2,
          z: 3,
          rotation: 725,
          text: 'a <b> & "c"',
          color: '#80ff0000',
          font: 'Arial,12,-1,5,50,1,0,0,0,0',
        },
      ],
      rectangles: [
        { x: 0, y: 0, width: 10, height: 20, color: '#18ffff', border_color: '#c8"0000', border_style: 1 },
      ],
      images: [
        { path: 'images/logo.png', x: -64, y: -64 },
        { path: '/etc/hostname', x: 0, y: 0 },
      ],
    },
    { project_id: null },
  );
  const { path } = placeOlder(projects, 'first-drawn', lab, { 'images/logo.png': PNG });
  await client.expect(200, 'POST', '/v2/reload');
  const { project_id: id } = JSON.parse(readFileSync(path, 'utf8')) as { project_id: string };
  const { drawings } = await contentOf(id);
  t.same(
    drawings.map(({ x, y, z, rotation }) => [x, y, z, rotation]),
    [
      [179, -44, 0, 0],
      [1, 2, 3, 5],
      [-64, -64, 0, 0],
      [0, 0, 0, 0],
      [0, 0, 0, 0],
    ],
  );
  const [ellipse, note, image, outside, rectangle] = drawings.map(({ svg }) => String(svg));
  t.match(
    ellipse,
    '<ellipse cx="100" cy="50" fill="#ffffff" fill-opacity="1.0" rx="100" ry="50" stroke-dasharray="25, 25" stroke="#000000"',
  );
  t.match(
    note,
    'fill="#ff0000" fill-opacity="0.5" font-family="Arial" font-size="12" font-weight="normal" font-style="italic">a &lt;b&gt; &amp; &quot;c&quot;</text>',
  );
  t.match(image, 'height="3" width="7"');
  t.equal(outside, '<svg></svg>', 'a picture from elsewhere on this machine is not read');
  t.match(rectangle, '<rect fill="#18ffff"');
  t.notMatch(rectangle, 'stroke');
  const imported = await client.request(
    'POST',
    importPath(randomUUID()),
    plainArchive({ 'project.gns3': lab.text }),
  );
  t.equal(imported.status, 201, 'it is imported as well');
});

void t.test('an empty lab of GNS3 1.0', async (t) => {
  const lab = firstLab(1, {}, { project_id: undefined });
  const { path } = placeOlder(projects, 'first-empty', lab);
  await client.expect(200, 'POST', '/v2/reload');
  const { project_id: id } = JSON.parse(readFileSync(path, 'utf8')) as { project_id: string };
  t.same(await contentOf(id), { nodes: [], links: [], drawings: [] });
  t.ok(existsSync(`${path}.backup0`));
});

void t.test(
  'servers of GNS3 1: nodes of other machines stay theirs in place, and come here in an import',
  async (t) => {
    const servers = [
      { id: 1, local: true },
      { id: 2, local: false, vm: true, host: '172.16.16.150' },
      { id: 3, local: false, vm: false, host: 'far', port: 3081 },
    ];
    const nodes = [1, 2, 3, 4].map((server_id) => firstNode('EthernetHub', `H${server_id}`, { server_id }));
    const lab = firstLab(4, { servers, nodes });
    placeOlder(projects, 'first-far', lab);
    await client.expect(200, 'POST', '/v2/reload');
    const computes = (await contentOf(lab.id)).nodes.map(({ compute_id: id }) => String(id));
    t.same([computes[0], computes[1], computes[3]], ['local', 'vm', 'local']);
    t.match(computes[2], /^[0-9a-f-]{36}$/);
    const id = randomUUID();
    await client.request('POST', importPath(id), plainArchive({ 'project.gns3': lab.text }));
    t.same(
      (await contentOf(id)).nodes.map(({ compute_id: compute }) => compute),
      ['local', 'local', 'local', 'local'],
    );
  },
);

for (const revision of [5, 6, 7, 8]) {
  void t.test(`a lab of revision ${revision}, of GNS3 2`, async (t) => {
    const before = <Value>(limit: number, value: Value): Value | object => (revision < limit ? value : {});
    const pc = secondNode('vpcs', 'PC1', {
      ...before(8, { startup_script: 'x', startup_script_path: 'startup.vpc' }),
    });
    const router = secondNode('dynamips', 'R1', {
      dynamips_id: 7,
      platform: 'c7200',
      ram: 512,
      image: 'c7200.image',
      ...before(8, {
        startup_config: 'configs/i7_startup-config.cfg',
        startup_config_content: '!',
        private_config: '',
        private_config_content: '',
      }),
    });
    const iou = secondNode('iou', 'IOU1', { path: 'a.bin', ...before(8, { startup_config_content: '!' }) });
    const qemu = secondNode(
      'qemu',
      'Q1',
      { adapters: 1, ram: 64, acpi_shutdown: false },
      { appliance_id: randomUUID() },
    );
    const saved = secondNode('qemu', 'Q2', {
      adapters: 1,
      ram: 64,
      acpi_shutdown: true,
      save_vm_state: true,
    });
    const sw = secondNode(
      'ethernet_switch',
      'SW1',
      {
        ports_mapping: [0, 1].map((port) => ({
          name: `Ethernet${port}`,
          port_number: port,
          type: 'access',
          vlan: 1,
        })),
      },
      { console_type: null },
    );
    const vmware = secondNode(
      'vmware',
      'VM',
      { adapters: 1, acpi_shutdown: true, ...before(6, { enable_remote_console: false }) },
      before(6, { console_type: 'serial' }) as Json,
    );
    const lab = secondLab(
      revision,
      {
        nodes: [pc, router, iou, qemu, saved, sw, vmware],
        links: [secondLink([pc, 0], [sw, 1])],
        drawings: [{ drawing_id: randomUUID(), x: 1, y: 2, z: 1, rotation: 0, svg: 'a.png' }],
      },
      revision === 8 ? { grid_size: 50 } : {},
    );
    const inRouter =
      revision < 7 ? 'project-files/dynamips' : `project-files/dynamips/${String(router['node_id'])}`;
    const files = {
      'project-files/images/a.png': PNG,
      [`${inRouter}/c7200_i7_nvram`]: 'nvram',
      [`${inRouter}/configs/i7_startup-config.cfg`]: 'hostname R1\n',
    };
    await inBothWays(t, `second-${revision}`, lab, files, (t, content, folder) => {
      const { nodes, drawings } = content;
      t.same(endsOf(content), ['PC1 0/0 - SW1 0/1']);
      t.same(named(nodes, 'PC1')['properties'], {});
      t.match(named(nodes, 'IOU1')['properties'], { path: 'a.bin', startup_config_content: undefined });
      t.match(named(nodes, 'Q1'), {
        properties: { on_close: 'power_off' },
        template_id: qemu['appliance_id'],
      });
      t.match(named(nodes, 'Q2')['properties'], { on_close: 'save_vm_state' });
      for (const name of ['Q1', 'Q2', 'VM'])
        t.notOk(Object.hasOwn(named(nodes, name)['properties'] as Json, 'acpi_shutdown'), name);
      t.match(named(nodes, 'SW1'), { console_type: 'none' });
      t.match(named(nodes, 'VM'), { console_type: 'telnet', properties: { on_close: 'shutdown_signal' } });
      const { node_id: id, properties } = named(nodes, 'R1');
      t.match(properties, { dynamips_id: 7, platform: 'c7200', ram: 512, image: 'c7200.image' });
      for (const key of Object.keys(properties as Json)) t.notMatch(key, 'config');
      const own = join(folder, 'project-files/dynamips', String(id));
      t.equal(readFileSync(join(own, 'configs/i7_startup-config.cfg'), 'utf8'), 'hostname R1\n');
      t.equal(readFileSync(join(own, 'c7200_i7_nvram'), 'utf8'), 'nvram');
      t.match(drawings[0]?.['svg'], 'data:image/png;base64,');
    });
  });
}

void t.test('damaged ones are refused with a sentence, and left as they are', async (t) => {
  const node = firstNode('VPCSDevice', 'PC1');
  const damages: readonly (readonly [string, OlderLab, RegExp])[] = [
    [
      'type',
      firstLab(4, { nodes: [{ ...node, type: 'Toaster' }] }),
      /a node is of type 'toaster', which is not known/,
    ],
    ['twice', firstLab(4, { nodes: [node, node] }), /the id \S+ occurs twice/],
    ['place', firstLab(3, { nodes: [{ ...node, x: 'left' }] }), /topology\.nodes\.0\.x/],
    ['list', firstLab(2, { notes: {} }), /topology\.notes/],
    ['many', firstLab(4, { notes: Array.from({ length: 20_001 }, () => 0) }), /A project can hold 20000/],
    ['nodes', secondLab(5, { nodes: [{ name: 'x' }] }), /topology\.nodes\.0\.node_type/],
    [
      'id',
      secondLab(7, { nodes: [secondNode('vpcs', 'PC1', {}, { node_id: '../../x' })] }),
      /topology\.nodes\.0\.node_id: must be a UUID/,
    ],
  ];
  for (const [name, lab] of damages) placeOlder(projects, `bad-${name}`, lab);
  await client.expect(200, 'POST', '/v2/reload');
  for (const [name, lab, sentence] of damages) {
    const opened = await client.post(`/v2/projects/${lab.id}/open`);
    t.equal(opened.status, 409, name);
    t.match((opened.body as Json)['message'], sentence);
    const folder = join(projects, `bad-${name}`);
    t.same(readdirSync(folder), [`bad-${name}.gns3`]);
    t.equal(readFileSync(join(folder, `bad-${name}.gns3`), 'utf8'), lab.text);
    const imported = await client.request(
      'POST',
      importPath(randomUUID()),
      plainArchive({ 'project.gns3': lab.text }),
    );
    t.equal(imported.status, 409);
    t.match((imported.body as Json)['message'], sentence);
  }
});

void t.test('nothing is moved over what is there, nor through a planted link', async (t) => {
  const outside = scratchFolder(t);
  const router = secondNode('dynamips', 'R1', { dynamips_id: 1, platform: 'c7200', ram: 512 });
  const linked = secondNode('dynamips', 'R2', { dynamips_id: 2, platform: 'c7200', ram: 512 });
  const lab = secondLab(6, { nodes: [router, linked] });
  const own = `project-files/dynamips/${String(router['node_id'])}/configs/i1_startup-config.cfg`;
  const { folder, path } = placeOlder(projects, 'moved', lab, {
    'project-files/dynamips/configs/i1_startup-config.cfg': 'older',
    'project-files/dynamips/c7200_i2_nvram': 'nvram',
    [own]: 'newer',
  });
  symlinkSync(outside, join(folder, 'project-files/dynamips', String(linked['node_id'])));
  await client.expect(200, 'POST', '/v2/reload');
  const refused = await client.post(`/v2/projects/${lab.id}/open`);
  t.equal(refused.status, 409);
  t.match((refused.body as Json)['message'], /is of an earlier revision and could not be converted/);
  t.same(readdirSync(outside), []);
  t.equal(readFileSync(join(folder, own), 'utf8'), 'newer');
  t.equal(readFileSync(path, 'utf8'), lab.text);
});

void t.test('an original of the same name is kept, too', async (t) => {
  const lab = secondLab(8, {});
  const { folder, path } = placeOlder(projects, 'again', lab);
  writeFileSync(`${path}.backup8`, 'another');
  await client.expect(200, 'POST', '/v2/reload');
  t.equal(readFileSync(`${path}.backup8`, 'utf8'), 'another');
  t.equal(readFileSync(`${path}.backup8-2`, 'utf8'), lab.text);
  t.equal(readdirSync(folder).length, 4, 'and its temporary folder');
});
