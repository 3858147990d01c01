/** The calls in which a client makes nodes of a kind from a template, configures, links, runs, keeps and deletes them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FlowCall } from './client-flow.js';
import { OUTLETS, type ComputeKind } from './compute-kinds.js';
import { IMAGE } from './docker-engine.js';
import type { Json } from './node-lab.js';
import type { Teardown } from './scratch.js';

interface KindFlow {
  readonly kind: ComputeKind;
  /** The name of its built-in template; a kind without one has the settings of a new template. */
  readonly template: string | Json;
  /** Other properties for a node that does not run. */
  readonly change: Json;
}

const FOLDERS = { qemu: 'QEMU', iou: 'IOU', dynamips: 'IOS' } as const;
const ports = (more: object): object[] =>
  Array.from({ length: 5 }, (_, index) => ({ name: `Ethernet${index}`, port_number: index, ...more }));

/** The templates and the changes of each kind. */
const FLOWS: Readonly<Record<string, Omit<KindFlow, 'kind'>>> = {
  ethernet_hub: { template: 'Ethernet hub', change: { ports_mapping: ports({}) } },
  ethernet_switch: {
    template: { ports_mapping: ports({ type: 'access', vlan: 1 }), console_type: 'none' },
    change: { ports_mapping: ports({ type: 'dot1q', vlan: 7 }) },
  },
  frame_relay_switch: { template: 'Frame Relay switch', change: { mappings: { '1:101': '2:202' } } },
  atm_switch: { template: 'ATM switch', change: { mappings: { '1:0:100': '2:0:200' } } },
  cloud: {
    template: {},
    change: {
      ports_mapping: [
        { type: 'udp', name: 'far', port_number: 0, lport: 7001, rhost: '127.0.0.1', rport: 7002 },
      ],
    },
  },
  nat: { template: 'NAT', change: {} },
  vpcs: { template: 'VPCS', change: {} },
  iou: { template: { path: 'stock.bin' }, change: { ethernet_adapters: 1, ram: 300 } },
  qemu: { template: { hda_disk_image: 'stock.img', ram: 32 }, change: { adapters: 2, ram: 48 } },
  docker: { template: { image: IMAGE }, change: { adapters: 2 } },
  dynamips: {
    template: {
      ...{ platform: 'c3600', chassis: '3640', image: 'stock.image', ram: 64 },
      ...{ slot0: 'NM-1E', idlepc: '0x8000802c' },
    },
    change: { slot1: 'NM-4T', idlemax: 400 },
  },
};

const PROJECT = '/v2/projects/{project}';
const NODE = `${PROJECT}/nodes/{node}`;
const LINK = `${PROJECT}/links/{link}`;

function call(text: string, status: number, answer?: string, more: Partial<FlowCall> = {}): FlowCall {
  return { call: text, status, ...(answer === undefined ? {} : { answer }), ...more };
}

export function kindFlow(wanted: ComputeKind): FlowCall[] {
  const { kind } = wanted;
  const own = FLOWS[kind];
  if (own === undefined) throw new Error(`there is no flow of ${kind}`);
  const flow = { kind: wanted, ...own };
  return [
    call('WS /v2/notifications/ws', 101),
    call('POST /v2/projects', 201, 'project', { body: { name: `Lab of ${kind}` }, as: 'project' }),
    call(`WS ${PROJECT}/notifications/ws`, 101),
    ...placed(flow),
    ...configured(flow),
    ...linked(flow.kind),
    ...run(flow.kind),
    ...kept(),
    ...removed(flow),
  ];
}

/** The node, another of its kind, and a switch. */
function placed({ kind: { kind }, template }: KindFlow): FlowCall[] {
  const isBuiltin = typeof template === 'string';
  const used = isBuiltin ? `{template ${template}}` : '{own template}';
  const settings = { name: `My ${kind}`, template_type: kind, compute_id: 'local' };
  const made = isBuiltin ? [] : [{ body: { ...settings, ...template }, as: 'own template' }];
  const place = (from: string, as: string, x: number): FlowCall => {
    const body = { x, y: -20, compute_id: 'local' };
    return call(`POST ${PROJECT}/templates/${from}`, 201, 'node', { body, as });
  };
  return [
    ...made.map((more) => call('POST /v2/templates', 201, 'template', more)),
    call('GET /v2/templates', 200, '[template]'),
    call(`GET /v2/templates/${used}`, 200, 'template'),
    place(used, 'node', -300),
    place(used, 'other', 300),
    place('{template Ethernet switch}', 'switch', 0),
    call(`GET ${PROJECT}/nodes`, 200, '[node]'),
  ];
}

function configured({ kind, change }: KindFlow): FlowCall[] {
  const put = (body: Json, node = NODE): FlowCall => call(`PUT ${node}`, 200, 'node', { body });
  const label = { text: 'Edge-7', x: 10, y: -30, rotation: 0, style: 'font-size: 10;' };
  const copied = { body: { x: 10, y: 10, z: 1 } };
  const copies = OUTLETS.includes(kind)
    ? [call(`POST ${NODE}/duplicate`, 409, 'error', copied)]
    : [
        call(`POST ${NODE}/duplicate`, 201, 'node', { ...copied, as: 'copy' }),
        call(`DELETE ${PROJECT}/nodes/{copy}`, 204),
      ];
  return [
    put({ x: -310, y: -25, z: 2 }),
    put({ name: 'Edge-7' }),
    put({ label }),
    put({ symbol: ':/symbols/classic/router.svg', locked: true }),
    call(`DELETE ${NODE}`, 409, 'error'),
    put({ locked: false }),
    put({ properties: change, node_type: kind.kind, node_id: '{node}', compute_id: 'local' }),
    put({ properties: change }, `${PROJECT}/nodes/{other}`),
    ...copies,
  ];
}

/** A serial port fits only another one. */
function linked({ port: [adapter_number, port_number], dataLink }: ComputeKind): FlowCall[] {
  const near = { node_id: '{node}', adapter_number, port_number };
  const far =
    dataLink === 'DLT_EN10MB'
      ? { node_id: '{switch}', adapter_number: 0, port_number: 3 }
      : { ...near, node_id: '{other}' };
  const body = { nodes: [near, far] };
  return [
    call(`POST ${PROJECT}/links`, 201, 'link', { body, as: 'link' }),
    call(`POST ${PROJECT}/links`, 409, 'error', { body }),
    call(`GET ${NODE}/links`, 200, '[link]'),
    call(`GET ${LINK}/available_filters`, 200, '[filter]'),
    call(`PUT ${LINK}`, 201, 'link', { body: { filters: { delay: [10, 0] }, suspend: true } }),
    call(`PUT ${LINK}`, 201, 'link', { body: { filters: {}, suspend: false } }),
  ];
}

function run({ kind, dataLink, hasConsole, isProgram }: ComputeKind): FlowCall[] {
  const act = (action: string): FlowCall => call(`POST ${NODE}/${action}`, 200, 'node', { body: {} });
  const capture = { capture_file_name: `${kind}.pcap`, data_link_type: dataLink };
  return [
    act('start'),
    ...(isProgram && hasConsole ? [call(`WS ${NODE}/console/ws`, 101)] : []),
    call(`POST ${LINK}/start_capture`, 201, 'link', { body: capture }),
    call(`GET ${LINK}/pcap`, 200, 'file', { type: 'application/vnd.tcpdump.pcap' }),
    act('suspend'),
    act('start'),
    act('reload'),
    call(`POST ${LINK}/stop_capture`, 201, 'link', { body: {} }),
    ...(isProgram ? [call(`POST ${PROJECT}/snapshots`, 409, 'error', { body: { name: 'early' } })] : []),
    act('stop'),
    call(`POST ${PROJECT}/nodes/start`, 204),
    call(`POST ${PROJECT}/nodes/stop`, 204),
  ];
}

/** Files, a snapshot, an archive, and a project that is closed and opened. */
function kept(): FlowCall[] {
  const file = `${NODE}/files/notes.txt`;
  const bytes = { type: 'application/octet-stream' };
  return [
    call(`POST ${file}`, 201, undefined, { text: 'a note' }),
    call(`GET ${file}`, 200, 'file', bytes),
    call(`POST ${PROJECT}/snapshots`, 201, 'snapshot', { body: { name: 'kept' }, as: 'snapshot' }),
    call(`DELETE ${LINK}`, 204),
    call(`POST ${PROJECT}/snapshots/{snapshot}/restore`, 201, 'project', { body: {} }),
    call(`GET ${PROJECT}/links`, 200, '[link]'),
    call(`GET ${file}`, 200, 'file', bytes),
    call(`GET ${PROJECT}/export`, 200, 'file', { type: 'application/gns3project' }),
    call(`POST ${PROJECT}/close`, 204),
    call(`POST ${PROJECT}/open`, 201, 'project', { body: {} }),
    call(`GET ${PROJECT}/nodes`, 200, '[node]'),
  ];
}

function removed({ template }: KindFlow): FlowCall[] {
  return [
    call(`DELETE ${NODE}`, 204),
    call(`GET ${NODE}`, 404, 'error'),
    call(`GET ${PROJECT}/links`, 200, '[link]'),
    ...(typeof template === 'string' ? [] : [call('DELETE /v2/templates/{own template}', 204)]),
    call(`DELETE ${PROJECT}`, 204),
    call(`GET ${PROJECT}`, 404, 'error'),
  ];
}

/** Puts the image of a kind, if it has one, into the data folder of a server. */
export function placeImage(t: Teardown, { emulator, image, properties }: ComputeKind, data: string): void {
  if (emulator === undefined || image === undefined) return;
  const folder = join(data, 'images', FOLDERS[emulator]);
  mkdirSync(folder, { recursive: true });
  const name = String(properties['path'] ?? properties['image'] ?? properties['hda_disk_image']);
  writeFileSync(join(folder, name), image(t), { mode: 0o755 });
}
