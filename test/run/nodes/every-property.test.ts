/**
 * Every property of a kind of program does something, or is refused with a reason: none is stored and ignored. Each is given
 * to a new node and to one that is there.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { docker } from '../../../src/lab/kinds/docker.js';
import { dynamips } from '../../../src/lab/kinds/dynamips.js';
import { iou } from '../../../src/lab/kinds/iou.js';
import type { ProgramKind } from '../../../src/lab/kinds/node-kind.js';
import { PROGRAM_KINDS } from '../../../src/lab/kinds/node-kinds.js';
import { qemu } from '../../../src/lab/kinds/qemu.js';
import { vpcs } from '../../../src/lab/kinds/vpcs.js';
import { idleCommands, routerCommands } from '../../../src/run/nodes/dynamips/router-commands.js';
import { buildIouImage, missingCompiler } from '../../support/iou-image.js';
import { NodeLab, programsOf, type Json } from '../../support/node-lab.js';
import { missingQemu, startQemuServer } from '../../support/qemu.js';
import { missingDynamips, routerImage } from '../../support/router-image.js';
import { missingVpcs } from '../../support/vpcs.js';

/** Properties that one node has together, and what each of them leaves in the trace of its program. */
interface Trial {
  readonly properties: Json;
  readonly traces: Readonly<Record<string, RegExp>>;
}

interface Table {
  /** The properties without which there is no such node. */
  readonly base: Json;
  readonly trials: readonly Trial[];
  /** Properties with which a start is refused, and why. */
  readonly refused: Readonly<Record<string, readonly [value: unknown, reason: RegExp]>>;
  /** Properties whose effect another test shows: a file in the folder of tests, and a part of it. */
  readonly elsewhere: Readonly<Record<string, readonly [file: string, part: string]>>;
  /** Properties that only people read, and those that the server computes whatever a client sends. */
  readonly shown: readonly string[];
}

const GUEST_TESTS = 'soak/run/qemu-guest.test.ts';
const QEMU: Table = {
  base: { ram: 32 },
  trials: [
    {
      properties: {
        ...{ ram: 48, cpus: 2, boot_priority: 'dc', adapters: 2, adapter_type: 'rtl8139', platform: 'i386' },
        ...{
          mac_address: '02:00:00:00:00:07',
          custom_adapters: [{ adapter_number: 1, adapter_type: 'e1000' }],
        },
        ...{ options: '-no-hpet', process_priority: 'very low', bios_image: 'bios', cdrom_image: 'd0' },
        ...{ hda_disk_image: 'd1', hdb_disk_image: 'd2', hdc_disk_image: 'd3', hdd_disk_image: 'd4' },
        ...{ hda_disk_interface: 'virtio', hdb_disk_interface: 'virtio', hdc_disk_interface: 'virtio' },
        ...{ hdd_disk_interface: 'virtio', linked_clone: false, kernel_image: 'k' },
        ...{ initrd: 'i', kernel_command_line: 'quiet' },
      },
      traces: {
        ...{ ram: / -m 48M /, cpus: / -smp cpus=2,/, boot_priority: / order=dc /, adapters: /netdev=gns3-1/ },
        ...{ adapter_type: /-device rtl8139,/, platform: /^qemu-system-i386 /, options: / -no-hpet / },
        ...{ mac_address: /mac=02:00:00:00:00:07,/, custom_adapters: /-device e1000,mac=02:00:00:00:00:08,/ },
        ...{
          process_priority: /niceness 19$/,
          bios_image: / -bios \S+\/bios /,
          cdrom_image: /QEMU\/d0,format/,
        },
        ...{ hda_disk_image: /QEMU\/d1,/, hdb_disk_image: /QEMU\/d2,/, hdc_disk_image: /QEMU\/d3,/ },
        ...{ hdd_disk_image: /QEMU\/d4,/, linked_clone: /QEMU\/d1,format=raw/ },
        ...{ hda_disk_interface: /if=virtio,index=0/, hdb_disk_interface: /if=virtio,index=1/ },
        ...{ hdc_disk_interface: /if=virtio,index=2/, hdd_disk_interface: /if=virtio,index=3/ },
        ...{
          kernel_image: / -kernel \S+\/k /,
          initrd: / -initrd \S+\/i /,
          kernel_command_line: / -append quiet /,
        },
      },
    },
    {
      properties: {
        ...{ uefi: true, tpm: true, create_config_disk: true, hda_disk_interface: 'ide' },
        ...{ legacy_networking: true, qemu_path: 'qemu-system-i386', cpu_throttling: 50 },
      },
      traces: {
        ...{ uefi: /if=pflash/, tpm: / -tpmdev /, create_config_disk: /config\.img/ },
        ...{ legacy_networking: / -net nic,/, qemu_path: /^qemu-system-i386 /, cpu_throttling: /3 programs/ },
      },
    },
  ],
  refused: {},
  elsewhere: {
    on_close: [GUEST_TESTS, "on_close: 'shutdown_signal'"],
    replicate_network_connection_state: [GUEST_TESTS, 'replicate_network_connection_state: false'],
  },
  shown: ['usage', ...Object.keys(qemu.properties.shape).filter((key) => key.endsWith('_md5sum'))],
};

const DYNAMIPS: Table = {
  base: { platform: 'c3600', image: 'echo.image', ram: 64 },
  trials: [
    {
      properties: {
        ...{ platform: 'c3600', image: 'echo.image', ram: 80, chassis: '3660', nvram: 256, iomem: 10 },
        ...{ disk0: 8, disk1: 16, exec_area: 32, clock_divisor: 2, mmap: false, sparsemem: false },
        ...{ idlepc: '0x1234', idlemax: 7, idlesleep: 9, mac_addr: 'cc00.1111.0000', system_id: 'SYSTEM' },
        ...{ dynamips_id: 9, slot0: 'Leopard-2FE', aux: 5999 },
        ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((slot) => [`slot${slot}`, 'NM-1E'])),
      },
      traces: {
        ...{ platform: /c3600/, image: /echo\.image/, ram: /set_ram,R1,80/, chassis: /set_chassis,R1,3660/ },
        ...{ nvram: /set_nvram,R1,256/, iomem: /set_iomem,R1,10/, disk0: /disk0,R1,8/, disk1: /disk1,R1,16/ },
        ...{ exec_area: /exec_area,R1,32/, clock_divisor: /divisor,R1,2/, mmap: /ram_mmap,R1,0/ },
        ...{ sparsemem: /sparse_mem,R1,0/, idlepc: /idle_pc,R1,0x1234/, idlemax: /idle_max,R1,0,7/ },
        ...{ idlesleep: /sleep_time,R1,0,9/, mac_addr: /mac_addr,R1,cc00\.1111/, system_id: /R1,SYSTEM/ },
        ...{ dynamips_id: /vm create,R1,9/, slot0: /slot0 Leopard-2FE/, aux: /aux_tcp_port,R1,5999/ },
        ...Object.fromEntries([1, 2, 3, 4, 5, 6].map((s) => [`slot${s}`, new RegExp(`R1,${s},0,NM-1E`)])),
      },
    },
    {
      properties: { platform: 'c2691', wic0: 'WIC-1T', wic1: 'WIC-1T', wic2: 'WIC-2T' },
      traces: { wic0: /0,16,WIC-1T/, wic1: /0,32,WIC-1T/, wic2: /0,48,WIC-2T/ },
    },
    {
      properties: {
        ...{ platform: 'c7200', npe: 'npe-200', midplane: 'std' },
        ...{ sensors: [1, 2, 3, 4], power_supplies: [0, 1] },
      },
      traces: {
        ...{ npe: /set_npe,R1,npe-200/, midplane: /set_midplane,R1,std/ },
        ...{ sensors: /set_temp_sensor,R1,3,4/, power_supplies: /set_power_supply,R1,0,0/ },
      },
    },
  ],
  refused: {},
  elsewhere: { auto_delete_disks: ['soak/run/nodes/dynamips.test.ts', 'auto_delete_disks: true'] },
  shown: ['usage', 'image_md5sum'],
};

const IOU: Table = {
  base: { path: 'double.bin' },
  trials: [
    {
      properties: {
        ...{ path: 'other.bin', ethernet_adapters: 3, serial_adapters: 1, ram: 300, nvram: 64 },
        ...{ application_id: 477 },
      },
      traces: {
        ...{ path: /^\.\/other\.bin/, ethernet_adapters: / -e 3 /, serial_adapters: / -s 1 / },
        ...{ ram: / -m 300 /, nvram: / -n 64 /, application_id: / 477$/ },
      },
    },
    {
      properties: { use_default_iou_values: true, application_id: 478 },
      traces: { use_default_iou_values: /^\.\/\S+ \d+$/ },
    },
  ],
  refused: { l1_keepalives: [true, /l1_keepalives/] },
  elsewhere: {},
  shown: ['usage', 'md5sum'],
};

const DOCKER_TESTS = 'soak/run/nodes/docker.test.ts';
const SETTINGS_TESTS = 'run/nodes/container-settings.test.ts';
const CONSOLE_TESTS = 'soak/run/nodes/docker-consoles.test.ts';
const DOCKER: Table = {
  base: {},
  trials: [],
  refused: {},
  elsewhere: {
    ...{ adapters: [DOCKER_TESTS, 'adapters: 2'], image: [DOCKER_TESTS, 'image: IMAGE'] },
    ...{ environment: [SETTINGS_TESTS, 'environment'], extra_hosts: [SETTINGS_TESTS, 'extra_hosts:'] },
    ...{ extra_volumes: [SETTINGS_TESTS, 'extra_volumes'], start_command: [SETTINGS_TESTS, 'start_command'] },
    ...{ mac_address: ['lab/kinds/docker.test.ts', 'mac_address'] },
    ...{ custom_adapters: ['lab/kinds/docker.test.ts', 'custom'], aux: [CONSOLE_TESTS, '{ aux }'] },
    console_http_port: [CONSOLE_TESTS, 'console_http_port: 8080'],
    console_resolution: [CONSOLE_TESTS, "console_resolution: '800x600'"],
  },
  // Clients have the path in the address that they open.
  shown: ['usage', 'container_id', 'console_http_path'],
};

const NOTHING: Table = { base: {}, trials: [], refused: {}, elsewhere: {}, shown: [] };
const TABLES = new Map<ProgramKind, Table>([
  [qemu, QEMU],
  [dynamips, DYNAMIPS],
  [iou, IOU],
  [docker, DOCKER],
  [vpcs, NOTHING],
]);

/** The beginning of a Linux kernel of the boot protocol 2.4, which is all that QEMU looks at. */
function linuxHead(): Buffer {
  const bytes = Buffer.alloc(65_536);
  bytes[0x1f1] = 4;
  bytes.write('HdrS', 0x202);
  bytes.writeUInt16LE(0x0204, 0x206);
  bytes[0x211] = 1;
  bytes.writeUInt32LE(0x37ffffff, 0x22c);
  return bytes;
}

const server = await startQemuServer(t);
const images = (folder: string): string => join(server.data, 'images', folder);
for (const folder of ['QEMU', 'IOS', 'IOU']) mkdirSync(images(folder), { recursive: true });
for (const name of ['d0', 'd1', 'd2', 'd3', 'd4', 'i'])
  writeFileSync(join(images('QEMU'), name), Buffer.alloc(65_536));
writeFileSync(join(images('QEMU'), 'k'), linuxHead());
writeFileSync(join(images('QEMU'), 'bios'), Buffer.alloc(65_536, 0xf4));
writeFileSync(join(images('IOS'), 'echo.image'), routerImage('router is up\r\n'));
const hasCompiler = missingCompiler() === false;
if (hasCompiler) for (const name of ['double', 'other']) buildIouImage(t, join(images('IOU'), `${name}.bin`));
const ABLE = new Map<ProgramKind, string | false>([
  [qemu, missingQemu()],
  [dynamips, missingDynamips()],
  [iou, missingCompiler()],
  [vpcs, missingVpcs()],
]);

/** The niceness of each program of a node, by its number. */
function nicenessOf(node: Json): string[] {
  return programsOf(node).map((pid) => {
    const [, text = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
    return text.split(' ')[16] ?? '';
  });
}

/** The command line of the program of a node, and what the host tells of it. */
async function traceOf(lab: NodeLab, kind: ProgramKind, node: Json): Promise<string> {
  if (kind === dynamips) return routerTrace((await lab.show(node))['properties'] as Json);
  const { command_line: line } = await lab.act(node, 'start');
  const niceness = nicenessOf(node);
  await lab.act(node, 'stop');
  return `${String(line)}${kind === qemu ? ` ${niceness.length} programs, niceness ${String(niceness.at(-1))}` : ''}`;
}

/** The commands that Dynamips gets, whose effects the tests of routers show. */
function routerTrace(properties: Json): string {
  const [image, auxPort] = [String(properties['image']), Number(properties['aux'] ?? 1)];
  const number = Number(properties['dynamips_id']);
  const plan = { name: 'R1', number, properties, image, consolePort: 1, auxPort, configs: [] };
  const commands = [...routerCommands(plan), ...idleCommands('R1', properties)].map((words) => words.join());
  return `slot0 ${String(properties['slot0'])}\n${commands.join('\n')}`;
}

void t.test('each property of each kind of program is in the table', (t) => {
  t.same(PROGRAM_KINDS.map(({ type }) => type).sort(), [...TABLES.keys()].map(({ type }) => type).sort());
  for (const [kind, { trials, refused, elsewhere, shown }] of TABLES) {
    const traced = trials.flatMap(({ traces }) => Object.keys(traces));
    const named = new Set([...traced, ...Object.keys(refused), ...Object.keys(elsewhere), ...shown]);
    t.same([...named].sort(), Object.keys(kind.properties.shape).sort(), kind.type);
    for (const [property, [file, part]] of Object.entries(elsewhere))
      t.match(readFileSync(join('test', file), 'utf8'), part, `${kind.type}: ${property} is in ${file}`);
  }
  t.end();
});

void t.test('programs of all kinds give way to the server', async (t) => {
  const lab = await NodeLab.make(t, server);
  await lab.client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: '[license]' });
  for (const [kind, { base }] of TABLES) {
    if (ABLE.get(kind) !== false) continue;
    const node = await lab.node(kind.type, 'N1', base);
    await lab.act(node, 'start');
    t.same(nicenessOf(node), ['5'], kind.type);
    await lab.client.expect(204, 'DELETE', lab.at(node));
  }
});

for (const [kind, { base, trials, refused }] of TABLES) {
  const skip = ABLE.get(kind) ?? false;
  const make = (lab: NodeLab, properties: Json): Promise<Json> =>
    lab.node(kind.type, 'R1', { ...base, ...properties });
  const license = (t: Test): Promise<unknown> =>
    new NodeLab(server, t.name).client.expect(201, 'PUT', '/v2/iou_license', { iourc_content: '[license]' });

  if (trials.length > 0)
    void t.test(
      `properties of ${kind.type} act in new nodes and in those that are there`,
      { skip },
      async (t) => {
        await license(t);
        const lab = await NodeLab.make(t, server);
        for (const { properties, traces } of trials) {
          const made = await make(lab, properties);
          const trace = await traceOf(lab, kind, made);
          for (const [property, pattern] of Object.entries(traces))
            t.match(trace, pattern, `${property} of a new node`);
          await lab.client.expect(204, 'DELETE', lab.at(made));
          const { platform } = properties;
          const changed = await make(lab, kind === dynamips ? { platform } : {});
          const { dynamips_id: _, ...changes } = properties;
          await lab.change(changed, { properties: kind === dynamips ? changes : properties });
          const after = await traceOf(lab, kind, changed);
          for (const [property, pattern] of Object.entries(traces))
            if (property !== 'dynamips_id') t.match(after, pattern, `${property} of a node that was there`);
          await lab.client.expect(204, 'DELETE', lab.at(changed));
        }
      },
    );

  if (Object.keys(refused).length > 0)
    void t.test(
      `properties of ${kind.type} that do nothing are refused at the start`,
      { skip },
      async (t) => {
        await license(t);
        const lab = await NodeLab.make(t, server);
        for (const [property, [value, reason]] of Object.entries(refused)) {
          const node = await make(lab, {});
          await lab.change(node, { properties: { [property]: value } });
          const answer = await lab.client.post(`${lab.at(node)}/start`);
          t.match(answer, { status: 409, body: { message: reason } }, property);
          await lab.client.expect(204, 'DELETE', lab.at(node));
        }
      },
    );
}
